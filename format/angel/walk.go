package angel

import (
	"context"
	"errors"
	"fmt"
	"math"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// maxBlock is how many bytes of fields a block may have; a longer partition comes in several blocks.
const maxBlock = 32 << 20

// errStop says that the receiver of blocks wants no more.
var errStop = errors.New("stop")

// walk is the way through the partitions of a matrix.
type walk[T Number] struct {
	ctx    context.Context
	bucket blob.Bucket
	s      *stored
	want   matrix.Rect
	yield  func(matrix.Block) bool // called with blocks that lie within want

	p     *piece
	cols  matrix.Range // where the partition's ids must lie
	o     blob.Object
	style style
	u     *run
	t     taker[T]
	f     *feed
	given int  // blocks of the partition that were yielded
	stray bool // something was not in order
}

func newWalk[T Number](ctx context.Context, b blob.Bucket, s *stored, want matrix.Rect) *walk[T] {
	return &walk[T]{ctx: ctx, bucket: b, s: s, want: want}
}

// allIDs is every column id that a range can hold.
var allIDs = matrix.Range{Lo: math.MinInt64, Hi: math.MaxInt64}

// piece reads one partition, or the part of it that is wanted, and yields its part of want.
func (w *walk[T]) piece(p *piece) error {
	file := blob.Join(w.s.dir.path, p.file)
	o, err := w.bucket.Open(w.ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	w.p, w.o, w.given = p, o, 0
	w.style = style{sep: w.s.sep, long: w.s.kind.LongKeys(), comma: w.s.comma}
	w.cols = p.cols
	if !w.s.ranged {
		w.cols = allIDs
		if w.s.meta.Cols >= 0 {
			w.cols = w.s.meta.Rect().Cols
		}
	}
	err = w.pieceRuns(p)
	if err == errStop || err != nil && w.ctx.Err() != nil {
		return err
	}
	return format.Wrap(name, file, err)
}

func (w *walk[T]) pieceRuns(p *piece) error {
	if w.s.layout.csr {
		return w.csr(p)
	}
	runs, part, err := w.wanted(p)
	if err != nil {
		return err
	}
	sum, err := w.runs(runs)
	if part && errors.Is(err, errStray) && w.given == 0 {
		part = false
		sum, err = w.runs(p.whole(w.cols, w.s.layout))
	}
	if errors.Is(err, errStray) {
		return &wire.At{Off: w.f.base, Err: fmt.Errorf("partition %d: %w", p.id, err)}
	}
	if err == nil && !part && w.s.sums && p.hasSum && sum != p.sum {
		return &wire.At{Off: p.off, Err: fmt.Errorf("checksum of partition %d is %08x, want %08x", p.id, sum, p.sum)}
	}
	return err
}

// runs reads stretches one behind the other, and gives the checksum of all.
func (w *walk[T]) runs(runs []run) (sum uint32, err error) {
	for i := range runs {
		before := w.given
		if sum, err = w.run(&runs[i], sum); errors.Is(err, errStray) && runs[i].instead != nil && w.given == before {
			sum, err = w.run(runs[i].instead, sum)
		}
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// run reads a stretch; sum is the checksum of what lies before it.
func (w *walk[T]) run(u *run, sum uint32) (uint32, error) {
	w.u = u
	w.f = newFeed(w.o, u.off, u.size, sum)
	err := w.begin()
	switch {
	case err != nil:
	case u.layout.column:
		err = w.columns()
	default:
		err = w.rows()
	}
	if err == nil {
		err = w.f.finish(u.records, w.p.id)
	}
	return w.f.sum, err
}

// begin finds out what separates the fields.
func (w *walk[T]) begin() error {
	l := w.u.layout
	if w.u.records > 0 && l.text && l.colID && !l.loose && (w.style.sep == "" || l.keyed) {
		if err := w.f.more(); err != nil {
			return err
		}
		if !w.style.complete(l, w.f.buf) {
			in := w.f.input(w.style)
			return in.bad(0, "an integer and a separator")
		}
	}
	w.t = taker[T]{ctx: w.ctx, f: w.f, pair: pairOf[T](l), style: w.style, text: l.text,
		each: l.each(w.style, int(min(w.u.width(), math.MaxInt32))*sizeOf[T]())}
	return nil
}

// fresh makes room for n records, without ids if they are counted.
func (w *walk[T]) fresh(n int64, c *counted) *records[T] {
	r := &records[T]{width: int(w.u.width())}
	r.val = make([]T, 0, n*int64(r.width))
	if c != nil {
		return r
	}
	if w.u.layout.colID {
		r.col = make([]int64, 0, n)
	}
	if w.u.layout.rowID {
		r.row = make([]int32, 0, n)
	}
	return r
}

// fetch reads n records. Those of dense data come without ids if these are as they must be; c says how.
func (w *walk[T]) fetch(n int64, c *counted) (*records[T], error) {
	if !w.u.dense || !w.u.layout.colID || n == 0 {
		c = nil
	} else {
		c.first -= w.p.shift
	}
	at := w.f.mark()
	r := w.fresh(n, c)
	err := w.t.take(r, n, c)
	if c != nil && errors.Is(err, errStray) && !w.u.part {
		w.f.rewind(at)
		r = w.fresh(n, nil)
		err = w.t.take(r, n, nil)
	}
	return r, err
}

// most is how many records fit a block: at least one.
func (w *walk[T]) most() int64 {
	each := w.u.width() * int64(sizeOf[T]())
	if w.u.layout.colID && !w.u.dense {
		each += 8
	}
	if w.u.layout.rowID && !w.u.dense {
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
	w.given++
	if !w.yield(b) {
		return errStop
	}
	return nil
}

// checkIDs reports ids that are out of place or not ascending.
func (w *walk[T]) checkIDs(ids []int64, within matrix.Range) error {
	for i, id := range ids {
		switch {
		case within.Has(id) && (i == 0 || id > ids[i-1]):
		case w.u.part:
			return errStray
		case !w.u.cols.Has(id):
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d, want one in %v", w.p.id, id, w.u.cols)}
		case i > 0 && id == ids[i-1]:
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d twice in a row", w.p.id, id)}
		default:
			return &wire.At{Off: w.p.off, Err: fmt.Errorf("partition %d: column %d is not in ascending order, in more than %d bytes: %w",
				w.p.id, id, w.s.limit, format.ErrLimit)}
		}
	}
	return nil
}
