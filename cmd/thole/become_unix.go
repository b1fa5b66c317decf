//go:build unix

package main

import (
	"context"
	"os"
	"syscall"
)

// replaceBy makes this process one of another program, which the signals of its parent reach then.
func replaceBy(_ context.Context, _ *env, path string, args []string) error {
	return &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, args, os.Environ())}
}
