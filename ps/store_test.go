package ps_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// store is a server as simple as can be: matrices are maps of cells, one lock is kept through everything. It holds every
// request to the letter of the protocol, and notes what is wrong.
type store struct {
	change func(q *rpc.Request) error            // refuses requests; nil: none
	lie    func(q *rpc.Request, r *rpc.Response) // changes answers; nil: none
	first  uint32                                // number of the first matrix, less one

	mu      sync.Mutex
	bound   ssp.Bound
	tasks   int
	clients map[string]*taskState // by client
	byTask  map[int]*taskState
	mats    []*cells
	waiting []parked
	staged  []stagedCell
	quit    string // what a task that gave up said
	wrong   []string
	models  map[string]map[string]map[cell]float64
	refused int
	log     []string // what was done, in order
}

type taskState struct {
	task, epoch int
	own         int
	clocks      map[uint32]int
	seq         uint64
	verdicts    map[uint64]error
	left        bool
	peer        *rpc.Peer
}

type stagedCell struct {
	m                  *cells
	clock, task, order int
	at                 cell
	v                  float64
}

type parked struct {
	x     *rpc.Exchange
	t     *taskState
	ready func() bool
	read  func() *rpc.Response
}

func (s *store) record(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// Serve implements rpc.Handler.
func (s *store) Serve(x *rpc.Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.Op == rpc.OpJoin {
		s.join(x)
		return
	}
	t, _ := x.From.State.(*taskState)
	switch {
	case t == nil || t.peer != x.From:
		x.Fail(fmt.Errorf("not joined over this connection: %w", rpc.ErrRefused))
		return
	case t.left:
		x.Fail(fmt.Errorf("has left: %w", rpc.ErrRefused))
		return
	}
	if numbered := x.Op == rpc.OpPush || x.Op == rpc.OpUpdate || x.Op == rpc.OpLoad; numbered != (x.Seq > 0) {
		s.record("%v has number %d", x.Op, x.Seq)
	}
	if x.Seq > 0 {
		verdict, known := t.verdicts[x.Seq]
		switch {
		case known && verdict != nil:
			x.Fail(verdict)
			return
		case !known && x.Seq != t.seq+1:
			s.record("change %d of task %d after %d", x.Seq, t.task, t.seq)
		case !known:
			t.seq = x.Seq
			var err error
			if s.change != nil {
				err = s.change(x.Request)
			}
			if err == nil {
				err = s.make(t, x.Request)
			}
			if t.verdicts[x.Seq] = err; err != nil {
				s.refused++
				x.Fail(err)
				return
			}
		}
	}
	s.answer(t, x)
	s.wake()
}

func control(x *rpc.Exchange, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	x.Answer(&rpc.Response{Results: []rpc.Result{{Data: text}}})
}

func (s *store) join(x *rpc.Exchange) {
	var j rpc.Join
	if err := json.Unmarshal(x.Arg, &j); err != nil {
		x.Fail(fmt.Errorf("%w: %w", rpc.ErrMalformed, err))
		return
	}
	if s.clients == nil {
		s.clients, s.byTask, s.models = map[string]*taskState{}, map[int]*taskState{}, map[string]map[string]map[cell]float64{}
		s.bound, s.tasks = j.Bound, j.Tasks
	}
	t := s.clients[j.Client]
	switch {
	case t != nil && t.left:
		x.Fail(fmt.Errorf("task %d has left: %w", j.Task, rpc.ErrNotFound))
		return
	case t == nil && j.Epoch > 0 && !j.First:
		x.Fail(fmt.Errorf("job %q is another: %w", j.Job, rpc.ErrNotFound))
		return
	case t == nil:
		if s.byTask[j.Task] != nil {
			x.Fail(fmt.Errorf("task %d is there: %w", j.Task, rpc.ErrRefused))
			return
		}
		t = &taskState{task: j.Task, clocks: map[uint32]int{}, verdicts: map[uint64]error{}}
		s.clients[j.Client], s.byTask[j.Task] = t, t
	case j.Epoch < t.epoch || j.Epoch == t.epoch && j.Epoch > 0:
		x.Fail(fmt.Errorf("comes back as %d, was here as %d: %w", j.Epoch, t.epoch, rpc.ErrRefused))
		return
	}
	t.epoch, t.peer = j.Epoch, x.From
	x.From.State = t
	control(x, rpc.Joined{Seq: t.seq})
	s.wake()
}

// slowest is the slowest task's clock for a matrix, or its own clock for number 0.
func (s *store) slowest(number uint32) int {
	least := ssp.Finished
	for t := range s.tasks {
		switch state := s.byTask[t]; {
		case state == nil:
			return 0
		case state.left:
		case number == 0:
			least = min(least, state.own)
		default:
			least = min(least, state.clocks[number])
		}
	}
	return least
}

func (s *store) find(number uint32) *cells {
	for _, m := range s.mats {
		if m.number == number {
			return m
		}
	}
	return nil
}

// make makes a change: checked first, whole or not at all.
func (s *store) make(t *taskState, q *rpc.Request) error {
	var due []stagedCell
	for i := range q.Parts {
		p := &q.Parts[i]
		if p.Values == nil {
			continue
		}
		m := s.find(p.Matrix)
		if m == nil {
			return fmt.Errorf("matrix %d: %w", p.Matrix, rpc.ErrNotFound)
		}
		if int(p.Clock) != t.clocks[p.Matrix] {
			return fmt.Errorf("delta of clock %d by task %d, which is at clock %d: %w", p.Clock, t.task, t.clocks[p.Matrix], rpc.ErrMalformed)
		}
		at, err := m.places(p)
		if err != nil {
			return err
		}
		values := numbers(p.Values, p.DType)
		if len(values) != len(at) {
			return fmt.Errorf("%d values for %d cells: %w", len(values), len(at), rpc.ErrMalformed)
		}
		for k, c := range at {
			due = append(due, stagedCell{m, int(p.Clock), t.task, len(due), c, values[k]})
		}
	}
	for _, tick := range q.Ticks {
		have := t.own
		if tick.Matrix != 0 {
			have = t.clocks[tick.Matrix]
		}
		if int(tick.Clock) != have {
			return fmt.Errorf("tick of clock %d by task %d, which is at clock %d: %w", tick.Clock, t.task, have, rpc.ErrMalformed)
		}
	}
	for _, d := range due {
		if d.m.bound == ssp.ASP {
			d.m.add(d)
		} else {
			s.staged = append(s.staged, d)
		}
	}
	for _, tick := range q.Ticks {
		if tick.Matrix == 0 {
			t.own++
		} else {
			t.clocks[tick.Matrix]++
		}
	}
	s.log = append(s.log, fmt.Sprintf("%v %d", q.Op, q.Seq))
	switch q.Op {
	case rpc.OpUpdate:
		m := s.find(q.Parts[0].Matrix)
		for c, v := range m.value {
			m.value[c] = 2 * v
		}
	case rpc.OpLoad:
		return s.load(q)
	}
	s.fold()
	return nil
}

// fold adds what is due.
func (s *store) fold() {
	slices.SortStableFunc(s.staged, func(a, b stagedCell) int { return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.task, b.task)) })
	s.staged = slices.DeleteFunc(s.staged, func(d stagedCell) bool {
		due := d.clock < s.slowest(d.m.number)
		if due {
			d.m.add(d)
		}
		return due
	})
}

// answer answers what has no effect, or what follows a change that was made.
func (s *store) answer(t *taskState, x *rpc.Exchange) {
	switch x.Op {
	case rpc.OpCreate:
		s.create(t, x)
	case rpc.OpPull, rpc.OpPush:
		s.pull(t, x)
	case rpc.OpBarrier:
		s.waiting = append(s.waiting, parked{x, t, func() bool { return s.slowest(0) >= int(x.Clock) }, func() *rpc.Response { return nil }})
	case rpc.OpLeave:
		t.left = true
		x.Answer(nil)
		s.fold()
	case rpc.OpQuit:
		s.quit = string(x.Arg)
		x.Answer(nil)
	case rpc.OpUpdate:
		x.Answer(nil)
	case rpc.OpCommit, rpc.OpAbort, rpc.OpLoad:
		s.send(x, &rpc.Response{})
	case rpc.OpLook:
		s.send(x, &rpc.Response{Results: []rpc.Result{{Data: []byte("{}")}}})
	case rpc.OpGet:
		m := s.find(x.Parts[0].Matrix)
		r := &rpc.Response{}
		for _, p := range m.parts.Owned(m.index) {
			sum := 0.0
			for c, v := range m.value {
				if in := m.parts.At(p); in.Rows.Has(c.row) && in.Cols.Has(c.col) && (m.parts.Bits == 0 || m.parts.Of(c.col) == p) {
					sum += v
				}
			}
			r.Results = append(r.Results, rpc.Result{Matrix: m.number, Partition: uint32(p), Data: fmt.Append(nil, sum, " ")})
		}
		s.send(x, r)
	case rpc.OpSave:
		s.save(x)
	case rpc.OpMembers:
		s.members(t, x)
	default:
		x.Fail(rpc.ErrMalformed)
	}
}

func (s *store) send(x *rpc.Exchange, r *rpc.Response) {
	if s.lie != nil && r != nil {
		s.lie(x.Request, r)
	}
	x.Answer(r)
}

func (s *store) members(t *taskState, x *rpc.Exchange) {
	var known rpc.Members
	if err := json.Unmarshal(x.Arg, &known); err != nil {
		x.Fail(err)
		return
	}
	s.waiting = append(s.waiting, parked{x, t, func() bool { return len(s.byTask) != known.Joined }, func() *rpc.Response {
		now := rpc.Membership{Joined: len(s.byTask)}
		for i := range s.tasks {
			if s.byTask[i] == nil {
				now.Missing = append(now.Missing, i)
			}
		}
		text, _ := json.Marshal(now)
		return &rpc.Response{Results: []rpc.Result{{Data: text}}}
	}})
}

func (s *store) create(_ *taskState, x *rpc.Exchange) {
	var c rpc.Create
	if err := json.Unmarshal(x.Arg, &c); err != nil {
		x.Fail(err)
		return
	}
	var answer rpc.Created
	for _, spec := range c.Matrices {
		i := slices.IndexFunc(s.mats, func(m *cells) bool { return m.meta.Name == spec.Meta.Name })
		if i < 0 {
			cut, err := part.Lookup(spec.Partitioner, &spec.Meta)
			if err != nil {
				x.Fail(err)
				return
			}
			parts, err := part.NewMap(&spec.Meta, cut, c.Servers, 1)
			if err != nil {
				x.Fail(err)
				return
			}
			m := &cells{number: s.first + uint32(len(s.mats)) + 1, meta: spec.Meta, parts: parts, bound: s.bound, index: c.Index, value: map[cell]float64{}}
			if spec.Bound != nil {
				m.bound = *spec.Bound
			}
			i = len(s.mats)
			s.mats = append(s.mats, m)
		}
		answer.Numbers, answer.Clocks = append(answer.Numbers, s.mats[i].number), append(answer.Clocks, 0)
	}
	control(x, answer)
}

// pull answers with what the parts without values ask for, once the clocks are reached.
func (s *store) pull(t *taskState, x *rpc.Exchange) {
	type want struct {
		m *cells
		p rpc.Part
	}
	var wants []want
	for _, p := range x.Parts {
		if p.Values != nil {
			continue
		}
		m := s.find(p.Matrix)
		if m == nil {
			x.Fail(rpc.ErrNotFound)
			return
		}
		asked := p
		if _, err := m.places(&p); err != nil {
			s.record("pull: %v", err)
			x.Fail(err)
			return
		}
		wants = append(wants, want{m, asked})
	}
	ready := func() bool {
		for _, w := range wants {
			if s.slowest(w.m.number) < w.m.bound.Need(int(w.p.Clock)) {
				return false
			}
		}
		return true
	}
	read := func() *rpc.Response {
		r := &rpc.Response{Clock: int32(s.slowest(0))}
		for _, w := range wants {
			p := w.p
			at, _ := w.m.places(&p)
			values := make([]float64, len(at))
			for i, c := range at {
				values[i] = w.m.value[c]
			}
			p.Values, p.Clock = bytesOf(values, p.DType), int32(s.slowest(w.m.number))
			if p.Groups = nil; p.Kind == rpc.KindKeys {
				p.Keys = nil
			}
			r.Parts = append(r.Parts, p)
		}
		if s.lie != nil {
			s.lie(x.Request, r)
		}
		return r
	}
	s.waiting = append(s.waiting, parked{x, t, ready, read})
}

// wake answers who has waited long enough.
func (s *store) wake() {
	s.fold()
	s.waiting = slices.DeleteFunc(s.waiting, func(p parked) bool {
		select {
		case <-p.x.From.Gone:
			return true
		default:
		}
		if ready := p.ready(); ready {
			p.x.Answer(p.read())
			return true
		}
		return false
	})
}

func (s *store) save(x *rpc.Exchange) {
	var a rpc.Save
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		x.Fail(err)
		return
	}
	r := &rpc.Response{}
	if a.Rehearsal {
		r.Results = append(r.Results, rpc.Result{Data: []byte("nothing")})
		s.send(x, r)
		return
	}
	s.models[a.Path] = map[string]map[cell]float64{}
	for i, name := range a.Matrices {
		m := s.find(x.Parts[i].Matrix)
		if m == nil || m.meta.Name != name {
			s.record("save of %s as matrix %d", name, x.Parts[i].Matrix)
			continue
		}
		kept := map[cell]float64{}
		for c, v := range m.value {
			kept[c] = v
		}
		s.models[a.Path][name] = kept
		for _, p := range m.parts.Owned(m.index) {
			r.Results = append(r.Results, rpc.Result{Matrix: m.number, Partition: uint32(p), Data: []byte{byte(p)}})
		}
	}
	s.send(x, r)
}

func (s *store) load(q *rpc.Request) error {
	var a rpc.Load
	if err := json.Unmarshal(q.Arg, &a); err != nil {
		return err
	}
	model := s.models[a.Path]
	if model == nil {
		return fmt.Errorf("%s: %w", a.Path, rpc.ErrNotFound)
	}
	for _, m := range s.mats {
		if kept := model[m.meta.Name]; kept != nil {
			m.value = map[cell]float64{}
			for c, v := range kept {
				m.value[c] = v
			}
		}
	}
	return nil
}

// errRefused is what stores refuse with.
var errRefused = errors.New("no room")
