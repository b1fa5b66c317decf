package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
)

// kept is a stream that stays open when a command is done with it.
type kept struct{ io.Writer }

// Close implements io.Closer.
func (kept) Close() error { return nil }

// descriptor gives an open file of this process.
func (s *sink) descriptor(n int) func(context.Context) (io.WriteCloser, error) {
	return func(context.Context) (io.WriteCloser, error) {
		switch n {
		case 1:
			return kept{s.out}, nil
		case 2:
			return kept{s.err}, nil
		}
		return os.NewFile(uintptr(n), s.path), nil
	}
}

// device opens a pipe or device. A pipe is open once somebody reads it: until then ctx can end the wait.
func (s *sink) device(ctx context.Context) (io.WriteCloser, error) {
	var f *os.File
	err := interruptible(ctx, func() (err error) {
		f, err = os.OpenFile(s.file, os.O_WRONLY, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (s *sink) socket(ctx context.Context) (io.WriteCloser, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return c, nil
}

// interruptible calls do, which the system may hold up for ever, and stops waiting for it when ctx ends.
func interruptible(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
