package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
)

// saves are the saves of a job that are under way, by stage.
type saves struct {
	mu     sync.Mutex
	of     map[string]*pendingSave
	closed bool     // the job has ended: none begins, and none is committed
	over   []string // of checkpoints that were given up last: one whose clock has not come is refused when it does
}

// pendingSave is a save that this server has put something into and that has not ended yet.
type pendingSave struct {
	saver
	stop  context.CancelFunc // makes what is being put end
	idle  chan struct{}      // closed when nothing is being put any more
	taken bool               // somebody is ending it
	ended chan struct{}      // closed then
}

// saver is what all servers put into, and one of them commits: a [format.Writer], or a checkpoint.
type saver interface {
	Commit(ctx context.Context, parts []format.Part) error
	Abort(ctx context.Context)
}

// overLimit is how many stages are known that were aborted. A task has few under way.
const overLimit = 32

// begin remembers the save, or tells why there can be none of that name.
func (s *saves) begin(stage string, w *pendingSave) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return fmt.Errorf("save %q: the job has ended: %w", stage, rpc.ErrAborted)
	case s.of[stage] != nil:
		return fmt.Errorf("save %q: %w", stage, rpc.ErrExists)
	case slices.Contains(s.over, stage):
		return fmt.Errorf("save %q was given up: %w", stage, rpc.ErrAborted)
	}
	if s.of == nil {
		s.of = map[string]*pendingSave{}
	}
	s.of[stage] = w
	return nil
}

// giveUp has whatever comes later of a stage refused.
func (s *saves) giveUp(stage string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = append(s.over, stage); len(s.over) > overLimit {
		s.over = s.over[1:]
	}
}

// take is the save of that name, which the caller ends if it is the first to take it; nil if there is none.
func (s *saves) take(stage string) (w *pendingSave, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w = s.of[stage]; w == nil || w.taken || s.closed {
		return w, false
	}
	w.taken = true
	return w, true
}

// end forgets the save, which the caller has taken, once nothing more is put into it: what came after would stay for ever.
func (s *saves) end(ctx context.Context, stage string, w *pendingSave) {
	defer close(w.ended)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.of, stage)
	}()
	w.stop()
	<-w.idle
	if w.saver != nil {
		w.Abort(ctx)
	}
}

// close takes every save that was begun and not committed, as when its client went away; the caller ends them. Others are being
// ended. From then on none is begun or taken: what is committed now is what the others commit.
func (s *saves) close() (all map[string]*pendingSave, others []*pendingSave) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, all = true, map[string]*pendingSave{}
	for stage, w := range s.of {
		if w.taken {
			others = append(others, w)
		} else {
			w.taken, all[stage] = true, w
		}
	}
	return all, others
}

// endAll ends what close has taken, and waits for the others.
func (s *saves) endAll(all map[string]*pendingSave, others []*pendingSave) {
	for stage, w := range all {
		s.end(context.Background(), stage, w)
	}
	for _, w := range others {
		<-w.ended
	}
}

// named is the matrices of these names, in that order.
func (j *job) named(names []string) ([]*store, error) {
	all := (*j.stores.Load())[1:]
	var out []*store
	for _, name := range names {
		found := false
		for _, s := range all {
			if s.meta.Name == name {
				out, found = append(out, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("matrix %q of job %q: %w, there are %q", name, j.name, rpc.ErrNotFound, j.names())
		}
	}
	return out, nil
}

// writer opens the codec's writer of the save; lost, if not nil, is told what the format loses.
func (s *Server) writer(ctx context.Context, j *job, a *rpc.Save, stores []*store, lost func(string)) (format.Writer, error) {
	c, err := s.Codecs.Lookup(a.Codec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNotFound, err)
	}
	ms := make([]matrix.Meta, len(stores))
	for i, st := range stores {
		ms[i] = st.saved()
	}
	opts := format.Options{Stage: a.Stage, Lossy: a.Lossy, Lost: lost, Set: a.Set, Files: a.Files, Over: s.over(j, a), State: a.State}
	if slices.ContainsFunc(stores, func(st *store) bool { return st.parts.Bits > 0 }) { // whatever partitions are here
		opts.Relay = s.Codecs.Relay()
	}
	return format.Create(ctx, c, j.bucket(), a.Path, ms, opts)
}

// saved describes the matrix as it is saved: without what only training needs, and cut as the matrix says, whatever the
// number of servers.
func (s *store) saved() matrix.Meta {
	m := s.meta.Clone()
	m.Rule, m.Hyper, m.Init, m.Keep, m.Widths, m.Storage = "", nil, matrix.Init{}, matrix.Keep{}, nil, matrix.Invalid
	m.BlockRows, m.BlockCols = s.blockRows, s.blockCols
	return m
}

// save puts this server's partitions into the save, as of the request's clocks, and answers with the Parts. Tasks go on
// meanwhile: what is written is a snapshot of one moment.
func (s *Server) save(m *member, x *rpc.Exchange) {
	var a rpc.Save
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		m.refuse(x, fmt.Errorf("save: %w: %w", rpc.ErrMalformed, err))
		return
	}
	if a.Rehearsal {
		m.background(x, func(ctx context.Context) (*rpc.Response, error) { return s.rehearse(ctx, m.job, &a) })
		return
	}
	j := m.job
	stores, err := j.named(a.Matrices)
	if err != nil {
		m.refuse(x, err)
		return
	}
	if a.Checkpoint {
		s.checkpoint(m, x, &a, stores)
		return
	}
	q := &request{x: x}
	q.ready = func(ssp.Answer[*request]) {
		shots := j.snapshots(stores, nil)
		j.later.then = append(j.later.then, func() {
			m.run(x, func(ctx context.Context) (*rpc.Response, error) {
				defer closeAll(shots)
				return s.put(ctx, j, &a, func(ctx context.Context, w *pendingSave, r *rpc.Response) error {
					return s.putAll(ctx, j, &a, w, stores, shots, r)
				})
			})
		})
	}
	j.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: saveNeeds(x), Exact: true}, q)
}

// saveNeeds are the clocks as of which the request wants the matrices.
func saveNeeds(x *rpc.Exchange) []ssp.Need {
	needs := []ssp.Need{{Matrix: 0, Clock: int(x.Clock)}}
	for _, p := range x.Parts {
		needs = append(needs, ssp.Need{Matrix: int(p.Matrix), Clock: int(p.Clock)})
	}
	return needs
}

func closeAll(shots [][]*snapshot) {
	for _, some := range shots {
		for _, shot := range some {
			shot.close()
		}
	}
}

// put has the save written, and answers with the Parts.
func (s *Server) put(
	ctx context.Context, j *job, a *rpc.Save, all func(ctx context.Context, w *pendingSave, r *rpc.Response) error,
) (*rpc.Response, error) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	w := &pendingSave{stop: stop, idle: make(chan struct{}), ended: make(chan struct{})}
	if err := j.saves.begin(a.Stage, w); err != nil {
		return nil, cmp.Or(context.Cause(j.ctx), err)
	}
	r := &rpc.Response{}
	err := func() error {
		defer close(w.idle) // also after a panic: whoever ends the save waits for it
		return all(work, w, r)
	}()
	if err != nil {
		// All servers of a checkpoint share a tree: it goes when the task, which has heard of all, says so, or the job ends.
		if shared := a.Checkpoint && j.ctx.Err() == nil; !shared {
			if _, first := j.saves.take(a.Stage); first { // else whoever took it ends it
				j.saves.end(context.WithoutCancel(ctx), a.Stage, w)
			}
		}
		return nil, format.Wrap(a.Codec, a.Path, err)
	}
	return r, nil
}

// putAll puts all partitions here of the matrices.
func (s *Server) putAll(
	ctx context.Context, j *job, a *rpc.Save, w *pendingSave, stores []*store, shots [][]*snapshot, r *rpc.Response,
) (err error) {
	defer s.recovered(&err)
	to, err := s.writer(ctx, j, a, stores, nil)
	if err != nil {
		return err
	}
	w.saver = to
	for i, st := range stores {
		for _, shot := range shots[i] {
			if err := s.putOne(ctx, to, st, shot, r); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx) // nobody waits for the Parts any more, so nobody will commit or abort
}

// putOne puts the saved rows of a partition.
func (s *Server) putOne(ctx context.Context, w format.Writer, st *store, shot *snapshot, r *rpc.Response) error {
	for b, err := range shot.blocks(ctx) {
		if err != nil {
			return err
		}
		while := s.Ledger.Force(budget.Saves, int64(b.Data.NNZ()*b.Data.DType().Size()))
		err = st.putBlock(ctx, w, shot.of.id, b, r)
		while.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *store) putBlock(ctx context.Context, w format.Writer, id int, b matrix.Block, r *rpc.Response) error {
	for _, rows := range s.meta.SavedRows() {
		some := b
		if !rows.Contains(b.At.Rows) {
			some = b.Cut(matrix.Rect{Rows: rows, Cols: b.At.Cols})
		}
		if some.At.Empty() && len(s.partitions) > 1 {
			continue
		}
		p, err := w.Put(ctx, s.meta.Name, some)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, rpc.Result{Matrix: s.number, Partition: uint32(id), Data: p})
	}
	return nil
}

// commit makes the save visible, with the Parts of all servers.
func (s *Server) commit(m *member, x *rpc.Exchange) {
	m.withSave(x, func(ctx context.Context, a *rpc.Save) (*rpc.Response, error) {
		if a.Rehearsal {
			return compare(ctx, m.job.bucket(), a)
		}
		w, first := m.job.saves.take(a.Stage)
		if over := context.Cause(m.job.ctx); over != nil && !first {
			return nil, over
		}
		if !first {
			return nil, fmt.Errorf("commit: no save %q is under way here: %w", a.Stage, rpc.ErrNotFound)
		}
		defer m.job.saves.end(context.WithoutCancel(ctx), a.Stage, w)
		if <-w.idle; w.saver == nil {
			return nil, fmt.Errorf("commit: save %q was not begun: %w", a.Stage, rpc.ErrNotFound)
		}
		if c, is := w.saver.(*committer); is {
			c.files = a.Files
		}
		parts := make([]format.Part, len(a.Parts))
		for i, p := range a.Parts {
			parts[i] = p
		}
		ended, err := s.committing(ctx, m.job, a.Path)
		if err != nil {
			return nil, err
		}
		defer ended()
		if err := s.fenced(); err != nil { // it may have been waited for long
			return nil, err
		}
		if err := w.Commit(ctx, parts); err != nil {
			return nil, err
		}
		if a.Interim && a.Checkpoint {
			if err := s.interim(ctx, m.job, a.Path); err != nil {
				return nil, err
			}
		}
		over, err := m.job.bucket().State(ctx, a.Path)
		if err != nil && !a.Checkpoint {
			return nil, err
		}
		if err != nil { // it is there, and must not keep later ones from being written
			over = blob.Anything
		}
		err = s.setTarget(m.job, a.Path, over) // a later save of the job replaces this one
		if err == nil && a.Checkpoint {
			s.tidy(m.job, a.Path, a.Keep)
		}
		return nil, err
	})
}

// abort forgets what this server has put into the save. A commit of it that is under way ends before the answer: what the client
// saves next finds what that has made visible.
func (s *Server) abort(m *member, x *rpc.Exchange) {
	m.withSave(x, func(ctx context.Context, a *rpc.Save) (*rpc.Response, error) {
		if a.Rehearsal {
			return nil, s.erase(ctx, m.job.bucket(), format.NewStage(s.Bucket, a.Path, a.Stage).Tree)
		}
		if a.Committed {
			m.job.tracked.confirm(a.Stage)
		}
		if a.Checkpoint { // its clock may not have come
			m.job.saves.giveUp(a.Stage)
		}
		w, first := m.job.saves.take(a.Stage)
		if first {
			m.job.saves.end(context.WithoutCancel(ctx), a.Stage, w)
		} else if w != nil {
			select {
			case <-w.ended:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return nil, nil
	})
}

// withSave runs a step of a save in a goroutine of its own.
func (m *member) withSave(x *rpc.Exchange, run func(ctx context.Context, a *rpc.Save) (*rpc.Response, error)) {
	var a rpc.Save
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		m.refuse(x, fmt.Errorf("%v: %w: %w", x.Op, rpc.ErrMalformed, err))
		return
	}
	m.background(x, func(ctx context.Context) (*rpc.Response, error) { return run(ctx, &a) })
}

// EndSaves ends what was begun to be saved and is not being committed, of all jobs, and gives back the folders of their checkpoints:
// nothing is left of it when it returns, unless ctx has ended before. It is for a server that nobody can reach any more, before its process
// ends.
func (s *Server) EndSaves(ctx context.Context) {
	s.mu.Lock()
	jobs := slices.Concat(slices.Collect(maps.Values(s.jobs)), slices.Collect(maps.Values(s.endings)))
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, j := range jobs {
			j.saves.endAll(j.saves.close())
		}
		for _, release := range s.claims(func(*folderClaim) bool { return true }) { // in a store they would stand for minutes
			release()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
