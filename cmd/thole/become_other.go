//go:build !unix

package main

import (
	"context"
	"errors"
	"os/exec"
)

// replaceBy runs another program until it ends, or ctx does, and ends as it did.
func replaceBy(ctx context.Context, e *env, path string, args []string) error {
	c := exec.CommandContext(ctx, path, args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = e.in, e.out, e.err
	err := c.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return exitStatus{err, failed.ExitCode()}
	}
	return err
}
