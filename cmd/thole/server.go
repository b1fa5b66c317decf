package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

func serverCommand(e *env) *cobra.Command {
	listen, store, quiet := "", "", false
	size := ""
	c := &cobra.Command{
		Use:   "server",
		Short: "Run a parameter server",
		Long: `Serves matrices to the workers of any number of jobs until it is interrupted. It prints the address it listens at.
Models are saved and loaded below the folder --store; all servers of a job need the same one.`,
		Example: "  thole server --listen 127.0.0.1:7001 --store /data/models\n  thole server --listen unix:/run/thole.sock",
		RunE: func(c *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if quiet {
				level = slog.LevelWarn
			}
			log := slog.New(tint.NewHandler(e.err, &tint.Options{Level: level, NoColor: !terminal(e.err), TimeFormat: time.DateTime}))
			memory, err := memoryBound(size)
			if err != nil {
				return err
			}
			return serve(c.Context(), e, listen, store, memory, log)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:7001", "address: host:port, port 0 for a free one, or unix:/path")
	c.Flags().StringVar(&store, "store", ".", "folder of the saved models")
	c.Flags().StringVar(&size, "memory", "", "most that matrices may take here, a size like 8GiB, or none (default: three quarters "+
		"of the machine's memory, "+format.Bytes(defaultMemory())+")")
	c.Flags().BoolVar(&quiet, "quiet", false, "print warnings only")
	return c
}

func serve(ctx context.Context, e *env, listen, store string, memory *server.Memory, log *slog.Logger) error {
	switch info, err := os.Stat(store); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--store %s: no such folder", store)
	case err != nil:
		return fmt.Errorf("--store %w", err)
	case !info.IsDir():
		return fmt.Errorf("--store %s: a file, want a folder", store)
	}
	s, err := newServer(blob.NewDir(store), memory, log)
	if err != nil {
		return err
	}
	l, err := (&tcp.Network{Log: log}).Listen(ctx, listen, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "listening at %s\n", l.Addr())
	<-ctx.Done()
	log.Info("server stops")
	l.Close()
	return nil
}
