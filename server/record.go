package server

import (
	"context"
	"errors"
	"iter"
	"slices"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/state"
	"thole.example/wire"
)

// recorded is what a record of the partition begins with, whatever its values are.
func (p *partition) recorded() state.Partition {
	st := p.of
	out := state.Partition{
		Matrix: st.meta.Name, ID: p.id, At: st.parts.At(p.id), Sparse: st.meta.Layout == matrix.RowSparse, Bits: st.parts.Bits,
		DType: st.meta.DType,
	}
	if st.rule != nil {
		out.Slots = st.rule.Slots
	}
	return out
}

// record writes the snapshot's partition, of a clock, band by band, and tells where.
func (s *snapshot) record(ctx context.Context, w *state.Writer, clock int) (out state.Record, err error) {
	st, p := s.of.of, s.of.recorded()
	var past state.Band
	if err := s.visit(ctx, func(m *shard.Mark) error {
		p.Steps, p.Aged, p.Ranked, p.Absent, p.Partial = m.Steps(), m.Aged(), m.Ranked(), string(m.Absent()), m.Partial()
		if m.Past() != nil {
			p.Stale, past.Rates = true, m.Past().Rates()
		}
		return nil
	}); err != nil {
		return out, err
	}
	if st.byClock() {
		p.Steps += int64(clock)
	}
	out.Off, out.Steps = w.Off(), p.Steps
	if err := w.Begin(p); err != nil {
		return out, err
	}
	bands := s.stateCells
	if p.Sparse {
		bands = s.stateColumns
	}
	if len(past.Rates) > 0 {
		if err := w.Band(past); err != nil {
			return out, err
		}
	}
	if err := bands(ctx, &p, w.Lend); err != nil {
		return out, err
	}
	if err := s.stateCandidates(ctx, &p, w.Band); err != nil {
		return out, err
	}
	if p.Partial {
		if err := s.stateRemoved(ctx, w.Band); err != nil {
			return out, err
		}
		out.Stored = s.mark.Columns()
	}
	err = w.End()
	out.Size, out.Columns, out.Candidates = w.Off()-out.Off, w.Columns(), w.Candidates()
	out.Sum = w.Sum()
	return out, err
}

// stateColumns visits the partition for what columns there are, copies some of them after the other with their slots beside it, and
// gives them away, until there are no more.
func (s *snapshot) stateColumns(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	n := int(max(1, min(s.mark.Columns(), bandKeys, bandBytes/max(1, p.Width()*int64(p.DType.Size())))))
	var all shard.Columns
	var lent rooms
	for s.pace.begin(); ; {
		more := false
		if err := s.visit(ctx, func(m *shard.Mark) error {
			more = m.List(&all, bandKeys)
			return nil
		}); err != nil || !more {
			return err
		}
		s.mark.Sort(&all)
		for lo := 0; lo < all.Len(); lo += n {
			some := all.Part(lo, min(lo+n, all.Len()))
			r := lent.next()
			if r.Values == nil {
				r.Values = []matrix.Block{matrix.NewDense(p.DType, matrix.At(0, int64(n), 0, p.Width()))}
			}
			r.Keys, r.Last = append(r.Keys[:0], some.Keys...), append(r.Last[:0], some.Ages.Last...)
			r.Ranks = append(r.Ranks[:0], some.Ages.Ranks...)
			if p.Stale {
				r.Stamps = slices.Grow(r.Stamps[:0], n)[:some.Len()]
			}
			b := *r
			b.Values = []matrix.Block{firstRows(r.Values[0], some.Len())}
			if err := s.copy(ctx, &b, some); err != nil {
				return err
			}
			if err := s.charged(b, give); err != nil {
				return err
			}
			s.pace.pause(ctx, bandSize(b), s.of.of.job.slowest.Load())
			s.pace.begin()
		}
	}
}

// rooms is the memory of bands that are lent to a writer.
type rooms struct {
	of   [state.Lent]state.Band
	used int
}

// next is the memory of the next one: nobody needs what is in it any more.
func (r *rooms) next() *state.Band {
	r.used++
	return &r.of[r.used%len(r.of)]
}

// firstRows is the first n rows of a dense block, which share its memory.
func firstRows(b matrix.Block, n int) matrix.Block {
	cells := n * int(b.At.Cols.Len())
	b.At.Rows.Hi = b.At.Rows.Lo + int64(n)
	switch d := b.Data.(type) { // of what servers keep
	case *matrix.Dense[float64]:
		b.Data = &matrix.Dense[float64]{Val: d.Val[:cells]}
	case *matrix.Dense[float32]:
		b.Data = &matrix.Dense[float32]{Val: d.Val[:cells]}
	case *matrix.Dense[int64]:
		b.Data = &matrix.Dense[int64]{Val: d.Val[:cells]}
	case *matrix.Dense[int32]:
		b.Data = &matrix.Dense[int32]{Val: d.Val[:cells]}
	}
	return b
}

// copy fills in a band of columns, beside the partition if that is possible.
func (s *snapshot) copy(ctx context.Context, b *state.Band, some *shard.Columns) error {
	dst, _ := wire.ViewAny(b.Values[0].Data.Values())
	err := s.beside(ctx, func() error { return s.mark.Copy(dst, b.Stamps, some, false) })
	if errors.Is(err, shard.ErrOwner) {
		err = s.visit(ctx, func(m *shard.Mark) error { return m.Copy(dst, b.Stamps, some, true) })
	}
	return err
}

// stateCandidates visits the partition for some columns that are not made, and gives them away, until there are no more.
func (s *snapshot) stateCandidates(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	for {
		var b state.Band
		err := s.visit(ctx, func(m *shard.Mark) error {
			all, err := m.Candidates(bandKeys)
			for _, c := range all {
				b.Keys, b.Counts, b.Last = append(b.Keys, c.Key), append(b.Counts, c.Count), append(b.Last, c.Last)
				if p.Ranked {
					b.Ranks = append(b.Ranks, c.Rank)
				}
			}
			return err
		})
		if err != nil || len(b.Keys) == 0 {
			return err
		}
		if err := s.charged(b, give); err != nil {
			return err
		}
	}
}

// stateCells reads some cells and the slots of the same, beside the partition, and gives them away, until there are no more.
func (s *snapshot) stateCells(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	cells := bandBytes / int64(p.DType.Size()*(1+p.Slots))
	places := iter.Seq[matrix.Rect](format.Bands(p.At, cells))
	if p.Partial {
		places = s.mark.Places(cells)
	}
	var lent rooms
	for at := range places {
		s.pace.begin()
		b := lent.next()
		n, _ := at.Cells()
		for slot := range 1 + p.Slots {
			if len(b.Values) <= slot {
				b.Values = append(b.Values, matrix.Block{})
			}
			if v := &b.Values[slot]; v.Data == nil || int64(v.Data.NNZ()) != n {
				*v = matrix.NewDense(p.DType, at)
			}
			b.Values[slot].At = at
			dst, _ := wire.ViewAny(b.Values[slot].Data.Values())
			if err := s.beside(ctx, func() error { return s.mark.ReadRect(dst, at, slot) }); err != nil {
				return err
			}
		}
		if err := s.charged(*b, give); err != nil {
			return err
		}
		s.pace.pause(ctx, bandSize(*b), s.of.of.job.slowest.Load())
	}
	return nil
}

// charged gives a band away, whose memory counts meanwhile.
func (s *snapshot) charged(b state.Band, give func(state.Band) error) error {
	while := s.of.of.job.server.Ledger.Force(budget.Saves, int64(bandSize(b)))
	defer while.Release()
	return give(b)
}

// bandSize is how many bytes a band has.
func bandSize(b state.Band) int {
	size := 8*(len(b.Keys)+len(b.Counts)+len(b.Last)+len(b.Stamps)+len(b.Removed)) + len(b.Ranks)
	for _, v := range b.Values {
		size += v.Data.NNZ() * v.Data.DType().Size()
	}
	return size
}
