//go:build unix

package local

import (
	"os"
	"syscall"
)

// suspend makes a process do nothing.
func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
