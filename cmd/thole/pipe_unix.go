//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// errBrokenPipe is the system's error of writing to a pipe that nobody reads.
const errBrokenPipe = syscall.EPIPE

// keepPipes makes writing to a standard output that nobody reads an error and not the end of the process.
func keepPipes() { signal.Ignore(syscall.SIGPIPE) }
