package shard

import (
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
)

// view is a partition as functions see it.
type view struct {
	*Shard
	id int
}

// View is the partition as functions see it. id is its number among the partitions of its matrix.
func (s *Shard) View(id int) psf.View { return view{s, id} }

// Owns implements psf.View.
func (v view) Owns(col int64) bool {
	return v.at.Cols.Has(col) && (v.bits == 0 || kernel.Hash(uint64(col))>>(64-v.bits) == uint64(v.id))
}

// Absent implements psf.View.
func (v view) Absent() int64 { return v.absentBeside(int64(v.store.stored())) }

// absentBeside is how many columns are absent beside those that are stored. Which columns a hash partition has is known of the
// stored ones alone, so the first partition counts all.
func (v view) absentBeside(stored int64) int64 {
	switch {
	case v.meta.Layout == matrix.RowDense || v.meta.Init.Random():
		return 0
	case v.bits > 0 && v.id > 0:
		return -stored
	}
	return v.at.Cols.Len() - stored
}

// Cells implements psf.View.
func (v view) Cells() any { return v.store }

// Together implements psf.Cells.
func (d *dense[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	c := psf.Chunk[T]{IDs: rows, Rows: make([][]T, len(rows))}
	var s scratch[T]
	for lo := 0; lo < d.width && len(rows) > 0; lo += chunk {
		n := min(chunk, d.width-lo)
		c.Col = d.at.Cols.Lo + int64(lo)
		for i, row := range rows {
			at := d.cell(row, c.Col)
			if i >= len(rows)-changed {
				d.keep(0, at, at+n)
			}
			c.Rows[i] = d.see(&s, at, n, i, len(rows))
		}
		if err := f(&c); err != nil {
			return err
		}
		for i := len(rows) - changed; i < len(rows); i++ {
			d.shut(d.cell(rows[i], c.Col), c.Rows[i])
		}
	}
	return nil
}

// Apart implements psf.Cells.
func (d *dense[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	c := psf.Chunk[T]{}
	var s scratch[T]
	return d.bands(rows, func(some []int64, col int64, wide int) error {
		at, n := d.cell(some[0], col), len(some)*wide
		if change {
			d.keep(0, at, at+n)
		}
		c.IDs, c.Col, c.All, c.Rows = some, col, d.see(&s, at, n, 0, 1), c.Rows[:0]
		for i := range some {
			c.Rows = append(c.Rows, c.All[i*wide:(i+1)*wide:(i+1)*wide])
		}
		if err := f(&c); err != nil || !change {
			return err
		}
		d.shut(at, c.All)
		return nil
	})
}

// bands calls f for the cells of rows, about a chunk at a time: those of some of the rows at so many columns from one on. Rows
// that lie beside each other, and are short, come together.
func (d *dense[T]) bands(rows []int64, f func(some []int64, col int64, wide int) error) error {
	high := max(1, chunk/max(1, d.width))
	for len(rows) > 0 && d.width > 0 {
		n := 1
		for n < min(high, len(rows)) && rows[n] == rows[n-1]+1 {
			n++
		}
		for lo := 0; lo < d.width; lo += chunk {
			if err := f(rows[:n], d.at.Cols.Lo+int64(lo), min(chunk, d.width-lo)); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	return nil
}

// Pick implements psf.Cells.
func (d *dense[T]) Pick(rows, cols []int64, f func(c *psf.Chunk[T]) error) error {
	var s scratch[T]
	for len(cols) > 0 {
		c := s.chunk(rows, cols[:min(len(cols), s.columns(rows))])
		cols = cols[len(c.Cols):]
		for i, row := range rows {
			for j, col := range c.Cols {
				if at := d.cell(row, col); d.packed == nil {
					c.Rows[i][j] = d.val[at]
				} else {
					d.packed.load(c.Rows[i][j:j+1], at)
				}
			}
		}
		if err := f(c); err != nil {
			return err
		}
		for i, row := range rows {
			for j, col := range c.Cols {
				at := d.cell(row, col)
				d.keep(0, at, at+1)
				if d.packed == nil {
					d.val[at] = c.Rows[i][j]
				} else {
					d.packed.store(at, c.Rows[i][j:j+1])
				}
			}
		}
	}
	return nil
}

// Value implements psf.Cells.
func (d *dense[T]) Value(int64) T { return 0 }

// SetValue implements psf.Cells.
func (d *dense[T]) SetValue(int64, T) {}

// Drop implements psf.Cells.
func (d *dense[T]) Drop([]int64) {}

// scratch is memory for chunks that are copies.
type scratch[T number] struct {
	c    psf.Chunk[T]
	val  []T
	keys []int64
	rows []uint32
}

// columns is how many columns of the rows come at a time.
func (s *scratch[T]) columns(rows []int64) int { return max(block, chunk/max(1, len(rows))) }

// chunk is a chunk with room for the cells of the rows at the columns.
func (s *scratch[T]) chunk(rows, cols []int64) *psf.Chunk[T] {
	c := s.room(rows, len(cols))
	c.Cols = cols
	return c
}

// room is a chunk with room for the cells of the rows at n columns.
func (s *scratch[T]) room(rows []int64, n int) *psf.Chunk[T] {
	s.val = grown(s.val, n*len(rows))
	s.c.IDs, s.c.All, s.c.Rows = rows, s.val, s.c.Rows[:0]
	for i := range rows {
		s.c.Rows = append(s.c.Rows, s.val[i*n:(i+1)*n:(i+1)*n])
	}
	return &s.c
}

// Together implements psf.Cells.
func (k *keyed[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	return k.chunks(rows, changed, func(c *psf.Chunk[T]) error {
		c.All = nil
		return f(c)
	})
}

// Apart implements psf.Cells.
func (k *keyed[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	changed := 0
	if change {
		changed = len(rows)
	}
	return k.chunks(rows, changed, f)
}

// chunks calls f for copies of the cells of all columns, in the order of the index, and puts back the last so many rows.
func (k *keyed[T]) chunks(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	var s scratch[T]
	var err error
	if len(rows) == 0 {
		return nil
	}
	most := s.columns(rows)
	some := func() {
		if err == nil && len(s.keys) > 0 {
			err = k.visit(&s, rows, changed, f)
		}
		s.keys, s.rows = s.keys[:0], s.rows[:0]
	}
	k.index.scan(0, allPoints, func(at slot) {
		s.keys, s.rows = append(s.keys, int64(at.key)), append(s.rows, at.row)
		if len(s.keys) == most {
			some()
		}
	})
	some()
	return err
}

// visit calls f for copies of the cells of some columns, whose rows in the slab are known, and puts back the last so many rows.
func (k *keyed[T]) visit(s *scratch[T], rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	c := s.chunk(rows, s.keys)
	if k.slab.packed != nil {
		return k.visitPacked(s, c, changed, f)
	}
	stride := k.slab.stride
	for lo := 0; lo < len(s.rows); lo += block {
		if ahead := lo + block; ahead < len(s.rows) {
			k.slab.fetch(s.rows[ahead:min(ahead+block, len(s.rows))], 0, k.rows)
		}
		k.slab.need(s.rows[lo:min(lo+block, len(s.rows))], false)
		for i, row := range rows {
			from, to := k.slab.val[row-k.at.Rows.Lo:], c.Rows[i][lo:min(lo+block, len(s.rows))]
			for j := range to {
				to[j] = from[int(s.rows[lo+j])*stride]
			}
			k.freshen(to, s.rows[lo:lo+len(to)], int(row-k.at.Rows.Lo), 1)
		}
	}
	if err := k.call(f, c); err != nil || changed == 0 {
		return err
	}
	k.prepareAll(s.rows, func(lo int, some []uint32) {
		for i := len(rows) - changed; i < len(rows); i++ {
			to, from := k.slab.val[rows[i]-k.at.Rows.Lo:], c.Rows[i][lo:][:len(some)]
			for j, v := range from {
				to[int(some[j])*stride] = v
			}
		}
	})
	return k.failed()
}

// call calls f for what was read, unless some of it is missing.
func (k *keyed[T]) call(f func(c *psf.Chunk[T]) error, c *psf.Chunk[T]) error {
	if err := k.failed(); err != nil {
		return err
	}
	return f(c)
}

// Pick implements psf.Cells.
func (k *keyed[T]) Pick(rows, cols []int64, f func(c *psf.Chunk[T]) error) error {
	var s scratch[T]
	for len(cols) > 0 && len(rows) > 0 {
		s.keys = cols[:min(len(cols), s.columns(rows))]
		cols = cols[len(s.keys):]
		s.rows = s.rows[:0]
		if err := k.allow(s.keys, true); err != nil {
			return err
		}
		var w walk
		for k.begin(&w, s.keys, makeAll); k.next(&w); {
			s.rows = append(s.rows, w.rows()...)
		}
		if w.err != nil {
			return w.err
		}
		if err := k.visit(&s, rows, len(rows), f); err != nil {
			return err
		}
	}
	return nil
}

// Value implements psf.Cells. Row 0 of the slab, which stands for all columns that are not there, has these values.
func (k *keyed[T]) Value(row int64) T { return k.slab.open(0)[row-k.at.Rows.Lo] }

// SetValue implements psf.Cells. A zero is +0: that of a row is the same whether the values of others are kept or not.
func (k *keyed[T]) SetValue(row int64, v T) {
	val := k.slab.open(0)
	val[row-k.at.Rows.Lo] = v + 0
	k.slab.shut(0, val)
	k.valued = slices.ContainsFunc(val[:k.rows], func(v T) bool { return v != 0 })
}

// Drop implements psf.Cells.
func (k *keyed[T]) Drop(cols []int64) { k.remove(cols) }
