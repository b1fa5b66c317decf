// Command thole-coordinate keeps who is which server of a cluster of parameter servers: it is an etcd of one member. "thole coordinate"
// runs it. It is a program of its own because etcd would make every thole larger by a third, and slower to start.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"thole.example/coord/node"
	"thole.example/internal/command"
	"thole.example/internal/variables"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command line and answers with the exit code.
func run(args []string, out, said io.Writer) int {
	return command.Run(program(out, said), "thole coordinate", args, out, said)
}

// keeping is what the user said.
type keeping struct {
	node      node.Config
	quiet     bool
	out, said io.Writer
}

func program(out, said io.Writer) *cobra.Command {
	k := keeping{out: out, said: said}
	c := &cobra.Command{
		Use:   "thole-coordinate",
		Short: "Keep who is which server of a cluster",
		Long: `Runs an etcd of one member until it is interrupted, for clusters that have neither etcd nor Kubernetes nor a folder that all
machines share. It prints its URL. What it has answered is in the folder --data, and there when it is started again; servers keep
their roles while it is away for less than two thirds of a lease. "thole coordinate status URL" shows what is in there.

A flag that is not given is taken from its environment variable, if that is set: --listen from ` + variables.Of("listen") + `.`,
		Example: "  thole coordinate --listen 127.0.0.1:2379 --data coordination\n" +
			"  thole coordinate --listen :2379 --data /data/coordination --tls-cert cert.pem --tls-key key.pem --tls-clients ca.pem",
		RunE: func(c *cobra.Command, _ []string) error { return k.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&k.node.Listen, "listen", "127.0.0.1:2379", "address for clients: host:port, port 0 for a free one")
	f.StringVar(&k.node.Dir, "data", "", "folder of its data, made if it is not there; no other process may use it")
	f.StringVar(&k.node.Cert, "tls-cert", "", "encrypt, with this certificate, a PEM file; it is read again with each connection")
	f.StringVar(&k.node.Key, "tls-key", "", "its key, a PEM file")
	f.StringVar(&k.node.ClientCA, "tls-clients", "", "clients must show a certificate that the authorities in this PEM file vouch for")
	f.BoolVar(&k.quiet, "quiet", false, "print warnings only")
	return c
}

func (k *keeping) run(ctx context.Context) error {
	if k.node.Dir == "" {
		return fmt.Errorf("no --data, want the folder where the data are kept; %w", command.ErrUsage)
	}
	level := slog.LevelInfo
	if k.quiet {
		level = slog.LevelWarn
	}
	f, is := k.said.(*os.File)
	plain := !is || !term.IsTerminal(int(f.Fd()))
	log := slog.New(tint.NewTextHandler(k.said, &tint.Options{Level: level, NoColor: plain, TimeFormat: time.DateTime}))
	k.node.Log = k.said
	n, err := node.Start(k.node)
	if errors.Is(err, node.ErrConfig) {
		return fmt.Errorf("%w; %w", err, command.ErrUsage)
	}
	if err != nil {
		return err
	}
	defer n.Close()
	if exposed(n.Addr()) && k.node.ClientCA == "" {
		log.Warn("ANYBODY who reaches this address can take the place of servers: --tls-clients with --tls-cert asks who comes",
			"address", n.Addr())
	}
	fmt.Fprintf(k.out, "listening at etcd://%s\n", n.Addr())
	select {
	case <-ctx.Done():
		log.Info("coordination stops")
		return nil
	case err := <-n.Failed():
		return fmt.Errorf("coordination has failed: %w", err)
	}
}

// exposed reports whether others than this machine may reach an address.
func exposed(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "localhost" {
		return err != nil
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}
