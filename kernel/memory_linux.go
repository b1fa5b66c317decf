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
	// firstRoom and moreRoom say how many addresses are reserved: they cost nothing, and while they last memory grows where it is.
	firstRoom = 64 << 20
	moreRoom  = 8
	// step is how much is made accessible at a time.
	step = 32 << 20
)

// mapping is a range of addresses that begins at a huge page; its first bytes are accessible.
type mapping struct {
	base unsafe.Pointer
	room int
	used int // accessible
}

// grow is Grow for memory that is or will be mapped.
func (m *Memory) grow(n int) error {
	n = (n + hugePage - 1) &^ (hugePage - 1)
	if n > m.mapped.room {
		if err := m.move(n); err != nil {
			return err
		}
	}
	n = min(max(n, len(m.data)+min(step, len(m.data)/8)&^(hugePage-1)), m.mapped.room)
	have := m.mapped.used
	all := unsafe.Slice((*byte)(m.mapped.base), m.mapped.room)
	fresh := all[have:n]
	if err := unix.Mprotect(fresh, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("%d bytes of memory beside %d: %w", len(fresh), have, os.NewSyscallError("mprotect", err))
	}
	_ = unix.Madvise(fresh, unix.MADV_HUGEPAGE) // a kernel without huge pages serves as well
	if have == 0 {
		copy(all[:n], m.data)
	}
	m.data, m.mapped.used = all[:n], n
	return nil
}

// move reserves more addresses and takes the pages there that are mapped already.
func (m *Memory) move(n int) error {
	room := max(firstRoom, n, moreRoom*m.mapped.room)
	to, err := reserve(room)
	if err != nil {
		return fmt.Errorf("%d bytes of addresses: %w", room, err)
	}
	if was := m.mapped; was.base != nil {
		_, err := unix.MremapPtr(was.base, uintptr(was.used), to, uintptr(was.used), unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED)
		if err != nil {
			_ = unix.MunmapPtr(to, uintptr(room))
			return os.NewSyscallError("mremap", err)
		}
		if rest := was.room - was.used; rest > 0 {
			_ = unix.MunmapPtr(unsafe.Add(was.base, was.used), uintptr(rest))
		}
		m.data = unsafe.Slice((*byte)(to), room)[:was.used]
	}
	m.mapped.base, m.mapped.room = to, room
	return nil
}

// reserve is a range of addresses without memory that begins at a huge page.
func reserve(n int) (unsafe.Pointer, error) {
	const flags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n+hugePage), unix.PROT_NONE, flags)
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
	return to, nil
}

func (m *mapping) free() {
	if m.base != nil {
		_ = unix.MunmapPtr(m.base, uintptr(m.room))
	}
}
