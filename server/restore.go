package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/state"
	"thole.example/wire"
)

// restores is what changes of tasks have restored, for whoever asks again because an answer was lost.
type restores struct {
	mu sync.Mutex
	of map[change]rpc.Restored
}

// change names a change of a task.
type change struct {
	task int
	seq  uint64
}

func (r *restores) put(c change, what rpc.Restored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[change]rpc.Restored{}
	}
	r.of[c] = what
}

func (r *restores) get(c change) rpc.Restored {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[c]
}

// restore fills matrices from a checkpoint and those that it is based on, with slots and steps, beside what they have until all of
// it is there. The job may replace that checkpoint by a later one of its own, or base increments on it.
func (s *Server) restore(ctx context.Context, j *job, stores []*store, path string) (out rpc.Restored, err error) {
	defer s.recovered(&err)
	over, err := s.Bucket.State(ctx, path)
	if err != nil {
		return out, err
	}
	chain, err := state.OpenChain(ctx, s.Bucket, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return out, &kindError{err, rpc.ErrNotFound}
	case errors.Is(err, state.ErrBase):
		return out, &kindError{err, rpc.ErrRefused}
	case err != nil:
		return out, err
	}
	l := loading{s: s}
	defer l.drop()
	last := chain[len(chain)-1]
	out = rpc.Restored{Job: last.Checkpoint.Job, Clock: last.Clock}
	for _, st := range stores {
		from, err := findAll(chain, st)
		if err != nil {
			return out, err
		}
		if err := l.restore(ctx, st, from); err != nil {
			return out, err
		}
		m := from[len(from)-1].Matrix
		out.Matrices = append(out.Matrices, rpc.RestoredMatrix{Name: st.meta.Name, Clock: m.Clock, Steps: m.Steps()})
	}
	if err := l.swap(); err != nil {
		return out, err
	}
	j.tracked.put(state.Link{Path: path, ID: last.ID})
	_ = s.claim(j, path, over) // another job may have it: then this one does not replace it
	return out, nil
}

// restore makes the partitions here of a matrix from those of the checkpoints, however these were cut.
func (l *loading) restore(ctx context.Context, st *store, chain []source) error {
	last := chain[len(chain)-1]
	r := &restoring{l: l, st: st, from: &last.Meta, to: make([]*loaded, len(st.partitions))}
	for _, p := range st.partitions {
		if p == nil {
			continue
		}
		sh, err := st.newShard(p.id)
		if err != nil {
			return err
		}
		l.fresh = append(l.fresh, loaded{to: p, shard: sh})
	}
	for i := range l.fresh {
		if f := &l.fresh[i]; f.to.of == st {
			r.to[f.to.id] = f
			columns, candidates := r.expected(chain, f.to.id)
			if err := errors.Join(f.shard.Reserve(columns), f.shard.ReserveCandidates(candidates), r.count(f)); err != nil {
				return err
			}
		}
	}
	if err := r.absentFirst(ctx, last); err != nil {
		return err
	}
	defer r.newer.bytes.Release()
	if err := r.read(ctx, chain); err != nil {
		return err
	}
	for _, f := range r.to {
		if f != nil && last.in.ID != "" && slices.Equal(last.Map.AllBands(), st.parts.AllBands()) && !f.shard.Settled() {
			f.shard.Track(last.in.ID) // else they may have columns that the checkpoint has not
		}
	}
	return nil
}

// restoring is the partitions here of a matrix that is being restored.
type restoring struct {
	l  *loading
	st *store
	to []*loaded // by partition; nil: another server has it

	last    bool  // what is read is the last of the checkpoints
	more    bool  // there are older ones
	ageless bool  // ages are not those of now
	named   int64 // instead of them the step that counts as the last that named a column
	newer   seen

	from  *matrix.Meta // of the last checkpoint
	past  *shard.Past  // what the columns that are read catch up by; nil: they are up to date
	known *shard.Past  // of the record that knows most steps
	mixed bool         // others have made other steps

	keys   [][]int64    // of a band, by partition
	ages   []shard.Ages // of the keys, what the band has of these
	stamps [][]int64    // the steps that they are as of, if they are stale
	values [][]byte
}

// overlaps reports whether a partition of the checkpoint may have something of one here.
func (r *restoring) overlaps(from *state.Matrix, id int) bool {
	for p, f := range r.to {
		if f != nil && r.share(from, id, p) > 0 {
			return true
		}
	}
	return false
}

// share is about which part of the columns of a partition of the checkpoint partition p here gets: 0 if it gets none.
func (r *restoring) share(from *state.Matrix, id, p int) float64 {
	at, mine := from.Map.At(id), r.st.parts
	common := at.Intersect(mine.At(p))
	both := min(mine.Bits, from.Map.Bits) // that begin the hashes of both
	if common.Empty() || both > 0 && p>>(mine.Bits-both) != id>>(from.Map.Bits-both) {
		return 0
	}
	return float64(common.Cols.Len()) / float64(at.Cols.Len()) / float64(int64(1)<<(mine.Bits-both))
}

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
	f.bytes.Release()
	n, ok := f.shard.Bytes(), false
	if f.bytes, ok = r.l.s.Ledger.TryTake(budget.Tables, n); !ok {
		return r.l.s.tooMuch("matrix %q, restored beside what it has, would take %s", r.st.meta.Name, format.Bytes(n))
	}
	return nil
}

// inPlace is the bytes where numbers of any type can be.
func inPlace(values string) []byte {
	words := make([]uint64, (len(values)+7)/8)
	out := wire.View(words)[:len(values)]
	copy(out, values)
	return out
}
