package angel

import (
	"fmt"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// columnJob is some columns of a block with their values for all saved rows.
type columnJob[T Number] struct {
	from, n int64 // numbers of the columns within the block
	buf     []byte
	present bitmap
	room    records[T]
}

// columnsOf is what a block has for the given rows: n columns, the listed ones or all from the block's first on, and the
// function that fills in the values of those in r, the first of which is number from; it marks what is there, unless that
// is everything.
type columnsOf[T Number] struct {
	n    int64
	list []int64
	fill func(from int64, r *records[T], present *bitmap)
}

func addColumns[T Number](e *encoding, b matrix.Block, saved rowSet) error {
	rows := saved.list()
	if len(rows) == 0 {
		return nil
	}
	have := findColumns[T](b, rows)
	all := int64(e.part.saved.cols) + have.n
	if all > math.MaxInt32 {
		return fmt.Errorf("%d columns in %v: %w", all, e.part.cols, format.ErrLimit)
	}
	if err := e.reserve(have.n); err != nil {
		return err
	}
	each := max(1, slab/int64(len(rows)))
	next := int64(0)
	pair := pairOf[T](e.p.layout)
	return relay(workers(have.n*int64(len(rows))), func(j *columnJob[T]) (bool, error) {
		j.from, j.n = next, min(each, have.n-next)
		next += j.n
		return j.n > 0, e.ctx.Err()
	}, func(j *columnJob[T]) error {
		j.encode(e.p, pair, &b, &have, len(rows))
		return nil
	}, func(j *columnJob[T]) error {
		e.part.saved.cols += int32(j.n)
		e.present.join(&j.present, j.n*int64(len(rows)))
		return e.write(j.buf)
	})
}

func (j *columnJob[T]) encode(p *plan, pair pair[T], b *matrix.Block, have *columnsOf[T], width int) {
	j.buf, j.present = j.buf[:0], bitmap{bytes: j.present.bytes[:0]}
	r := &j.room
	r.width = width
	step := max(1, int64(batch/width))
	for from := j.from; from < j.from+j.n; from += step {
		k := int(min(step, j.from+j.n-from))
		if have.list != nil {
			r.col = have.list[from : from+int64(k)]
		} else {
			r.ids = sequence(r.ids, b.At.Cols.Lo+from, k)
			r.col = r.ids
		}
		r.val = slices.Grow(r.val[:0], k*width)[:k*width]
		have.fill(from, r, &j.present)
		j.buf = pair.put(j.buf, p.style, r)
	}
}

// findColumns says which columns the rows of a block have: all of dense data, the union of the rows' columns of sparse
// data.
func findColumns[T Number](b matrix.Block, rows []int64) columnsOf[T] {
	w := len(rows)
	at := make([]int64, w) // rows counted from the block's first
	for i, row := range rows {
		at[i] = row - b.At.Rows.Lo
	}
	switch d := b.Data.(type) {
	case *matrix.Dense[T]:
		cols := b.At.Cols.Len()
		return columnsOf[T]{n: cols, fill: func(from int64, r *records[T], _ *bitmap) {
			for i, row := range at {
				for k, v := range d.Val[row*cols+from:][:len(r.col)] {
					r.val[k*w+i] = v
				}
			}
		}}
	case *matrix.Cols[T]:
		high := b.At.Rows.Len()
		return columnsOf[T]{n: int64(len(d.Idx)), list: d.Idx, fill: func(from int64, r *records[T], _ *bitmap) {
			for k := range r.col {
				for i, row := range at {
					r.val[k*w+i] = d.Val[(from+int64(k))*high+row]
				}
			}
		}}
	case *matrix.CSR[T]:
		return csrColumns(d, at)
	}
	return columnsOf[T]{}
}

func csrColumns[T Number](d *matrix.CSR[T], rows []int64) columnsOf[T] {
	var union []int64
	for _, row := range rows {
		union = append(union, d.Idx[d.Ptr[row]:d.Ptr[row+1]]...)
	}
	if len(rows) > 1 {
		slices.Sort(union)
		union = slices.Compact(union)
	}
	total := 0
	for _, row := range rows {
		total += d.Ptr[row+1] - d.Ptr[row]
	}
	partial := total < len(union)*len(rows)
	return columnsOf[T]{n: int64(len(union)), list: union, fill: func(_ int64, r *records[T], present *bitmap) {
		clear(r.val)
		first := present.n
		if partial {
			present.grow(int64(len(r.val)))
		}
		for i, row := range rows {
			idx := d.Idx[d.Ptr[row]:d.Ptr[row+1]]
			at, _ := slices.BinarySearch(idx, r.col[0])
			for k, id := range r.col {
				if at < len(idx) && idx[at] == id {
					r.val[k*len(rows)+i] = d.Val[d.Ptr[row]+at]
					if at++; partial {
						present.set(first + int64(k*len(rows)+i))
					}
				}
			}
		}
	}}
}
