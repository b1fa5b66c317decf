package ps

import (
	"maps"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// fold moves what waits in sums to the oplog, where it is cut for the servers.
func (c *Client) fold() {
	for _, m := range c.order {
		if m.sums == nil || m.sums.empty() && !m.repays() {
			continue
		}
		threshold := m.filter
		if c.leaving {
			threshold = unfiltered
		}
		m.collect() // what a refused change has put back comes before it
		if err := m.sums.fold(threshold); err != nil {
			_ = c.fail(err) // keys that were taken are those of the matrix
		}
	}
}

// repays reports whether what rounding lost is sent, though nothing waits in sums. A rule makes no step with it alone: the last of it
// is gone when the task leaves.
func (m *Matrix) repays() bool {
	bytes, full := m.sums.owed()
	switch {
	case bytes == 0:
		return false
	case m.c.leaving:
		return m.meta.Rule == ""
	case m.wire == matrix.Invalid:
		return true
	}
	return full && slices.ContainsFunc(m.c.oplog, func(d delta) bool { return d.m == m && !d.fixed && !d.sent })
}

// spareBytes is how much memory of a log is used again at most.
const spareBytes = 32 << 20

// unfiltered is the threshold of a matrix without a filter.
const unfiltered = -1

func (s *sumsOf[T]) fold(threshold float64) error {
	send := func(v T) bool { return !(float64(v) <= threshold && float64(v) >= -threshold) } // what is no number, too
	later := map[int64]*denseRow[T]{}
	_, full := s.owed()
	s.exact = full || s.m.wire == matrix.Invalid || s.m.c.leaving
	if s.exact {
		if err := s.repay(); err != nil {
			return err
		}
	}
	for _, l := range s.logs() {
		out := l
		if threshold >= 0 {
			if err := l.compact(&s.plan, s.m); err != nil {
				return err
			}
			out = l.split(send)
		} else if sentDense(&s.m.meta, int64(len(l.keys))) { // if most of them do not come again
			if err := l.compact(&s.plan, s.m); err != nil {
				return err
			}
			if sentDense(&s.m.meta, int64(len(l.keys))) && s.smallerDense(l) {
				s.whole(l)
				continue
			}
		}
		if err := s.send(out); err != nil {
			return err
		}
		if threshold < 0 && l.lump() > 1 && l.bytes() <= spareBytes {
			l.clear()
			s.spare = l
		}
	}
	for r, row := range s.rows {
		if threshold >= 0 {
			row = row.split(send)
		}
		if row.n > 0 {
			later[r] = row
		}
	}
	if threshold < 0 {
		s.rows, s.ones, s.tall, s.torn = map[int64]*denseRow[T]{}, map[int64]*keyLog[T]{}, nil, false
	} else {
		s.drop()
	}
	return s.sendRows(later)
}

// drop forgets rows and logs of which nothing stayed.
func (s *sumsOf[T]) drop() {
	maps.DeleteFunc(s.rows, func(_ int64, r *denseRow[T]) bool { return r.n == 0 })
	maps.DeleteFunc(s.ones, func(_ int64, l *keyLog[T]) bool { return len(l.keys) == 0 })
	s.tall = slices.DeleteFunc(s.tall, func(l *keyLog[T]) bool { return len(l.keys) == 0 })
}

// sentDense reports whether so many cells of a row are better sent with all the others, as zeros. An update rule must not see those,
// and a sparse matrix has no place for them.
func sentDense(m *matrix.Meta, n int64) bool {
	size := int64(m.DType.Size())
	return m.Layout == matrix.RowDense && (n == m.Cols || m.Rule == "" && fitsDense(m) && n*(8+size) >= m.Cols*size)
}

// send puts a log into the oplog, each key once.
func (s *sumsOf[T]) send(l *keyLog[T]) error {
	if len(l.keys) == 0 {
		return nil
	}
	as := matrix.Invalid
	if !s.exact && !s.m.oneBand() {
		if err := l.compact(&s.plan, s.m); err != nil {
			return err
		}
		as = s.roundLog(l)
	}
	if err := l.plan(&s.plan, s.m); err != nil {
		return err
	}
	s.m.keep(&s.plan, l.rows, 1, func(at *lumps, bytes []byte) {
		dst, _ := wire.Numbers[T](bytes) // a buffer begins at a multiple of 8, and so does what is reserved in it
		sum(at, dst, l.vals)
	})
	d := &s.m.c.oplog[len(s.m.c.oplog)-1]
	d.wire, d.exact = as, s.exact
	return nil
}

// blockBytes is about how much of several rows is put together for one message: rows beyond that are sent from where they are.
const blockBytes = 64 << 10

// sendRows puts rows into the oplog: those that are sent dense, of which some may follow each other, as blocks, and of others the
// cells that were touched.
func (s *sumsOf[T]) sendRows(rows map[int64]*denseRow[T]) error {
	order := slices.Sorted(maps.Keys(rows))
	most := max(1, blockBytes/max(1, s.rowBytes()))
	for lo := 0; lo < len(order); {
		first := rows[order[lo]]
		whole := sentDense(&s.m.meta, int64(first.n))
		hi := lo + 1
		for hi < len(order) && hi-lo < most && order[hi] == order[hi-1]+1 {
			next := rows[order[hi]]
			if sentDense(&s.m.meta, int64(next.n)) != whole || !whole && !slices.Equal(next.has, first.has) {
				break
			}
			hi++
		}
		at := matrix.Range{Lo: order[lo], Hi: order[hi-1] + 1}
		if whole {
			s.sendBlock(at, rows)
		} else if err := s.sendTouched(at, rows); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

func (s *sumsOf[T]) sendBlock(at matrix.Range, rows map[int64]*denseRow[T]) {
	as := matrix.Invalid
	if !s.exact {
		as = s.roundRows(at, rows)
	}
	val := rows[at.Lo].val
	if at.Len() > 1 {
		val = make([]T, 0, at.Len()*s.m.meta.Cols)
		for r := at.Lo; r < at.Hi; r++ {
			val = append(val, rows[r].val...)
		}
	}
	s.m.append(matrix.Block{At: matrix.Rect{Rows: at, Cols: s.m.meta.Rect().Cols}, Data: &matrix.Dense[T]{Val: val}})
	s.m.c.oplog[len(s.m.c.oplog)-1].wire = as
}

// sendTouched sends the touched cells of rows of which the same were touched.
func (s *sumsOf[T]) sendTouched(at matrix.Range, rows map[int64]*denseRow[T]) error {
	first := rows[at.Lo]
	l := &keyLog[T]{rows: at, keys: make([]int64, 0, first.n), vals: make([]T, 0, int64(first.n)*at.Len())}
	for i := range first.touched() {
		l.keys = append(l.keys, s.m.meta.ColLo+i)
		for r := at.Lo; r < at.Hi; r++ {
			l.vals = append(l.vals, rows[r].val[i])
		}
	}
	return s.send(l)
}
