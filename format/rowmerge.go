package format

import (
	"cmp"
	"context"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// merge writes the rows from w.next on, put together from the pieces.
func (w *rowWriter) merge(ctx context.Context, pieces []rowPiece) error {
	slices.SortFunc(pieces, func(a, b rowPiece) int {
		return cmp.Or(cmp.Compare(a.Rows.Lo, b.Rows.Lo), cmp.Compare(a.Cols.Lo, b.Cols.Lo))
	})
	rows := w.file.Metas[0].Rows
	if !slices.ContainsFunc(w.lanes, func(l Lane) bool { return l.Cols.Len() > 0 }) {
		return nil // rows without columns, of which there can be any number
	}
	pieces = slices.DeleteFunc(pieces, func(p rowPiece) bool { return p.Spool == "" || p.Spool[0] == '=' })
	var live []*rowPiece
	for at := w.next; at < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		live = slices.DeleteFunc(live, func(p *rowPiece) bool { return p.Rows.Hi <= at })
		for ; len(pieces) > 0 && pieces[0].Rows.Lo <= at; pieces = pieces[1:] {
			live = append(live, &pieces[0])
		}
		band := matrix.Range{Lo: at, Hi: rows}
		if len(pieces) > 0 {
			band.Hi = pieces[0].Rows.Lo
		}
		if err := w.limit(ctx, &band, live); err != nil {
			return err
		}
		at = band.Hi
		if err := w.mergeBand(ctx, band, live); err != nil {
			return err
		}
	}
	return nil
}

// limit ends the band where it has about as many values as may be held.
func (w *rowWriter) limit(ctx context.Context, band *matrix.Range, live []*rowPiece) error {
	if wide := w.wide(); wide > 0 {
		band.Hi = min(band.Hi, band.Lo+min(max(1, bandCells/wide), band.Len()))
	}
	for _, p := range live {
		hi, err := w.enough(ctx, p, band.Lo, max(1, bandCells/int64(len(live))))
		if err != nil {
			return err
		}
		band.Hi = max(band.Lo+1, min(band.Hi, hi))
	}
	return nil
}

// enough is the row at which about so many cells of the piece end, from the row at on.
func (w *rowWriter) enough(ctx context.Context, p *rowPiece, at, cells int64) (int64, error) {
	if p.Dense {
		return max(at, p.Rows.Lo) + max(1, cells/p.Cols.Len()), nil
	}
	i := p.next + max(1, cells/max(1, p.NNZ/max(1, p.Filled)))
	if i >= p.Filled {
		return p.Rows.Hi, nil
	}
	o, err := w.bucket.Open(ctx, w.stage.Name(p.Spool))
	if err != nil {
		return 0, err
	}
	defer o.Close()
	row := make([]int64, 1)
	err = p.numbers(o, row, i*8)
	return row[0], err
}

// wide is how many values a row has in its dense lanes.
func (w *rowWriter) wide() (cells int64) {
	for _, l := range w.lanes {
		if !l.Sparse {
			cells += l.Cols.Len()
		}
	}
	return cells
}

// strip is what a piece has of a band: its filled rows, as Block.Compact gives them.
type strip struct {
	matrix int
	rows   []int64
	cells  matrix.Block
}

// mergeBand writes one band of rows.
func (w *rowWriter) mergeBand(ctx context.Context, band matrix.Range, live []*rowPiece) error {
	lanes := make([]matrix.Block, len(w.lanes))
	for i := range w.lanes {
		lanes[i].At = matrix.Rect{Rows: band, Cols: w.lanes[i].Cols}
		if !w.lanes[i].Sparse {
			lanes[i] = matrix.NewDense(w.lanes[i].DType, lanes[i].At)
		}
	}
	var strips []strip
	for _, p := range live {
		if p.Rows.Intersect(band).Len() == 0 {
			continue
		}
		one, err := w.fetch(ctx, p, band, lanes)
		if err != nil {
			return err
		}
		strips = append(strips, one)
	}
	if w.wide() > 0 {
		if err := w.join(lanes, band, nil, strips); err != nil {
			return err
		}
		return w.sink.Rows(ctx, lanes)
	}
	var rows []int64
	for _, s := range strips {
		rows = append(rows, s.rows...)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	if err := w.join(lanes, matrix.Range{Hi: int64(len(rows))}, rows, strips); err != nil {
		return err
	}
	return w.stretch(ctx, band, rows, lanes)
}

// fetch puts what the piece has of the band into the dense lanes that it meets, or gives what it has of sparse ones: the
// lanes of a matrix are all dense or all sparse.
func (w *rowWriter) fetch(ctx context.Context, p *rowPiece, band matrix.Range, lanes []matrix.Block) (s strip, err error) {
	o, err := w.bucket.Open(ctx, w.stage.Name(p.Spool))
	if err != nil {
		return s, err
	}
	defer o.Close()
	if w.file.Metas[p.Matrix].Layout == matrix.RowSparse {
		s.matrix = p.Matrix
		s.rows, s.cells, err = p.fetchSparse(o, band)
		return s, err
	}
	place := matrix.Rect{Rows: band, Cols: p.Cols}.Intersect(p.at())
	return s, p.fetchDense(ctx, o, place, func(b matrix.Block) error {
		for i := range w.lanes {
			l := &w.lanes[i]
			at := lanes[i].At.Intersect(b.At)
			if at.Empty() || w.of[l.Name] != p.Matrix {
				continue
			}
			one, err := l.cast(b.Cut(at))
			if err != nil {
				return err
			}
			if err := matrix.Put(lanes[i], one); err != nil {
				return err
			}
		}
		return nil
	})
}

// join makes the sparse lanes of the strips, with the rows at: those numbers themselves, or the places of the numbers in
// rows if there are rows.
func (w *rowWriter) join(lanes []matrix.Block, at matrix.Range, rows []int64, strips []strip) error {
	for i := range w.lanes {
		l := &w.lanes[i]
		if !l.Sparse {
			continue
		}
		var beside []matrix.Block
		for _, s := range strips {
			if s.cells.Data == nil || s.matrix != w.of[l.Name] || s.cells.At.Cols.Intersect(l.Cols).Len() == 0 {
				continue
			}
			place := s.rows
			if rows != nil {
				place = ranks(rows, s.rows)
			}
			b, err := l.as(cutCols(s.cells, l.Cols))
			if err != nil {
				return err
			}
			beside = append(beside, b.Spread(place, at))
		}
		lanes[i] = joinRows(matrix.Rect{Rows: at, Cols: l.Cols}, l.DType, beside)
	}
	return nil
}

// ranks are the places of some of the rows among all; both ascend.
func ranks(all, some []int64) []int64 {
	places := make([]int64, len(some))
	next := 0
	for i, r := range some {
		for all[next] != r {
			next++
		}
		places[i] = int64(next)
	}
	return places
}

// cutCols is the part of b that lies in the columns.
func cutCols(b matrix.Block, cols matrix.Range) matrix.Block {
	if cols.Lo <= b.At.Cols.Lo && b.At.Cols.Hi <= cols.Hi {
		return b
	}
	return b.Cut(matrix.Rect{Rows: b.At.Rows, Cols: cols})
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
