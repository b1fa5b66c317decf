//go:build unix

package blob

import (
	"os"
	"syscall"
)

// lockShared holds the file against lockAlone of other processes until it is closed. It waits for one that has it alone, which
// nobody has for long.
func lockShared(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != syscall.EINTR {
			return err
		}
	}
}

// lockAlone fails if anybody else has a lock of the file; it lasts until the file is closed.
func lockAlone(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
