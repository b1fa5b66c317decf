package mtx

import (
	"context"
	"fmt"
	"sort"

	"thole.example/matrix"
	"thole.example/wire"
)

const (
	blockCells = 1 << 20 // entries of a block
	cellRows   = 16      // rows for each entry of a block up to which it is CSR
	freeRows   = 1 << 10 // and so many more
)

// cut yields the entries within want as CSR, or COO where most rows have none, some rows at a time. Rows without entries at
// a block's edges are left out.
// It answers false if yield wants no more.
func (t *held[T]) cut(ctx context.Context, want matrix.Rect, yield func(matrix.Block, error) bool) bool {
	want = want.Intersect(matrix.At(0, t.h.rows, 0, t.h.width()))
	from := sort.Search(len(t.row), func(i int) bool { return t.row[i] >= want.Rows.Lo })
	end := sort.Search(len(t.row), func(i int) bool { return t.row[i] >= want.Rows.Hi })
	for from < end {
		if err := ctx.Err(); err != nil {
			yield(matrix.Block{}, err)
			return false
		}
		to := t.until(from, end)
		b, err := t.block(from, to, want.Cols)
		if err != nil || b.Data.NNZ() > 0 {
			if !yield(b, err) || err != nil {
				return false
			}
		}
		from = to
	}
	return true
}

// until is where the block ends that begins at an entry: with a row, unless that is longer than a block.
func (t *held[T]) until(from, end int) int {
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
	return to
}

// block is the entries from to within the columns, with the columns that they lie in if they are a part of one row.
func (t *held[T]) block(from, to int, cols matrix.Range) (matrix.Block, error) {
	at := matrix.Rect{Rows: matrix.Range{Lo: t.row[from], Hi: t.row[to-1] + 1}, Cols: cols}
	if at.Rows.Len() == 1 {
		at.Cols = cols.Intersect(matrix.Range{Lo: t.col[from], Hi: t.col[to-1] + 1})
	}
	if at.Rows.Len() > cellRows*int64(to-from)+freeRows {
		d := &matrix.COO[T]{}
		for i := from; i < to; i++ {
			if at.Cols.Has(t.col[i]) {
				d.Row, d.Col, d.Val = append(d.Row, t.row[i]-at.Rows.Lo), append(d.Col, t.col[i]), append(d.Val, t.val[i])
			}
		}
		return narrow(t.h, matrix.Block{At: at, Data: d})
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
