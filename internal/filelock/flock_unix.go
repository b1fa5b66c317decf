//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Alone locks the file against everybody else. It does not wait: where somebody has a lock of it the error is ErrHeld.
func Alone(f *os.File) error { return try(f, syscall.LOCK_EX) }

// Shared locks the file against Alone. It waits for one that has it alone. It never gives ErrHeld.
func Shared(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != syscall.EINTR {
			return err
		}
	}
}

// Held reports whether somebody else has the file alone; an error says that nobody can tell. If nobody has, the file is locked against
// Alone until it is closed, which should be soon.
func Held(f *os.File) (bool, error) {
	err := try(f, syscall.LOCK_SH)
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	return false, err
}

func try(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return ErrHeld
	}
	return err
}
