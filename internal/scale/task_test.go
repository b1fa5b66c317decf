package scale

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"thole.example/coord"
	"thole.example/part"
	"thole.example/ssp"
)

// phase is what a task is at.
type phase int

const (
	finding phase = iota // of servers
	joining
	gathering // of all tasks
	creating
	restoring
	pulling
	computing
	leaving
	done
)

func (p phase) String() string {
	return [...]string{"finding", "joining", "gathering", "creating", "restoring", "pulling", "computing", "leaving", "done"}[p]
}

// inFlight is how many changes a task has under way, as package ps has.
const inFlight = 4

// task is a worker process with one task, and the client in it.
type task struct {
	w       *world
	number  int
	life    int
	dead    bool
	busy    time.Duration
	gen     int // of what it does: answers and times of former ones do not count
	attempt int
	members []coord.Member
	parts   *part.Map
	links   []*link
	phase   phase
	base    int // clock of the checkpoint from which the attempt began; -1: not known
	own     int // its own clock: one for the restore, then one for each step
	clock   int // of the matrix
	goesOn  bool
	leaves  bool
	wait    int   // answers that it waits for
	rounds  []int // answers that each change under way waits for
	moving  moving
	listens bool // for an order to move
	keys    []int64
}

// link is a task's side of one server.
type link struct {
	t      *task
	index  int
	conn   *conn
	joined bool
	epoch  int
	seq    uint64
	log    []*pending // requests that are not answered, in their order
	since  time.Duration
	tries  int
}

// pending is a request that is not answered.
type pending struct {
	seq uint64 // of a change
	ear bool   // it only listens: that nothing comes of it is no failure
	ev  func(conn int64, r *request) ssp.Event
	req request
}

// startTask starts a worker process.
func (w *world) startTask(i int) {
	life := 0
	if before := w.tasks[i]; before != nil {
		life = before.life + 1
	}
	t := &task{w: w, number: i, life: life, base: -1}
	w.tasks[i] = t
	w.after(time.Duration(w.rnd.Int64N(int64(time.Second))), func() {
		t.begin(max(1, w.store.job().Attempt))
	})
}

func (w *world) killTask(i int) {
	t := w.tasks[i]
	if t.dead || w.finishing() {
		return
	}
	t.dead = true
	w.count.killed++
	w.blame("a worker")
	for _, l := range t.links {
		if l.conn != nil {
			l.conn.end()
		}
	}
	w.after(restart, func() { w.startTask(i) })
}

// later lets the task do something, unless it is at something else then.
func (t *task) later(d time.Duration, do func()) {
	gen := t.gen
	t.w.after(d, func() {
		if !t.dead && t.gen == gen {
			do()
		}
	})
}

// begin begins an attempt: it looks where the servers are.
func (t *task) begin(attempt int) {
	if t.dead {
		return
	}
	w := t.w
	t.gen++
	t.attempt, t.phase, t.links, t.rounds, t.moving, t.listens = attempt, finding, nil, nil, moving{t: t}, false
	t.base, t.own, t.clock, t.wait, t.goesOn, t.leaves = -1, 0, 0, 0, false, false
	t.parts, _ = part.NewMap(&w.meta, w.cut, w.saved.servers, 1)
	t.members = w.store.find(w.saved.servers)
	if t.members == nil {
		t.later(500*time.Millisecond, func() { t.begin(attempt) })
		return
	}
	w.count.attempts = max(w.count.attempts, attempt)
	for i := range t.members {
		t.links = append(t.links, &link{t: t, index: i, since: w.now})
	}
	t.phase, t.wait = joining, 1
	t.later(w.delay(), t.links[0].connect)
}

// connect makes a connection, and says who is there.
func (l *link) connect() {
	t := l.t
	w := t.w
	if l.conn != nil {
		return
	}
	addr := t.members[l.index].Addr
	if l.joined || l.tries > 0 { // it was lost
		w.count.storeRequests++
		h, _, err := coord.Who(nowhere, &w.store, cluster, coord.Server(l.index))
		if err != nil || h == nil || !h.Holds(t.members[l.index].Epoch) {
			t.fail(t.attempt+1, fmt.Sprintf("server %d was replaced", l.index))
			return
		}
		addr = h.Addr
	}
	s := w.places[l.index].server
	patience := retryTime
	if w.logs {
		patience = logTime
	}
	if s == nil || s.dead || s.place.addr() != addr {
		if w.now-l.since > patience {
			t.fail(t.attempt+1, fmt.Sprintf("server %d is not there", l.index))
			return
		}
		l.tries++
		t.later(min(20*time.Millisecond<<min(l.tries, 5), 500*time.Millisecond), l.connect)
		return
	}
	l.conn, l.tries = w.dial(t, s), 0
	if l.joined {
		l.epoch++
	}
	j := ssp.Join[*request]{
		Conn: l.conn.id, Task: t.number, Tasks: w.setup.tasks, Bound: w.bound, Plan: "rate=0.1", Name: fmt.Sprint("task-", t.number),
		Worker: t.name(), Client: t.name(), Epoch: l.epoch, First: !l.joined, Grace: 2 * time.Minute, Attempt: t.attempt, Replace: true,
		Elsewhere: l.index > 0,
	}
	r := &request{conn: l.conn, join: &j}
	gen := t.gen
	r.from = func(e ssp.Effect, _ map[int64]int64) {
		if t.gen == gen {
			l.welcome(e)
		}
	}
	j.Req = r
	c := l.conn
	c.ask(func() { s.join(j) })
}

func (t *task) name() string { return fmt.Sprintf("task-%d-%d-%d", t.number, t.life, t.attempt) }

// joined is the answer to a Join, with how far the server knows the task to be.
type joined struct {
	ssp.Answer[*request]
	seq         uint64
	clock, base int
}

// welcome takes the answer to a Join.
func (l *link) welcome(e ssp.Effect) {
	t := l.t
	switch e := e.(type) {
	case joined:
		l.welcomed(e)
	case ssp.Later[*request]:
		t.fail(e.Attempt, "")
	case ssp.Refuse[*request]:
		if t.leaves && errors.Is(e.Err, ssp.NotFound) { // the server has heard that it leaves
			for _, p := range l.log {
				p.req.from(nil, nil)
			}
			l.log = nil
			return
		}
		if errors.Is(e.Err, ssp.Taken) {
			t.later(100*time.Millisecond, func() { t.fail(t.attempt, "") })
			return
		}
		t.fail(t.attempt+1, e.Err.Error())
	}
}

func (l *link) welcomed(e joined) {
	t := l.t
	first := !l.joined
	l.joined = true
	if !first { // what it has made is not asked again; all else is
		var log []*pending
		for _, p := range l.log {
			if p.seq > 0 && p.seq <= e.seq {
				t.acknowledged(p)
			} else {
				log = append(log, p)
			}
		}
		l.log = log
		for _, p := range log {
			l.send(p)
		}
		return
	}
	if l.seq = e.seq; e.seq > 0 {
		if t.goesOn && e.clock != t.own || !t.goesOn && l.index > 0 {
			t.fail(t.attempt+1, "servers differ in how far the one before was")
			return
		}
		t.goesOn, t.own, t.base, t.clock = true, e.clock, e.base, e.clock-1
	} else if t.goesOn {
		t.fail(t.attempt+1, "a server has not heard of the one before")
		return
	}
	if t.wait--; t.wait > 0 {
		return
	}
	if l.index == 0 && len(t.links) > 1 {
		t.wait = len(t.links) - 1
		for _, o := range t.links[1:] {
			t.later(0, o.connect)
		}
		return
	}
	t.joinedAll()
}

// joinedAll goes on when all servers know the task: the first one says in the catalogue that the attempt has begun.
func (t *task) joinedAll() {
	w := t.w
	if t.number == 0 && !t.goesOn {
		if err := w.store.begin(t); err != nil {
			t.fail(max(t.attempt+1, w.store.job().Attempt+1), err.Error())
			return
		}
	}
	t.phase = gathering
	if t.goesOn {
		w.count.replaced++
		t.step()
		return
	}
	t.gather(0)
}

// gather waits for all tasks.
func (t *task) gather(known int) {
	t.links[0].request(func(conn int64, r *request) ssp.Event {
		return ssp.Members[*request]{Req: r, Conn: conn, Joined: known}
	}, request{}, func(e ssp.Effect, _ map[int64]int64) {
		if r, ok := e.(ssp.Roster[*request]); ok && r.Joined < t.w.setup.tasks {
			t.gather(r.Joined)
		} else if ok {
			t.create()
		}
	})
}

// create makes the matrix; the first task then has all servers restore the last checkpoint.
func (t *task) create() {
	w := t.w
	t.phase = creating
	t.all(func(conn int64, r *request) ssp.Event {
		return ssp.Create[*request]{Req: r, Conn: conn, Matrices: []ssp.Matrix{{ID: 1, Name: "w"}}}
	}, func() {
		t.phase = restoring
		if t.number > 0 {
			t.tick()
			return
		}
		t.wait = len(t.links)
		for _, l := range t.links {
			c := l.conn
			if c == nil { // it will be found out
				continue
			}
			c.ask(func() {
				c.server.restore(w.saved)
				c.answer(func() {
					if t.wait--; t.wait == 0 {
						t.tick()
					}
				})
			})
		}
		gen := t.gen
		t.later(30*time.Second, func() { // a restore that was lost with its connection fails the attempt, as in package ps
			if t.gen == gen && t.phase == restoring && t.own == 0 {
				t.fail(t.attempt+1, "a restore was not answered")
			}
		})
	})
}

// tick says that the task is ready, and waits until all are.
func (t *task) tick() {
	t.push(nil)
	t.barrier(func() { t.step() })
}

// barrier waits for all tasks, and wants the servers to have the checkpoint of one clock.
func (t *task) barrier(then func()) {
	own := t.own
	t.all(func(conn int64, r *request) ssp.Event {
		return ssp.Pull[*request]{Req: r, Conn: conn, Needs: []ssp.Need{{Matrix: 0, Clock: own}}, Exact: true}
	}, func() {
		for i, l := range t.links {
			s := l.server()
			if s == nil {
				continue
			}
			if t.base < 0 {
				t.base = s.base.clock
			}
			if s.base.clock != t.base {
				t.w.fail("server %d goes on from clock %d, and others from clock %d", i, s.base.clock, t.base)
			}
		}
		then()
	})
}

// push brings keys and the end of a clock to all servers. Without keys it ends the task's own clock alone.
func (t *task) push(keys []int64) {
	by := make([]*delta, len(t.links))
	for _, k := range keys {
		s := t.parts.Owners[t.parts.Of(k)]
		if by[s] == nil {
			by[s] = &delta{}
		}
		by[s].keys = append(by[s].keys, k)
	}
	own, clock, matrix := t.own, t.clock, keys != nil
	t.rounds = append(t.rounds, len(t.links))
	t.w.count.pushes += len(t.links)
	for i, l := range t.links {
		l.seq++
		seq, d := l.seq, by[i]
		p := &pending{seq: seq, ev: func(conn int64, r *request) ssp.Event {
			e := ssp.Push[*delta, *request]{Req: r, Conn: conn, Seq: seq, Ticks: []ssp.Tick{{Matrix: 0, Clock: own}}}
			if matrix {
				e.Ticks = append(e.Ticks, ssp.Tick{Matrix: 1, Clock: clock})
			}
			if d != nil {
				e.Deltas = []ssp.Delta[*delta]{{Matrix: 1, Clock: clock, Data: d}}
			}
			return e
		}}
		p.req.from = func(e ssp.Effect, _ map[int64]int64) { t.acknowledged(p) }
		l.start(p)
	}
	if t.own++; matrix {
		t.clock++
	}
}

// acknowledged counts the answer to a change; answers of each server come in the order of its changes.
func (t *task) acknowledged(p *pending) {
	if p.req.join == nil && p.seq > 0 {
		p.seq = 0
		for i := range t.rounds {
			if t.rounds[i] > 0 {
				t.rounds[i]--
				break
			}
		}
	}
	for len(t.rounds) > 0 && t.rounds[0] == 0 {
		t.rounds = t.rounds[1:]
		if len(t.rounds) == inFlight-1 && t.phase == computing && t.wait < 0 {
			t.step()
		}
	}
}

// step begins a step: it pulls what it needs.
func (t *task) step() {
	w := t.w
	t.wait = -1
	if t.phase = computing; len(t.rounds) >= inFlight {
		return
	}
	now := t.base + t.clock
	if t.number == 0 {
		if t.w.moveTo > 0 {
			t.order()
		}
		switch m := t.moving; {
		case m.asked:
			return
		case m.at > 0 && t.own >= m.at:
			t.mark(m.commit)
			return
		}
		if w.checkpoint > 0 && t.clock > 0 && now%w.checkpoint == 0 {
			t.mark(nil)
		}
	}
	if now == w.clocks {
		t.finish()
		return
	}
	t.phase = pulling
	t.keys = w.keysOf(t.number, now, t.keys)
	by := make([][]int64, len(t.links))
	for _, k := range t.keys {
		s := t.parts.Owners[t.parts.Of(k)]
		by[s] = append(by[s], k)
	}
	t.wait = 0
	for s, keys := range by {
		if keys != nil {
			t.wait++
			t.pull(t.links[s], keys)
		}
	}
}

// pull asks a server for keys at the task's clock, and wants them as the bound promises.
func (t *task) pull(l *link, keys []int64) {
	w, clock := t.w, t.clock
	w.count.pulls++
	l.request(func(conn int64, r *request) ssp.Event {
		return ssp.Pull[*request]{Req: r, Conn: conn, Needs: []ssp.Need{{Matrix: 1, Clock: clock}}}
	}, request{keys: keys}, func(e ssp.Effect, values map[int64]int64) {
		a, ok := e.(ssp.Answer[*request])
		if !ok {
			return
		}
		if a.Clock < w.bound.Need(clock) || w.bound == ssp.BSP && a.Clock != clock {
			w.fail("task %d reads clock %d at clock %d under %v", t.number, a.Clock, clock, w.bound)
		}
		for k, v := range values {
			w.checkValue(t, k, v, t.base+a.Clock)
		}
		if t.wait--; t.wait == 0 {
			t.compute()
		}
	})
}

// checkValue wants a value to be that of whole steps, each push counted once; under ASP to be none that nobody has made.
func (w *world) checkValue(t *task, key, v int64, clock int) {
	if w.bound == ssp.ASP {
		if most := w.truth.value(w.clocks, key); v > most {
			w.fail("task %d reads %d of key %d, and all pushes together make %d", t.number, v, key, most)
		}
		return
	}
	if want := w.truth.value(clock, key); v != want {
		w.fail("task %d reads %d of key %d as of clock %d, want %d", t.number, v, key, clock, want)
	}
}

// compute takes its time, and pushes.
func (t *task) compute() {
	w := t.w
	t.phase = computing
	if w.bound != ssp.ASP {
		for _, o := range w.tasks {
			if ahead := t.base + t.clock - (o.base + o.clock); o.base >= 0 && o.attempt == t.attempt && !o.dead && ahead > int(w.bound) {
				w.fail("task %d is %d steps ahead of task %d under %v", t.number, ahead, o.number, w.bound)
			}
		}
	}
	d := compute + time.Duration(w.rnd.NormFloat64()*float64(compute)/20)
	if w.rnd.IntN(100*w.setup.tasks/10) == 0 || t.number == w.setup.tasks-1 && w.seed%2 == 0 {
		d *= slowTask
	}
	t.later(d, func() {
		t.push(slices.Clone(t.keys))
		t.step()
	})
}

// finish waits for all, and leaves.
func (t *task) finish() {
	t.phase = leaving
	t.barrier(func() {
		t.leaves = true
		t.all(func(conn int64, r *request) ssp.Event { return ssp.Leave[*request]{Req: r, Conn: conn} }, func() {
			t.phase = done
			t.w.ended++
		})
	})
}

// finishing reports whether some tasks are at the end: no process is killed any more, as what happens then is the business of models that are
// saved.
func (w *world) finishing() bool {
	return slices.ContainsFunc(w.tasks, func(t *task) bool { return t.phase >= leaving || t.base+t.clock >= w.clocks-inFlight })
}

// all asks all servers, and goes on when all have answered.
func (t *task) all(ev func(conn int64, r *request) ssp.Event, then func()) {
	left := len(t.links)
	for _, l := range t.links {
		l.request(ev, request{}, func(ssp.Effect, map[int64]int64) {
			if left--; left == 0 {
				then()
			}
		})
	}
}

// request asks a server; the answer is not that the job has failed.
func (l *link) request(ev func(conn int64, r *request) ssp.Event, r request, from func(e ssp.Effect, values map[int64]int64)) {
	p := &pending{ev: ev, req: r}
	p.req.from = from
	l.start(p)
}

func (l *link) start(p *pending) {
	l.log = append(l.log, p)
	if l.conn != nil && l.joined {
		l.send(p)
	}
}

// send brings a request on its way over the connection that there is.
func (l *link) send(p *pending) {
	t, c, gen := l.t, l.conn, l.t.gen
	if c == nil {
		return
	}
	r := p.req
	r.conn = c
	r.from = func(e ssp.Effect, values map[int64]int64) {
		if t.gen != gen {
			return
		}
		if bad, ok := e.(ssp.Refuse[*request]); ok && !p.ear {
			t.fail(t.attempt+1, bad.Err.Error())
			return
		}
		if i := slices.Index(l.log, p); i >= 0 {
			l.log = slices.Delete(l.log, i, i+1)
			p.req.from(e, values)
		}
	}
	c.ask(func() { c.server.step(c.id, p.ev(c.id, &r)) })
}

// server is the process at the other end, nil if there is none.
func (l *link) server() *server {
	if l.conn == nil {
		return nil
	}
	return l.conn.server
}

// lost says that a connection has ended.
func (t *task) lost(c *conn) {
	if t.phase == done {
		return
	}
	for _, l := range t.links {
		if l.conn == c {
			l.conn, l.since = nil, t.w.now
			if !l.joined { // the join was on its way
				l.epoch++
			}
			t.later(20*time.Millisecond, l.connect)
			return
		}
	}
}

// fail gives the attempt up, and begins another.
func (t *task) fail(next int, why string) {
	w := t.w
	if t.phase == done {
		w.fail("task %d is done and fails: %s", t.number, why)
		return
	}
	for _, l := range t.links {
		c := l.conn
		if c == nil || c.over {
			continue
		}
		l.conn = nil
		if next > t.attempt && l.joined {
			c.ask(func() { c.server.step(c.id, ssp.Quit[*request]{Req: &request{conn: c}, Conn: c.id, Reason: why}) })
		}
		w.at(max(c.up, w.now)+1, c.end)
	}
	t.gen++
	t.links, t.base, t.phase = nil, -1, finding
	t.later(max(20*time.Millisecond, time.Duration(math.Abs(w.rnd.NormFloat64())*float64(50*time.Millisecond))), func() { t.begin(next) })
}
