package angel

import (
	"context"
	"fmt"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// scatter yields a matrix whose partitions hold columns from everywhere: the columns of all partitions are put in
// order, one band of columns after the other, so that no more than a block is in memory. Each band reads all data.
func (w *walk[T]) scatter() error {
	total := int64(0)
	for i := range w.s.pieces {
		total += w.s.pieces[i].values
	}
	most := max(1, w.s.limit/int64(8+sizeOf[T]()))
	bands := []matrix.Range{w.want.Cols}
	if total > most {
		var err error
		if bands, err = w.bands(total, most); err != nil {
			return err
		}
	}
	for _, band := range bands {
		if err := w.band(band); err != nil {
			return err
		}
	}
	return nil
}

// bands cuts the wanted columns into ranges with about most values each, found from a sample of the ids.
func (w *walk[T]) bands(total, most int64) ([]matrix.Range, error) {
	step := total>>20 + 1
	seen := int64(0)
	var sample []int64
	err := w.each(matrix.Rect{Rows: w.want.Rows, Cols: w.want.Cols}, func(b *matrix.CSR[T], _ matrix.Rect) error {
		for _, id := range b.Idx {
			if seen%step == 0 {
				sample = append(sample, id)
			}
			seen++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(sample)
	count := int(seen/most) + 1
	var bands []matrix.Range
	from := w.want.Cols.Lo
	for k := 1; k < count; k++ {
		if to := sample[len(sample)*k/count]; to > from {
			bands = append(bands, matrix.Range{Lo: from, Hi: to})
			from = to
		}
	}
	return append(bands, matrix.Range{Lo: from, Hi: w.want.Cols.Hi}), nil
}

// each calls f with the part of every partition that lies in a place.
func (w *walk[T]) each(place matrix.Rect, f func(b *matrix.CSR[T], at matrix.Rect) error) error {
	inner := newWalk[T](w.ctx, w.bucket, w.s, place)
	var failed error
	inner.yield = func(b matrix.Block) bool {
		failed = f(b.ToCSR().Data.(*matrix.CSR[T]), b.At)
		return failed == nil
	}
	for i := range w.s.pieces {
		p := &w.s.pieces[i]
		if p.rows.Intersect(place.Rows).Len() == 0 {
			continue
		}
		if err := inner.piece(p); failed != nil || err != nil {
			return errorsFirst(failed, func() error { return err })
		}
	}
	return nil
}

// band yields the columns of one range.
func (w *walk[T]) band(cols matrix.Range) error {
	rows := map[int64]*cells[T]{}
	err := w.each(matrix.Rect{Rows: w.want.Rows, Cols: cols}, func(b *matrix.CSR[T], at matrix.Rect) error {
		for i := range len(b.Ptr) - 1 {
			id := at.Rows.Lo + int64(i)
			if rows[id] == nil {
				rows[id] = &cells[T]{}
			}
			rows[id].col = append(rows[id].col, b.Idx[b.Ptr[i]:b.Ptr[i+1]]...)
			rows[id].val = append(rows[id].val, b.Val[b.Ptr[i]:b.Ptr[i+1]]...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, saved := range w.s.meta.SavedRows() {
		at := matrix.Rect{Rows: saved, Cols: cols}.Intersect(w.want)
		if at.Empty() {
			continue
		}
		out, err := w.merge(at, rows)
		if err != nil {
			return err
		}
		if len(out.Val) > 0 && !w.yield(matrix.Block{At: at, Data: out}) {
			return errStop
		}
	}
	return nil
}

func (w *walk[T]) merge(at matrix.Rect, rows map[int64]*cells[T]) (*matrix.CSR[T], error) {
	out := &matrix.CSR[T]{Ptr: make([]int, 1, at.Rows.Len()+1)}
	for id := at.Rows.Lo; id < at.Rows.Hi; id++ {
		if c := rows[id]; c != nil {
			if col, twice := c.sort(); twice {
				why := ""
				if w.s.layout.column && len(w.s.pieces) > 1 && w.s.dir.meta != "" {
					why = "; Angel writes wrong ids when it saves hash partitions in a column format"
				}
				return nil, format.Corrupt(name, w.s.dir.path, -1, "row %d, column %d is there twice%s", id, col, why)
			}
			out.Idx = append(out.Idx, c.col...)
			out.Val = append(out.Val, c.val...)
		}
		out.Ptr = append(out.Ptr, len(out.Idx))
	}
	return out, nil
}

// findColumns reads all ids of a matrix whose metadata do not say how many columns there are.
func (s *stored) findColumns(ctx context.Context, b blob.Bucket) error {
	var cols matrix.Range
	var err error
	switch s.meta.DType {
	case matrix.F64:
		cols, err = idRange[float64](ctx, b, s)
	case matrix.F32:
		cols, err = idRange[float32](ctx, b, s)
	case matrix.I64:
		cols, err = idRange[int64](ctx, b, s)
	default:
		cols, err = idRange[int32](ctx, b, s)
	}
	if err != nil {
		return err
	}
	if cols.Hi-cols.Lo < 0 {
		return &wire.At{Off: 0, Err: fmt.Errorf("column ids from %d to %d: %w", cols.Lo, cols.Hi-1, format.ErrLimit)}
	}
	s.meta.ColLo, s.meta.Cols = cols.Lo, cols.Hi-cols.Lo
	s.notes = append(s.notes, fmt.Sprintf("the metadata do not say which columns there are; the data have ids in %v", cols))
	return s.checkCover()
}

func idRange[T Number](ctx context.Context, b blob.Bucket, s *stored) (cols matrix.Range, err error) {
	w := newWalk[T](ctx, b, s, matrix.Rect{})
	first := true
	err = w.each(matrix.Rect{Rows: matrix.Range{Hi: s.meta.Rows}, Cols: allIDs}, func(d *matrix.CSR[T], _ matrix.Rect) error {
		for _, id := range d.Idx {
			if first {
				cols, first = matrix.Range{Lo: id, Hi: id + 1}, false
			}
			cols = matrix.Range{Lo: min(cols.Lo, id), Hi: max(cols.Hi, id+1)}
		}
		return nil
	})
	return cols, err
}
