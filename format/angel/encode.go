package angel

import (
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"thole/format"
	"thole/matrix"
)

// slab is how many values are turned into bytes at a time.
const slab = 1 << 14

// sink collects the bytes of a partition and writes them in large pieces.
type sink struct {
	w   io.Writer
	buf []byte
	n   int64 // bytes before buf
	sum uint32
}

func (s *sink) place() int64 { return s.n + int64(len(s.buf)) }

// flush writes what was collected if it is at least least bytes.
func (s *sink) flush(least int) error {
	if len(s.buf) < least || len(s.buf) == 0 {
		return nil
	}
	s.sum = crc32.Update(s.sum, castagnoli, s.buf)
	s.n += int64(len(s.buf))
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// encode writes the saved rows of a block, whose data are *Dense, *CSR or, for column formats, *Cols, and describes
// them.
func (p *plan) encode(w io.Writer, b matrix.Block, rows []int64) (partMeta, error) {
	part := partMeta{rows: b.At.Rows, cols: b.At.Cols}
	s := &sink{w: w}
	var err error
	switch b.Data.DType() {
	case matrix.F64:
		err = encode[float64](p, s, b, rows, &part)
	case matrix.F32:
		err = encode[float32](p, s, b, rows, &part)
	case matrix.I64:
		err = encode[int64](p, s, b, rows, &part)
	case matrix.I32:
		err = encode[int32](p, s, b, rows, &part)
	default:
		err = fmt.Errorf("element type %v: %w", b.Data.DType(), format.ErrLossy)
	}
	if err == nil {
		err = s.flush(0)
	}
	part.size, part.sum, part.hasSum = s.n, s.sum, p.sums
	return part, err
}

func encode[T Number](p *plan, s *sink, b matrix.Block, rows []int64, part *partMeta) error {
	if p.layout.column {
		return encodeColumns[T](p, s, b, rows, part)
	}
	part.saved.rows = int32(len(rows))
	r := &records[T]{width: 1}
	pair := pairOf[T](p.layout)
	for _, row := range rows {
		off, n := s.place(), 0
		for chunk := range rowSlabs(b, row, r) {
			if p.layout.rowID {
				r.row = slices.Grow(r.row[:0], len(r.val))[:len(r.val)]
				for i := range r.row {
					r.row[i] = int32(row)
				}
			}
			n += chunk
			s.buf = pair.put(s.buf, p.style, r)
			if err := s.flush(window); err != nil {
				return err
			}
		}
		if n > math.MaxInt32 {
			return fmt.Errorf("row %d has %d values in %v: %w", row, n, b.At, format.ErrLimit)
		}
		part.rowMetas = append(part.rowMetas, rowMeta{id: int32(row), off: off, n: int32(n)})
		part.nnz += int64(n)
	}
	return nil
}

// rowSlabs fills r with the cells of a row, a slab at a time.
func rowSlabs[T Number](b matrix.Block, row int64, r *records[T]) func(yield func(n int) bool) {
	return func(yield func(n int) bool) {
		var val []T
		var idx []int64
		i := row - b.At.Rows.Lo
		switch d := b.Data.(type) {
		case *matrix.Dense[T]:
			cols := b.At.Cols.Len()
			val = d.Val[i*cols : (i+1)*cols]
		case *matrix.CSR[T]:
			val, idx = d.Val[d.Ptr[i]:d.Ptr[i+1]], d.Idx[d.Ptr[i]:d.Ptr[i+1]]
		}
		for from := 0; from < len(val); from += slab {
			r.val = val[from:min(from+slab, len(val))]
			if idx != nil {
				r.col = idx[from : from+len(r.val)]
			} else {
				r.col = sequence(r.col, b.At.Cols.Lo+int64(from), len(r.val))
			}
			if !yield(len(r.val)) {
				return
			}
		}
	}
}

// sequence fills n ids from first on.
func sequence(into []int64, first int64, n int) []int64 {
	into = slices.Grow(into[:0], n)[:n]
	for i := range into {
		into[i] = first + int64(i)
	}
	return into
}

func encodeColumns[T Number](p *plan, s *sink, b matrix.Block, rows []int64, part *partMeta) error {
	pair := pairOf[T](p.layout)
	columns := 0
	var err error
	for r := range columnSlabs[T](b, rows) {
		columns += len(r.col)
		s.buf = pair.put(s.buf, p.style, r)
		if err = s.flush(window); err != nil {
			return err
		}
	}
	if columns > math.MaxInt32 {
		return fmt.Errorf("%d columns in %v: %w", columns, b.At, format.ErrLimit)
	}
	part.saved = counts{cols: int32(columns), elems: int32(len(rows))}
	part.nnz = int64(columns) * int64(len(rows))
	for _, row := range rows {
		part.rowMetas = append(part.rowMetas, rowMeta{id: int32(row), off: -1, n: int32(columns)})
	}
	return nil
}

// columnSlabs yields the columns of a block with their values for the given rows, a slab at a time: every column of
// dense data, the union of the rows' columns of sparse data.
func columnSlabs[T Number](b matrix.Block, rows []int64) func(yield func(*records[T]) bool) {
	return func(yield func(*records[T]) bool) {
		if len(rows) == 0 {
			return
		}
		r := &records[T]{width: len(rows)}
		fill, ids := columnSource[T](b, rows)
		n := max(1, slab/len(rows))
		for from := int64(0); from < ids.n; from += int64(n) {
			k := int(min(int64(n), ids.n-from))
			if ids.list != nil {
				r.col = append(r.col[:0], ids.list[from:from+int64(k)]...)
			} else {
				r.col = sequence(r.col, b.At.Cols.Lo+from, k)
			}
			r.val = slices.Grow(r.val[:0], k*len(rows))[:k*len(rows)]
			fill(from, r)
			if !yield(r) {
				return
			}
		}
	}
}

// columnIDs are n ids: the list, or all from the block's first on.
type columnIDs struct {
	n    int64
	list []int64
}

// columnSource gives the ids of a block's columns, and the function that fills the values of those in r, the first of
// which is number from. It is called with ascending columns.
func columnSource[T Number](b matrix.Block, rows []int64) (fill func(from int64, r *records[T]), ids columnIDs) {
	w := len(rows)
	at := make([]int64, w) // rows counted from the block's first
	for i, row := range rows {
		at[i] = row - b.At.Rows.Lo
	}
	switch d := b.Data.(type) {
	case *matrix.Dense[T]:
		cols := b.At.Cols.Len()
		return func(from int64, r *records[T]) {
			for i, row := range at {
				for k, v := range d.Val[row*cols+from:][:len(r.col)] {
					r.val[k*w+i] = v
				}
			}
		}, columnIDs{n: cols}
	case *matrix.Cols[T]:
		high := b.At.Rows.Len()
		return func(from int64, r *records[T]) {
			for k := range r.col {
				for i, row := range at {
					r.val[k*w+i] = d.Val[(from+int64(k))*high+row]
				}
			}
		}, columnIDs{n: int64(len(d.Idx)), list: d.Idx}
	case *matrix.CSR[T]:
		return csrColumns(d, at)
	}
	return nil, columnIDs{}
}

func csrColumns[T Number](d *matrix.CSR[T], rows []int64) (fill func(from int64, r *records[T]), ids columnIDs) {
	var union []int64
	next := make([]int, len(rows))
	for i, row := range rows {
		next[i] = d.Ptr[row]
		union = append(union, d.Idx[d.Ptr[row]:d.Ptr[row+1]]...)
	}
	if len(rows) > 1 {
		slices.Sort(union)
		union = slices.Compact(union)
	}
	return func(_ int64, r *records[T]) {
		clear(r.val)
		for i, row := range rows {
			for k, id := range r.col {
				if next[i] < d.Ptr[row+1] && d.Idx[next[i]] == id {
					r.val[k*len(rows)+i] = d.Val[next[i]]
					next[i]++
				}
			}
		}
	}, columnIDs{n: int64(len(union)), list: union}
}
