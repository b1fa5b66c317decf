//go:build unix

package journal

import (
	"os"
	"syscall"
)

// lockAlone fails if anybody else has the file locked; the lock lasts until the file is closed.
func lockAlone(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
