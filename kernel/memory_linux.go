package kernel

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	canMap   = true
	hugePage = 2 << 20
	// firstRoom and moreRoom say how many addresses are taken at once. They cost nothing until they are written to, and
	// while they last memory grows where it is.
	firstRoom = 256 << 20
	moreRoom  = 8
)

// mapping is a range of addresses that begins at a huge page.
type mapping struct {
	base unsafe.Pointer
	room int
	preparing
}

// grow is Grow for memory that is or will be mapped.
func (m *Memory) grow(n int) error {
	n = (n + hugePage - 1) &^ (hugePage - 1)
	room := max(firstRoom, n, moreRoom*m.mapped.room)
	to, err := reserve(room)
	if err != nil { // a system that counts addresses as memory
		room = n
		if to, err = reserve(room); err != nil {
			return fmt.Errorf("%d bytes of memory: %w", n, err)
		}
	}
	all, waiting := unsafe.Slice((*byte)(to), room), m.mapped.pause()
	if m.plain {
		_ = unix.Madvise(all, unix.MADV_NOHUGEPAGE)
	}
	if was := m.mapped.base; was == nil {
		copy(all, m.data)
	} else {
		have := uintptr(m.mapped.room)
		if _, err := unix.MremapPtr(was, have, to, have, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED); err != nil {
			_ = unix.MunmapPtr(to, uintptr(room))
			return os.NewSyscallError("mremap", err)
		}
	}
	m.data, m.mapped.base, m.mapped.room = all, to, room
	m.mapped.prepare(waiting)
	return nil
}

// reserve maps memory that begins at a huge page; it takes no pages until it is written to. Newer systems choose such a place
// by themselves. The others are given up: every call waits for pages that are being prepared, whosever they are.
func reserve(n int) (unsafe.Pointer, error) {
	p, err := mmap(n)
	if before := -uintptr(p) & (hugePage - 1); err == nil && before > 0 {
		_ = unix.MunmapPtr(p, uintptr(n))
		if p, err = mmap(n + hugePage); err == nil {
			before = -uintptr(p) & (hugePage - 1)
			p = trimmed(p, before, n)
		}
	}
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(p), n), unix.MADV_HUGEPAGE) // a kernel without huge pages serves as well
	return p, nil
}

func mmap(n int) (unsafe.Pointer, error) {
	const flags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	return unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, flags)
}

// trimmed is the n bytes after the first ones of a mapping that is a huge page longer; the others are unmapped.
func trimmed(p unsafe.Pointer, before uintptr, n int) unsafe.Pointer {
	if before > 0 {
		_ = unix.MunmapPtr(p, before)
	}
	p = unsafe.Add(p, before)
	if after := hugePage - before; after > 0 {
		_ = unix.MunmapPtr(unsafe.Add(p, n), after)
	}
	return p
}

// fit has ordinary pages after the whole huge pages of the first n bytes.
func (m *mapping) fit(n int) {
	if from := n &^ (hugePage - 1); m.base != nil && from < m.room {
		_ = unix.Madvise(unsafe.Slice((*byte)(m.base), m.room)[from:], unix.MADV_NOHUGEPAGE)
	}
}

// plain has ordinary pages everywhere.
func (m *mapping) plain() {
	if m.base != nil {
		m.pause() // which would bring huge ones
		_ = unix.Madvise(unsafe.Slice((*byte)(m.base), m.room), unix.MADV_NOHUGEPAGE)
	}
}

func (m *mapping) drop(from, to int) bool {
	if m.base == nil || (from|to)&(os.Getpagesize()-1) != 0 {
		return false
	}
	return unix.Madvise(unsafe.Slice((*byte)(m.base), m.room)[from:to], unix.MADV_DONTNEED) == nil
}

func (m *mapping) free() {
	m.pause()
	m.workers.Wait()
	if m.base != nil {
		_ = unix.MunmapPtr(m.base, uintptr(m.room))
	}
}
