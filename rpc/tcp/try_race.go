//go:build (darwin || linux || openbsd) && race

package tcp

import "syscall"

// triesWrites says that writeFD is there.
const triesWrites = true

// writeFD writes the first slice. The race detector knows that what was done before a write of package syscall was done before
// the read of those bytes, as with every other connection; it does not know that of a gathered write.
func writeFD(fd uintptr, vec [][]byte) (int, error) { return syscall.Write(int(fd), vec[0]) }
