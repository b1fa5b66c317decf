package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
	"thole.example/state"
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

// restoredBy is what a change of a task has restored.
type restoredBy struct {
	Task int          `json:"task"`
	Seq  uint64       `json:"seq"`
	What rpc.Restored `json:"what"`
}

// last is what was restored by changes of which a client may still ask what came of them; changed tells the last of a task.
func (r *restores) last(changed func(task int) uint64) (all []restoredBy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, what := range r.of {
		if changed(c.task)-c.seq < ssp.Window {
			all = append(all, restoredBy{c.task, c.seq, what})
		}
	}
	slices.SortFunc(all, func(a, b restoredBy) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Seq, b.Seq)) })
	return all
}

// restore fills matrices from a checkpoint and those that it is based on, with slots and steps, beside what they have until all of
// it is there. The job may replace that checkpoint by a later one of its own, or base increments on it.
func (s *Server) restore(ctx context.Context, j *job, stores []*store, path string, place func()) (out rpc.Restored, err error) {
	defer s.recovered(&err)
	over, err := j.bucket().State(ctx, path)
	if err != nil {
		return out, err
	}
	last, err := s.restoreFrom(ctx, j, stores, j.bucket(), path, swapping{before: place})
	if err != nil {
		return out, err
	}
	out = rpc.Restored{Job: last.Job, Plan: last.Plan, Clock: last.Clock}
	for _, st := range stores {
		m, err := last.Find(st.meta.Name)
		if err != nil {
			return out, err
		}
		out.Matrices = append(out.Matrices, rpc.RestoredMatrix{Name: st.meta.Name, Clock: m.Clock, Steps: m.Steps()})
	}
	j.tracked.put(state.Link{}, state.Link{Path: path, ID: last.ID})
	j.tracked.confirm(last.ID)
	_ = s.setTarget(j, path, over) // another job may have it: then this one does not replace it
	return out, nil
}

// restoreFrom is restore from a bucket, for a job that may not write the checkpoint.
func (s *Server) restoreFrom(ctx context.Context, j *job, stores []*store, from blob.Bucket, path string, swap swapping) (
	*state.Checkpoint, error) {
	chain, err := state.OpenChain(ctx, from, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &kindError{err, rpc.ErrNotFound}
	case errors.Is(err, state.ErrBase):
		return nil, &kindError{err, rpc.ErrRefused}
	case err != nil:
		return nil, err
	}
	defer func() {
		for _, in := range chain {
			in.Close()
		}
	}()
	for _, in := range chain {
		if err := in.VerifyRest(ctx); err != nil {
			return nil, err
		}
	}
	l := loading{s: s}
	defer l.drop()
	for _, st := range stores {
		from, err := findAll(chain, st)
		if err != nil {
			return nil, err
		}
		if err := l.restore(ctx, st, from); err != nil {
			return nil, err
		}
	}
	return chain[len(chain)-1].Checkpoint, l.swap(j, swap)
}

// restore makes the partitions here of a matrix from those of the checkpoints, however these were cut.
func (l *loading) restore(ctx context.Context, st *store, chain []source) error {
	all := l.newRestoring(st, &chain[len(chain)-1].Meta)
	for _, p := range st.owned {
		f, err := l.add(p)
		if err != nil {
			return err
		}
		all.to[p.id] = f
	}
	for _, p := range st.owned {
		columns, candidates := all.expected(chain, p.id)
		if err := all.reserve(all.to[p.id], columns, candidates); err != nil {
			return err
		}
	}
	return parallel(ctx, l.s, all.apart(chain), func(ctx context.Context, r *restoring) error { return r.restore(ctx, chain) })
}

// newRestoring restores a matrix, as far as it is put into to.
func (l *loading) newRestoring(st *store, from *matrix.Meta) *restoring {
	return &restoring{
		l: l, st: st, from: from, to: make([]*loaded, len(st.partitions)), frames: l.s.Ledger.Force(budget.Saves, 0),
	}
}

// reserve prepares a partition for about so many columns, and so many that are not made.
func (r *restoring) reserve(f *loaded, columns, candidates int64) error {
	err := f.with(func(s *shard.Shard) error { return errors.Join(s.Reserve(columns), s.ReserveCandidates(candidates)) })
	return errors.Join(err, r.count(f))
}

// apart splits the partitions into groups that can be restored at the same time: no record of the checkpoints belongs to two groups.
// There are no more groups than readers, because each group opens the files of the checkpoints. A group reads its records in the order
// in which a single group would.
func (r *restoring) apart(chain []source) iter.Seq2[*restoring, error] {
	group := make([]int, len(r.to)) // by partition
	for p := range group {
		group[p] = p
	}
	for _, from := range chain {
		for id := range from.Records {
			first := -1
			for p, f := range r.to {
				switch {
				case f == nil || r.share(from.Matrix, id, p) == 0:
				case first < 0:
					first = group[p]
				case group[p] != first:
					for q, old := range group {
						if old == group[p] {
							group[q] = first
						}
					}
				}
			}
		}
	}
	var all []*restoring
	place := map[int]int{} // in all, by group
	for p, f := range r.to {
		if f == nil {
			continue
		}
		i, known := place[group[p]]
		if !known {
			i = len(place) % r.l.s.readers()
			place[group[p]] = i
		}
		if i == len(all) {
			all = append(all, r.l.newRestoring(r.st, r.from))
		}
		all[i].to[p] = f
	}
	return func(yield func(*restoring, error) bool) {
		for _, some := range all {
			if !yield(some, nil) {
				return
			}
		}
	}
}

// restore fills the partitions of a group.
func (r *restoring) restore(ctx context.Context, chain []source) error {
	defer r.frames.Release()
	chain = slices.Clone(chain)
	for i := range chain {
		chain[i].in = chain[i].in.Fork()
		defer chain[i].in.Close() // also after an error; each is closed as soon as it has been read
	}
	last := chain[len(chain)-1]
	if err := r.absentFirst(ctx, last); err != nil {
		return err
	}
	defer func() { r.newer.bytes.Release() }()
	if err := r.read(ctx, chain); err != nil {
		return err
	}
	for _, f := range r.to {
		if f != nil && last.in.ID != "" && slices.Equal(last.Map.AllBands(), r.st.parts.AllBands()) && !f.shard.Settled() {
			f.shard.Track(last.in.ID) // else they may have columns that the checkpoint has not
		}
	}
	return nil
}

// restoring is the partitions here of a matrix that is being restored, or a group of them. It is for one goroutine.
type restoring struct {
	l  *loading
	st *store
	to []*loaded // by partition; nil: another server has it, or another group

	frames budget.Charge // for what is read

	last    bool  // what is read is the last of the checkpoints
	more    bool  // there are older ones
	ageless bool  // ages are not those of now
	named   int64 // instead of them the step that counts as the last that named a column
	newer   seen

	from  *matrix.Meta // of the last checkpoint
	past  *shard.Past  // what the columns that are read catch up by; nil: they are up to date
	known *shard.Past  // of the record that knows most steps
	mixed bool         // others have made other steps

	sorted   []restored // by partition
	lasts    []int64    // named, over and over
	upToDate []int64    // the steps of a record, over and over
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
