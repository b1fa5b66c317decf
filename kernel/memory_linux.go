package kernel

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	canMap   = true
	hugePage = 2 << 20
	// firstRoom and moreRoom say how many addresses are taken at once. They cost nothing until they are written to, and
	// while they last memory grows where it is.
	firstRoom = 64 << 20
	moreRoom  = 8
)

// mapping is a range of addresses that begins at a huge page.
type mapping struct {
	base  unsafe.Pointer
	room  int
	ready sync.WaitGroup // for what Ready has begun
}

// Ready has the system prepare the bytes [from, to), which will be written soon, one huge page after the other from the
// beginning or from the end, and does not wait for it: to find and clear a huge page takes up to some milliseconds, which
// are another processor's. Whoever writes to a page before it is prepared waits for that one alone. Only what is mapped, in
// whole huge pages, is prepared; Grow and Free wait for it where they have to.
func (m *Memory) Ready(from, to int, fromEnd bool) {
	from, to = (from+hugePage-1)&^(hugePage-1), min(to, m.mapped.room)&^(hugePage-1)
	if from >= to {
		return
	}
	m.prepared = max(m.prepared, to)
	pages := unsafe.Slice((*byte)(m.mapped.base), to)[from:]
	m.mapped.ready.Go(func() {
		for n := len(pages); n > 0; n -= hugePage {
			next := pages[:hugePage]
			if fromEnd {
				next = pages[n-hugePage : n]
			} else {
				pages = pages[hugePage:]
			}
			if unix.Madvise(next, unix.MADV_POPULATE_WRITE) != nil {
				return // a system that cannot: pages come as they are written
			}
		}
	})
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
	all := unsafe.Slice((*byte)(to), room)
	if was := m.mapped.base; was == nil {
		copy(all, m.data)
	} else {
		m.mapped.ready.Wait()
		have := uintptr(m.mapped.room)
		if _, err := unix.MremapPtr(was, have, to, have, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED); err != nil {
			_ = unix.MunmapPtr(to, uintptr(room))
			return os.NewSyscallError("mremap", err)
		}
	}
	m.data, m.mapped.base, m.mapped.room = all, to, room
	if m.plain {
		m.mapped.plain()
	}
	return nil
}

// reserve maps memory that begins at a huge page; it takes no pages until it is written to.
func reserve(n int) (unsafe.Pointer, error) {
	const flags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n+hugePage), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	before := -uintptr(p) & (hugePage - 1)
	if before > 0 {
		_ = unix.MunmapPtr(p, before)
	}
	to := unsafe.Add(p, before)
	if after := hugePage - before; after > 0 {
		_ = unix.MunmapPtr(unsafe.Add(to, n), after)
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(to), n), unix.MADV_HUGEPAGE) // a kernel without huge pages serves as well
	return to, nil
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
		m.ready.Wait() // which would bring huge ones
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
	m.ready.Wait()
	if m.base != nil {
		_ = unix.MunmapPtr(m.base, uintptr(m.room))
	}
}
