package mtx

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// heldEntries is how many entries of a coordinate file are held at a time: 24 bytes each of 8-byte values, and as much
// again while they are sorted.
const heldEntries = 4 << 20

// table reads the entries of a coordinate file, in the order of rows and columns. A file of up to limit entries is read
// once and held. Of a larger one it is found out once where which cells stand; then each walk reads it band by band, of
// up to limit entries each.
type table[T value] struct {
	h     *head
	limit int64
	mu    sync.Mutex
	whole *held[T]
	plan  *survey
	sides uint8 // of the diagonal that entries of a symmetric file stand on, once that is known
}

// blocks implements source.
func (t *table[T]) blocks(ctx context.Context, o blob.Object, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if err := t.prepare(ctx, o); err != nil {
			yield(matrix.Block{}, err)
			return
		}
		if t.whole != nil {
			t.whole.cut(ctx, want, yield)
			return
		}
		for _, b := range t.plan.bands {
			if t.plan.rows(b).Intersect(want.Rows).Len() == 0 {
				continue
			}
			part, err := t.load(ctx, o, t.plan, b)
			if err != nil {
				yield(matrix.Block{}, err)
				return
			}
			if !part.cut(ctx, want, yield) {
				return
			}
		}
	}
}

// prepare does what is done once: it reads all entries of a small file, or looks through a large one.
func (t *table[T]) prepare(ctx context.Context, o blob.Object) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.whole != nil || t.plan != nil:
	case t.h.entries() <= t.limit:
		t.whole, err = t.load(ctx, o, nil, band{})
	default:
		t.plan, err = t.look(ctx, o)
	}
	return err
}

// entries is how many cells there are at most once the file is filled up to both sides of the diagonal.
func (h *head) entries() int64 {
	n := h.stored * h.field.parts // of which the file has the text
	if h.symmetry != general {
		n *= 2
	}
	return n
}

// load reads the entries of one band and sorts them; without a survey those of the whole file.
func (t *table[T]) load(ctx context.Context, o blob.Object, s *survey, b band) (*held[T], error) {
	p := &parser[T]{h: t.h, parse: parserOf[T](), within: s, band: b}
	spans, n := []span{{t.h.values, t.h.size, t.h.lines}}, t.h.entries()
	if s != nil {
		spans, n = s.spans(b), b.entries
	}
	all := &held[T]{h: t.h, row: make([]int64, 0, n), col: make([]int64, 0, n), val: make([]T, 0, n)}
	c := counter{h: t.h}
	for _, at := range spans {
		c.lines = at.lines
		for one, err := range format.ParseLines(ctx, o, at.off, at.end, p.entries) {
			if err == nil {
				err = c.add(one.lines, one.entries, one.at, one.open, one.err)
			}
			if err != nil {
				return nil, err
			}
			if s == nil {
				t.sides |= one.sides
			}
			all.row, all.col, all.val = append(all.row, one.row...), append(all.col, one.col...), append(all.val, one.val...)
		}
	}
	if s == nil {
		if err := c.end(); err != nil {
			return nil, err
		}
	}
	all.sort()
	cell, several, ok := all.add()
	if several && (!ok || t.sides == below|above) {
		return nil, t.twice(ctx, o, cell, ok)
	}
	return all, nil
}

// twice reads the file again to say where a cell stands that may not stand twice: on both sides of the diagonal, or whose
// values have no sum.
func (t *table[T]) twice(ctx context.Context, o blob.Object, at [2]int64, sum bool) error {
	why := ", in a file with entries on both sides of the diagonal"
	if !sum {
		if why = fmt.Sprintf(", their sum is no %s", t.h.field.word); t.h.field.word == "pattern" {
			why = ", and as a count of i8 a cell of a pattern may come at most 127 times; remove repeated lines"
		}
	}
	row, col := at[0]+1, at[1]/t.h.field.parts+1
	p := &parser[T]{h: t.h, parse: parserOf[T](), find: &at}
	lines, off := t.h.lines, t.h.values
	var seen []int64
	for l, err := range format.ReadLines(ctx, o, t.h.values, t.h.size) {
		if err != nil {
			return err
		}
		one := p.entries(l)
		for _, n := range one.seen {
			if seen = append(seen, lines+n); len(seen) == 2 {
				off = l.Off
			}
		}
		lines += one.lines
		if len(seen) >= 2 {
			return &wire.At{Off: off, Err: fmt.Errorf("line %d: cell (%d,%d) a second time, the first is on line %d%s",
				seen[1], row, col, seen[0], why)}
		}
	}
	return &wire.At{Off: off, Err: fmt.Errorf("cell (%d,%d) twice%s", row, col, why)}
}
