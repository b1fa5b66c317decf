//go:build !unix

package local

import (
	"errors"
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

// Detach lets a process that is not started yet go on when the terminal is closed, where systems have that.
func Detach(*exec.Cmd) {}

// terminate cannot ask here; children end when their input does.
func terminate(*os.Process) error { return errors.ErrUnsupported }

func signalOf(*os.ProcessState) string { return "" }
