package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
)

// load fills matrices from a path, beside what they hold until all of it is there: a load that fails changes nothing. It is
// a change of the task's, made once; it goes on when the connection is lost, until the job ends.
func (s *Server) load(m *member, x *rpc.Exchange) {
	j, q := m.job, m.change(x)
	e := ssp.Update[*request]{Req: q, Conn: m.conn, Seq: x.Seq}
	var a rpc.Load
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		e.Err = fmt.Errorf("load: %w: %w", rpc.ErrMalformed, err)
		j.post(e, q)
		return
	}
	var stores []*store
	if stores, e.Err = j.named(a.Matrices); e.Err != nil {
		j.post(e, q)
		return
	}
	q.toLog(j)
	c := change{m.task, x.Seq}
	do := func(place func()) error { return s.fill(j, stores, &a, place) }
	if a.Checkpoint {
		do = func(place func()) error {
			out, err := s.restore(j.ctx, j, stores, a.Path, place)
			if err == nil {
				j.restores.put(c, out)
			}
			return err
		}
		q.ready = func(ssp.Answer[*request]) { j.answerJSON(q, j.restores.get(c)) }
	}
	q.run = func(ssp.Run[*request]) { j.load(c, a.Path, do) }
	j.post(e, q)
}

// loadingAgain is a load of the log that has no place yet.
type loadingAgain struct {
	path string
	do   func(place func()) error
}

// load does what takes long of a change in the background. Its place among other changes is not where it began: place says it.
func (j *job) load(c change, path string, do func(place func()) error) {
	if j.log.replaying() {
		j.log.loads[c] = loadingAgain{path, do}
		return
	}
	j.loads.Add(1)
	go func() {
		defer j.loads.Done()
		found := j.found(path)
		err := do(func() { j.log.json(recordRan, outcome{Task: c.task, Seq: c.seq, Found: found}) })
		j.ranBeside(c.task, c.seq, err)
		j.post(ssp.Ran{Task: c.task, Seq: c.seq, Err: err}, nil)
	}()
}

// loadAgain does what a load of the log did, of the same path if that has what was found then.
func (j *job) loadAgain(c change, load loadingAgain, found string) error {
	if now := j.found(load.path); now != found {
		return fmt.Errorf("%s is not there any more as it was loaded: go back to the last checkpoint: %w", load.path, rpc.ErrNotFound)
	}
	err := load.do(func() {})
	if err == nil {
		j.post(ssp.Ran{Task: c.task, Seq: c.seq}, nil)
	}
	return err
}

// found is what lies at the path of a load, for the log.
func (j *job) found(path string) string {
	if j.log == nil {
		return ""
	}
	state, err := j.bucket().State(j.ctx, path)
	if err != nil { // the load will say it
		return ""
	}
	return string(state)
}

// fill loads the partitions here of the matrices.
func (s *Server) fill(j *job, stores []*store, a *rpc.Load, place func()) (err error) {
	defer s.recovered(&err)
	ctx := j.ctx
	r, _, err := s.Codecs.Open(ctx, j.bucket(), a.Path, a.Codec, format.Options{Set: a.Set})
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, format.ErrUnknown):
		return &kindError{err, rpc.ErrNotFound}
	case errors.Is(err, blob.ErrName):
		return &kindError{err, rpc.ErrMalformed}
	case err != nil:
		return err
	}
	defer r.Close()
	l := loading{s: s, r: r, round: a.Round, partial: a.Partial}
	defer l.drop()
	for _, st := range stores {
		if err := l.store(ctx, st); err != nil {
			return fmt.Errorf("load %s: %w", a.Path, err)
		}
	}
	return l.swap(j, swapping{before: place})
}

// loading is partitions that are being loaded, beside those that they will replace.
type loading struct {
	s     *Server
	r     format.Reader
	round bool
	// partial says that fewer rows are enough.
	partial bool
	fresh   []*loaded
	grown   int64 // how much more than those partitions have that were loaded before this one

	counting sync.Mutex // of count; locked before a shard is
}

// loaded is the values of a partition that are not in their place yet. Several goroutines may fill those of one loading.
type loaded struct {
	to   *partition
	size int64 // of the shard when it was counted last; guarded by loading.counting

	bytes budget.Charge // likewise

	mu    sync.Mutex // held while the shard is used: for another one it may have to give up rows
	shard *shard.Shard
}

// with calls a function with the shard, which nobody else uses meanwhile.
func (f *loaded) with(do func(s *shard.Shard) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return do(f.shard)
}

// add makes an empty shard for a partition.
func (l *loading) add(p *partition) (*loaded, error) {
	sh, err := p.of.newShard(p.id)
	if err != nil {
		return nil, err
	}
	f := &loaded{to: p, shard: sh, bytes: l.s.Ledger.Force(budget.Tables, 0)}
	l.fresh = append(l.fresh, f)
	return f, nil
}

// store loads the partitions here from the reader's matrix of the same name. Rows beyond those of the matrix are left out;
// with round, values are rounded to the type of the matrix.
func (l *loading) store(ctx context.Context, st *store) error {
	from, err := format.Find(l.r, st.meta.Name)
	if err != nil {
		return err
	}
	if have, want := from.Rect(), st.meta.Rect(); !want.Cols.Contains(have.Cols) || have.Rows.Hi < want.Rows.Hi && !l.partial {
		return fmt.Errorf("matrix %s is %v, and cannot fill one at %v: %w", from.Name, have, want, rpc.ErrRefused)
	}
	for _, p := range st.partitions {
		if p == nil {
			continue
		}
		into, err := l.add(p)
		if err == nil {
			err = l.partition(ctx, st, from, into)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loading) partition(ctx context.Context, st *store, from matrix.Meta, into *loaded) error {
	at := into.shard.At()
	if l.partial {
		if at = at.Intersect(from.Rect()); at.Empty() {
			return nil
		}
	}
	for b, err := range l.r.Blocks(ctx, from.Name, at) {
		if err != nil {
			return err
		}
		b, exact := b.Cast(st.meta.DType)
		if !exact && !(l.round && finite(b)) {
			return fmt.Errorf("matrix %s holds %v that do not fit %v: %w", from.Name, from.DType, st.meta.DType, format.ErrLossy)
		}
		if st.parts.Bits > 0 { // what it gets is of the whole place: it keeps its own keys
			b = b.Pick(func(col int64) bool { return st.parts.Of(col) == into.to.id })
		}
		if err := into.shard.SetBlock(b); err != nil {
			return err
		}
		if l.grown+into.shard.Bytes()-into.to.counted.Load() > st.accounts.left() {
			return st.accounts.full()
		}
		if err := l.count(into, "loaded beside what it holds"); err != nil {
			return err
		}
	}
	l.grown += into.shard.Bytes() - into.to.counted.Load()
	return nil
}

// count takes the memory of a partition beside the one that it will replace. If there is too little rows of it go to disk, or others.
func (l *loading) count(into *loaded, how string) error {
	l.counting.Lock()
	defer l.counting.Unlock()
	return l.counted(into, how)
}

// counted is count; counting is locked.
func (l *loading) counted(into *loaded, how string) error {
	st, lack := into.to.of, int64(0)
	resize := func(f *loaded, s *shard.Shard) {
		f.size = s.Bytes()
		f.bytes.Resize(f.size)
	}
	_ = into.with(func(s *shard.Shard) error {
		resize(into, s)
		lack = st.makeRoom(s, 0)
		resize(into, s)
		return nil
	})
	for i := 0; i < len(l.fresh) && lack > 0; i++ {
		if f := l.fresh[i]; f.to.of.canPage() && f != into {
			_ = f.with(func(s *shard.Shard) error {
				before := s.Bytes()
				f.to.of.giveRoom(s, -lack)
				resize(f, s)
				lack -= before - f.size
				return nil
			})
		}
	}
	if lack > 0 {
		lack = l.s.relieve(lack, nil)
	}
	if lack > 0 {
		n := into.bytes.Bytes()
		into.bytes.Release()
		return st.hinted(l.s.tooMuch("matrix %q, %s, would take %s", st.meta.Name, how, format.Bytes(n)))
	}
	return nil
}

// swapping is what the mailbox of a job does when loaded values have their place among all that it tells its partitions: before the
// partitions are told, and after. Both may be nil.
type swapping struct{ before, after func() }

// swap puts what was loaded in the place of what was there, with one place among all that the job tells its partitions. A save of what was
// there ends.
func (l *loading) swap(j *job, at swapping) error {
	errs := make([]error, len(l.fresh))
	var wg sync.WaitGroup
	wg.Add(len(l.fresh) + 1)
	j.submit(deed(func() {
		defer wg.Done()
		if at.before != nil {
			at.before()
		}
		l.postSwap(j, errs, &wg)
		if at.after != nil {
			at.after()
		}
	}))
	wg.Wait()
	return errors.Join(errs...)
}

// postSwap tells the partitions, in the job's mailbox, while no request tells any of them something: a request that reads several has the
// values of before or those of after it. It counts each of them done.
func (l *loading) postSwap(j *job, errs []error, wg *sync.WaitGroup) {
	j.still.Lock()
	defer j.still.Unlock()
	for i := range l.fresh {
		f := l.fresh[i]
		if f.to.post(f.to.deed(func() { defer wg.Done(); errs[i] = f.swap() })) {
			j.later.idle = append(j.later.idle, f.to)
		}
	}
}

// swap puts it in the place of what was there, in the mailbox of the partition.
func (f *loaded) swap() error {
	if f.to.shard == nil {
		return f.to.gone()
	}
	f.to.shard.Close()
	f.to.shard, f.shard = f.shard, nil
	f.to.bytes.Release()
	f.to.bytes, f.bytes = f.bytes, budget.Charge{}
	f.to.readyMark()
	return nil
}

// drop gives back what was loaded and put nowhere.
func (l *loading) drop() {
	for i := range l.fresh {
		f := l.fresh[i]
		if f.shard != nil {
			f.shard.Close()
		}
		f.bytes.Release()
	}
}

// finite reports whether no value went beyond what its type holds, or was no number before.
func finite(b matrix.Block) bool {
	switch val := b.Data.Values().(type) {
	case []float32:
		return !slices.ContainsFunc(val, func(v float32) bool { return v-v != 0 })
	case []float64:
		return !slices.ContainsFunc(val, func(v float64) bool { return v-v != 0 })
	}
	return false
}
