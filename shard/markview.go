package shard

import (
	"errors"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// visitor has the owner of the shard do something, and waits for it.
type visitor func(read func() error) error

// markView is a mark as functions see it.
type markView struct {
	view
	absent int64
	cells  any
}

// View is what the mark has as a get function sees it that runs while the partition changes: visit has the owner of the shard
// copy some cells, and whoever goes through them does the rest. It is for one pass over the cells, by Together or Apart, and
// nothing can be changed. id is the partition's number among those of its matrix.
func (m *Mark) View(id int, visit func(read func() error) error) psf.View {
	v := view{m.s, id}
	stored, cells := m.mark.view(m.absent, visit)
	return markView{v, v.absentBeside(int64(stored)), cells}
}

// Absent implements psf.View.
func (v markView) Absent() int64 { return v.absent }

// Cells implements psf.View.
func (v markView) Cells() any { return v.cells }

// past is what the cells of both kinds of marks have.
type past[T number] struct {
	visit  visitor
	rows   matrix.Range
	absent []T // of each row; nil: all are 0
}

func newPast[T number](visit visitor, rows matrix.Range, absent []byte) past[T] {
	val, _ := wire.Numbers[T](absent) // they were made here
	return past[T]{visit, rows, val}
}

var errPast = errors.New("the cells are those of a moment that has passed, want nothing but to read them")

// Pick implements psf.Cells: it would make columns.
func (p *past[T]) Pick([]int64, []int64, func(c *psf.Chunk[T]) error) error { return errPast }

// Value implements psf.Cells.
func (p *past[T]) Value(row int64) T {
	if len(p.absent) == 0 {
		return 0
	}
	return p.absent[row-p.rows.Lo]
}

// SetValue implements psf.Cells: there is nothing that it could change.
func (p *past[T]) SetValue(int64, T) {}

// Drop implements psf.Cells, as SetValue does.
func (p *past[T]) Drop([]int64) {}

// pastDense is the cells of a dense partition at a mark.
type pastDense[T number] struct {
	past[T]
	m *denseMark[T]
}

func (m *denseMark[T]) view(absent []byte, visit visitor) (int, any) {
	return 0, &pastDense[T]{newPast[T](visit, m.d.at.Rows, absent), m}
}

// Together implements psf.Cells.
func (p *pastDense[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	if changed > 0 {
		return errPast
	}
	var s scratch[T]
	d := p.m.d
	for lo := 0; lo < d.width && len(rows) > 0; lo += s.columns(rows) {
		c := s.room(rows, min(s.columns(rows), d.width-lo))
		c.Col = d.at.Cols.Lo + int64(lo)
		err := p.visit(func() error {
			for i, row := range rows {
				p.m.cells(c.Rows[i], 0, d.cell(row, c.Col))
			}
			return nil
		})
		if c.All = nil; err == nil {
			err = f(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Apart implements psf.Cells.
func (p *pastDense[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	if change {
		return errPast
	}
	var s scratch[T]
	return p.m.d.bands(rows, func(some []int64, col int64, wide int) error {
		c := s.room(some, wide)
		c.Col = col
		at := matrix.At(some[0], some[len(some)-1]+1, col, col+int64(wide))
		if err := p.visit(func() error { return p.m.readRect(wire.View(c.All), at, 0) }); err != nil {
			return err
		}
		return f(c)
	})
}

// pastKeyed is the cells of a sparse partition at a mark.
type pastKeyed[T number] struct {
	past[T]
	m *keyedMark[T]
}

func (m *keyedMark[T]) view(absent []byte, visit visitor) (int, any) {
	return m.keys, &pastKeyed[T]{newPast[T](visit, m.k.at.Rows, absent), m}
}

// Together implements psf.Cells.
func (p *pastKeyed[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	return p.chunks(rows, changed > 0, func(c *psf.Chunk[T]) error {
		c.All = nil
		return f(c)
	})
}

// Apart implements psf.Cells.
func (p *pastKeyed[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	return p.chunks(rows, change, f)
}

// chunks calls f for the cells of all columns, in the order of their hashes.
func (p *pastKeyed[T]) chunks(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	if change {
		return errPast
	}
	var s scratch[T]
	for len(rows) > 0 {
		var c *psf.Chunk[T]
		err := p.visit(func() error {
			c = s.chunk(rows, p.m.list(s.columns(rows)))
			return p.m.each(c.Cols, p.m.k.rows, ofColumns{}, func(i int, was []T) {
				for r, row := range rows {
					c.Rows[r][i] = was[row-p.rows.Lo]
				}
			})
		})
		if err != nil || len(c.Cols) == 0 {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}
