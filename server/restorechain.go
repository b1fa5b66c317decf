package server

import (
	"context"
	"fmt"
	"slices"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/state"
)

// source is a matrix in one of the checkpoints that are restored.
type source struct {
	*state.Matrix
	in *state.Input
}

// findAll finds a matrix in all of the checkpoints, the oldest first.
func findAll(chain []*state.Input, st *store) (all []source, err error) {
	for _, in := range chain {
		m, err := in.Find(st.meta.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", in.Path(), rpc.ErrNotFound, err)
		}
		if err := m.Fits(&st.meta); err != nil {
			return nil, fmt.Errorf("%w: %w", rpc.ErrRefused, err)
		}
		if len(all) > 0 && !slices.Equal(m.Map.AllBands(), all[0].Map.AllBands()) {
			return nil, fmt.Errorf("%s: the rows of matrix %q are cut into %v, want %v as in its base: %w",
				in.Path(), st.meta.Name, m.Map.AllBands(), all[0].Map.AllBands(), rpc.ErrRefused)
		}
		all = append(all, source{m, in})
	}
	return all, nil
}

// seen is the columns that newer checkpoints have or removed, by the rows of their partitions: what older ones say of them is over.
type seen struct {
	of    map[matrix.Range]map[int64]struct{}
	count int
	bytes budget.Charge
}

// seenBytes is about what a column takes there.
const seenBytes = 20

func (s *seen) has(p *state.Partition, key int64) bool {
	_, ok := s.of[p.At.Rows][key]
	return ok
}

// see remembers columns for the checkpoints that are read after this one.
func (r *restoring) see(p *state.Partition, keys []int64) {
	s := &r.newer
	if !r.more {
		return
	}
	if s.of == nil {
		s.of, s.bytes = map[matrix.Range]map[int64]struct{}{}, r.l.s.Ledger.Force(budget.Saves, 0)
	}
	band := s.of[p.At.Rows]
	if band == nil {
		band = map[int64]struct{}{}
		s.of[p.At.Rows] = band
	}
	s.count -= len(band)
	for _, key := range keys {
		band[key] = struct{}{}
	}
	s.count += len(band)
	s.bytes.Resize(int64(s.count) * seenBytes)
}

// read reads the records of all checkpoints. Cells of older ones are replaced by newer ones. Columns come from the newest that has
// them, so that none is made that was removed later, and those that have only some of the rows stay apart until all is known.
func (r *restoring) read(ctx context.Context, chain []source) error {
	last := chain[len(chain)-1]
	r.setSteps(last.Steps())
	order := slices.Clone(chain)
	sparse := last.Meta.Layout == matrix.RowSparse
	if sparse {
		slices.Reverse(order)
	}
	for i, from := range order {
		r.last, r.more = from == last, sparse && i < len(order)-1
		if from.Meta.Keep.ExpireAfter == 0 && !r.ageless { // columns were named last when a job went on from this one
			r.ageless, r.named = true, from.Steps()
		}
		for id := range from.Records {
			if !r.overlaps(from.Matrix, id) {
				continue
			}
			if r.last {
				r.past = nil // until it says so
			}
			if err := from.in.Record(ctx, from.Matrix, id, r.band); err != nil {
				return err
			}
		}
		from.in.Close()
		if r.past = r.known; r.past != nil && r.more && r.mixed {
			return fmt.Errorf("increments of matrix %q, whose partitions made different numbers of steps: %w", last.Meta.Name, rpc.ErrRefused)
		}
	}
	return nil
}

func (r *restoring) setSteps(n int64) {
	if r.st.byClock() {
		n -= int64(r.st.slowest.Load())
	}
	for _, f := range r.to {
		if f != nil {
			f.shard.SetSteps(n)
		}
	}
}

// expected is about how many columns a partition here will have, and how many that are not made: those that are stored at the end,
// but no more than there are in all checkpoints.
func (r *restoring) expected(chain []source, p int) (columns, candidates int64) {
	n, stored, waiting := 0.0, 0.0, 0.0
	for i, from := range chain {
		for id, place := range from.Records {
			share := r.share(from.Matrix, id, p)
			n += float64(place.Columns) * share
			if i == len(chain)-1 {
				stored += float64(max(place.Columns, place.Stored)) * share
				waiting += float64(place.Candidates) * share
			}
		}
	}
	return int64(min(n, stored)), int64(waiting)
}
