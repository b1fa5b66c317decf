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
	size   int           // bits of its class; 0: too large to be kept
	mapped kernel.Memory // that b lies in, or empty
	held   []*Buffer
	refs   atomic.Int32
	charge budget.Charge
}

// Buffers from 4 KiB to 64 MiB are kept, by powers of two.
const (
	leastKept = 12
	mostKept  = 26
)

var kept [mostKept + 1]sync.Pool

// NewBuffer is n bytes, not cleared, that the caller has retained and that are counted in the charge.
func NewBuffer(n int, charge budget.Charge) *Buffer {
	size := max(leastKept, bits.Len(uint(max(n, 1)-1)))
	if size > mostKept {
		f := &Buffer{b: aligned(n), charge: charge}
		f.refs.Store(1)
		return f
	}
	f, _ := kept[size].Get().(*Buffer)
	if f == nil {
		f = &Buffer{b: aligned(1 << size), size: size}
	}
	f.b = f.b[:n]
	f.charge = charge
	f.refs.Store(1)
	return f
}

// mapFrom is from how many bytes on memory may be mapped: below, huge pages would take more than they give.
const mapFrom = 16 << 20

// MappedBuffer is NewBuffer for what everybody who retains it is sure to release: if it is large it lies outside of the Go
// heap, takes only what was written to, and goes back to the system at once when it is released, not when the collector comes.
func MappedBuffer(n int, charge budget.Charge) *Buffer {
	if n < mapFrom {
		return NewBuffer(n, charge)
	}
	f := &Buffer{charge: charge}
	if f.mapped.Grow(n) != nil {
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
	if f.size > 0 {
		f.charge.Release()
		kept[f.size].Put(f)
		return
	}
	if len(f.mapped.Data()) > 0 {
		f.b = nil
		f.mapped.Free()
	}
	f.charge.Release() // when the memory is free
}
