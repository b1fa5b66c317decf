package kernel

import (
	"fmt"
	"io"
	"os"
	"unsafe"
)

// Memory is zeroed memory that grows in place: what is in it stays, without a copy once it is large. Small memory is an
// ordinary slice; from mapFrom bytes on it is mapped outside of the Go heap where the system has that, so that the
// collector neither scans nor doubles it, in huge pages, which come as they are first written. The zero Memory is empty
// and ready for use. One goroutine at a time may use it; views of its data are valid until the next Grow or Free.
type Memory struct {
	data   []byte
	mapped mapping
	fit    bool
	plain  bool
	file   *os.File               // where it has its place; nil: it is in none
	direct *os.File               // the same, read past what the system keeps of files; nil: as others are
	ahead  struct{ from, to int } // bytes that Ready prepares, or did; those before are written to
}

// mapFrom is from how many bytes on memory is mapped: below, huge pages would take more than they give. It also bounds
// what is copied when memory moves out of the heap.
const mapFrom = 1 << 20

// cacheLine is what memory begins at a multiple of.
const cacheLine = 64

// Data is all of the memory.
func (m *Memory) Data() []byte { return m.data }

// ReadAt fills to with the bytes from off on, of memory in a file without a page of it in this process. Any number may do so at once.
func (m *Memory) ReadAt(to []byte, off int) error {
	if off < 0 || off > len(m.data) || len(to) > len(m.data)-off {
		return fmt.Errorf("kernel: %d bytes at %d of %d of memory: %w", len(to), off, len(m.data), io.ErrUnexpectedEOF)
	}
	if m.file == nil {
		copy(to, m.data[off:])
		return nil
	}
	return m.readFile(to, off)
}

// Grow makes the memory at least n bytes long; what is new is zero. It fails if the system has none to give.
func (m *Memory) Grow(n int) error {
	if n <= len(m.data) {
		return nil
	}
	if m.file != nil {
		return m.growFile(n)
	}
	if n >= mapFrom && canMap {
		return m.grow(n)
	}
	data := aligned(max(n, len(m.data)+len(m.data)/2))
	copy(data, m.data)
	m.data = data
	return nil
}

// Fit is Grow for memory that will not grow any more: what is left over of the last huge page is not taken.
func (m *Memory) Fit(n int) error {
	if err := m.Grow(n); err != nil {
		return err
	}
	m.fit = true
	m.mapped.fit(n)
	return nil
}

// Plain has what is written for the first time from now on come in ordinary pages: for memory of which parts are dropped, which would
// come back as whole huge pages. Memory that is not mapped stays as it is.
func (m *Memory) Plain() {
	m.plain = true
	m.mapped.plain()
}

// CanDrop is whether this system takes back parts of memory.
const CanDrop = canMap

// Map has memory be mapped however small it is, which Drop needs. It fails if the system has none to give.
func (m *Memory) Map() error {
	if m.mapped.base != nil {
		return nil
	}
	return m.grow(max(1, len(m.data)))
}

// Drop gives bytes [from, to), whole pages of the system, back to it; they are zero when they are next looked at. It reports whether
// it has.
func (m *Memory) Drop(from, to int) bool { return m.file == nil && m.mapped.drop(from, to) }

// Free gives the memory back; it is empty afterwards. Memory that is not freed is collected while it is small, and stays
// until the process ends when it is mapped.
func (m *Memory) Free() {
	m.mapped.free()
	if m.file != nil {
		m.file.Close() // of what is in it nothing is needed any more
		m.direct.Close()
	}
	*m = Memory{}
}

// Resident is about how many bytes have been taken from the system when the first n were all used, and those that Ready
// prepares.
func (m *Memory) Resident(n int) int {
	if m.mapped.base == nil {
		return len(m.data)
	}
	if m.fit {
		return min(n, len(m.data))
	}
	if !m.plain {
		n = (n + hugePage - 1) &^ (hugePage - 1)
	}
	if ahead := m.ahead; n < ahead.to {
		n += ahead.to - max(n, ahead.from)
	}
	return min(n, len(m.data))
}

// aligned is a slice that begins at a multiple of a cache line.
func aligned(n int) []byte {
	b := make([]byte, n+cacheLine)
	from := -uintptr(unsafe.Pointer(&b[0])) & (cacheLine - 1)
	return b[from : from+uintptr(n) : from+uintptr(n)]
}

// Lines is memory as lines of an index; what is left at the end is none.
func Lines(data []byte) []Line {
	n := uintptr(len(data)) / unsafe.Sizeof(Line{})
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*Line)(unsafe.Pointer(&data[0])), n)
}
