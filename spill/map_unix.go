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

// drop says that the bytes [from, to) of a mapping are not looked at for now: the pages they lie in do not count as the
// process's memory until they are again.
func drop(mem []byte, from, to int64) {
	page := int64(os.Getpagesize())
	_ = unix.Madvise(mem[from&^(page-1):min((to+page-1)&^(page-1), int64(len(mem)))], unix.MADV_DONTNEED)
}

func unmap(mem []byte) { _ = unix.Munmap(mem) }
