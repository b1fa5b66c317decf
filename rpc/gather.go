package rpc

import (
	"bytes"
	"encoding/binary"
	"math"

	"thole.example/wire"
)

// byReference is from how many bytes on a slice is sent from where it lies instead of being copied.
const byReference = 16 << 10

// Gather collects the bytes of a message: small fields in its own memory, large slices where they lie, which must not
// change until the message is written. Offsets count from the first byte; multiples of 8 stay multiples of 8 if the
// receiver's buffer begins at one. The zero value is empty and ready; a Gather is for one goroutine.
type Gather struct {
	own  []byte
	refs []ref
	size int // bytes in refs
}

// ref is a slice that comes before byte at of own.
type ref struct {
	at int
	b  []byte
}

// Reset empties g and keeps its own memory.
func (g *Gather) Reset() {
	clear(g.refs)
	g.own, g.refs, g.size = g.own[:0], g.refs[:0], 0
}

// Len is the number of bytes collected.
func (g *Gather) Len() int { return len(g.own) + g.size }

// Cap is the size of g's own memory.
func (g *Gather) Cap() int { return cap(g.own) }

// Own is the number of bytes in g's own memory.
func (g *Gather) Own() int { return len(g.own) }

// Head is the first n bytes, for filling in what was not known when they were appended. They must have been appended
// first and without a large slice among them.
func (g *Gather) Head(n int) []byte { return g.own[:n] }

// Buffers appends to dst the slices that are the message, one after the other. They are g's until they are written.
func (g *Gather) Buffers(dst [][]byte) [][]byte {
	from := 0
	for _, r := range g.refs {
		if r.at > from {
			dst = append(dst, g.own[from:r.at])
		}
		dst = append(dst, r.b)
		from = r.at
	}
	if len(g.own) > from {
		dst = append(dst, g.own[from:])
	}
	return dst
}

// Bytes is a copy of the message as one slice.
func (g *Gather) Bytes() []byte {
	out := make([]byte, 0, g.Len())
	for _, b := range g.Buffers(nil) {
		out = append(out, b...)
	}
	return out
}

// U8 and its siblings append a number, little-endian.
func (g *Gather) U8(v uint8) { g.own = append(g.own, v) }

// U16 appends two bytes.
func (g *Gather) U16(v uint16) { g.own = binary.LittleEndian.AppendUint16(g.own, v) }

// U32 appends four bytes.
func (g *Gather) U32(v uint32) { g.own = binary.LittleEndian.AppendUint32(g.own, v) }

// U64 appends eight bytes.
func (g *Gather) U64(v uint64) { g.own = binary.LittleEndian.AppendUint64(g.own, v) }

// I64 appends eight bytes.
func (g *Gather) I64(v int64) { g.U64(uint64(v)) }

// F64 appends eight bytes.
func (g *Gather) F64(v float64) { g.U64(math.Float64bits(v)) }

// String appends the bytes of s without a length.
func (g *Gather) String(s string) { g.own = append(g.own, s...) }

// Raw appends b without a length, by reference if it is large.
func (g *Gather) Raw(b []byte) {
	if len(b) < byReference {
		g.own = append(g.own, b...)
		return
	}
	g.refs = append(g.refs, ref{len(g.own), b})
	g.size += len(b)
}

// Ints appends the numbers without a count, by reference if they are many and the machine's order is that of the wire.
func (g *Gather) Ints(v []int64) {
	if wire.NativeOrder == wire.Little {
		g.Raw(wire.View(v))
		return
	}
	for _, x := range v {
		g.I64(x)
	}
}

// Pad appends zeros up to the next multiple of 8.
func (g *Gather) Pad() {
	for g.Len()%8 != 0 {
		g.U8(0)
	}
}

// Values appends numbers of the given size that are in this machine's order, by reference if they are many and the order is
// that of the wire, and zeros up to the next multiple of 8.
func (g *Gather) Values(b []byte, size int) {
	if wire.NativeOrder != wire.Little {
		b = bytes.Clone(b)
		wire.Swap(b, size, wire.Little)
	}
	g.Raw(b)
	g.Pad()
}

// pad reads zeros up to the next multiple of 8.
func pad(c *wire.Cursor) { zeros(c, int(-c.Off()&7), "padding") }

func zeros(c *wire.Cursor, n int, what string) {
	for _, b := range c.Bytes(n, what) {
		if b != 0 {
			c.FailAt(c.Off()-int64(n), "%s is not zero", what)
			return
		}
	}
}
