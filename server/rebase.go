package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/journal"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
	"thole.example/wire"
)

// rebase makes the job of the last base of a log, if it has one, and tells the position from which on records are to be replayed.
func (r *replay) rebase(ctx context.Context) (from uint64, err error) {
	files, log := r.log.files, r.log.log
	names, err := files.List()
	if err != nil {
		return 0, err
	}
	bases := basesOf(names)
	if len(bases) == 0 {
		if first := log.First(); first > 0 {
			return 0, fmt.Errorf("log %s begins at position %d, and its base is missing: %w", r.log.name, first, journal.ErrGone)
		}
		return 0, nil
	}
	last := bases[0]
	if end := log.End(); last > end {
		return 0, fmt.Errorf("log %s ends at position %d, before its base at %d: %w", r.log.name, end, last, journal.ErrDamaged)
	}
	size, made, err := r.readBase(ctx, last)
	if err != nil {
		return 0, fmt.Errorf("log %s: %w", r.log.name, format.Wrap("base", baseName(last), err))
	}
	return last, r.log.setBase(last, size, made)
}

// readBase makes the job of a base.
func (r *replay) readBase(ctx context.Context, position uint64) (size int64, made time.Time, err error) {
	f, err := r.log.files.Open(baseName(position))
	if err != nil {
		return 0, made, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if size, err = f.Size(); err != nil {
		return 0, made, err
	}
	in, err := state.NewReader(f, size)
	if err != nil {
		return 0, made, err
	}
	b := &rebasing{r: r, in: in, unread: map[*partition]*loaded{}}
	if err := b.begin(position); err != nil {
		return 0, made, err
	}
	if err := b.job(); err != nil {
		for _, d := range b.waits {
			d.drop()
		}
		return 0, made, err
	}
	return size, b.head.Made, b.records(ctx)
}

// rebasing is a base that is being read.
type rebasing struct {
	r     *replay
	in    *state.Reader
	head  baseHead
	fresh []*store
	waits []*delta // that the job's core has not taken over

	mu     sync.Mutex
	unread map[*partition]*loaded // that no record has come for
}

// note reads a note of JSON.
func (b *rebasing) note(v any) error {
	text, err := b.in.Note()
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return err
}

// begin begins the job, with its functions.
func (b *rebasing) begin(position uint64) error {
	if err := b.note(&b.head); err != nil {
		return err
	}
	if b.head.Position != position {
		return fmt.Errorf("a base of position %d, want %d: %w", b.head.Position, position, journal.ErrForeign)
	}
	b.r.beginJob(access.JobName{Owner: b.head.Owner, Name: b.head.Job})
	b.r.j.launch, b.r.j.placement = b.head.Launch, b.head.placement
	for _, name := range b.head.Functions {
		text, err := b.in.Note()
		if err == nil {
			err = b.r.j.define(name, text)
		}
		if err != nil {
			return err
		}
	}
	for _, t := range b.head.Targets {
		_ = b.r.s.setTarget(b.r.j, t.Path, t.Over) // else it is another job's now
	}
	for _, one := range b.head.Restored {
		b.r.j.restores.put(change{one.Task, one.Seq}, one.What)
	}
	return nil
}

// job makes the core of the job, and its matrices without their values.
func (b *rebasing) job() error {
	from, err := b.in.Job()
	if err != nil {
		return err
	}
	if from.Name != b.head.Job || len(from.Matrices) != len(b.head.Matrices)+1 {
		return fmt.Errorf("job %q with %d matrices, want job %q with %d: %w",
			from.Name, len(from.Matrices)-1, b.head.Job, len(b.head.Matrices), journal.ErrForeign)
	}
	r, j := b.r, b.r.j
	for i := range b.head.Matrices {
		st, err := b.store(uint32(i+1), &from.Matrices[i+1].Matrix)
		if err != nil {
			return err
		}
		b.fresh = append(b.fresh, st)
	}
	core := ssp.State[*delta]{
		Name: from.Name, Tasks: from.Tasks, Bound: from.Bound, Plan: from.Plan, Attempt: from.Attempt, Refusals: from.Refusals,
		Reason: from.Reason, Failed: from.Failed, Members: from.Members,
	}
	for i := range from.Matrices {
		m, err := b.series(i, &from.Matrices[i])
		if err != nil {
			return err
		}
		core.Matrices = append(core.Matrices, m)
	}
	made, err := ssp.FromState[*delta, *request](core, r.s.now())
	if err == nil {
		err = r.s.takeTables(b.fresh)
	}
	if err != nil {
		return err
	}
	made.Record()
	b.waits = nil
	j.submit(deed(func() {
		j.core, j.bound = made, core.Bound
		j.slowest.Store(int32(made.Slowest(0)))
		j.install(append(slices.Clone(*j.stores.Load()), b.fresh...), b.fresh)
		for i := range core.Members {
			r.seat(&core.Members[i])
		}
	}))
	r.drain()
	r.attempt = from.Attempt
	return nil
}

// store makes a matrix without its values.
func (b *rebasing) store(number uint32, as *ssp.Matrix) (*store, error) {
	m := &b.head.Matrices[number-1]
	var spec struct {
		rpc.Spec
		Servers, Index int
	}
	if err := json.Unmarshal(m.Spec, &spec); err != nil {
		return nil, err
	}
	a := rpc.Create{Servers: spec.Servers, Index: spec.Index}
	if err := checkCreate(&a); err != nil {
		return nil, err
	}
	st, err := b.r.s.newStore(b.r.j, &a, &spec.Spec)
	if err != nil {
		return nil, err
	}
	if as.Name != st.meta.Name || as.Own != st.own || as.Rule != (st.rule != nil) || st.own && as.Bound != st.bound {
		return nil, fmt.Errorf("matrix %d is %+v, and was created as %q: %w", number, *as, st.meta.Name, journal.ErrForeign)
	}
	st.number, st.nonFinite, st.accounts = number, m.NonFinite, b.r.j.accounts
	return st, nil
}

// series is a matrix's clocks, and what is staged of it.
func (b *rebasing) series(id int, from *ssp.MatrixState[state.Delta]) (ssp.MatrixState[*delta], error) {
	out := ssp.MatrixState[*delta]{Matrix: from.Matrix, Clocks: from.Clocks}
	for _, e := range from.Staged {
		one := ssp.Staged[*delta]{Clock: e.Clock, Task: e.Task, Tick: e.Tick, Weight: e.Weight, Rate: e.Rate, Weightless: e.Weightless}
		if !e.Tick {
			if id == 0 {
				return out, fmt.Errorf("a delta of the job's own clock: %w", journal.ErrForeign)
			}
			var err error
			if one.Delta, err = b.fresh[id-1].staged(e.Task, e.Clock, &e.Delta); err != nil {
				return out, err
			}
			b.waits = append(b.waits, one.Delta)
		}
		out.Staged = append(out.Staged, one)
	}
	return out, nil
}

// staged is a delta of a task's clock that waits, of one that was written.
func (s *store) staged(task, clock int, from *state.Delta) (*delta, error) {
	p := rpc.Part{
		Kind: rpc.KindDense, DType: from.DType, Matrix: s.number, Version: s.parts.Version, Clock: int32(clock), Rows: from.Rows, Cols: from.Cols,
		Assign: from.Assign, Values: from.Values,
	}
	if from.Func {
		p.Kind, p.Rows, p.Cols = rpc.KindFunc, s.meta.Rect().Rows, s.meta.Rect().Cols
		return s.bringCall(&p)
	}
	n := 8*len(from.Keys) + len(from.Values)
	memory := rpc.MappedBuffer(n, s.job.server.Ledger.Force(budget.Queues, rpc.Taken(n)))
	if from.Keys != nil {
		keys, _ := wire.Numbers[int64](memory.Bytes()[:8*len(from.Keys)])
		copy(keys, from.Keys)
		p.Kind, p.Keys = rpc.KindKeys, keys
	}
	p.Values = memory.Bytes()[8*len(from.Keys):]
	copy(p.Values, from.Values)
	p.Groups = s.groups(&p)
	err := s.check(&p)
	if err == nil {
		err = s.checkValues(&p)
	}
	if err != nil {
		memory.Release()
		return nil, err
	}
	d := &delta{of: s, part: p, size: len(p.Values), keys: len(p.Keys), memory: memory, nonFinite: s.finite(task, &p)}
	s.job.wait([]ssp.Delta[*delta]{{Matrix: int(s.number), Clock: clock, Data: d}})
	return d, nil
}

// groups says which partitions a part brings what to: its keys are in the order of those, as they came.
func (s *store) groups(p *rpc.Part) (all []rpc.Group) {
	if p.Kind == rpc.KindDense {
		at := matrix.Rect{Rows: p.Rows, Cols: p.Cols}
		id := slices.IndexFunc(s.partitions, func(q *partition) bool { return q != nil && s.parts.At(q.id).Contains(at) })
		return []rpc.Group{{Partition: uint32(id)}} // one that is not here is found out
	}
	band := 0
	for b := range s.parts.Bands() {
		if s.parts.Band(b).Contains(p.Rows) {
			band = b
		}
	}
	for _, key := range p.Keys {
		id := uint32(band*s.parts.Beside() + s.parts.Of(key))
		if n := len(all); n > 0 && all[n-1].Partition == id {
			all[n-1].Keys++
		} else {
			all = append(all, rpc.Group{Partition: id, Keys: 1})
		}
	}
	return all
}

// seat makes a member of a task that was here, over a connection that nobody has, in the job's mailbox.
func (r *replay) seat(s *ssp.MemberState) {
	r.last[s.Task] = s.Last
	at := &seat{conn: r.s.conns.Add(1)}
	if !r.j.core.Seat(s.Task, at.conn) {
		return
	}
	m := &member{job: r.j, task: s.Task, conn: at.conn, bound: r.j.bound, left: make(chan struct{})}
	m.joined.Store(true)
	m.clock.Store(int32(r.j.core.ClockOf(s.Task, 0)))
	at.member.Store(m)
	r.j.members[m.conn] = m
	go m.watch(r.connect(s.Task, s.Name, at).Gone)
}

// records fills the partitions, which nobody else knows yet, several at a time.
func (b *rebasing) records(ctx context.Context) error {
	l := &loading{s: b.r.s}
	defer l.drop()
	for _, st := range b.fresh {
		for _, p := range st.owned {
			f := &loaded{to: p}
			if err := f.takeOut(); err != nil {
				return err
			}
			l.fresh, b.unread[p] = append(l.fresh, f), f
		}
	}
	err := parallel(ctx, b.r.s, b.in.Places(), func(ctx context.Context, at state.Place) error { return b.record(ctx, l, at) })
	if err == nil && len(b.unread) > 0 {
		err = fmt.Errorf("%d partitions, want %d: %w", len(l.fresh)-len(b.unread), len(l.fresh), journal.ErrDamaged)
	}
	if err == nil {
		for _, f := range l.fresh {
			f.putBack()
		}
	}
	return err
}

// record fills one partition.
func (b *rebasing) record(ctx context.Context, l *loading, at state.Place) error {
	in, err := b.in.Section(at.Off, at.Size)
	if err != nil {
		return err
	}
	p, err := in.Partition()
	if err != nil {
		return err
	}
	into, err := b.claim(&p)
	if err != nil {
		return err
	}
	st := into.to.of
	to := l.newRestoring(st, &st.meta)
	defer to.frames.Release()
	to.to[p.ID], to.last = into, true
	if p.Sparse {
		columns, candidates := at.Columns()
		err = to.reserve(into, columns, candidates)
	}
	to.setSteps(p.Steps)
	to.ageless, to.named = st.meta.Keep.ExpireAfter == 0, p.Steps
	if err == nil && p.Absent != "" {
		err = to.absent(&p)
	}
	if err != nil {
		return err
	}
	defer in.ReadAhead()()
	for band, bad := range in.Bands(&p) {
		if err = cmp.Or(err, bad, context.Cause(ctx)); err == nil {
			err = to.band(&p, band)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claim gives the partition that a record is of, which no other record may be of.
func (b *rebasing) claim(p *state.Partition) (*loaded, error) {
	i := slices.IndexFunc(b.fresh, func(st *store) bool { return st.meta.Name == p.Matrix })
	if i < 0 || p.ID >= len(b.fresh[i].partitions) || b.fresh[i].partitions[p.ID] == nil {
		return nil, fmt.Errorf("partition %d of matrix %q, want one of this server: %w", p.ID, p.Matrix, journal.ErrForeign)
	}
	to := b.fresh[i].partitions[p.ID]
	want := to.recorded()
	want.Steps, want.Aged, want.Ranked, want.Stale, want.Absent = p.Steps, p.Aged, p.Ranked, p.Stale, p.Absent
	if *p != want {
		return nil, fmt.Errorf("a record of %+v, want %+v: %w", *p, want, journal.ErrForeign)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	into := b.unread[to]
	if into == nil {
		return nil, fmt.Errorf("partition %d of matrix %q has two records, want one: %w", p.ID, p.Matrix, journal.ErrForeign)
	}
	delete(b.unread, to)
	return into, nil
}

// takeOut takes the values out of a partition, to be filled in: nobody asks for them yet.
func (f *loaded) takeOut() (err error) {
	f.to.wait(func() {
		if f.to.shard == nil {
			err = f.to.gone()
			return
		}
		f.shard, f.to.shard = f.to.shard, nil
		f.bytes, f.to.bytes = f.to.bytes, budget.Charge{}
	})
	return err
}

// putBack puts them into their place.
func (f *loaded) putBack() {
	f.to.wait(func() {
		f.to.shard, f.shard = f.shard, nil
		f.to.bytes, f.bytes = f.bytes, budget.Charge{}
		f.to.recount()
	})
}
