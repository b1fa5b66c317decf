//go:build unix

package runlog

import (
	"errors"
	"os"
	"syscall"
)

// lock holds the file until it is closed or the process ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// locked reports whether somebody holds the file; an error says that nobody can tell.
func locked(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, nil // the file is closed soon
}
