package angel

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// bandBytes is about how many bytes of values are in memory while blocks are cut anew.
const bandBytes = 8 << 20

// bands cuts a partition into places that follow each other in the data, each with the puts that lie there.
func (p *plan) bands(at matrix.Rect, sources []*stored) iter.Seq2[matrix.Rect, []*stored] {
	return func(yield func(matrix.Rect, []*stored) bool) {
		var here []*stored
		for _, s := range sources {
			if !s.place().Intersect(at).Empty() {
				here = append(here, s)
			}
		}
		cells := int64(bandBytes / elementOf(p.kind).Size())
		give := func(band matrix.Rect) bool {
			var from []*stored
			for _, s := range here {
				if !s.place().Intersect(band).Empty() {
					from = append(from, s)
				}
			}
			return yield(band, from)
		}
		switch {
		case at.Empty() || savedCount(&p.meta) == 0:
		case p.filled && p.layout.column:
			turned := matrix.Rect{Rows: at.Cols, Cols: at.Rows}
			for t := range format.Bands(turned, max(cells, at.Rows.Len())) {
				if !give(matrix.Rect{Rows: t.Cols, Cols: t.Rows}) {
					return
				}
			}
		case p.filled:
			for band := range format.Bands(at, cells) {
				if !give(band) {
					return
				}
			}
		case p.layout.column:
			for cols := range splitColumns(at.Cols, here, cells, (*stored).valueCount) {
				if !give(matrix.Rect{Rows: at.Rows, Cols: cols}) {
					return
				}
			}
		default:
			splitRows(at, here, cells, give)
		}
	}
}

// place is where the only partition of a put lies.
func (s *stored) place() matrix.Rect {
	return matrix.Rect{Rows: s.pieces[0].rows, Cols: s.pieces[0].cols}
}

func (s *stored) valueCount() int64 { return s.pieces[0].values }

// listed walks through the rows of a put.
type listed struct {
	s    *stored
	rows span // those that were not passed
}

// pass passes rows before the given one, and says how many values that has.
func (l *listed) pass(row int64) (values int64) {
	for l.rows.len() > 0 {
		switch r := l.rows.at(0); {
		case int64(r.id) > row:
			return 0
		case int64(r.id) == row:
			return int64(r.n)
		}
		l.rows = l.rows.cut(1, l.rows.len())
	}
	return 0
}

// bandRows is how many sparse rows lie in a band at most, since rows without values take memory too.
const bandRows = 1 << 18

// splitRows gives bands of several rows, or column ranges of one, with about so many values each.
func splitRows(at matrix.Rect, here []*stored, values int64, give func(matrix.Rect) bool) {
	lists, of := make([]listed, len(here)), map[*stored]int64{}
	for i, s := range here {
		rows := s.pieces[0].rowMetas.span()
		lists[i] = listed{s, rows.cut(rows.find(at.Rows.Lo), rows.len())}
	}
	from, n := at.Rows.Lo, int64(0)
	flush := func(to int64) bool {
		ok := from == to || give(matrix.Rect{Rows: matrix.Range{Lo: from, Hi: to}, Cols: at.Cols})
		from, n = to, 0
		return ok
	}
	for row := at.Rows.Lo; row < at.Rows.Hi; row++ {
		clear(of)
		more := int64(0)
		for i := range lists {
			if k := lists[i].pass(row); k > 0 {
				of[lists[i].s] = k
				more += k
			}
		}
		if (n+more > values || row-from == bandRows) && !flush(row) {
			return
		}
		if n += more; more <= values {
			continue
		}
		for cols := range splitColumns(at.Cols, here, values, func(s *stored) int64 { return of[s] }) {
			if !give(matrix.Rect{Rows: matrix.Range{Lo: row, Hi: row + 1}, Cols: cols}) {
				return
			}
		}
		from, n = row+1, 0
	}
	flush(at.Rows.Hi)
}

// splitColumns cuts a range where puts begin, so that about so many values lie between two cuts.
func splitColumns(cols matrix.Range, here []*stored, values int64, of func(*stored) int64) iter.Seq[matrix.Range] {
	return func(yield func(matrix.Range) bool) {
		sorted := slices.SortedFunc(slices.Values(here), func(a, b *stored) int { return compare(a.place().Cols.Lo, b.place().Cols.Lo) })
		from, n := cols.Lo, int64(0)
		for _, s := range sorted {
			if lo := s.place().Cols.Lo; n+of(s) > values && lo > from && lo < cols.Hi {
				if !yield(matrix.Range{Lo: from, Hi: lo}) {
					return
				}
				from, n = lo, 0
			}
			n += of(s)
		}
		yield(matrix.Range{Lo: from, Hi: cols.Hi})
	}
}

// gather reads the cells of a place back.
func gather(ctx context.Context, b blob.Bucket, p *plan, at matrix.Rect, from []*stored, keep func(int64) bool) (matrix.Block, error) {
	switch elementOf(p.kind) {
	case matrix.F64:
		return gatherOf[float64](ctx, b, p, at, from, keep)
	case matrix.F32:
		return gatherOf[float32](ctx, b, p, at, from, keep)
	case matrix.I64:
		return gatherOf[int64](ctx, b, p, at, from, keep)
	}
	return gatherOf[int32](ctx, b, p, at, from, keep)
}

func gatherOf[T Number](ctx context.Context, bucket blob.Bucket, p *plan, at matrix.Rect, from []*stored,
	keep func(int64) bool) (matrix.Block, error) {
	if p.filled {
		out := &matrix.Dense[T]{Val: make([]T, at.Rows.Len()*at.Cols.Len())}
		for _, s := range from {
			err := s.blocks(ctx, bucket, at, func(b matrix.Block) bool {
				copyInto(out, at, b.ToDense())
				return true
			})
			if err != nil {
				return matrix.Block{}, err
			}
		}
		return matrix.Block{At: at, Data: out}, nil
	}
	rows := make([]cells[T], at.Rows.Len())
	for _, s := range from {
		err := s.blocks(ctx, bucket, at, func(b matrix.Block) bool {
			d := b.ToCSR().Data.(*matrix.CSR[T])
			for i := range len(d.Ptr) - 1 {
				rows[b.At.Rows.Lo-at.Rows.Lo+int64(i)].keep(d.Idx[d.Ptr[i]:d.Ptr[i+1]], d.Val[d.Ptr[i]:d.Ptr[i+1]], keep)
			}
			return true
		})
		if err != nil {
			return matrix.Block{}, err
		}
	}
	out := &matrix.CSR[T]{Ptr: make([]int, 1, len(rows)+1)}
	for i := range rows {
		if c, twice := rows[i].sort(); twice {
			return matrix.Block{}, fmt.Errorf("%w: cell (%d,%d) is in two of them", errOverlap, at.Rows.Lo+int64(i), c)
		}
		out.Idx = append(out.Idx, rows[i].col...)
		out.Val = append(out.Val, rows[i].val...)
		out.Ptr = append(out.Ptr, len(out.Idx))
	}
	return matrix.Block{At: at, Data: out}, nil
}

// keep adds the cells of a row whose columns are wanted.
func (c *cells[T]) keep(col []int64, val []T, want func(int64) bool) {
	if want == nil {
		c.col, c.val = append(c.col, col...), append(c.val, val...)
		return
	}
	for i, id := range col {
		if want(id) {
			c.col, c.val = append(c.col, id), append(c.val, val[i])
		}
	}
}

// copyInto copies the values of a dense block that lies in the place.
func copyInto[T Number](dst *matrix.Dense[T], at matrix.Rect, b matrix.Block) {
	src := b.Data.(*matrix.Dense[T]).Val
	n := b.At.Cols.Len()
	for i := range b.At.Rows.Len() {
		to := (b.At.Rows.Lo-at.Rows.Lo+i)*at.Cols.Len() + b.At.Cols.Lo - at.Cols.Lo
		copy(dst.Val[to:to+n], src[i*n:(i+1)*n])
	}
}
