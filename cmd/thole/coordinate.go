package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

// coordinator is the program that has an etcd in it: thole itself is smaller, and starts faster, without (ADR 42).
const coordinator = "thole-coordinate"

func coordinateCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "coordinate [FLAGS...]",
		Short: "Keep who is which server of a cluster (an etcd of one member)",
		Long: `Runs an etcd of one member until it is interrupted, for clusters that have neither etcd nor Kubernetes nor a folder that all
machines share. It is a program of its own, ` + coordinator + `, which is looked for beside this one and on PATH, and gets the flags:
with --help it says which there are.`,
		Example: "  thole coordinate --listen 127.0.0.1:2379 --data coordination\n" +
			"  thole coordinate --listen :2379 --data /data/coordination --tls-cert cert.pem --tls-key key.pem --tls-clients ca.pem",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			err := e.become(c.Context(), coordinator, args)
			if errors.Is(err, exec.ErrNotFound) && (slices.Contains(args, "--help") || slices.Contains(args, "-h")) {
				return c.Help()
			}
			return err
		},
	}
	c.AddCommand(coordinateStatusCommand(e))
	return c
}

// become runs a program of the project in the place of this one.
func (e *env) become(ctx context.Context, program string, args []string) error {
	path, err := siblingOf(program)
	if err != nil {
		return err
	}
	return replaceBy(ctx, e, path, append([]string{program}, args...))
}

// siblingOf is the path of a program of the project: beside the one that runs, else as PATH has it.
func siblingOf(program string) (string, error) {
	if self, err := os.Executable(); err == nil {
		at := filepath.Join(filepath.Dir(self), program)
		if path, err := exec.LookPath(at); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no program %s beside this one or on PATH, want it built too: go build -o out/ ./cmd/... (%w)", program,
			exec.ErrNotFound)
	}
	return path, err
}
