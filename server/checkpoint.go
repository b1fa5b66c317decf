package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
	clock  int   // of the task that asks
	clocks []int // for the matrices
	stores []*store
	shots  [][]*snapshot
	core   ssp.State[*delta]

	since state.Link // what has changed since that checkpoint stays remembered
	base  state.Link // zero: it is a whole one
}

// checkpoint puts the state of this server's partitions and of the job's core into a checkpoint. All matrices are as of the
// task's clocks for them, and the core's state is of the same moment. Tasks go on meanwhile.
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
	q := &request{x: x}
	q.ready = func(ssp.Answer[*request]) {
		j.moments = append(j.moments, func() {
			if err := j.server.try(func() { c.take(m, x) }); err != nil {
				j.answer(&request{x: x}, nil, err)
			}
		})
	}
	begin := func() { j.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: saveNeeds(x), Exact: true}, q) }
	if !a.Track {
		begin()
		return
	}
	go x.Guard(s.logger(), func() { // it reads from the bucket
		if err := c.follow(x.Context()); err != nil {
			m.refuse(x, err)
			return
		}
		begin()
	})
}

// take begins the checkpoint, in the job's mailbox: what is applied later is not in it.
func (c *checkpoint) take(m *member, x *rpc.Exchange) {
	j := c.j
	if err := c.current(); err != nil {
		j.answer(&request{x: x}, nil, err)
		return
	}
	c.shots, c.core = j.snapshots(c.stores, c.marking()), j.core.State()
	for i := range c.core.Matrices { // what will be left out brings nothing
		m := &c.core.Matrices[i]
		m.Staged = slices.DeleteFunc(m.Staged, func(e ssp.Staged[*delta]) bool { return !e.Tick && e.Delta.leftOut() })
	}
	c.eachDelta(func(d *delta) { d.use() })
	j.later.then = append(j.later.then, func() {
		m.run(x, func(ctx context.Context) (*rpc.Response, error) {
			defer closeAll(c.shots)
			defer c.eachDelta(func(d *delta) { d.end() })
			return j.server.put(ctx, j, c.save, c.write)
		})
	})
}

// current wants all matrices of the job, at the clocks that the task had when it asked.
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
		if now := c.j.core.Slowest(int(st.number)); now != clock {
			return fmt.Errorf("matrix %q is at clock %d, want %d as when the checkpoint was asked for: %w", st.meta.Name, now, clock, rpc.ErrRefused)
		}
	}
	return nil
}

func (c *checkpoint) eachDelta(f func(d *delta)) {
	for i := range c.core.Matrices {
		for _, e := range c.core.Matrices[i].Staged {
			if !e.Tick {
				f(e.Delta)
			}
		}
	}
}

// write puts this server's file into the checkpoint, and tells what is in it.
func (c *checkpoint) write(ctx context.Context, w *pendingSave, r *rpc.Response) (err error) {
	s := c.j.server
	defer s.recovered(&err)
	save, err := state.Create(ctx, s.Bucket, c.save.Path, c.save.Stage, s.over(c.j, c.save))
	if err != nil {
		return err
	}
	w.saver = &committer{save, c}
	out := state.Part{Server: c.save.Index, Base: c.base.ID}
	records := func(w *state.Writer) error {
		for i, st := range c.stores {
			for _, shot := range c.shots[i] {
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
	c *checkpoint
}

// Commit implements saver.
func (w *committer) Commit(ctx context.Context, parts []format.Part) error {
	out := &state.Checkpoint{Job: w.c.j.name, Plan: w.c.core.Plan, Clock: w.c.clock, Bound: w.c.core.Bound, Base: w.c.base}
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
	told := make([]state.Part, len(parts))
	for i, text := range parts {
		if err := json.Unmarshal(text, &told[i]); err != nil {
			return fmt.Errorf("part of a checkpoint: %w: %w", rpc.ErrMalformed, err)
		}
	}
	return w.Save.Commit(ctx, out, told, w.c.save.Servers)
}
