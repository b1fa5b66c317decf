package server

import (
	"context"
	"fmt"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/state"
	"thole.example/wire"
)

// band puts a band of a record into the partitions that it is of.
func (r *restoring) band(p *state.Partition, b state.Band) error {
	if b.Removed != nil {
		r.see(p, b.Removed)
		return nil
	}
	if slots := r.slots(); p.Slots != slots {
		return fmt.Errorf("matrix %q has %d slots in the checkpoint, its rule has %d: %w", p.Matrix, p.Slots, slots, rpc.ErrRefused)
	}
	switch {
	case b.Counts != nil && !r.last, b.Counts == nil && b.Values == nil && !r.last:
		return nil // each increment has these whole
	case b.Counts != nil:
		return r.candidates(b)
	case b.Rates != nil:
		return r.rates(p, b.Rates)
	case b.Values == nil:
		return r.absent(p)
	}
	if b.Keys == nil {
		return r.cells(b)
	}
	values, size := wire.ViewAny(b.Values[0].Data.Values())
	return r.columns(p, b, values, int(p.Width())*size)
}

// rates are those of the last steps of a record's partition, on which its columns are still to catch up.
func (r *restoring) rates(p *state.Partition, rates []float64) (err error) {
	if r.past = r.known; r.past == nil || !r.past.Is(p.Steps, rates) {
		r.past, err = shard.NewPast(r.from, r.st.rule, p.Steps, rates)
	}
	switch {
	case err != nil:
	case r.past == nil:
		err = fmt.Errorf("matrix %q has columns that are behind in the checkpoint, and rule %s leaves none: %w",
			p.Matrix, r.from.Rule, rpc.ErrRefused)
	case r.known != nil && !r.known.Agrees(r.past):
		r.mixed = true
	case r.known == nil || len(r.known.Rates()) < len(rates):
		r.known = r.past
	}
	return err
}

// candidates puts columns that are not made into the partitions that they are of.
func (r *restoring) candidates(b state.Band) error {
	all := make([][]shard.Candidate, len(r.to))
	for i, key := range b.Keys {
		id := r.st.parts.Of(key) // there are no others above or below it, or nothing is to be admitted
		one := shard.Candidate{Key: key, Count: b.Counts[i], Last: b.Last[i]}
		if b.Ranks != nil {
			one.Rank = b.Ranks[i]
		}
		all[id] = append(all[id], one)
	}
	for id, some := range all {
		f := r.to[id]
		if f == nil || len(some) == 0 {
			continue
		}
		if err := f.shard.RestoreCandidates(some); err != nil {
			return err
		}
		if err := r.count(f); err != nil {
			return err
		}
	}
	return nil
}

// absentFirst gives the partitions the values of columns that are not there before the first columns come: one that a partition
// of the checkpoint has for some rows has these values in the others, which may be of partitions that are read later.
func (r *restoring) absentFirst(ctx context.Context, from source) error {
	if from.Meta.Layout != matrix.RowSparse || from.Map.Bands() == 1 {
		return nil // all rows come together
	}
	for id := range from.Records {
		if !r.overlaps(from.Matrix, id) {
			continue
		}
		p, err := from.in.Head(ctx, from.Matrix, id)
		if err == nil {
			err = r.absent(&p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absent gives the partitions the values of columns that are not there.
func (r *restoring) absent(p *state.Partition) error {
	for _, f := range r.to {
		if p.Absent == "" || f == nil || r.st.parts.At(f.to.id).Rows.Intersect(p.At.Rows).Len() == 0 {
			continue
		}
		if err := f.shard.SetAbsent(p.At.Rows, inPlace(p.Absent)); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoring) slots() int {
	if r.st.rule == nil {
		return 0
	}
	return r.st.rule.Slots
}

func (r *restoring) cells(b state.Band) error {
	for id := range r.st.parts.Route(b.Values[0].At) {
		f := r.to[id]
		if f == nil {
			continue
		}
		for slot, cells := range b.Values {
			values, _ := wire.ViewAny(cells.Data.Values())
			if err := f.shard.RestoreRect(cells.At, slot, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// columns sorts columns by their partitions, and puts them there.
func (r *restoring) columns(p *state.Partition, b state.Band, values []byte, each int) error {
	parts := r.st.parts
	if n := parts.Beside(); r.keys == nil {
		r.keys, r.ages, r.stamps, r.values = make([][]int64, n), make([]shard.Ages, n), make([][]int64, n), make([][]byte, n)
	}
	for i, key := range b.Keys {
		if r.newer.has(p, key) {
			continue
		}
		id := parts.Of(key)
		r.keys[id] = append(r.keys[id], key)
		switch {
		case r.ageless:
			r.ages[id].Last = append(r.ages[id].Last, r.named)
		case b.Last != nil:
			r.ages[id].Last = append(r.ages[id].Last, b.Last[i])
		}
		if b.Ranks != nil {
			r.ages[id].Ranks = append(r.ages[id].Ranks, b.Ranks[i])
		}
		switch {
		case b.Stamps != nil:
			r.stamps[id] = append(r.stamps[id], b.Stamps[i])
		case r.past != nil: // they were up to date
			r.stamps[id] = append(r.stamps[id], p.Steps)
		}
		r.values[id] = append(r.values[id], values[i*each:][:each]...)
	}
	for beside, some := range r.keys {
		if len(some) == 0 {
			continue
		}
		for band := range parts.Bands() {
			f := r.to[band*parts.Beside()+beside]
			if f == nil || parts.Band(band).Intersect(p.At.Rows).Len() == 0 {
				continue
			}
			if err := r.put(f.shard, p.At.Rows, beside); err != nil {
				return err
			}
			if err := f.shard.RestoreAges(some, r.ages[beside]); err != nil {
				return err
			}
			if err := r.count(f); err != nil {
				return err
			}
		}
		r.keys[beside], r.ages[beside], r.values[beside] = some[:0], shard.Ages{}, r.values[beside][:0]
		r.stamps[beside] = r.stamps[beside][:0]
	}
	r.see(p, b.Keys)
	return nil
}

// put puts the columns of a partition that were sorted there.
func (r *restoring) put(to *shard.Shard, rows matrix.Range, beside int) error {
	if r.past == nil {
		return to.RestoreColumns(rows, r.keys[beside], r.values[beside])
	}
	return to.RestoreStale(r.past, rows, r.keys[beside], r.values[beside], r.stamps[beside])
}

// count takes the memory that a partition has beside the one that it will replace.
func (r *restoring) count(f *loaded) error {
	if len(r.st.accounts) > 0 {
		grown := int64(0)
		for i := range r.l.fresh {
			grown += r.l.fresh[i].shard.Bytes() - r.l.fresh[i].to.counted.Load()
		}
		if grown > r.st.accounts.left() {
			return r.st.accounts.full()
		}
	}
	return r.l.count(f, "restored beside what it has")
}

// inPlace is the bytes where numbers of any type can be.
func inPlace(values string) []byte {
	words := make([]uint64, (len(values)+7)/8)
	out := wire.View(words)[:len(values)]
	copy(out, values)
	return out
}
