package format

import (
	"fmt"

	"thole.example/matrix"
)

// Lane is a run of neighbouring columns of a matrix that have one element type: what a file of rows takes from each row
// as one piece. A matrix whose columns are all of one type is one lane.
type Lane struct {
	Name   string // of the matrix
	Cols   matrix.Range
	DType  matrix.DType
	Sparse bool
	round  bool // values may become the nearest of DType
}

// Lanes cuts the columns of a matrix into lanes, ascending. A matrix without columns has one, which is empty.
func Lanes(m *matrix.Meta) []Lane {
	whole := Lane{Name: m.Name, Cols: m.Rect().Cols, DType: m.DType, Sparse: m.Layout == matrix.RowSparse}
	if len(m.ColTypes) == 0 {
		return []Lane{whole}
	}
	var lanes []Lane
	for i, d := range m.ColTypes {
		c := m.ColLo + int64(i)
		if n := len(lanes); n > 0 && lanes[n-1].DType == d {
			lanes[n-1].Cols.Hi = c + 1
			continue
		}
		whole.Cols, whole.DType = matrix.Range{Lo: c, Hi: c + 1}, d
		lanes = append(lanes, whole)
	}
	return lanes
}

// cast gives a block within the lane the lane's type. It fails if a value would change, unless it may.
func (l *Lane) cast(b matrix.Block) (matrix.Block, error) {
	to, exact := b.Cast(l.DType)
	if !exact && !l.round {
		return b, fmt.Errorf("matrix %q: block %v of type %v holds a value that %v does not", l.Name, b.At, b.Data.DType(), l.DType)
	}
	return to, nil
}

// as is cast, with the values held as those of the lane are.
func (l *Lane) as(b matrix.Block) (matrix.Block, error) {
	b, err := l.cast(b)
	switch {
	case err != nil:
		return b, err
	case l.Sparse:
		return b.ToCSR(), nil
	}
	return b.ToDense(), nil
}
