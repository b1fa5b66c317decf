//go:build (darwin || openbsd) && !race

package tcp

import (
	"errors"

	"golang.org/x/sys/unix"
)

const (
	// triesWrites says that writeFD is there, triesReads that readFD is.
	triesWrites, triesReads = true, false
	// sliceLimit is of how many slices a write may be; systems take no more.
	sliceLimit = 1024
)

// writeFD writes to a socket that does not wait.
func writeFD(fd uintptr, vec [][]byte) (int, error) { return unix.Writev(int(fd), vec) }

func readFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
