package rpc

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/kernel"
	"thole.example/wire"
)

// Buffer is memory for the values of messages: it begins at a multiple of 8, is counted in a ledger, and is used again
// once everybody who retained it has released it. Methods of a nil Buffer do nothing.
type Buffer struct {
	b      []byte
	class  int           // of the buffers that are kept; -1: it is not kept
	mapped kernel.Memory // that b lies in, or empty
	held   []*Buffer
	refs   atomic.Int32
	charge budget.Charge
}

// Buffers from 512 bytes to 64 MiB are kept for the next message. A class of them is 2^k, 1.25 x 2^k, 1.5 x 2^k or 1.75 x 2^k bytes,
// so that a quarter at most is left over.
const (
	leastKept = 9
	mostKept  = 26
	classes   = 4*(mostKept-leastKept) + 1
)

var kept [classes]sync.Pool

// classOf is the class of n bytes and the size of its buffers; -1 and n if they are too many to be kept.
func classOf(n int) (class, size int) {
	if n <= 1<<leastKept {
		return 0, 1 << leastKept
	}
	low := bits.Len(uint(n-1)) - 1 // 2^low < n <= 2^(low+1)
	quarter := 1 << (low - 2)
	more := (n - 1<<low + quarter - 1) / quarter // 1 to 4
	if class = 4*(low-leastKept) + more; class >= classes {
		return -1, n
	}
	return class, 1<<low + more*quarter
}

// NewBuffer is n bytes, not cleared, that the caller has retained and that are counted in the charge.
func NewBuffer(n int, charge budget.Charge) *Buffer {
	class, size := classOf(n)
	f := (*Buffer)(nil)
	if class >= 0 {
		f, _ = kept[class].Get().(*Buffer)
	}
	if f == nil {
		f = &Buffer{b: aligned(size), class: class}
	}
	f.b = f.b[:n]
	f.charge = charge
	f.refs.Store(1)
	return f
}

// HeapMost is up to how many bytes memory lies in the Go heap, and LargePage the pages in which that comes which is mapped: it is taken
// from the system as it is first written to.
const (
	HeapMost  = 2 << 20
	LargePage = 2 << 20
)

// Taken is how many bytes the process takes for a MappedBuffer of n bytes, which is what it has to be charged for.
func Taken(n int) int64 {
	if n <= HeapMost {
		_, size := classOf(n)
		return int64(size)
	}
	return int64(mappedSize(n))
}

// mappedSize is n bytes in whole large pages, with small pages for the rest if that is less than half a large one.
func mappedSize(n int) int {
	const page = 4 << 10
	if rest := n % LargePage; rest > LargePage/2 {
		return n - rest + LargePage
	}
	return (n + page - 1) &^ (page - 1)
}

// MappedBuffer is NewBuffer for what everybody who retains it is sure to release: above HeapMost it lies outside of the Go heap, takes
// only what was written to, and goes back to the system at once when it is released, not when the collector comes.
func MappedBuffer(n int, charge budget.Charge) *Buffer {
	if n <= HeapMost {
		return NewBuffer(n, charge)
	}
	f := &Buffer{class: -1, charge: charge}
	if f.mapped.Fit(mappedSize(n)) != nil {
		return NewBuffer(n, charge)
	}
	f.b = f.mapped.Data()[:n]
	f.refs.Store(1)
	return f
}

// aligned is n bytes of new memory that begins at a multiple of 8.
func aligned(n int) []byte { return wire.View(make([]uint64, (n+7)/8))[:n] }

// Bytes is the memory.
func (f *Buffer) Bytes() []byte {
	if f == nil {
		return nil
	}
	return f.b
}

// Count says where the memory, which was not counted so far, is counted from now on.
func (f *Buffer) Count(charge budget.Charge) { f.charge = charge }

// Charge is where the memory is counted, to be moved to another class by whoever keeps it longer.
func (f *Buffer) Charge() *budget.Charge {
	if f == nil {
		return nil
	}
	return &f.charge
}

// Hold has the memory be released with f's, which somebody has retained.
func (f *Buffer) Hold(other *Buffer) { f.held = append(f.held, other) }

// uncount takes the memory out of the ledger; it is left to the garbage collector, like any other.
func (f *Buffer) uncount() {
	if f != nil {
		f.charge.Release()
		for _, h := range f.held {
			h.uncount()
		}
	}
}

// Retain says that the memory is used by one more, and returns it.
func (f *Buffer) Retain() *Buffer {
	if f != nil {
		f.refs.Add(1)
	}
	return f
}

// Release says that one of those who retained the memory does not use it any more.
func (f *Buffer) Release() {
	if f == nil || f.refs.Add(-1) > 0 {
		return
	}
	for _, h := range f.held {
		h.Release()
	}
	f.held = nil
	if f.class >= 0 {
		f.charge.Release()
		kept[f.class].Put(f)
		return
	}
	if len(f.mapped.Data()) > 0 {
		f.b = nil
		f.mapped.Free()
	}
	f.charge.Release() // when the memory is free
}
