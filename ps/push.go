package ps

import (
	"context"
	"fmt"
	"math"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// Push keeps a delta or gradient until the next Flush or Clock. It owns the block from then on (Increment copies). Blocks
// of any data are taken; cells that none of them has are left alone.
func (c *Client) Push(name string, grad matrix.Block) error {
	if err := c.begin(context.Background(), "push", nil); err != nil {
		return err
	}
	defer c.end()
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	return m.push(grad, true)
}

// Increment adds to the matrix: the delta is copied now and sent by Flush or Clock.
func (m *Matrix) Increment(delta matrix.Block) error {
	if err := m.c.begin(context.Background(), "increment", m); err != nil {
		return err
	}
	defer m.c.end()
	return m.push(delta, false)
}

// IncrementRows adds row i of the delta, whose rows are counted from 0, to row rows[i] of the matrix; rows in any order,
// a row may come several times. The delta is copied now and sent by Flush or Clock.
func (m *Matrix) IncrementRows(rows []int64, delta matrix.Block) error {
	if err := m.c.begin(context.Background(), "increment", m); err != nil {
		return err
	}
	defer m.c.end()
	if delta.Data == nil || delta.At.Rows != (matrix.Range{Hi: int64(len(rows))}) {
		return fmt.Errorf("ps: matrix %s: delta of rows %v, want [0,%d), one for each row", m.meta.Name, delta.At.Rows, len(rows))
	}
	for i, r := range rows {
		if _, err := m.row(r); err != nil {
			return fmt.Errorf("%w, at position %d", err, i)
		}
	}
	if err := m.check(delta, m.meta.Rect().Cols); err != nil {
		return err
	}
	for lo := 0; lo < len(rows); {
		hi := lo + 1
		for hi < len(rows) && rows[hi] == rows[hi-1]+1 {
			hi++
		}
		some := delta.Cut(matrix.Rect{Rows: matrix.Range{Lo: int64(lo), Hi: int64(hi)}, Cols: delta.At.Cols})
		some.At.Rows = matrix.Range{Lo: rows[lo], Hi: rows[hi-1] + 1}
		if err := m.push(some, true); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// check tells why a block is no delta of the matrix; where its columns may lie is said.
func (m *Matrix) check(b matrix.Block, cols matrix.Range) error {
	switch {
	case b.Data == nil:
		return fmt.Errorf("ps: matrix %s: delta without data", m.meta.Name)
	case !cols.Contains(b.At.Cols):
		return fmt.Errorf("ps: matrix %s: delta of columns %v, want some in %v", m.meta.Name, b.At.Cols, cols)
	case b.Data.DType() != m.meta.DType:
		return fmt.Errorf("ps: matrix %s: delta of %v, want %v", m.meta.Name, b.Data.DType(), m.meta.DType)
	}
	if err := b.Check(); err != nil {
		return fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	return nil
}

// push keeps the block, which is the client's from then on if it is owned.
func (m *Matrix) push(b matrix.Block, owned bool) error {
	whole := m.meta.Rect()
	if !whole.Contains(b.At) {
		return fmt.Errorf("ps: matrix %s: delta at %v, want one within %v", m.meta.Name, b.At, whole)
	}
	if err := m.check(b, whole.Cols); err != nil {
		return err
	}
	if b.At.Empty() || b.Data.NNZ() == 0 {
		return nil
	}
	if m.divisor > 1 {
		if !owned {
			b, owned = b.Clone(), true
		}
		b.Divide(m.divisor)
	}
	if _, keyed := b.Data.(matrix.Keyed); keyed || m.meta.Layout == matrix.RowSparse && m.gather == gatherAuto {
		return m.eachKeyed(b, m.pushSorted)
	}
	same, ok := m.direct(b.At, 0)
	switch {
	case !ok:
		return m.gathered().block(b)
	case same != nil && matrix.Add(same.block, b) == nil:
		return nil
	}
	if !owned {
		b = b.Clone()
	}
	m.append(b)
	return nil
}

// eachKeyed gives what a block has by ascending keys: columns together, of anything else row after row.
func (m *Matrix) eachKeyed(b matrix.Block, f func(rows matrix.Range, keys []int64, values []byte) error) error {
	if d, ok := b.Data.(matrix.Keyed); ok && int64(d.NNZ()) == b.At.Rows.Len()*int64(len(d.Keys())) && ascending(d.Keys()) {
		values, _ := wire.ViewAny(d.Values())
		return f(b.At.Rows, d.Keys(), values)
	}
	rows, csr := b.Compact()
	d := csr.Data.(matrix.Rowed)
	values, size := wire.ViewAny(d.Values())
	ends := d.Ends()
	for i, r := range rows {
		lo, hi := ends[i], ends[i+1]
		if err := f(matrix.Range{Lo: r, Hi: r + 1}, d.Keys()[lo:hi], values[lo*size:hi*size]); err != nil {
			return err
		}
	}
	return nil
}

// pushSorted keeps values of ascending keys for the rows.
func (m *Matrix) pushSorted(rows matrix.Range, keys []int64, values []byte) error {
	if len(keys) == 0 {
		return nil
	}
	if _, ok := m.direct(matrix.Rect{Rows: rows, Cols: m.meta.Rect().Cols}, len(keys)); !ok {
		return m.gathered().keyed(rows, keys, nil, values)
	}
	return m.keepSorted(rows, keys, values)
}

// keepSorted is pushSorted for values that are sent as they came.
func (m *Matrix) keepSorted(rows matrix.Range, keys []int64, values []byte) error {
	if len(keys) == 0 {
		return nil
	}
	k := m.c.key(0)
	if err := k.plan(m.parts, m.meta.Rect().Cols, keys); err != nil {
		return fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	lump := len(values) / len(keys)
	m.keep(k, rows, lump/int(rows.Len()), func(l *lumps, dst []byte) { l.gather(dst, values) })
	return nil
}

// keep reserves room for values of the planned keys for the rows, and lets fill put them there: those of one run after the
// other. A number of an input is unit elements.
func (m *Matrix) keep(k *Keys, rows matrix.Range, unit int, fill func(l *lumps, dst []byte)) {
	size := m.meta.DType.Size()
	d := delta{m: m, at: matrix.Rect{Rows: rows, Cols: m.meta.Rect().Cols}}
	for band := range m.parts.Bands() {
		at := matrix.Rect{Rows: m.parts.Band(band).Intersect(rows), Cols: m.meta.Rect().Cols}
		high := int(at.Rows.Len())
		if high == 0 {
			continue
		}
		l := lumps{k: k, lump: int(rows.Len()) * unit, lo: int(at.Rows.Lo-rows.Lo) * unit, n: high * unit}
		for r := range k.runs(m.parts, band, math.MaxInt) {
			s := share{server: r.server, part: m.part(rpc.KindKeys, r.server, at)}
			s.part.Groups = append([]rpc.Group(nil), r.groups...)
			a := m.c.arenas[r.server]
			s.keys = a.reserve(8 * (r.hi - r.lo))
			s.values = a.reserve(size * high * (r.hi - r.lo))
			copy(a.in(s.keys), wire.View(k.unique[r.lo:r.hi]))
			l.run = r
			fill(&l, a.in(s.values))
			d.shares = append(d.shares, s)
		}
	}
	if d.shares != nil {
		m.c.oplog = append(m.c.oplog, d)
	}
}
