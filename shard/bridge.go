package shard

import (
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// Temporary: replaced by the new table.

type Delta struct {
	Rows, Cols matrix.Range
	Keys       []int64
	Values     []byte
}

func Check(m *matrix.Meta, rule *psf.Rule) error {
	_, err := New(m, matrix.At(0, m.Rows, 0, 0), 0, rule)
	return err
}

func values[T number](b []byte) []T { v, _ := wire.NumbersAnywhere[T](b); return v }

func blockOf[T number](d Delta) matrix.Block {
	at := matrix.Rect{Rows: d.Rows, Cols: d.Cols}
	v := values[T](d.Values)
	if d.Keys == nil {
		return matrix.Block{At: at, Data: &matrix.Dense[T]{Val: v}}
	}
	idx := make([]int, len(d.Keys))
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(a, b int) int { return int(min(1, max(-1, d.Keys[a]-d.Keys[b]))) })
	n := int(d.Rows.Len())
	out := &matrix.Cols[T]{}
	for _, i := range idx {
		out.Idx = append(out.Idx, d.Keys[i])
		out.Val = append(out.Val, v[i*n:i*n+n]...)
	}
	return matrix.Block{At: at, Data: out}
}

func (s *Shard) block(d Delta) matrix.Block {
	switch s.meta.DType {
	case matrix.F64:
		return blockOf[float64](d)
	case matrix.F32:
		return blockOf[float32](d)
	case matrix.I64:
		return blockOf[int64](d)
	}
	return blockOf[int32](d)
}

func (s *Shard) Read(dst []byte, rows matrix.Range, keys []int64) error {
	at := matrix.Rect{Rows: rows, Cols: s.at.Cols}
	n := int(rows.Len()) * s.meta.DType.Size()
	for i, k := range keys {
		b, err := s.ReadBlock(at, []int64{k})
		if err != nil {
			return err
		}
		raw, _ := wire.ViewAny(b.Data.Values())
		copy(dst[i*n:], raw)
	}
	return nil
}

func (s *Shard) ReadRect(dst []byte, at matrix.Rect) error {
	b, err := s.ReadBlock(at, nil)
	if err != nil {
		return err
	}
	out := matrix.NewDense(s.meta.DType, at)
	if err := matrix.Put(out, b); err != nil {
		return err
	}
	raw, _ := wire.ViewAny(out.Data.Values())
	copy(dst, raw)
	return nil
}

func (s *Shard) Stored(rows, cols matrix.Range) ([]int64, []byte) {
	b, _ := s.ReadBlock(matrix.Rect{Rows: rows, Cols: cols}, nil)
	raw, _ := wire.ViewAny(b.Data.Values())
	return b.Data.(matrix.Keyed).Keys(), raw
}

func (s *Shard) Apply(deltas []Delta, weight, rate float64) error {
	var bs []matrix.Block
	for _, d := range deltas {
		bs = append(bs, s.block(d))
	}
	return s.ApplyBlocks(bs, weight, rate)
}

func (s *Shard) Missing(keys []int64) int { return int(s.store.missing(keys)) }

func (s *Shard) Close() {}

type Mark struct {
	next func() (matrix.Block, bool)
	stop func()
}

func (s *Shard) Mark() *Mark {
	var all []matrix.Block
	for b := range s.Blocks() {
		all = append(all, b)
	}
	return &Mark{next: func() (matrix.Block, bool) {
		if len(all) == 0 {
			return matrix.Block{}, false
		}
		b := all[0]
		all = all[1:]
		return b, true
	}}
}

func (m *Mark) Next() (matrix.Block, bool, error) { b, ok := m.next(); return b, ok, nil }
func (m *Mark) Close()                            {}
