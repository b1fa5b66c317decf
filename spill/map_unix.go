//go:build linux || darwin || freebsd || dragonfly || netbsd

package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapped maps the first n bytes of a file for reading, and makes the file so long; its holes take no disk. nil: the
// system would not, and the file is read instead. Systems whose mappings do not see writes at once are not in this file.
func mapped(f *os.File, n int64) []byte {
	if n != int64(int(n)) || f.Truncate(n) != nil {
		return nil
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(n), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return mem
}

func unmap(mem []byte) { _ = unix.Munmap(mem) }
