package shard

import (
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
)

// filled goes through the columns of a table that stores some rows, and gives f the cells of all rows that are asked for: 0 in those that
// the columns do not store. What f changes there is lost.
func filled[T number](
	rows []int64, stored matrix.Range, f func(c *psf.Chunk[T]) error, chunks func(rows []int64, f func(c *psf.Chunk[T]) error) error,
) error {
	has := slices.DeleteFunc(slices.Clone(rows), func(row int64) bool { return !stored.Has(row) })
	if len(has) == len(rows) {
		return chunks(rows, f)
	}
	if len(has) == 0 {
		has = []int64{stored.Lo} // for its columns
	}
	var s scratch[T]
	return chunks(has, func(c *psf.Chunk[T]) error {
		n := len(c.Rows[0])
		all := s.room(rows, n)
		all.Cols, all.Col = c.Cols, c.Col
		clear(all.All)
		eachStored(rows, stored, func(i, j int) { copy(all.Rows[i], c.Rows[j]) })
		if err := f(all); err != nil {
			return err
		}
		eachStored(rows, stored, func(i, j int) { copy(c.Rows[j], all.Rows[i]) })
		return nil
	})
}

// eachStored calls f for each of the rows that is stored: its place among all, and among those that are.
func eachStored(rows []int64, stored matrix.Range, f func(i, j int)) {
	j := 0
	for i, row := range rows {
		if stored.Has(row) {
			f(i, j)
			j++
		}
	}
}

// Together implements psf.Cells.
func (r *ragged[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	return r.chunks(rows, changed, func(c *psf.Chunk[T]) error {
		c.All = nil
		return f(c)
	})
}

// Apart implements psf.Cells.
func (r *ragged[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	changed := 0
	if change {
		changed = len(rows)
	}
	return r.chunks(rows, changed, f)
}

// chunks calls f for copies of the cells of all columns, one table after the other, and puts back the last so many rows.
func (r *ragged[T]) chunks(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	if len(rows) == 0 {
		return nil
	}
	for _, k := range r.tables {
		back := 0
		for _, row := range rows[len(rows)-changed:] {
			if k.at.Rows.Has(row) {
				back++
			}
		}
		err := filled(rows, k.at.Rows, f, func(rows []int64, f func(c *psf.Chunk[T]) error) error { return k.chunks(rows, back, f) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Pick implements psf.Cells: the columns keep their order, so those of one table come together that follow each other.
func (r *ragged[T]) Pick(rows, cols []int64, f func(c *psf.Chunk[T]) error) error {
	for len(cols) > 0 {
		at, n := r.table(cols[0]), 1
		for n < len(cols) && r.table(cols[n]) == at {
			n++
		}
		k, some := r.tables[at], cols[:n]
		err := filled(rows, k.at.Rows, f, func(rows []int64, f func(c *psf.Chunk[T]) error) error { return k.Pick(rows, some, f) })
		if err != nil {
			return err
		}
		cols = cols[n:]
	}
	return nil
}

// Value implements psf.Cells.
func (r *ragged[T]) Value(row int64) T {
	if k := r.tables[0]; k.at.Rows.Has(row) {
		return k.Value(row)
	}
	return 0
}

// SetValue implements psf.Cells: columns that do not store the row stay 0 there.
func (r *ragged[T]) SetValue(row int64, v T) {
	for _, k := range r.tables {
		if k.at.Rows.Has(row) {
			k.SetValue(row, v)
		}
	}
}

// Drop implements psf.Cells.
func (r *ragged[T]) Drop(cols []int64) { r.remove(cols) }
