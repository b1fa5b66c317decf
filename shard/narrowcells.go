package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// cellPacking is how the cells of a dense partition lie that does not have them as they are. Places are counted in cells.
type cellPacking[T number] interface {
	load(val []T, at int)
	store(at int, val []T)          // to nearest
	round(at int, val []T, t int64) // at random, as after the t-th step
}

// narrowCells are cells as f16 or bf16.
type narrowCells struct {
	as    kernel.NarrowType
	low   []byte
	at    matrix.Rect
	width int
	noise matrix.Draw
}

// packCells is nil for a matrix whose cells are kept as they are.
func packCells[T number](m *matrix.Meta, at matrix.Rect, low []byte) cellPacking[T] {
	as, ok := narrowings[m.Storage]
	if !ok {
		return nil
	}
	return any(&narrowCells{as, low, at, int(at.Cols.Len()), noiseOf(m)}).(cellPacking[T])
}

// in is some cells, as a row.
func (c *narrowCells) in(at, n int) kernel.NarrowRows {
	return kernel.NarrowRows{As: c.as, Slab: c.low[kernel.NarrowBytes(c.as, at):], N: n}
}

func (c *narrowCells) load(val []float32, at int) {
	r := c.in(at, len(val))
	r.Widen(val, firstRow, 0, len(val))
}

func (c *narrowCells) store(at int, val []float32) {
	r := c.in(at, len(val))
	r.Nearest(val, 0)
}

func (c *narrowCells) round(at int, val []float32, t int64) {
	for len(val) > 0 {
		row, col := at/c.width, at%c.width
		n := min(c.width-col, len(val))
		r := c.in(at, n)
		seed := [1]uint32{c.noise.Noise(c.at.Rows.Lo+int64(row), t)}
		r.Dither(val[:n], firstRow, seed[:], uint32(c.at.Cols.Lo+int64(col)))
		at, val = at+n, val[n:]
	}
}

// open is some cells, at most a chunk; shut puts them back.
func (d *dense[T]) open(at, n int) []T {
	if d.packed == nil {
		return d.val[at : at+n : at+n]
	}
	d.room = grown(d.room, min(chunk, d.cells))
	d.packed.load(d.room[:n], at)
	return d.room[:n:n]
}

func (d *dense[T]) shut(at int, val []T) {
	if d.packed != nil {
		d.packed.store(at, val)
	}
}

// see is cells for a function to look at: the i-th of so many runs of n. Packed ones are copies.
func (d *dense[T]) see(s *scratch[T], at, n, i, runs int) []T {
	if d.packed == nil {
		return d.val[at : at+n : at+n]
	}
	s.val = grown(s.val, n*runs)
	val := s.val[i*n : (i+1)*n : (i+1)*n]
	d.packed.load(val, at)
	return val
}
