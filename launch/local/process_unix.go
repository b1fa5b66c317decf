//go:build unix

package local

import (
	"os"
	"os/exec"
	"syscall"
)

// apart puts a process that is not started yet into a group of its own, so that Ctrl-C at the terminal reaches the supervisor alone,
// which ends the others in order.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Detach lets a process that is not started yet go on when the terminal is closed.
func Detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// signalOf is the signal that ended a process; "" if none did.
func signalOf(s *os.ProcessState) string {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
