//go:build !unix

package main

import "syscall"

// errBrokenPipe is the system's error of writing to a pipe that nobody reads.
const errBrokenPipe = syscall.EPIPE

// keepPipes has nothing to do: there is no signal.
func keepPipes() {}
