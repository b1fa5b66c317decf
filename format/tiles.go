package format

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/matrix"
)

// CheckTiles reports the first two places that overlap, and the first cell of the rows must (ascending) within the
// columns that no place holds. Empty places count as nothing.
func CheckTiles(cols matrix.Range, must []matrix.Range, at []matrix.Rect) error {
	at = slices.DeleteFunc(slices.Clone(at), matrix.Rect.Empty)
	slices.SortFunc(at, func(a, b matrix.Rect) int { return cmp.Compare(a.Rows.Lo, b.Rows.Lo) })
	s := sweep{cols: cols, must: must, at: at}
	edges := s.edges()
	for i := 1; i < len(edges); i++ {
		if err := s.band(matrix.Range{Lo: edges[i-1], Hi: edges[i]}); err != nil {
			return err
		}
	}
	return nil
}

// sweep goes over the rows from edge to edge; between two edges the places that hold a row are the same.
type sweep struct {
	cols matrix.Range
	must []matrix.Range
	at   []matrix.Rect // that begin below the band
	live []matrix.Rect // that hold the band, by column
}

func (s *sweep) edges() []int64 {
	var edges []int64
	for _, r := range s.at {
		edges = append(edges, r.Rows.Lo, r.Rows.Hi)
	}
	for _, r := range s.must {
		edges = append(edges, r.Lo, r.Hi)
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

func (s *sweep) band(rows matrix.Range) error {
	s.live = slices.DeleteFunc(s.live, func(r matrix.Rect) bool { return r.Rows.Hi <= rows.Lo })
	for len(s.at) > 0 && s.at[0].Rows.Lo == rows.Lo {
		s.live = append(s.live, s.at[0])
		s.at = s.at[1:]
	}
	slices.SortFunc(s.live, func(a, b matrix.Rect) int { return cmp.Compare(a.Cols.Lo, b.Cols.Lo) })
	for len(s.must) > 0 && s.must[0].Hi <= rows.Lo {
		s.must = s.must[1:]
	}
	full := len(s.must) > 0 && s.must[0].Has(rows.Lo)
	next := s.cols.Lo
	for i, r := range s.live {
		if i > 0 && r.Cols.Lo < next {
			return fmt.Errorf("blocks %v and %v overlap", s.live[i-1], r)
		}
		if full && r.Cols.Lo > next {
			break
		}
		next = max(next, r.Cols.Hi)
	}
	if full && next < s.cols.Hi {
		return fmt.Errorf("no block holds row %d, column %d", rows.Lo, next)
	}
	return nil
}
