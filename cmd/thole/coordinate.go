package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"thole.example/coord/node"
)

// coordinateFlags are what the user said.
type coordinateFlags struct {
	node  node.Config
	quiet bool
}

func coordinateCommand(e *env) *cobra.Command {
	var f coordinateFlags
	c := &cobra.Command{
		Use:   "coordinate",
		Short: "Keep who is which server of a cluster (etcd in this process)",
		Long: `Runs an etcd of one member until it is interrupted, for clusters that have neither etcd nor Kubernetes nor a folder that all
machines share. It prints its URL. What it has answered is in the folder --data, and there when it is started again; servers keep
their roles while it is away for less than two thirds of a lease. "thole coordinate status URL" shows what is in there.`,
		Example: "  thole coordinate --listen 127.0.0.1:2379 --data coordination\n" +
			"  thole coordinate --listen :2379 --data /data/coordination --tls-cert cert.pem --tls-key key.pem --tls-clients ca.pem",
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), e) },
	}
	c.Flags().StringVar(&f.node.Listen, "listen", "127.0.0.1:2379", "address for clients: host:port, port 0 for a free one")
	c.Flags().StringVar(&f.node.Dir, "data", "", "folder of its data, made if it is not there; no other process may use it")
	c.Flags().StringVar(&f.node.Cert, "tls-cert", "", "encrypt, with this certificate, a PEM file; it is read again with each connection")
	c.Flags().StringVar(&f.node.Key, "tls-key", "", "its key, a PEM file")
	c.Flags().StringVar(&f.node.ClientCA, "tls-clients", "", "clients must show a certificate that the authorities in this PEM file vouch for")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print warnings only")
	c.AddCommand(coordinateStatusCommand(e))
	return c
}

func (f *coordinateFlags) run(ctx context.Context, e *env) error {
	if f.node.Dir == "" {
		return usageError{errors.New("no --data, want the folder where the data are kept")}
	}
	level := slog.LevelInfo
	if f.quiet {
		level = slog.LevelWarn
	}
	log := slog.New(tint.NewTextHandler(e.err, &tint.Options{Level: level, NoColor: !terminal(e.err), TimeFormat: time.DateTime}))
	f.node.Log = e.err
	n, err := node.Start(f.node)
	if errors.Is(err, node.ErrConfig) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer n.Close()
	if exposed(n.Addr()) && f.node.ClientCA == "" {
		log.Warn("ANYBODY who reaches this address can take the place of servers: --tls-clients with --tls-cert asks who comes",
			"address", n.Addr())
	}
	fmt.Fprintf(e.out, "listening at etcd://%s\n", n.Addr())
	select {
	case <-ctx.Done():
		log.Info("coordination stops")
		return nil
	case err := <-n.Failed():
		return fmt.Errorf("coordination has failed: %w", err)
	}
}
