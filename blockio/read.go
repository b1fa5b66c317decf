package blockio

import (
	"encoding/binary"

	"thole.example/matrix"
	"thole.example/wire"
)

// Read reads one block. The error is the cursor's, which says at which byte it was found; after it the cursor is of no
// further use.
func (d Decoder) Read(c *wire.Cursor) (matrix.Block, error) {
	h, err := d.Head(c)
	if err != nil {
		return matrix.Block{}, err
	}
	return d.Body(c, h)
}

// Body reads the cells that follow a head.
func (d Decoder) Body(c *wire.Cursor, h Head) (matrix.Block, error) {
	off := c.Off()
	if h.Body > int64(c.Len()) {
		c.Fail("%v block %v of %v needs %d bytes, %d remain: %w", h.Kind, h.At, h.Type, h.Body, c.Len(), wire.ErrTruncated)
	}
	raw := c.Bytes(int(h.Body), "cells")
	if c.Err() != nil {
		return matrix.Block{}, c.Err()
	}
	b := matrix.Block{At: h.At}
	switch h.Kind {
	case Empty:
		b.Data = matrix.Empty{D: h.Type}
		if h.Type == matrix.Invalid {
			b.Data = matrix.Empty{D: d.Type}
			if d.Type == matrix.Invalid {
				c.FailAt(off, "an empty block does not say its value type, and nothing else does")
			}
		}
	case Dense:
		b.Data = types[h.Type].dense(raw, d.InPlace)
	case Cols:
		idx := numbers[int64](raw[:8*h.N], d.InPlace)
		ascending(c, off, h, idx)
		b.Data = types[h.Type].cols(idx, raw[8*h.N:], d.InPlace)
	case CSR:
		b.Data = readCSR(c, off, h, raw)
	case COO:
		b.Data = readCOO(c, off, h, raw)
	}
	if h.Type == matrix.Bool && c.Err() == nil {
		booleans(c, off, b.Data)
	}
	if c.Err() != nil {
		return matrix.Block{}, c.Err()
	}
	return d.convert(c, off, b)
}

// convert casts the values to the wanted type.
func (d Decoder) convert(c *wire.Cursor, off int64, b matrix.Block) (matrix.Block, error) {
	if d.Type == matrix.Invalid || d.Type == b.Data.DType() {
		return b, nil
	}
	out, exact := b.Cast(d.Type)
	if !exact {
		c.FailAt(off, "a block of %v holds a value that %v does not", b.Data.DType(), d.Type)
		return matrix.Block{}, c.Err()
	}
	return out, nil
}

// ascending checks the keys of selected columns.
func ascending(c *wire.Cursor, off int64, h Head, idx []int64) {
	for i, id := range idx {
		if !h.At.Cols.Has(id) || i > 0 && id <= idx[i-1] {
			c.FailAt(off+8*int64(i), "column %d, want ascending ones within %v", id, h.At.Cols)
			return
		}
	}
}

// booleans checks that every byte is 0 or 1.
func booleans(c *wire.Cursor, off int64, d matrix.Data) {
	raw, _ := wire.ViewAny(d.Values())
	for _, v := range raw {
		if v > 1 {
			c.FailAt(off, "boolean %d, want 0 or 1", v)
			return
		}
	}
}

// load is the value at o, whose bytes may be followed by fewer than make up 8.
func load[U bitsOf](b []byte, o int) U {
	if o+8 <= len(b) {
		return U(binary.LittleEndian.Uint64(b[o:]))
	}
	var last [8]byte
	copy(last[:], b[o:])
	return U(binary.LittleEndian.Uint64(last[:]))
}
