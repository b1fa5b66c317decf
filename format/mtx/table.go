package mtx

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// table holds all entries of a coordinate file, in the order of rows and columns.
type table[T value] struct {
	h    *head
	mu   sync.Mutex
	read bool
	row  []int64
	col  []int64
	val  []T
}

// blocks implements source.
func (t *table[T]) blocks(ctx context.Context, o blob.Object, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if err := t.load(ctx, o); err != nil {
			yield(matrix.Block{}, err)
			return
		}
		t.cut(ctx, want, yield)
	}
}

// load reads the file, once.
func (t *table[T]) load(ctx context.Context, o blob.Object) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read {
		return nil
	}
	p := &parser[T]{h: t.h, parse: parserOf[T]()}
	n := int(t.h.stored) // the file has room for so many
	if t.h.symmetry != general {
		n *= 2
	}
	t.row, t.col, t.val = make([]int64, 0, n), make([]int64, 0, n), make([]T, 0, n)
	c := counter{h: t.h, lines: t.h.lines}
	for one, err := range format.ParseLines(ctx, o, t.h.values, t.h.size, p.entries) {
		if err == nil {
			err = c.add(one.lines, len(one.val), one.at, one.err)
		}
		if err == nil {
			err = t.take(&one)
		}
		if err != nil {
			t.forget()
			return err
		}
	}
	err := c.end()
	if err == nil {
		err = t.sort(ctx, o)
	}
	if err != nil {
		t.forget()
		return err
	}
	t.read = true
	return nil
}

func (t *table[T]) forget() { t.row, t.col, t.val = nil, nil, nil }

// take adds the entries of a piece, and those that follow from the symmetry.
func (t *table[T]) take(p *piece[T]) error {
	t.row, t.col, t.val = append(t.row, p.row...), append(t.col, p.col...), append(t.val, p.val...)
	if t.h.symmetry == general {
		return nil
	}
	for i, r := range p.row {
		c, v := p.col[i], p.val[i]
		if r == c {
			continue
		}
		if t.h.symmetry == skew {
			if v = -v; v == p.val[i] && v < 0 {
				return &wire.At{Off: t.h.values, Err: fmt.Errorf("value %v in cell (%d,%d), whose opposite is no %s", v, r+1, c+1, t.h.field.word)}
			}
		}
		t.row, t.col, t.val = append(t.row, c), append(t.col, r), append(t.val, v)
	}
	return nil
}

// before tells whether entry i stands before entry k.
func (t *table[T]) before(i, k int) bool {
	return t.row[i] < t.row[k] || t.row[i] == t.row[k] && t.col[i] < t.col[k]
}

// sort puts the entries into order and finds cells that stand twice.
func (t *table[T]) sort(ctx context.Context, o blob.Object) error {
	for i := 1; i < len(t.row); i++ {
		if t.before(i-1, i) {
			continue
		}
		t.scatter()
		break
	}
	for i := 1; i < len(t.row); i++ {
		if !t.before(i-1, i) {
			return t.twice(ctx, o, [2]int64{t.row[i], t.col[i]})
		}
	}
	return nil
}

// scatter sorts by counting: the entries of one row, or of some neighbouring rows if most rows have none, come together
// in the order of the file; where that is not the order of the cells they are compared.
func (t *table[T]) scatter() {
	n := len(t.row)
	shift := 0
	for (t.h.rows-1)>>shift >= int64(n) {
		shift++
	}
	next := make([]int, (t.h.rows-1)>>shift+2)
	for _, r := range t.row {
		next[r>>shift+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	row, col, val := make([]int64, n), make([]int64, n), make([]T, n)
	for i, r := range t.row {
		to := next[r>>shift]
		next[r>>shift]++
		row[to], col[to], val[to] = r, t.col[i], t.val[i]
	}
	t.row, t.col, t.val = row, col, val
	from := 0
	for _, end := range next[:len(next)-1] { // which are the ends of the buckets now
		t.sortRun(from, end)
		from = end
	}
}

type cell[T value] struct {
	row, col int64
	val      T
}

// sortRun sorts some neighbouring entries unless they are in order.
func (t *table[T]) sortRun(from, end int) {
	sorted := true
	for i := from + 1; i < end && sorted; i++ {
		sorted = !t.before(i, i-1)
	}
	if sorted {
		return
	}
	run := make([]cell[T], 0, end-from)
	for i := from; i < end; i++ {
		run = append(run, cell[T]{t.row[i], t.col[i], t.val[i]})
	}
	slices.SortFunc(run, func(a, b cell[T]) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) })
	for i, c := range run {
		t.row[from+i], t.col[from+i], t.val[from+i] = c.row, c.col, c.val
	}
}

// twice reads the file again to say where a cell stands.
func (t *table[T]) twice(ctx context.Context, o blob.Object, at [2]int64) error {
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
			return &wire.At{Off: off, Err: fmt.Errorf("line %d: cell (%d,%d) a second time, the first is on line %d",
				seen[1], at[0]+1, at[1]+1, seen[0])}
		}
	}
	return &wire.At{Off: off, Err: fmt.Errorf("cell (%d,%d) twice", at[0]+1, at[1]+1)}
}

const (
	blockCells = 1 << 20 // entries of a block
	blockRows  = 1 << 20 // rows of a block, with or without entries
)

// cut yields the entries within want as CSR, some rows at a time. Rows without entries at a block's edges are left out.
func (t *table[T]) cut(ctx context.Context, want matrix.Rect, yield func(matrix.Block, error) bool) {
	want = want.Intersect(matrix.At(0, t.h.rows, 0, t.h.cols))
	from := sort.Search(len(t.row), func(i int) bool { return t.row[i] >= want.Rows.Lo })
	end := sort.Search(len(t.row), func(i int) bool { return t.row[i] >= want.Rows.Hi })
	for from < end {
		if err := ctx.Err(); err != nil {
			yield(matrix.Block{}, err)
			return
		}
		to := t.until(from, end)
		b, err := t.block(from, to, want.Cols)
		if err != nil || b.Data.NNZ() > 0 {
			if !yield(b, err) || err != nil {
				return
			}
		}
		from = to
	}
}

// until is where the block ends that begins at an entry: with a row, unless that is longer than a block.
func (t *table[T]) until(from, end int) int {
	first := t.row[from]
	rest := from > 0 && t.row[from-1] == first // of a long row
	row := from + sort.Search(end-from, func(i int) bool { return t.row[from+i] > first })
	if rest || row-from > blockCells {
		return min(row, from+blockCells)
	}
	to := min(end, from+blockCells)
	if to < end {
		last := t.row[to]
		to = from + sort.Search(to-from, func(i int) bool { return t.row[from+i] >= last })
	}
	if t.row[to-1]-first >= blockRows {
		to = from + sort.Search(to-from, func(i int) bool { return t.row[from+i]-first >= blockRows })
	}
	return to
}

// block is the entries from to within the columns, with the columns that they lie in if they are a part of one row.
func (t *table[T]) block(from, to int, cols matrix.Range) (matrix.Block, error) {
	at := matrix.Rect{Rows: matrix.Range{Lo: t.row[from], Hi: t.row[to-1] + 1}, Cols: cols}
	if at.Rows.Len() == 1 {
		at.Cols = cols.Intersect(matrix.Range{Lo: t.col[from], Hi: t.col[to-1] + 1})
	}
	d := &matrix.CSR[T]{Ptr: make([]int, 1, at.Rows.Len()+1), Idx: make([]int64, 0, to-from), Val: make([]T, 0, to-from)}
	for i := from; i < to; i++ {
		for int64(len(d.Ptr)) <= t.row[i]-at.Rows.Lo {
			d.Ptr = append(d.Ptr, len(d.Idx))
		}
		if at.Cols.Has(t.col[i]) {
			d.Idx, d.Val = append(d.Idx, t.col[i]), append(d.Val, t.val[i])
		}
	}
	d.Ptr = append(d.Ptr, len(d.Idx))
	return narrow(t.h, matrix.Block{At: at, Data: d})
}

// narrow makes the element type of the matrix of what was parsed.
func narrow(h *head, b matrix.Block) (matrix.Block, error) {
	to, exact := b.Cast(h.dtype)
	if !exact {
		return b, &wire.At{Off: h.values, Err: fmt.Errorf("a value in %v that is no %v, as line 2 says", b.At, h.dtype)}
	}
	return to, nil
}
