package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// checked is a stream that remembers the first error of writing, whoever looks at it, and writes nothing after it.
type checked struct {
	w      io.Writer
	name   string
	failed error
}

// errEnough is the error of a stream whose reader has seen enough: the command is done.
var errEnough = errors.New("nobody reads on")

// Write implements io.Writer.
func (c *checked) Write(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	n, err := c.w.Write(p)
	c.fails(err)
	return n, c.failed
}

// fails keeps an error, in the words of the user's path.
func (c *checked) fails(err error) {
	var file *os.PathError
	switch {
	case err == nil || c.failed != nil || errors.Is(err, errEnough):
		if c.failed == nil {
			c.failed = err
		}
	case errors.Is(err, errBrokenPipe):
		c.failed = fmt.Errorf("%s: %w", c.name, errEnough)
	case errors.As(err, &file):
		c.failed = fmt.Errorf("%s: %w", c.name, file.Err)
	default:
		c.failed = fmt.Errorf("%s: %w", c.name, err)
	}
}
