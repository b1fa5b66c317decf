package format

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// bands cuts rows so that a band holds a limited number of values, at perRow values in a row.
func (w *rowWriter) bands(rows matrix.Range, perRow int64) iter.Seq[matrix.Range] {
	return steps(rows, max(1, bandCells/max(1, perRow)))
}

// perRow is about how many values a row of the block has once it is in lanes, of which there is one or all are dense.
func (w *rowWriter) perRow(b matrix.Block) int64 {
	if w.lanes[0].Sparse {
		return 1 + int64(b.Data.NNZ())/max(1, b.At.Rows.Len())
	}
	return b.At.Cols.Len()
}

// merge writes the rows from w.next on, put together from the pieces.
func (w *rowWriter) merge(ctx context.Context, pieces []rowPiece) error {
	slices.SortFunc(pieces, func(a, b rowPiece) int {
		return cmp.Or(cmp.Compare(a.Rows.Lo, b.Rows.Lo), cmp.Compare(a.Cols.Lo, b.Cols.Lo))
	})
	rows := w.file.Metas[0].Rows
	cells, wide := int64(0), int64(0)
	for _, p := range pieces {
		cells += p.NNZ
	}
	for _, l := range w.lanes {
		if !l.Sparse {
			wide += l.Cols.Len()
		}
	}
	if !slices.ContainsFunc(w.lanes, func(l Lane) bool { return l.Cols.Len() > 0 }) {
		return nil // rows without columns, of which there can be any number
	}
	pieces = slices.DeleteFunc(pieces, func(p rowPiece) bool { return p.Spool == "" || p.Spool[0] == '=' })
	var live []rowPiece
	for at := w.next; at < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		live = slices.DeleteFunc(live, func(p rowPiece) bool { return p.Rows.Hi <= at })
		if w.file.Gaps && len(live) == 0 {
			if len(pieces) == 0 {
				return nil
			}
			at = max(at, pieces[0].Rows.Lo)
		}
		band := first(w.bands(matrix.Range{Lo: at, Hi: rows}, wide+cells/max(1, rows)))
		at = band.Hi
		for len(pieces) > 0 && pieces[0].Rows.Lo < band.Hi {
			live = append(live, pieces[0])
			pieces = pieces[1:]
		}
		if err := w.mergeBand(ctx, band, live); err != nil {
			return err
		}
	}
	return nil
}

// first is the first band of some.
func first(bands iter.Seq[matrix.Range]) (band matrix.Range) {
	for band = range bands {
		break
	}
	return band
}

// mergeBand writes one band of rows.
func (w *rowWriter) mergeBand(ctx context.Context, band matrix.Range, live []rowPiece) error {
	lanes := make([]matrix.Block, len(w.lanes))
	sparse := make([][]matrix.Block, len(w.lanes))
	for i := range w.lanes {
		lanes[i].At = matrix.Rect{Rows: band, Cols: w.lanes[i].Cols}
		if !w.lanes[i].Sparse {
			lanes[i] = matrix.NewDense(w.lanes[i].DType, lanes[i].At)
		}
	}
	for k := range live {
		p := &live[k]
		if p.Rows.Intersect(band).Len() == 0 {
			continue
		}
		if err := w.fetch(ctx, p, band, lanes, sparse); err != nil {
			return err
		}
	}
	for i := range w.lanes {
		if w.lanes[i].Sparse {
			lanes[i] = joinRows(lanes[i].At, w.lanes[i].DType, sparse[i])
		}
	}
	return w.sink.Rows(ctx, lanes)
}

// fetch puts what the piece has of the band into the lanes that it meets.
func (w *rowWriter) fetch(ctx context.Context, p *rowPiece, band matrix.Range, lanes []matrix.Block, sparse [][]matrix.Block) error {
	o, err := w.bucket.Open(ctx, w.stage.Name(p.Spool))
	if err != nil {
		return err
	}
	defer o.Close()
	for i := range w.lanes {
		l := &w.lanes[i]
		at := lanes[i].At.Intersect(p.at())
		if at.Empty() || w.of[l.Name] != p.Matrix {
			continue
		}
		if l.Sparse {
			b, err := p.fetchSparse(o, at.Rows)
			if err == nil {
				b, err = l.as(b)
			}
			if err != nil {
				return err
			}
			sparse[i] = append(sparse[i], b)
			continue
		}
		if err := p.fetchDense(ctx, o, at, func(b matrix.Block) error {
			b, err := l.cast(b.Cut(at))
			if err != nil {
				return err
			}
			return matrix.Put(lanes[i], b)
		}); err != nil {
			return err
		}
	}
	return nil
}

// joinRows makes one CSR of blocks that lie beside and below each other.
func joinRows(at matrix.Rect, d matrix.DType, blocks []matrix.Block) matrix.Block {
	if len(blocks) == 1 && blocks[0].At.Rows == at.Rows {
		return matrix.Block{At: at, Data: blocks[0].Data}
	}
	slices.SortFunc(blocks, func(a, b matrix.Block) int { return cmp.Compare(a.At.Cols.Lo, b.At.Cols.Lo) })
	ptr := make([]int, at.Rows.Len()+1)
	total := 0
	for _, b := range blocks {
		ends := b.Data.(matrix.Rowed).Ends()
		for r := range len(ends) - 1 {
			ptr[b.At.Rows.Lo-at.Rows.Lo+int64(r)+1] += ends[r+1] - ends[r]
		}
		total += b.Data.NNZ()
	}
	for r := 1; r < len(ptr); r++ {
		ptr[r] += ptr[r-1]
	}
	next, idx := slices.Clone(ptr), make([]int64, total)
	out := matrix.Block{At: at, Data: matrix.KindOf(d).CSR(ptr, idx)}
	into, size := wire.ViewAny(out.Data.Values())
	for _, b := range blocks {
		raw, _ := wire.ViewAny(b.Data.Values())
		rowed := b.Data.(matrix.Rowed)
		ends, keys := rowed.Ends(), rowed.Keys()
		for r := range len(ends) - 1 {
			to := &next[b.At.Rows.Lo-at.Rows.Lo+int64(r)]
			copy(idx[*to:], keys[ends[r]:ends[r+1]])
			copy(into[*to*size:], raw[ends[r]*size:ends[r+1]*size])
			*to += ends[r+1] - ends[r]
		}
	}
	return out
}
