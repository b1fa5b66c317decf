//go:build !unix

package filelock

import "os"

// Alone cannot lock here.
func Alone(*os.File) error { return ErrNoLocks }

// Shared cannot lock here.
func Shared(*os.File) error { return ErrNoLocks }

// Held cannot tell here.
func Held(*os.File) (bool, error) { return false, ErrNoLocks }
