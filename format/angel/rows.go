package angel

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// rows yields the run's rows: as many whole rows at a time as fit a block, and a longer row in pieces.
func (w *walk[T]) rows() error {
	most := w.most()
	left := w.u.rows
	for left.len() > 0 {
		k, n := left.fill(most)
		if k == 0 {
			if w.u.layout.rowID && left.len() > 1 {
				return w.strayRows(left, most)
			}
			if err := w.longRow(left.at(0), most); err != nil {
				return err
			}
			left = left.cut(1, left.len())
			continue
		}
		rows := left.rows(0, k)
		at := w.f.mark()
		r, err := w.fetch(n, &counted{rows: rows, first: w.u.cols.Lo, cols: w.u.cols.Len()})
		if err != nil {
			return err
		}
		if k < left.len() && len(r.row) > 0 && !inOrder(rows, r.row) { // rows may be anywhere among all
			w.f.rewind(at)
			return w.strayRows(left, most)
		}
		if err := w.emitRows(rows, w.u.cols, r); err != nil {
			return err
		}
		left = left.cut(k, left.len())
	}
	return nil
}

// strayRows yields rows that say themselves which they are, in any order, but each in one piece.
func (w *walk[T]) strayRows(rows span, most int64) error {
	next := w.order(rows)
	var group []rowMeta
	r := w.fresh(most, nil)
	flush := func() error {
		sort.Slice(group, func(i, j int) bool { return group[i].id < group[j].id })
		err := w.emitRows(group, w.u.cols, r)
		group, r = nil, w.fresh(most, nil)
		return err
	}
	for {
		row, ok, err := next()
		if err != nil || !ok {
			return errorsFirst(err, flush)
		}
		if int64(len(r.val))+int64(row.n) > most {
			if err := flush(); err != nil {
				return err
			}
		}
		if int64(row.n) > most {
			if err := w.longRow(row, most); err != nil {
				return err
			}
			continue
		}
		if err := w.t.take(r, int64(row.n), nil); err != nil {
			return err
		}
		group = append(group, row)
	}
}

// errorsFirst is err, or what the last step answers if there is none.
func errorsFirst(err error, last func() error) error {
	if err != nil {
		return err
	}
	return last()
}

// order gives the rows of the partition in the order of the data: as the row ids in the data say, else ascending.
func (w *walk[T]) order(rows span) func() (row rowMeta, ok bool, err error) {
	left := slices.DeleteFunc(rows.rows(0, rows.len()), func(r rowMeta) bool { return r.n == 0 })
	return func() (row rowMeta, ok bool, err error) {
		if len(left) == 0 {
			return row, false, nil
		}
		at := 0
		if w.u.layout.rowID {
			id, err := w.peekRow()
			if err != nil {
				return row, false, err
			}
			at = sort.Search(len(left), func(i int) bool { return left[i].id >= id })
			if at == len(left) || left[at].id != id {
				return row, false, &wire.At{Off: w.f.base, Err: fmt.Errorf("row %d, want another of partition %d", id, w.p.id)}
			}
		}
		row = left[at]
		if at == 0 { // the usual order, without moving the others
			left = left[1:]
		} else {
			left = slices.Delete(left, at, at+1)
		}
		return row, true, nil
	}
}

// peekRow is the row id of the next record, which stays.
func (w *walk[T]) peekRow() (int32, error) {
	var r records[T]
	r.width = 1
	for {
		if _, err := w.t.pair.take(w.f.input(w.style), &r, 1); err != nil {
			return 0, err
		}
		if len(r.row) > 0 {
			return r.row[0], nil
		}
		if w.f.off == w.f.end {
			return 0, &wire.At{Off: w.f.end, Err: wire.ErrTruncated}
		}
		if err := w.f.more(); err != nil {
			return 0, err
		}
	}
}

// longRow yields a row in pieces of at most most values. Its ids must be ascending, as they are in every normal save.
func (w *walk[T]) longRow(row rowMeta, most int64) error {
	from := w.u.cols.Lo
	for left := int64(row.n); left > 0; {
		n := min(left, most)
		r, err := w.fetch(n, &counted{rows: []rowMeta{row}, first: from, cols: math.MaxInt64})
		if err != nil {
			return err
		}
		left -= n
		at := matrix.Range{Lo: from, Hi: w.u.cols.Hi}
		for _, id := range r.row {
			if id != row.id {
				return &wire.At{Off: w.f.base, Err: fmt.Errorf("partition %d: a record of row %d among those of row %d", w.p.id, id, row.id)}
			}
		}
		switch {
		case r.col == nil && int64(row.n) != w.u.cols.Len() && !w.s.packed:
			return w.lostIDs(row)
		case r.col == nil:
			at.Hi = from + n
		default:
			w.shiftIDs(r.col)
			if err := w.checkIDs(r.col, at); err != nil {
				return err
			}
			if left > 0 {
				at.Hi = r.col[n-1] + 1
			}
		}
		piece := row
		piece.n = int32(n)
		if err := w.emitSorted([]rowMeta{piece}, at, r); err != nil {
			return err
		}
		from = at.Hi
	}
	return nil
}

func (w *walk[T]) shiftIDs(ids []int64) {
	if w.p.shift != 0 {
		for i := range ids {
			ids[i] += w.p.shift
		}
	}
}

func (w *walk[T]) lostIDs(row rowMeta) error {
	return &wire.At{Off: w.p.off, Err: fmt.Errorf("row %d has %d values of %d columns, %s does not say which (%s=accept takes the first): %w",
		row.id, row.n, w.u.cols.Len(), w.u.layout.name, optPacked, format.ErrLossy)}
}

// emitRows yields records of whole rows. rows are ascending; the records are in their order, or say themselves.
func (w *walk[T]) emitRows(rows []rowMeta, at matrix.Range, r *records[T]) error {
	if len(rows) == 0 {
		return nil
	}
	if w.u.layout.rowID && r.row != nil {
		if err := w.sortRows(rows, r); err != nil {
			return err
		}
	}
	switch {
	case !w.u.layout.colID:
		return w.emitPlain(rows, at, r)
	case r.col == nil: // counted
		return w.emitSorted(rows, at, r)
	}
	w.shiftIDs(r.col)
	from := 0
	for _, row := range rows {
		to := from + int(row.n)
		c := cells[T]{r.col[from:to], r.val[from:to]}
		w.stray = w.stray || !slices.IsSorted(c.col)
		c.sort() // a column that is there twice is found below
		if err := w.checkIDs(r.col[from:to], at); err != nil {
			return err
		}
		from = to
	}
	return w.emitSorted(rows, at, r)
}

// emitPlain yields rows without column ids: dense ones, or packed ones if the user wants them so.
func (w *walk[T]) emitPlain(rows []rowMeta, at matrix.Range, r *records[T]) error {
	for _, row := range rows {
		if int64(row.n) == at.Len() {
			continue
		}
		if !w.s.packed {
			return w.lostIDs(row)
		}
		r.col = make([]int64, 0, len(r.val))
	}
	if r.col != nil {
		for _, row := range rows {
			for i := range int64(row.n) {
				r.col = append(r.col, at.Lo+i)
			}
		}
	}
	return w.emitSorted(rows, at, r)
}

// emitSorted yields records whose rows and columns are in order, one block for each range of rows.
func (w *walk[T]) emitSorted(rows []rowMeta, at matrix.Range, r *records[T]) error {
	from := 0
	for first := 0; first < len(rows); {
		last := runEnd(rows, first)
		ptr := make([]int, 1, last-first+1)
		dense := true
		for _, row := range rows[first:last] {
			ptr = append(ptr, ptr[len(ptr)-1]+int(row.n))
			dense = dense && int64(row.n) == at.Len()
		}
		to := from + ptr[len(ptr)-1]
		b := matrix.Block{At: matrix.Rect{Rows: matrix.Range{Lo: int64(rows[first].id), Hi: int64(rows[last-1].id) + 1}, Cols: at}}
		val := r.val[from:to:to]
		if dense {
			b.Data = &matrix.Dense[T]{Val: val}
		} else {
			b.Data = &matrix.CSR[T]{Ptr: ptr, Idx: r.col[from:to:to], Val: val}
		}
		if err := w.emit(b); err != nil {
			return err
		}
		from, first = to, last
	}
	return nil
}
