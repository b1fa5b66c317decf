//go:build unix

package main

import (
	"os"
	"syscall"
)

// userSignals are those by which engines ask a process to end beside the usual ones, as Slurm does by --signal.
func userSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
