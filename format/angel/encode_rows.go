package angel

import (
	"fmt"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// rowOf is the cells of one row of a block: values, and their columns unless they are all of the block.
func rowOf[T Number](b *matrix.Block, row int64) (val []T, idx []int64) {
	i := row - b.At.Rows.Lo
	switch d := b.Data.(type) {
	case *matrix.Dense[T]:
		cols := b.At.Cols.Len()
		return d.Val[i*cols : (i+1)*cols], nil
	case *matrix.CSR[T]:
		return d.Val[d.Ptr[i]:d.Ptr[i+1]], d.Idx[d.Ptr[i]:d.Ptr[i+1]]
	}
	return nil, nil
}

// rowJob is a part of the rows of a block: several whole rows, or a stretch of one.
type rowJob[T Number] struct {
	rows []int64
	from int // the first value, and how many; -1: whole rows
	n    int
	offs []int // where each row begins in buf
	lens []int // values of each row
	buf  []byte
	room records[T]
}

// rowJobs cuts the rows of a block into jobs.
type rowJobs[T Number] struct {
	b    *matrix.Block
	left rowSet
	row  int64 // the next row, the first that is left
	from int   // its next value
}

func (c *rowJobs[T]) next() {
	c.row, c.from = c.row+1, 0
	if c.row == c.left[0].Hi {
		c.start(c.left[1:])
	}
}

func (c *rowJobs[T]) start(rows rowSet) {
	if c.left = rows; len(rows) > 0 {
		c.row = rows[0].Lo
	}
}

func (c *rowJobs[T]) take(j *rowJob[T]) bool {
	j.rows, j.from, j.n = j.rows[:0], 0, -1
	for count := 0; len(c.left) > 0; c.next() {
		val, _ := rowOf[T](c.b, c.row)
		left := len(val) - c.from
		if count += left; len(j.rows) > 0 && (count > slab || len(j.rows) == slab) {
			return true
		}
		j.rows = append(j.rows, c.row)
		if left > slab || c.from > 0 {
			j.from, j.n = c.from, min(left, slab)
			if c.from += j.n; c.from == len(val) {
				c.next()
			}
			return true
		}
	}
	return len(j.rows) > 0
}

func addRows[T Number](e *encoding, b matrix.Block, rows rowSet) error {
	total := int64(0)
	for row := range rows.all() {
		val, _ := rowOf[T](&b, row)
		total += int64(len(val))
	}
	if err := e.reserve(total); err != nil {
		return err
	}
	jobs := rowJobs[T]{b: &b}
	jobs.start(rows)
	pair := pairOf[T](e.p.layout)
	return relay(workers(total),
		func(j *rowJob[T]) (bool, error) { return jobs.take(j), e.ctx.Err() },
		func(j *rowJob[T]) error { return j.encode(e.p, pair, &b) },
		func(j *rowJob[T]) error { return e.putRows(j.rows, j.offs, j.lens, j.buf) })
}

// encode makes the bytes of a job.
func (j *rowJob[T]) encode(p *plan, pair pair[T], b *matrix.Block) error {
	j.buf, j.offs, j.lens = j.buf[:0], j.offs[:0], j.lens[:0]
	r := &j.room
	r.width = 1
	for _, row := range j.rows {
		val, idx := rowOf[T](b, row)
		first := b.At.Cols.Lo
		if j.n >= 0 {
			val = val[j.from : j.from+j.n]
			first += int64(j.from)
			if idx != nil {
				idx = idx[j.from : j.from+j.n]
			}
		}
		j.offs, j.lens = append(j.offs, len(j.buf)), append(j.lens, len(val))
		for from := 0; from < len(val); from += batch {
			r.val = val[from:min(from+batch, len(val))]
			switch {
			case !p.layout.colID:
			case idx != nil:
				r.col = idx[from : from+len(r.val)]
			default:
				r.col = sequence(r.ids, first+int64(from), len(r.val))
				r.ids = r.col
			}
			if p.layout.rowID {
				r.row = repeat(r.row, int32(row), len(r.val))
			}
			j.buf = pair.put(j.buf, p.style, r)
		}
	}
	return nil
}

// sequence fills n ids from first on.
func sequence(into []int64, first int64, n int) []int64 {
	into = slices.Grow(into[:0], n)[:n]
	for i := range into {
		into[i] = first + int64(i)
	}
	return into
}

func repeat(into []int32, v int32, n int) []int32 {
	into = slices.Grow(into[:0], n)[:n]
	for i := range into {
		into[i] = v
	}
	return into
}

// putRows writes the bytes of rows and notes where they begin and how many values they have.
func (e *encoding) putRows(rows []int64, offs, lens []int, buf []byte) error {
	for i, row := range rows {
		r := &e.last
		switch {
		case e.begun && row < int64(r.id):
			return fmt.Errorf("row %d is added behind row %d, want rows in their order", row, r.id)
		case e.begun && row == int64(r.id):
		default:
			if e.begun {
				e.list(*r)
			}
			e.begun, *r = true, rowMeta{id: int32(row), off: e.part.off + e.part.size + int64(offs[i])}
		}
		if int64(r.n)+int64(lens[i]) > math.MaxInt32 {
			return fmt.Errorf("row %d has %d values in %v: %w", row, int64(r.n)+int64(lens[i]), e.part.cols, format.ErrLimit)
		}
		r.n += int32(lens[i])
	}
	return e.write(buf)
}
