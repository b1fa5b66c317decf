//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock makes this process the only one that saves to the path, until it ends or calls release. The lock is on a file beside
// the path, hidden as what is not finished; one that a killed process left holds nobody up.
func lock(path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	name := filepath.Join(filepath.Dir(path), "_tmp."+filepath.Base(path)+".lock")
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("%s: another process will save its model there", path)
		case err != nil: // the file system has no locks
			f.Close()
			return func() {}, os.Remove(name)
		}
		mine, err := f.Stat()
		if now, nerr := os.Stat(name); err == nil && nerr == nil && os.SameFile(mine, now) {
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close() // whoever had it has removed it
	}
}
