package angel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// maxBlock is how many bytes of fields a block may have; a longer partition comes in several blocks.
const maxBlock = 64 << 20

// errStop says that the receiver of blocks wants no more.
var errStop = errors.New("stop")

// walk is the way through the partitions of a matrix.
type walk[T Number] struct {
	ctx    context.Context
	bucket blob.Bucket
	s      *stored
	pair   pair[T]
	want   matrix.Rect
	yield  func(matrix.Block) bool // called with blocks that lie within want

	f     *feed
	p     *piece
	style style
	cols  matrix.Range // where the partition's ids must lie
}

func newWalk[T Number](ctx context.Context, b blob.Bucket, s *stored, want matrix.Rect) *walk[T] {
	return &walk[T]{ctx: ctx, bucket: b, s: s, pair: pairOf[T](s.layout), want: want}
}

// allIDs is every column id that a range can hold.
var allIDs = matrix.Range{Lo: math.MinInt64, Hi: math.MaxInt64}

// piece reads one partition and yields its part of want.
func (w *walk[T]) piece(p *piece) error {
	file := path.Join(w.s.dir.path, p.file)
	o, err := w.bucket.Open(w.ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	w.p, w.f = p, newFeed(o, p.off, p.size)
	w.cols = p.cols
	if !w.s.ranged {
		w.cols = allIDs
		if w.s.meta.Cols >= 0 {
			w.cols = w.s.meta.Rect().Cols
		}
	}
	if err := w.begin(); err != nil {
		return format.Wrap(name, file, err)
	}
	if w.s.layout.column {
		err = w.columns()
	} else {
		err = w.rows()
	}
	if err == nil {
		err = w.f.finish(p, w.s.sums)
	}
	if err == errStop || err != nil && w.ctx.Err() != nil {
		return err
	}
	return format.Wrap(name, file, err)
}

// begin reads the first window and finds out what separates the fields.
func (w *walk[T]) begin() error {
	w.style = style{sep: w.s.sep, long: w.s.kind.long()}
	if w.p.records == 0 {
		return nil
	}
	if err := w.f.more(); err != nil {
		return err
	}
	if l := w.s.layout; l.text && l.colID && w.style.sep == "" {
		sep, ok := findSeparator(w.f.buf)
		if !ok {
			in := w.f.input(w.style)
			return in.bad(0, "an integer and a separator")
		}
		w.style.sep = sep
	}
	return nil
}

// fresh makes room for n records.
func (w *walk[T]) fresh(n int64) *records[T] {
	r := &records[T]{width: int(w.p.width(w.s.layout))}
	r.val = make([]T, 0, n*int64(r.width))
	if w.s.layout.colID {
		r.col = make([]int64, 0, n)
	}
	if w.s.layout.rowID {
		r.row = make([]int32, 0, n)
	}
	return r
}

// most is how many records fit a block: at least one.
func (w *walk[T]) most() int64 {
	each := w.p.width(w.s.layout) * int64(sizeOf[T]())
	if w.s.layout.colID {
		each += 8
	}
	if w.s.layout.rowID {
		each += 4
	}
	return max(1, w.s.limit/each)
}

// emit yields the part of a block that is wanted.
func (w *walk[T]) emit(b matrix.Block) error {
	part := b.At.Intersect(w.want)
	if part.Empty() {
		return nil
	}
	if part != b.At {
		b = b.Cut(w.want)
	}
	if !w.yield(b) {
		return errStop
	}
	return nil
}

// columns yields the partition's columns, as many at a time as fit a block.
func (w *walk[T]) columns() error {
	from := w.cols.Lo
	for left := w.p.records; left > 0; {
		n := min(left, w.most())
		r := w.fresh(n)
		if err := take(w.ctx, w.f, w.pair, w.style, r, int(n)); err != nil {
			return err
		}
		left -= n
		if n == w.p.records {
			sortColumns(r)
		}
		at := matrix.Range{Lo: from, Hi: w.cols.Hi}
		if err := w.checkIDs(r.col, at); err != nil {
			return err
		}
		if left > 0 {
			at.Hi = r.col[n-1] + 1
		}
		if err := w.emitColumns(at, r); err != nil {
			return err
		}
		from = at.Hi
	}
	return nil
}

// checkIDs reports ids that are out of place or not ascending.
func (w *walk[T]) checkIDs(ids []int64, within matrix.Range) error {
	for i, id := range ids {
		switch {
		case !w.cols.Has(id):
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d, want one in %v", w.p.id, id, w.cols)}
		case i > 0 && id == ids[i-1]:
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d twice in a row", w.p.id, id)}
		case !within.Has(id) || i > 0 && id < ids[i-1]:
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d is not in ascending order, in more than %d bytes: %w",
				w.p.id, id, w.s.limit, format.ErrLimit)}
		}
	}
	return nil
}

// emitColumns yields columns that lie at the range, one block for each range of saved rows.
func (w *walk[T]) emitColumns(at matrix.Range, r *records[T]) error {
	rows := w.p.rowMetas
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

// runEnd is the place behind the rows that follow rows[first] without a gap.
func runEnd(rows []rowMeta, first int) int {
	last := first + 1
	for last < len(rows) && rows[last].id == rows[last-1].id+1 {
		last++
	}
	return last
}
