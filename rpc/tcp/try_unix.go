//go:build (darwin || linux || openbsd) && !race

package tcp

import "golang.org/x/sys/unix"

// triesWrites says that writeFD is there.
const triesWrites = true

// writeFD writes to a socket that does not wait.
func writeFD(fd uintptr, vec [][]byte) (int, error) { return unix.Writev(int(fd), vec) }
