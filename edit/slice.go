package edit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// Slice keeps the rows and columns in the ranges of every matrix; they count from 0 again. A range that reaches beyond a
// matrix is cut to it; one that misses a matrix is an error.
func Slice(r format.Reader, rows, cols matrix.Range) (format.Reader, error) {
	v := &view{of: []format.Reader{r}}
	places := []matrix.Rect{}
	for _, m := range r.Matrices() {
		at := m.Rect().Intersect(matrix.Rect{Rows: rows, Cols: cols})
		if at.Empty() {
			return nil, fmt.Errorf("edit: matrix %s is %v, of which nothing is kept", m.Name, m.Rect())
		}
		v.ms, places = append(v.ms, sliced(m, at)), append(places, at)
	}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		at := places[i]
		inner := matrix.Block{At: want, Data: matrix.Empty{D: matrix.U8}}.Shift(at.Rows.Lo, at.Cols.Lo).At.Intersect(at)
		return each(r.Blocks(ctx, v.ms[i].Name, inner), func(b matrix.Block) matrix.Block {
			return b.Shift(-at.Rows.Lo, -at.Cols.Lo)
		})
	}
	return v, nil
}

// sliced describes the part of m at the place.
func sliced(m matrix.Meta, at matrix.Rect) matrix.Meta {
	s := m.Clone()
	s.Rows, s.Cols, s.ColLo = at.Rows.Len(), at.Cols.Len(), 0
	s.BlockRows, s.BlockCols, s.Stored = 0, 0, 0
	s.Dims, s.LoD, s.Saved = nil, nil, nil
	lo, hi := at.Cols.Lo-m.ColLo, at.Cols.Hi-m.ColLo
	if m.Labels != nil {
		s.Labels = slices.Clone(m.Labels[lo:hi])
	}
	if m.ColTypes != nil {
		s.ColTypes = slices.Clone(m.ColTypes[lo:hi])
	}
	if m.ColOrigins != nil {
		s.ColOrigins = slices.Clone(m.ColOrigins[lo:hi])
	}
	for _, saved := range m.Saved {
		if both := saved.Intersect(at.Rows); both.Len() > 0 {
			s.Saved = append(s.Saved, matrix.Range{Lo: both.Lo - at.Rows.Lo, Hi: both.Hi - at.Rows.Lo})
		}
	}
	return s
}
