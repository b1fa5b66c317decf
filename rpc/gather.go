package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"thole.example/blockio"
	"thole.example/matrix"
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

// blockShift is how many bytes lie between a block's size and shift, 6 bytes from a multiple of 8 on, and the block,
// so that its values begin at a multiple of 8: dense values lie 26 bytes from a block's start, and those of the wide
// form at a multiple of 8 from there.
func blockShift(wide bool) uint16 {
	if wide {
		return 2
	}
	return 0
}

// Block appends b with its size in front and zeros behind, up to a multiple of 8; so must be where it begins.
func (g *Gather) Block(b matrix.Block) error {
	if b.Data == nil {
		return fmt.Errorf("block %v: no data", b.At)
	}
	head, err := blockio.Encoder{}.Head(b)
	if err != nil {
		return err
	}
	size := int64(head.Len()) + head.Body
	if size > math.MaxUint32 {
		return fmt.Errorf("block %v: %d bytes, want less than 2^32: %w", b.At, size, ErrTooLarge)
	}
	shift := blockShift(head.Wide)
	g.U32(uint32(size))
	g.U16(shift)
	g.own = append(g.own, make([]byte, shift)...)
	if size < byReference {
		g.own, err = blockio.Append(g.own, b)
	} else {
		var pieces [4][]byte
		all, gerr := blockio.Gather(pieces[:0], b)
		err = gerr
		for _, p := range all {
			g.Raw(p)
		}
	}
	g.Pad()
	return err
}

// readBlock reads what Gather.Block wrote. The block's slices are views of the input where that is possible.
func readBlock(c *wire.Cursor) matrix.Block {
	size, shift := c.U32("block size"), c.U16("block shift")
	if c.Err() == nil && shift != 0 && shift != 2 {
		c.Fail("block shift is %d, want 0 or 2", shift)
	}
	zeros(c, int(shift), "block shift")
	raw := c.Bytes(int(size), "block")
	if c.Err() != nil {
		return matrix.Block{}
	}
	in := wire.NewCursor(raw, c.Off()-int64(size), wire.Little)
	b, err := blockio.Decoder{InPlace: true}.Read(in)
	if err == nil {
		in.End("block")
		err = in.Err()
	}
	var at *wire.At
	switch {
	case errors.As(err, &at):
		c.FailAt(at.Off, "block: %w", at.Err)
	case err != nil:
		c.Fail("block: %w", err)
	}
	pad(c)
	return b
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
