//go:build (darwin || linux || openbsd) && race

package tcp

import (
	"errors"
	"syscall"
)

const (
	// triesWrites says that writeFD is there, triesReads that readFD is.
	triesWrites, triesReads = true, false
	// sliceLimit is of how many slices a write may be. The race detector knows that what was done before a write of one slice was
	// done before the read of those bytes; it does not know that of gathered writes, neither of package unix nor of net.Buffers.
	sliceLimit = 1
)

// writeFD writes to a socket that does not wait.
func writeFD(fd uintptr, vec [][]byte) (int, error) { return syscall.Write(int(fd), vec[0]) }

func readFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
