// Package filelock has advisory locks of open files, by which processes of one machine know of each other: a lock lasts until its file is
// closed, or the process that has it ends, however that is. It is no mutex: goroutines that share a file share its lock.
package filelock

import "errors"

// What errors say of a lock; ask with errors.Is. A file system that has no locks gives errors of its own.
var (
	ErrHeld    = errors.New("somebody else has it locked")
	ErrNoLocks = errors.New("this system has no locks of files")
)
