package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/ssp"
	"thole.example/state"
)

// checkpoint is the state of a job's share on this server at one moment, on its way to a bucket.
type checkpoint struct {
	j      *job
	save   *rpc.Save
	moment state.Moment
	clock  int   // of the task that asks
	clocks []int // for the matrices
	stores []*store
	shots  [][]*snapshot
	core   ssp.State[*delta]

	known []state.Link // checkpoints that the job remembers the changes since, when this one was asked for
	since state.Link   // what has changed since that checkpoint stays remembered
	base  state.Link   // what it is based on; zero: it is a whole one
}

// checkpoint puts the state of this server's partitions and of the job's core into a checkpoint. All matrices are as of the
// task's clocks for them, and the core's state is of the same moment: it is made when all of the clocks before is folded, which the
// task itself need not wait for, as what it sends later is of later clocks. Under ASP there are no such moments, and the
// moment is that in which it was asked for. Tasks go on meanwhile.
func (s *Server) checkpoint(m *member, x *rpc.Exchange, a *rpc.Save, stores []*store) {
	j := m.job
	a.Codec = "checkpoint" // in errors
	c := &checkpoint{j: j, save: a, clock: int(x.Clock), stores: stores}
	for _, p := range x.Parts {
		c.clocks = append(c.clocks, int(p.Clock))
	}
	if len(c.clocks) != len(stores) || a.Servers < 1 || a.Index < 0 || a.Index >= a.Servers {
		m.refuse(x, fmt.Errorf("checkpoint of %d matrices at %d clocks by server %d of %d: %w",
			len(stores), len(c.clocks), a.Index, a.Servers, rpc.ErrMalformed))
		return
	}
	if len(a.Moment) > 0 {
		if err := json.Unmarshal(a.Moment, &c.moment); err != nil {
			m.refuse(x, fmt.Errorf("moment of a checkpoint: %w: %w", rpc.ErrMalformed, err))
			return
		}
	}
	q := &request{x: x}
	q.ready = func(ssp.Answer[*request]) {
		j.moments = append(j.moments, func() {
			if err := j.server.try(func() { c.take(m, x) }); err != nil {
				j.answer(&request{x: x}, nil, err)
			}
		})
	}
	begin := func() { j.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: c.needs(m), Exact: true}, q) }
	remembered := !a.Track || c.remembered()
	if j.tracked.doubt(a.Path); remembered {
		begin()
		return
	}
	go x.Guard(s.logger(), func() { // the bucket says what there is to be based on; the moment may have passed then
		if err := c.follow(x.Context()); err != nil {
			m.refuse(x, err)
			return
		}
		j.tracked.confirm(c.since.ID)
		begin()
	})
}

// needs are the clocks that have to be folded before. Nobody waits for one under ASP.
func (c *checkpoint) needs(m *member) (all []ssp.Need) {
	if m.bound != ssp.ASP {
		all = append(all, ssp.Need{Matrix: 0, Clock: c.clock})
	}
	for i, st := range c.stores {
		if st.bound != ssp.ASP {
			all = append(all, ssp.Need{Matrix: int(st.number), Clock: c.clocks[i]})
		}
	}
	return all
}

// take begins the checkpoint, in the job's mailbox: what is applied later is not in it.
func (c *checkpoint) take(m *member, x *rpc.Exchange) {
	j := c.j
	if err := errors.Join(context.Cause(x.Context()), c.current()); err != nil {
		j.answer(&request{x: x}, nil, err)
		return
	}
	c.shots, c.core = j.snapshots(c.stores, c.marking()), j.core.State()
	for i := range c.core.Matrices { // what will be left out brings nothing
		m := &c.core.Matrices[i]
		m.Staged = slices.DeleteFunc(m.Staged, func(e ssp.Staged[*delta]) bool { return !e.Tick && e.Delta.leftOut() })
	}
	eachDelta(&c.core, (*delta).use)
	j.later.then = append(j.later.then, func() {
		m.run(x, func(ctx context.Context) (*rpc.Response, error) {
			defer closeAll(c.shots)
			defer eachDelta(&c.core, (*delta).end)
			if err := c.verify(ctx); err != nil {
				return nil, err
			}
			return j.server.put(ctx, j, c.save, c.write)
		})
	})
}

// current wants all matrices of the job, at the clocks that the task had when it asked. If one has passed that, as while an update
// ran, the task can ask again at a later one.
func (c *checkpoint) current() error {
	if err := c.j.core.Failed(); err != nil {
		return refusal(err)
	}
	here := map[*store]int{}
	for i, st := range c.stores {
		here[st] = c.clocks[i]
	}
	for _, st := range (*c.j.stores.Load())[1:] {
		clock, asked := here[st]
		if !asked {
			return fmt.Errorf("checkpoint without matrix %q of job %q, want all: %w", st.meta.Name, c.j.name, rpc.ErrRefused)
		}
		if now := c.j.core.Slowest(int(st.number)); now != clock && st.bound != ssp.ASP {
			return fmt.Errorf("matrix %q is at clock %d, want %d as when the checkpoint was asked for: %w", st.meta.Name, now, clock, rpc.ErrPassed)
		}
	}
	return nil
}

// write puts this server's file into the checkpoint, and tells what is in it.
func (c *checkpoint) write(ctx context.Context, w *pendingSave, r *rpc.Response) (err error) {
	s := c.j.server
	defer s.recovered(&err)
	over, err := c.over(ctx)
	if err != nil {
		return err
	}
	save, err := state.Create(ctx, c.j.bucket(), c.save.Path, c.save.Stage, over)
	if err != nil {
		return err
	}
	w.saver = &committer{save, c, nil}
	out := state.Part{Server: c.save.Index, Base: c.base.ID}
	records := func(w *state.Writer) error {
		pace, lent := newPace(c.j.slowest.Load()), &rooms{}
		pace.yield = w.Yield
		for i, st := range c.stores {
			for _, shot := range c.shots[i] {
				shot.pace, shot.lent = pace, lent
				record, err := shot.record(ctx, w, c.clocks[i])
				if err != nil {
					return err
				}
				record.Matrix, record.Partition = st.meta.Name, shot.of.id
				out.Records = append(out.Records, record)
			}
		}
		return nil
	}
	core := func(w *state.Writer) error { return state.Job(w, &c.core, lend) }
	if out.File, err = save.File(ctx, c.save.Index, records, core); err != nil {
		return err
	}
	text, err := json.Marshal(out)
	r.Results = []rpc.Result{{Data: text}}
	return err
}

// over is what the checkpoint may replace: what the job wrote or restored there, what an earlier attempt of the same run wrote, or what
// some training wrote and nobody can read any more: a run comes to the same path in each attempt, and would fail there each time.
func (c *checkpoint) over(ctx context.Context) (blob.State, error) {
	s := c.j.server
	if over := s.over(c.j, c.save); over != blob.Nothing || c.moment.Run == "" {
		return over, nil
	}
	there, err := c.j.bucket().State(ctx, c.save.Path)
	if err != nil {
		return blob.Nothing, err
	}
	head, err := state.Open(ctx, c.j.bucket(), c.save.Path)
	if err == nil && head.Moment.Run == c.moment.Run && head.Moment.Attempt <= c.moment.Attempt {
		return there, nil
	}
	if err == nil || there == blob.Nothing {
		return blob.Nothing, nil
	}
	ruined, err := state.Ruined(ctx, c.j.bucket(), c.save.Path)
	if err != nil || !ruined {
		return blob.Nothing, err
	}
	s.logger().Warn("a checkpoint that cannot be read is replaced", "path", c.save.Path)
	return there, nil
}

// lend gives out a delta as plain values, the values themselves only if they are asked for: they may be on disk.
func lend(d *delta, values bool, f func(state.Delta) error) error {
	if d.call != nil {
		at := matrix.At(0, 1, 0, int64(len(d.text)))
		return f(state.Delta{Rows: at.Rows, Cols: at.Cols, DType: matrix.U8, Func: true, Values: d.text})
	}
	out := state.Delta{Rows: d.part.Rows, Cols: d.part.Cols, DType: d.part.DType, Assign: d.part.Assign}
	if d.part.Kind == rpc.KindKeys {
		out.Keys = []int64{}
	}
	if !values {
		return f(out)
	}
	var all []share
	for sh := range d.shares() {
		all = append(all, sh)
	}
	return with(all, nil, takes(func(deltas []shard.Delta) error {
		for _, one := range deltas {
			if out.Keys != nil {
				out.Keys = append(out.Keys, one.Keys...)
			}
			out.Values = append(out.Values, one.Values...)
		}
		return f(out)
	}))
}

// byClock reports whether clocks are what stands for the steps of a rule, as rounding goes by them.
func (s *store) byClock() bool { return s.rule == nil && s.meta.Storage != matrix.Invalid }

// committer makes a checkpoint visible, on the server that is asked to.
type committer struct {
	*state.Save
	c     *checkpoint
	files map[string][]byte // loose objects, which the commit brings
}

// Commit implements saver.
func (w *committer) Commit(ctx context.Context, parts []format.Part) error {
	out := &state.Checkpoint{
		Job: w.c.j.name, Plan: w.c.core.Plan, Clock: w.c.clock, Bound: w.c.core.Bound, Base: w.c.base, Moment: w.c.moment,
	}
	if w.c.save.Track {
		out.ID = w.c.save.Stage
	}
	if err := w.c.same(ctx); err != nil {
		return err
	}
	for i, st := range w.c.stores {
		var spec rpc.Spec
		if err := json.Unmarshal(st.spec, &spec); err != nil {
			return err
		}
		out.Matrices = append(out.Matrices, state.Matrix{
			Meta: st.meta, Partitioner: spec.Partitioner, Map: st.parts, Bound: spec.Bound, NonFinite: spec.NonFinite, Clock: w.c.clocks[i],
		})
	}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if err := w.Loose(ctx, name, w.files[name]); errors.Is(err, state.ErrLoose) {
			return fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
		} else if err != nil {
			return err
		}
		out.Loose = append(out.Loose, name)
	}
	told := make([]state.Part, len(parts))
	for i, text := range parts {
		if err := json.Unmarshal(text, &told[i]); err != nil {
			return fmt.Errorf("part of a checkpoint: %w: %w", rpc.ErrMalformed, err)
		}
	}
	return w.Save.Commit(ctx, out, told, w.c.save.Servers)
}
