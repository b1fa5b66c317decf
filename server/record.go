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
	out.Slots = shard.Slots(&st.meta, st.rule)
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

// lists visits the partition for what columns there are, some after the other, and sorts them, while those before are used, which are valid
// until the next.
func (s *snapshot) lists(ctx context.Context) iter.Seq2[*shard.Columns, error] {
	return func(yield func(*shard.Columns, error) bool) {
		type answer struct {
			more bool
			err  error
		}
		both := &s.lent.lists
		listed := make(chan answer, 1)
		list := func(c *shard.Columns) {
			a := answer{}
			defer func() { listed <- a }()
			defer s.of.of.job.server.recovered(&a.err)
			if a.err = s.visit(ctx, func(m *shard.Mark) error {
				a.more = m.List(c, bandKeys)
				return nil
			}); a.more {
				s.mark.Sort(c)
			}
		}
		list(&both[0])
		for i := 0; ; i++ {
			a := <-listed
			if a.err != nil {
				yield(nil, a.err)
			}
			if a.err != nil || !a.more {
				return
			}
			go list(&both[(i+1)%2])
			if !yield(&both[i%2], nil) {
				<-listed
				return
			}
		}
	}
}

// stateColumns copies columns with their slots beside the partition, some after the other, and gives them away, until there are no more.
func (s *snapshot) stateColumns(ctx context.Context, p *state.Partition, give func(state.Band) error) error {
	n := int(max(1, min(s.mark.Columns(), bandKeys, bandBytes/max(1, p.Width()*int64(p.DType.Size())))))
	s.pace.begin()
	for all, err := range s.lists(ctx) {
		if err != nil {
			return err
		}
		for lo := 0; lo < all.Len(); lo += n {
			some := all.Part(lo, min(lo+n, all.Len()))
			r := s.lent.next()
			b := state.Band{Keys: refilled(&r.keys, some.Keys), Last: refilled(&r.last, some.Ages.Last), Ranks: refilled(&r.ranks, some.Ages.Ranks)}
			if p.Stale {
				r.stamps = slices.Grow(r.stamps[:0], some.Len())[:some.Len()]
				b.Stamps = r.stamps
			}
			at := matrix.At(0, int64(some.Len()), 0, p.Width())
			b.Values = []matrix.Block{{At: at, Data: r.cells(0, p.DType, some.Len()*int(p.Width()))}}
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
	return nil
}

// rooms is the memory of lists, and of bands that are lent to a writer, those of all partitions after each other.
type rooms struct {
	lists [2]shard.Columns
	of    [state.Lent]room
	used  int
}

// room is the memory of a band.
type room struct {
	values             []matrix.Data // as large as any has been
	keys, last, stamps []int64
	ranks              []uint8
}

// refilled is a copy of values in memory that was used before; nil if there are none.
func refilled[E any](into *[]E, from []E) []E {
	if from == nil {
		return nil
	}
	*into = append((*into)[:0], from...)
	return *into
}

// next is that of the next one: nobody needs what is in it any more.
func (r *rooms) next() *room {
	r.used++
	return &r.of[r.used%len(r.of)]
}

// cells is memory for some cells, the i-th of a band.
func (r *room) cells(i int, t matrix.DType, n int) matrix.Data {
	if len(r.values) <= i {
		r.values = append(r.values, nil)
	}
	if v := r.values[i]; v == nil || v.DType() != t || v.NNZ() < n {
		r.values[i] = matrix.NewDense(t, matrix.At(0, 1, 0, int64(n))).Data
	}
	switch d := r.values[i].(type) { // of what servers keep
	case *matrix.Dense[float64]:
		return &matrix.Dense[float64]{Val: d.Val[:n]}
	case *matrix.Dense[float32]:
		return &matrix.Dense[float32]{Val: d.Val[:n]}
	case *matrix.Dense[int64]:
		return &matrix.Dense[int64]{Val: d.Val[:n]}
	case *matrix.Dense[int32]:
		return &matrix.Dense[int32]{Val: d.Val[:n]}
	}
	return matrix.NewDense(t, matrix.At(0, 1, 0, int64(n))).Data
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
	for at := range places {
		s.pace.begin()
		r := s.lent.next()
		b := state.Band{Values: make([]matrix.Block, 1+p.Slots)}
		n, _ := at.Cells()
		for slot := range b.Values {
			b.Values[slot] = matrix.Block{At: at, Data: r.cells(slot, p.DType, int(n))}
			dst, _ := wire.ViewAny(b.Values[slot].Data.Values())
			if err := s.beside(ctx, func() error { return s.mark.ReadRect(dst, at, slot) }); err != nil {
				return err
			}
		}
		if err := s.charged(b, give); err != nil {
			return err
		}
		s.pace.pause(ctx, bandSize(b), s.of.of.job.slowest.Load())
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
