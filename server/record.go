package server

import (
	"context"
	"iter"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/state"
	"thole.example/wire"
)

// record writes the snapshot's partition, of a clock, band by band, and tells where.
func (s *snapshot) record(ctx context.Context, w *state.Writer, clock int) (out state.Record, err error) {
	st := s.of.of
	p := state.Partition{
		Matrix: st.meta.Name, ID: s.of.id, At: st.parts.At(s.of.id), Sparse: st.meta.Layout == matrix.RowSparse, Bits: st.parts.Bits,
		DType: st.meta.DType,
	}
	if st.rule != nil {
		p.Slots = st.rule.Slots
	}
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
	if err := bands(ctx, &p, w.Band); err != nil {
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

// stateColumns visits the partition for some columns with their slots, and gives them away, until there are no more.
func (s *snapshot) stateColumns(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	n := max(1, bandBytes/max(1, p.Width()*int64(p.DType.Size())))
	for {
		var b state.Band
		err := s.visit(ctx, func(m *shard.Mark) error {
			if b.Keys = m.Keys(int(min(n, bandKeys))); len(b.Keys) == 0 {
				return nil
			}
			rows := matrix.NewDense(p.DType, matrix.At(0, int64(len(b.Keys)), 0, p.Width()))
			b.Values = []matrix.Block{rows}
			dst, _ := wire.ViewAny(rows.Data.Values())
			var ages shard.Ages
			var err error
			if p.Stale {
				b.Stamps = make([]int64, len(b.Keys))
				ages, err = m.ReadStale(dst, b.Stamps, b.Keys)
			} else {
				ages, err = m.ReadState(dst, b.Keys)
			}
			b.Last, b.Ranks = ages.Last, ages.Ranks
			return err
		})
		if err != nil || b.Keys == nil {
			return err
		}
		if len(b.Keys) == 0 {
			continue
		}
		if err := s.charged(b, give); err != nil {
			return err
		}
	}
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

// stateCells visits the partition for some cells and the slots of the same, and gives them away, until there are no more.
func (s *snapshot) stateCells(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	cells := bandBytes / int64(p.DType.Size()*(1+p.Slots))
	places := iter.Seq[matrix.Rect](format.Bands(p.At, cells))
	if p.Partial {
		places = s.mark.Places(cells)
	}
	for at := range places {
		var b state.Band
		err := s.visit(ctx, func(m *shard.Mark) error {
			for slot := range 1 + p.Slots {
				cells := matrix.NewDense(p.DType, at)
				dst, _ := wire.ViewAny(cells.Data.Values())
				if err := m.ReadRect(dst, at, slot); err != nil {
					return err
				}
				b.Values = append(b.Values, cells)
			}
			return nil
		})
		if err == nil {
			err = s.charged(b, give)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// charged gives a band away, whose memory counts meanwhile.
func (s *snapshot) charged(b state.Band, give func(state.Band) error) error {
	size := 8*(len(b.Keys)+len(b.Counts)+len(b.Last)+len(b.Stamps)+len(b.Removed)) + len(b.Ranks)
	for _, v := range b.Values {
		size += v.Data.NNZ() * v.Data.DType().Size()
	}
	while := s.of.of.job.server.Ledger.Force(budget.Saves, int64(size))
	defer while.Release()
	return give(b)
}
