package shard

import (
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// narrowings are the types in which servers keep values of f32. What is finite and too large for one becomes its largest; f16 and
// bf16 keep what is not finite, an int8 is no number then.
var narrowings = map[matrix.DType]kernel.NarrowType{matrix.F16: kernel.Float16, matrix.BF16: kernel.BFloat16, matrix.I8: kernel.Int8}

// checkStorage tells why values of the matrix cannot be kept as it says.
func checkStorage(m *matrix.Meta) error {
	if m.Storage == matrix.Invalid {
		return nil
	}
	_, ok := narrowings[m.Storage]
	switch {
	case !ok || m.DType != matrix.F32:
		return fmt.Errorf("matrix %s: values of %v kept as %v, want those of f32 as f16, bf16 or int8", m.Name, m.DType, m.Storage)
	case m.Storage == matrix.I8 && m.Layout != matrix.RowSparse:
		return fmt.Errorf("matrix %s: values of a dense matrix kept as int8, which have a scale for each column of a sparse one; "+
			"want f16 or bf16", m.Name)
	}
	return nil
}

// noiseOf is what rounding of the matrix's values goes by.
func noiseOf(m *matrix.Meta) matrix.Draw { return matrix.NewDraw(^m.Init.Seed, m.Name) }

// narrowRows are rows of a slab with narrow weights and, after them, slots of f32.
type narrowRows struct {
	as          kernel.NarrowType
	rows, slots int
	from        int // byte at which the slots begin
	noise       matrix.Draw
	first       uint32 // row of the matrix
	seeds       [block]uint32
}

// newPacking is nil for a matrix whose values are kept as they are.
func newPacking[T number](m *matrix.Meta, at matrix.Rect, slots int) packing[T] {
	as, ok := narrowings[m.Storage]
	if !ok {
		return nil
	}
	p := &narrowRows{as: as, rows: int(at.Rows.Len()), slots: slots, noise: noiseOf(m), first: uint32(at.Rows.Lo)}
	if p.from = kernel.NarrowBytes(as, p.rows); slots > 0 {
		p.from = (p.from + 3) &^ 3
	}
	return any(p).(packing[T]) // a matrix of f32: it was checked
}

func (p *narrowRows) size() int { return p.from + 4*p.rows*p.slots }

// in is the weights of a slab, or of a single row.
func (p *narrowRows) in(slab []byte) kernel.NarrowRows {
	return kernel.NarrowRows{As: p.as, Slab: slab, Step: p.size(), N: p.rows}
}

func (p *narrowRows) gather(dst []float32, slab []byte, rows []uint32, from, n int) {
	r := p.in(slab)
	r.Widen(dst, rows, from, n)
}

func (p *narrowRows) load(room []float32, next int, slab []byte, rows []uint32) {
	n := p.rows * len(rows)
	p.gather(room[:n], slab, rows, 0, p.rows)
	for slot := range p.slots {
		kernel.Gather(wire.View(room[(slot+1)*next:][:n]), slab[p.from+4*slot*p.rows:], p.size(), 4*p.rows, rows)
	}
}

func (p *narrowRows) round(room []float32, next int, slab []byte, rows []uint32, keys []int64, t int64) {
	n := p.rows * len(rows)
	for i := range rows {
		p.seeds[i] = p.noise.Noise(keys[i], t)
	}
	r := p.in(slab)
	r.Dither(room[:n], rows, p.seeds[:len(rows)], p.first)
	for slot := range p.slots {
		kernel.Scatter(wire.View(room[(slot+1)*next:][:n]), slab[p.from+4*slot*p.rows:], p.size(), 4*p.rows, rows)
	}
}

func (p *narrowRows) store(row []byte, val []float32) {
	r := p.in(row)
	r.Nearest(val[:p.rows], 0)
	copy(row[p.from:], wire.View(val[p.rows:]))
}

// visitPacked is visit of rows that are packed.
func (k *keyed[T]) visitPacked(s *scratch[T], c *psf.Chunk[T], changed int, f func(c *psf.Chunk[T]) error) error {
	for j, at := range s.rows {
		if j%block == 0 {
			k.slab.need(s.rows[j:min(j+block, len(s.rows))], false)
			k.slab.fetch(s.rows[min(j+block, len(s.rows)):min(j+2*block, len(s.rows))], 0, k.rows)
		}
		val := k.slab.values(k.slab.bytesOf(at), k.rows)
		for i, row := range c.IDs {
			c.Rows[i][j] = val[row-k.at.Rows.Lo]
		}
	}
	if err := k.call(f, c); err != nil || changed == 0 {
		return err
	}
	k.prepareAll(s.rows, func(lo int, some []uint32) {
		for j, at := range some {
			val := k.slab.open(at)
			for i := len(c.IDs) - changed; i < len(c.IDs); i++ {
				val[c.IDs[i]-k.at.Rows.Lo] = c.Rows[i][lo+j]
			}
			k.slab.shut(at, val)
		}
	})
	return k.failed()
}
