package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// pull answers with values as of the task's clocks: at once if these are reached, or when the core says so.
func (s *Server) pull(m *member, x *rpc.Exchange) {
	j := m.job
	g, err := j.newGather(x)
	if err == nil && (len(g.parts) < len(x.Parts) || len(x.Ticks) > 0) {
		g.free()
		err = fmt.Errorf("pull with values or ticks: %w", rpc.ErrMalformed)
	}
	if err != nil {
		m.refuse(x, err)
		return
	}
	if m.reads {
		g.log = j.log
		s.readAt(m, x, g)
		return
	}
	makes := j.log != nil && slices.ContainsFunc(x.Parts, asksMade)
	if !makes && m.joined.Load() && j.failed.Load() == nil && m.changes.Load() == 0 && !g.withOwn && g.fresh() {
		j.readNow(g)
		return
	}
	q := &request{x: x, gather: g, makes: makes}
	j.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: g.needs(nil)}, q)
}

// readNow has the partitions read what a gather wants.
func (j *job) readNow(g *gather) {
	if j.readFew(g) {
		g.done()
		return
	}
	var room [16]*partition
	idle := g.post(j, room[:0])
	runAll(idle, g.size, handedBytes)
	g.done()
}

// read posts what a gather reads, in the job's mailbox.
func (j *job) read(g *gather) {
	j.later.idle = g.post(j, j.later.idle)
	j.later.bytes += g.size
	g.done()
}

// fresh reports whether all values may be read already.
func (g *gather) fresh() bool {
	i := 0
	for k := range g.x.Parts {
		if p := &g.x.Parts[k]; p.Values == nil {
			if !g.parts[i].from.fresh(p.Clock) {
				return false
			}
			i++
		}
	}
	return true
}

// needs adds the clocks that the values are to be read at.
func (g *gather) needs(all []ssp.Need) []ssp.Need {
	for k := range g.x.Parts {
		if p := &g.x.Parts[k]; p.Values == nil {
			all = append(all, ssp.Need{Matrix: int(p.Matrix), Clock: int(p.Clock), Own: p.Own})
		}
	}
	return all
}

// push hands deltas and ticks to the core, and the values that are asked for after them.
func (s *Server) push(m *member, x *rpc.Exchange) {
	j, q := m.job, m.change(x)
	e := ssp.Push[*delta, *request]{Req: q, Conn: m.conn, Seq: x.Seq}
	if e.Err = s.widen(j, x); e.Err == nil {
		e.Err = j.bring(m.task, x, &e)
	}
	if e.Err == nil {
		q.toLog(j)
		if len(e.Deltas) > 0 {
			s.detach(x)
		}
		if asks(x.Request) {
			q.makes = j.log != nil && slices.ContainsFunc(x.Parts, asksMade)
			if q.gather, e.Err = j.newGather(x); e.Err == nil {
				e.Then, q.gather.log = q.gather.needs(nil), j.log
			}
		}
	}
	if e.Err == nil {
		e.Err = j.count(e.Deltas)
	}
	if e.Err == nil {
		j.wait(e.Deltas)
	}
	q.deltas = e.Deltas
	if e.Err != nil {
		e.Deltas, e.Ticks, e.Then = nil, nil, nil
	}
	j.post(e, q)
}

// asks reports whether values are asked for.
func asks(q *rpc.Request) bool {
	for i := range q.Parts {
		if q.Parts[i].Values == nil {
			return true
		}
	}
	return false
}

// change is a request that changes something: until the core has seen it, what follows goes through the core, too.
func (m *member) change(x *rpc.Exchange) *request {
	m.changes.Add(1)
	return &request{x: x, change: m, durable: true}
}

// bring fills in what a push of the task brings, and says what is wrong with it.
func (j *job) bring(task int, x *rpc.Exchange, e *ssp.Push[*delta, *request]) error {
	for i := range x.Parts {
		p := &x.Parts[i]
		if p.Values == nil {
			continue
		}
		s, err := j.store(p.Matrix)
		if err == nil && p.Kind == rpc.KindFunc {
			d, err := s.bringCall(p)
			if err != nil {
				return err
			}
			e.Deltas = append(e.Deltas, ssp.Delta[*delta]{Matrix: int(p.Matrix), Clock: int(p.Clock), Data: d, Weightless: true})
			continue
		}
		if err == nil {
			err = s.check(p)
		}
		if err == nil {
			err = s.checkValues(p)
		}
		if err != nil {
			return err
		}
		bad := s.finite(task, p)
		if bad != nil && s.choice == rpc.RefuseNonFinite {
			return bad
		}
		d := &delta{of: s, nonFinite: bad}
		if !d.leftOut() {
			d.part, d.size, d.keys, d.memory = *p, len(p.Values), len(p.Keys), x.Memory.Retain()
		}
		e.Deltas = append(e.Deltas, ssp.Delta[*delta]{Matrix: int(p.Matrix), Clock: int(p.Clock), Data: d, Weightless: p.Assign})
	}
	for _, t := range x.Ticks {
		if !(t.Weight >= 0) || math.IsInf(t.Weight, 0) || math.IsNaN(t.Rate) || math.IsInf(t.Rate, 0) {
			return fmt.Errorf("push with weight %v and rate %v: %w", t.Weight, t.Rate, rpc.ErrMalformed)
		}
		e.Ticks = append(e.Ticks, ssp.Tick{Matrix: int(t.Matrix), Clock: int(t.Clock), Weight: t.Weight, Rate: t.Rate})
	}
	if j.log.replaying() { // what was accepted is
		return nil
	}
	return j.room(e.Deltas)
}

// bringCall is an update function that waits for its clock. It keeps nothing of the request's memory.
func (s *store) bringCall(p *rpc.Part) (*delta, error) {
	d := &delta{of: s, part: *p, text: bytes.Clone(p.Values)}
	d.part.Values = nil
	err := d.bind()
	if err == nil && (p.Version != s.parts.Version || len(p.Groups)+len(p.Keys) > 0) {
		err = fmt.Errorf("matrix %q: a function with partitions or of routing map %d, here it is %d: %w",
			s.meta.Name, p.Version, s.parts.Version, rpc.ErrStale)
	}
	if err == nil {
		d.growth = s.job.server.Ledger.Force(budget.Stage, int64(len(d.text)))
	}
	return d, err
}

// bind finds the function of a staged one.
func (d *delta) bind() error {
	var f rpc.Staged
	if err := json.Unmarshal(d.text, &f); err != nil {
		return fmt.Errorf("matrix %q: a staged function: %w: %w", d.of.meta.Name, rpc.ErrMalformed, err)
	}
	var err error
	d.call, err = d.of.bind(f.Func, f.Arg, true)
	return err
}

// detach lets the memory of a push that asks for values, too, be free before it is answered, which may be long after its
// deltas went to disk: the keys that it asks for get memory of their own. The request itself is the caller's, who may send it
// again.
func (s *Server) detach(x *rpc.Exchange) {
	n, parts := 0, []rpc.Part(nil)
	for _, p := range x.Parts {
		if p.Values == nil {
			parts = append(parts, p)
			n += 8 * len(p.Keys)
		}
	}
	if parts == nil {
		return // it is answered soon
	}
	q := *x.Request
	q.Parts = parts
	memory := q.Memory
	q.Memory = rpc.MappedBuffer(n, s.Ledger.Force(budget.Queues, rpc.Taken(n)))
	room, _ := wire.Numbers[int64](q.Memory.Bytes())
	for i := range q.Parts {
		k := copy(room, q.Parts[i].Keys)
		q.Parts[i].Keys, room = room[:k:k], room[k:]
	}
	x.Request = &q
	memory.Release()
}
