package scale

import (
	"maps"
	"time"

	"thole.example/ssp"
)

// writing is how long a checkpoint is written.
const writing = 300 * time.Millisecond

// mark has all servers mark their partitions at the task's clock, and makes that the checkpoint to go on from; instead, if it is there, gets
// what the marks have.
func (t *task) mark(instead func(clock int, cells map[int64]int64)) {
	w, clock, left, all := t.w, t.clock, len(t.links), map[int64]int64{}
	for _, l := range t.links {
		l.request(func(conn int64, r *request) ssp.Event {
			return ssp.Pull[*request]{Req: r, Conn: conn, Needs: []ssp.Need{{Matrix: 1, Clock: clock}}, Exact: true}
		}, request{mark: true}, func(e ssp.Effect, values map[int64]int64) {
			if a, ok := e.(ssp.Answer[*request]); ok && a.Clock != clock {
				w.fail("a checkpoint of clock %d is marked at clock %d", clock, a.Clock)
			}
			maps.Copy(all, values)
			if left--; left > 0 {
				return
			}
			if instead != nil {
				instead(clock, all)
				return
			}
			t.later(writing, func() { t.save(clock, all, w.saved.servers) })
		})
	}
}

// save makes a checkpoint the one to go on from.
func (t *task) save(clock int, cells map[int64]int64, servers int) {
	w := t.w
	if err := w.store.commit(t, t.base+clock); err != nil {
		t.fail(t.attempt+1, err.Error())
		return
	}
	for k := range w.space {
		if want := w.truth.value(t.base+clock, int64(k)); cells[int64(k)] != want {
			w.fail("the checkpoint of clock %d has %d of key %d, want %d", t.base+clock, cells[int64(k)], k, want)
		}
	}
	w.count.checkpoints++
	w.saved = saved{clock: t.base + clock, cells: cells, servers: servers}
}

// restore gives the server its share of a checkpoint.
func (s *server) restore(from saved) {
	if s.servers() != from.servers {
		s.cut(from.servers)
	}
	s.load(from.cells)
	s.base.clock = from.clock
	s.rebase()
}

// rebase begins the log anew with what the server has.
func (s *server) rebase() {
	if !s.place.logs() {
		return
	}
	state := s.job.State()
	cells, seats := map[int64]int64{}, map[int]int64{}
	s.each(func(k, v int64) { cells[k] = v })
	for id, c := range s.conns {
		seats[c.task.number] = id
	}
	s.base = base{clock: s.base.clock, state: &state, cells: cells, seats: seats}
	s.log, s.synced = nil, 0
}

// moving is an order to move to other servers that the first task has.
type moving struct {
	t     *task
	to    int
	at    int  // own clock at which the others quiesce
	asked bool // which one that is; the task makes no step meanwhile
}

// order waits for an order, and once there is one chooses the clock at which the others quiesce.
func (t *task) order() {
	if t.listens {
		return
	}
	t.listens = true
	m := &t.moving
	first := t.links[0]
	ear := &pending{ear: true, ev: func(conn int64, r *request) ssp.Event { return ssp.Await[*request]{Req: r, Conn: conn} }}
	ear.req.from =
		func(e ssp.Effect, _ map[int64]int64) {
			if _, ok := e.(ssp.Ordered[*request]); !ok {
				return
			}
			m.to, m.asked = t.w.moveTo, true
			from := t.own + 1
			first.request(func(conn int64, r *request) ssp.Event {
				return ssp.Quiesce[*request]{Req: r, Conn: conn, From: from, To: from + 50}
			}, request{}, func(e ssp.Effect, _ map[int64]int64) {
				m.at, m.asked = e.(ssp.Answer[*request]).Clock, false
				if t.phase == computing && t.wait < 0 && len(t.rounds) < inFlight {
					t.step()
				}
			})
		}
	first.start(ear)
}

// commit writes the checkpoint from which the job goes on on the other servers, and leaves these.
func (m *moving) commit(clock int, cells map[int64]int64) {
	t := m.t
	first := t.links[0]
	first.request(func(conn int64, r *request) ssp.Event { return ssp.Commit[*request]{Req: r, Conn: conn} }, request{},
		func(ssp.Effect, map[int64]int64) {
			t.later(writing, func() {
				t.save(clock, cells, m.to)
				first.request(func(conn int64, r *request) ssp.Event { return ssp.Moved[*request]{Req: r, Conn: conn} }, request{},
					func(ssp.Effect, map[int64]int64) { t.fail(t.attempt+1, "the job has moved") })
			})
		})
}

// order tells the job to move, by its first server, until it has.
func (w *world) order() {
	s := w.places[0].server
	if s == nil || s.dead || w.saved.servers == w.moveTo || w.finishing() {
		if w.saved.servers != w.moveTo {
			w.after(time.Second, w.order)
		}
		return
	}
	c := w.dial(&task{w: w, number: -1}, s)
	r := &request{conn: c}
	answered := false
	r.from = func(e ssp.Effect, _ map[int64]int64) {
		answered = true
		if _, ok := e.(ssp.Answer[*request]); ok {
			w.count.moved++
			return
		}
		w.after(time.Second, w.order)
	}
	c.ask(func() { s.step(0, ssp.Move[*request]{Req: r, To: []string{"elsewhere"}}) })
	w.after(time.Minute, func() {
		if !answered && w.saved.servers != w.moveTo {
			w.order()
		}
	})
}
