// Package shard keeps one partition of a matrix in memory: dense rows, or columns by key (open addressing into slabs),
// with the state of the update rule beside the weights. Values change by adding deltas, by an update rule, by an update
// function, or by loading.
//
// A Shard is not safe for concurrent use; its owner serializes.
package shard

import (
	"fmt"
	"iter"

	"thole.example/matrix"
	"thole.example/psf"
)

// Shard is one partition.
type Shard struct {
	meta  *matrix.Meta
	at    matrix.Rect
	rule  *psf.Rule
	step  psf.Step
	steps int64
	store store
}

// store holds the values of one element type in one layout.
type store interface {
	read(at matrix.Rect, cols []int64) matrix.Block
	add(b matrix.Block) error
	set(b matrix.Block) error
	apply(grads []matrix.Block, scale float64, run stepper) error
	each(f func(row, col int64, val []float64))
	blocks() iter.Seq[matrix.Block]
	missing(keys []int64) int64
	bytes() int64
}

// stepper runs a rule's step at a rate as the t-th one.
type stepper struct {
	step psf.Step
	rate float64
	t    int64
}

// New is the partition of m at the place, with the initial values that m.Init says. rule is nil if pushed deltas are
// added. The Meta must not be changed afterwards.
func New(m *matrix.Meta, at matrix.Rect, rule *psf.Rule) (*Shard, error) {
	s := &Shard{meta: m, at: at, rule: rule}
	slots := 0
	if rule != nil {
		step, err := rule.Bind(m.Hyper)
		if err != nil {
			return nil, fmt.Errorf("matrix %s: %w", m.Name, err)
		}
		if m.DType != matrix.F32 && m.DType != matrix.F64 {
			return nil, fmt.Errorf("matrix %s: rule %s on %v, want f32 or f64", m.Name, rule.Name, m.DType)
		}
		s.step, slots = step, rule.Slots
	}
	if err := CheckInit(m.Init); err != nil {
		return nil, fmt.Errorf("matrix %s: %w", m.Name, err)
	}
	var err error
	s.store, err = newStore(m, at, slots)
	return s, err
}

func newStore(m *matrix.Meta, at matrix.Rect, slots int) (store, error) {
	switch m.DType {
	case matrix.F64:
		return layout[float64](m, at, slots)
	case matrix.F32:
		return layout[float32](m, at, slots)
	case matrix.I64:
		return layout[int64](m, at, slots)
	case matrix.I32:
		return layout[int32](m, at, slots)
	}
	return nil, fmt.Errorf("matrix %s: element type %v on a server, want f64, f32, i64 or i32", m.Name, m.DType)
}

func layout[T number](m *matrix.Meta, at matrix.Rect, slots int) (store, error) {
	if m.Layout == matrix.RowSparse {
		return newKeyed[T](m, at, slots)
	}
	return newDense[T](m, at, slots)
}

// Meta describes the matrix.
func (s *Shard) Meta() *matrix.Meta { return s.meta }

// At is the place of the partition.
func (s *Shard) At() matrix.Rect { return s.at }

// Read copies the cells of the place, which must lie in the partition, or only its columns cols (ascending) if they are
// not nil. Without cols the answer is dense for dense matrices, and the stored columns for sparse ones; with cols it
// is *matrix.Cols, where a column that was never written has its initial values.
func (s *Shard) Read(at matrix.Rect, cols []int64) (matrix.Block, error) {
	if !s.at.Contains(at) {
		return matrix.Block{}, fmt.Errorf("matrix %s: read of %v from the partition at %v", s.meta.Name, at, s.at)
	}
	for _, c := range cols {
		if !s.at.Cols.Has(c) {
			return matrix.Block{}, fmt.Errorf("matrix %s: column %d, want one in %v", s.meta.Name, c, s.at.Cols)
		}
	}
	return s.store.read(at, cols), nil
}

// Fits tells why a delta could not be applied: its element type or place. That its data are sound is for its Check.
func (s *Shard) Fits(d matrix.Block) error {
	if !s.at.Contains(d.At) {
		return fmt.Errorf("matrix %s: delta at %v for the partition at %v", s.meta.Name, d.At, s.at)
	}
	if d.Data.DType() != s.meta.DType {
		return fmt.Errorf("matrix %s: delta of %v, want %v", s.meta.Name, d.Data.DType(), s.meta.DType)
	}
	return nil
}

// Add adds the delta to the values, without the rule.
func (s *Shard) Add(d matrix.Block) error {
	if err := s.Fits(d); err != nil {
		return err
	}
	return s.store.add(d)
}

// Set replaces the cells that d stores; the others stay as they are.
func (s *Shard) Set(d matrix.Block) error {
	if err := s.Fits(d); err != nil {
		return err
	}
	return s.store.set(d)
}

// Apply takes the deltas of one clock in their order. Without a rule they are added. With one, the rule makes a step
// with their sum divided by weight: over all cells of a dense matrix, over the columns that the deltas touch of a sparse
// one. A weight of 0 makes no step.
func (s *Shard) Apply(deltas []matrix.Block, weight, rate float64) error {
	for _, d := range deltas {
		if err := s.Fits(d); err != nil {
			return err
		}
	}
	if s.rule == nil {
		for _, d := range deltas {
			if err := s.store.add(d); err != nil {
				return err
			}
		}
		return nil
	}
	if weight <= 0 {
		return nil
	}
	s.steps++
	return s.store.apply(deltas, 1/weight, stepper{s.step, rate, s.steps})
}

// Each implements psf.View.
func (s *Shard) Each(f func(row, col int64, val []float64)) { s.store.each(f) }

// Blocks gives copies of all stored values, for saving: the whole place as one dense block, or the stored columns,
// ascending.
func (s *Shard) Blocks() iter.Seq[matrix.Block] { return s.store.blocks() }

// Bytes is about how much memory the values and the rule's state use.
func (s *Shard) Bytes() int64 { return s.store.bytes() }

var _ psf.View = (*Shard)(nil)
