//go:build unix

package tcp

import "syscall"

// triesWrites says that writeFD is there.
const triesWrites = true

// writeFD writes to a socket that does not wait.
func writeFD(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
