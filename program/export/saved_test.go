package export_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"

	"thole.example/format"
	"thole.example/matrix"
)

// saved is matrices as training saves them.
type saved struct {
	metas []matrix.Meta
	val   map[string][]float64
	keys  func(col int64) int64 // of sparse matrices: the key of each column; nil: itself

	given, fault int // blocks that were given, and which of them fails, counted from 1
}

var errFault = errors.New("the disk is broken")

// add makes a matrix of pseudo-random values, which are float32.
func (s *saved) add(name string, rows, cols int64) *matrix.Meta {
	if s.val == nil {
		s.val = map[string][]float64{}
	}
	rng := rand.New(rand.NewPCG(uint64(len(s.metas)), 7))
	v := make([]float64, rows*cols)
	for i := range v {
		v[i] = float64(float32(rng.NormFloat64() / 2))
	}
	s.val[name] = v
	s.metas = append(s.metas, matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F32})
	return &s.metas[len(s.metas)-1]
}

// at is one value.
func (s *saved) at(name string, row, col int) float64 {
	m, err := format.Find(s, name)
	if err != nil {
		panic(err)
	}
	return s.val[name][row*int(m.Cols)+col]
}

func (s *saved) Matrices() []matrix.Meta  { return s.metas }
func (s *saved) Notes() []string          { return nil }
func (s *saved) Files() map[string][]byte { return nil }
func (s *saved) Close() error             { return nil }

// Blocks gives rows one by one, each in two pieces, of the type of the matrix; of sparse ones only the even columns.
func (s *saved) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		m, err := format.Find(s, name)
		if err != nil {
			yield(matrix.Block{}, err)
			return
		}
		width := m.Cols
		if m.Layout == matrix.RowSparse && s.keys != nil {
			width = int64(len(s.val[name])) / m.Rows
		}
		for r := range m.Rows {
			for _, cols := range []matrix.Range{{Lo: 0, Hi: width / 2}, {Lo: width / 2, Hi: width}} {
				values := s.val[name][r*width+cols.Lo : r*width+cols.Hi]
				b := matrix.Block{At: matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: cols}, Data: &matrix.Dense[float64]{Val: values}}
				if m.DType == matrix.F32 {
					b, _ = b.Cast(matrix.F32)
				}
				if m.Layout == matrix.RowSparse {
					b = s.hashed(&m, b.Pick(func(col int64) bool { return col%2 == 0 }))
				}
				if b = b.Cut(want); b.At.Empty() {
					continue
				}
				if s.given++; s.given == s.fault {
					yield(matrix.Block{}, errFault)
					return
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// hashed gives the columns of a block their keys.
func (s *saved) hashed(m *matrix.Meta, b matrix.Block) matrix.Block {
	if s.keys == nil {
		return b
	}
	idx := b.Data.(matrix.Keyed).Keys()
	for i, c := range idx {
		idx[i] = s.keys(c)
	}
	b.At.Cols = m.Rect().Cols
	return b
}
