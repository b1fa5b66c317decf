package angel

import (
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// columns yields the run's columns, as many at a time as fit a block.
func (w *walk[T]) columns() error {
	from := w.u.cols.Lo
	for done := int64(0); done < w.u.records; {
		n := min(w.u.records-done, w.most())
		r, err := w.fetch(n, &counted{first: from, cols: math.MaxInt64})
		if err != nil {
			return err
		}
		at := matrix.Range{Lo: from, Hi: w.u.cols.Hi}
		spread := !w.s.ranged && w.p.present == nil // what comes is put in order where it is received
		if r.col == nil {
			r.col = sequence(nil, from, int(n))
		} else if err := w.orderColumns(r, at, n == w.u.records || spread); err != nil {
			return err
		}
		if done+n < w.u.records && !spread {
			at.Hi = r.col[n-1] + 1
		}
		if w.p.present == nil {
			err = w.emitColumns(at, r)
		} else {
			err = w.emitPresent(at, r, w.u.skipped+done)
		}
		if err != nil {
			return err
		}
		if done += n; !spread {
			from = at.Hi
		}
	}
	return nil
}

// orderColumns brings columns into order, if they are all of the run, and checks their ids.
func (w *walk[T]) orderColumns(r *records[T], at matrix.Range, all bool) error {
	if all && w.p.present == nil && !slices.IsSorted(r.col) {
		w.stray = true
		sortColumns(r)
	}
	return w.checkIDs(r.col, at)
}

// emitColumns yields columns that lie at the range, one block for each range of saved rows.
func (w *walk[T]) emitColumns(at matrix.Range, r *records[T]) error {
	rows := w.u.rows.rows(0, w.u.rows.len())
	for first := 0; first < len(rows); {
		last := runEnd(rows, first)
		place := matrix.Rect{Rows: matrix.Range{Lo: int64(rows[first].id), Hi: int64(rows[last-1].id) + 1}, Cols: at}
		val := r.val
		if k := last - first; k < r.width {
			val = make([]T, 0, k*len(r.col))
			for c := range r.col {
				val = append(val, r.val[c*r.width+first:c*r.width+last]...)
			}
		}
		b := matrix.Block{At: place, Data: &matrix.Cols[T]{Idx: r.col[:len(r.col):len(r.col)], Val: val}}
		if len(val) > 0 && place.Rows.Len() == 1 && int64(len(val)) == at.Len() {
			b.Data = &matrix.Dense[T]{Val: val}
		}
		if last < len(rows) || first > 0 {
			b = b.Clone() // the ids belong to one block only
		}
		if err := w.emit(b); err != nil {
			return err
		}
		first = last
	}
	return nil
}

// emitPresent yields the cells of columns that are there, as the partition's bitmap says: the columns are those from
// number skipped on.
func (w *walk[T]) emitPresent(at matrix.Range, r *records[T], skipped int64) error {
	have := bitmap{bytes: w.p.present}
	rows := w.u.rows.rows(0, w.u.rows.len())
	for first := 0; first < len(rows); {
		last := runEnd(rows, first)
		d := &matrix.CSR[T]{Ptr: make([]int, 1, last-first+1)}
		for i := first; i < last; i++ {
			for k, id := range r.col {
				cell := k*r.width + i
				switch {
				case have.has(skipped*int64(r.width) + int64(cell)):
					d.Idx, d.Val = append(d.Idx, id), append(d.Val, r.val[cell])
				case r.val[cell] != 0:
					return &wire.At{Off: w.p.place, Err: fmt.Errorf("partition %d: row %d, column %d has a value and is absent",
						w.p.id, rows[i].id, id)}
				}
			}
			d.Ptr = append(d.Ptr, len(d.Idx))
		}
		place := matrix.Rect{Rows: matrix.Range{Lo: int64(rows[first].id), Hi: int64(rows[last-1].id) + 1}, Cols: at}
		if err := w.emit(matrix.Block{At: place, Data: d}); err != nil {
			return err
		}
		first = last
	}
	return nil
}

// runEnd is the place behind the rows that follow rows[first] without a gap.
func runEnd(rows []rowMeta, first int) int {
	last := first + 1
	for last < len(rows) && rows[last].id == rows[last-1].id+1 {
		last++
	}
	return last
}
