//go:build unix

package local

import (
	"errors"
	"os"
	"syscall"
)

// hold locks the file until it is closed or the process ends; held says that another process does.
func hold(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err
}

// locked reports whether a process holds the file; an error says that nobody can tell.
func locked(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, nil // the file is closed soon
}
