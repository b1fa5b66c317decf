package graph

import (
	"fmt"
	"runtime"

	"thole.example/data"
)

// Scorer scores examples with the weights of a table. One goroutine uses it, with a model of its own; tables may be shared.
type Scorer struct {
	run   *Run
	table *Table
	at    []uint32 // for each stored value of a batch its place in the table
}

// NewScorer readies the model, whose matrices are those of the table.
func NewScorer(m *Model, t *Table) (*Scorer, error) {
	run, err := NewRun(m)
	if err != nil {
		return nil, err
	}
	if len(run.batch.params) != len(t.params) {
		return nil, fmt.Errorf("model %q: %d matrices, and the table has %d", m.Name, len(run.batch.params), len(t.params))
	}
	for i, p := range run.batch.params {
		if has := t.params[i]; has.Name != p.Name || has.Rows != p.Rows || has.Features != p.Features || !p.Features && has.Cols != p.Cols {
			return nil, fmt.Errorf("model %q: matrix %s of %d x %d, and the table has %s of %d x %d", m.Name, p.Name, p.Rows, p.Cols,
				has.Name, has.Rows, has.Cols)
		}
		run.batch.values[i].Val = t.values[i]
	}
	return &Scorer{run: run, table: t, at: []uint32{}}, nil // none is not nil, which kernels take for all in order
}

// Score gives Width scores for each example, valid until the next call. The error names the row of the batch that does not fit
// the model.
func (s *Scorer) Score(b *data.Batch) (*Tensor, error) {
	x := b.Rows()
	s.at = resize(s.at, x.Ptr[len(x.Ptr)-1])
	t := &s.run.batch
	t.of = b
	for i := range t.params {
		if t.params[i].Features {
			t.values[i].At = s.at
		}
	}
	defer runtime.KeepAlive(s.table) // whose memory is given back with it
	return s.run.score(b, func(lo, hi int) { s.table.find(x.Idx[lo:hi], s.at[lo:hi]) })
}
