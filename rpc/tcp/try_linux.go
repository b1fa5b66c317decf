//go:build linux && !race

package tcp

import "thole.example/wire"

const (
	// triesWrites says that writeFD is there, triesReads that readFD is.
	triesWrites, triesReads = true, true
	// sliceLimit is of how many slices a write may be; systems take no more than 1024.
	sliceLimit = wire.SocketSlices
)

// writeFD writes to a socket that does not wait.
func writeFD(fd uintptr, vec [][]byte) (int, error) { return wire.WriteSocket(fd, vec) }

// readFD reads from a socket that does not wait.
func readFD(fd uintptr, b []byte) (int, error) { return wire.ReadSocket(fd, b) }
