package ssp_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"thole.example/ssp"
)

// dice makes events of bytes: any, most of them nearly right, so that they lead somewhere.
type dice struct {
	t       *testing.T
	job     *ssp.Job[int, int]
	bytes   []byte
	now     time.Duration
	reqs    int
	deltas  []int       // request that brought each
	back    map[int]int // how often each came back
	closed  map[int]bool
	taken   map[int]bool // requests whose deltas come back
	slowest map[int]int
	ended   bool
}

func (d *dice) pick(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := int(d.bytes[0])
	d.bytes = d.bytes[1:]
	return b % n
}

func (d *dice) req() int {
	d.reqs++
	return d.reqs
}

func (d *dice) event() ssp.Event {
	kind, task := d.pick(64), d.pick(3)
	conn := int64(1 + task + 3*(d.pick(16)/15))
	switch {
	case kind < 3:
		return d.join(conn, task)
	case kind < 5:
		return ssp.Create[int]{Req: d.req(), Conn: conn, Matrices: d.matrices()}
	case kind < 36:
		return d.push(conn, task)
	case kind < 44:
		return ssp.Pull[int]{Req: d.req(), Conn: conn, Needs: d.needs(task), Exact: d.pick(2) == 0}
	case kind < 48:
		return ssp.Update[int]{Req: d.req(), Conn: conn, Seq: d.seq(task)}
	case kind < 52:
		return ssp.Ran{Task: task - d.pick(16)/15, Seq: d.seq(task) - 1, Err: []error{nil, ssp.NotFound}[d.pick(2)]}
	case kind < 54:
		m := ssp.Members[int]{Req: d.req(), Conn: conn, Joined: d.pick(4), Refusals: d.pick(4)}
		if d.pick(16) == 15 {
			m.Without = []int{task, d.pick(4)}
		}
		return m
	case kind < 55:
		return d.end(conn)
	case kind < 56:
		return ssp.Gone{Conn: conn}
	case kind < 58:
		return ssp.Alive{Conn: conn}
	case kind < 60:
		return ssp.Cancel[int]{Req: d.pick(d.reqs + 1)}
	}
	if kind < 61 && d.pick(4) > 0 {
		return d.moving(conn)
	}
	d.now += time.Duration(d.pick(64)) * 100 * time.Millisecond
	return ssp.Deadline{}
}

// moving is what has to do with orders to move.
func (d *dice) moving(conn int64) ssp.Event {
	switch d.pick(10) {
	case 8, 9:
		return ssp.Keep[int]{Req: d.req()}
	case 0, 1:
		return ssp.Await[int]{Req: d.req(), Conn: conn}
	case 2, 3:
		return ssp.Move[int]{Req: d.req(), To: []string{"x", "y"}[d.pick(3)/2:]}
	case 4, 5:
		from := max(0, d.job.Slowest(0)) % 1000
		return ssp.Quiesce[int]{Req: d.req(), Conn: conn, From: from, To: from + d.pick(6)}
	case 6:
		return ssp.Commit[int]{Req: d.req(), Conn: conn}
	}
	return ssp.Moved[int]{Req: d.req(), Conn: conn, Err: []error{nil, ssp.Refused}[d.pick(2)]}
}

func (d *dice) join(conn int64, task int) ssp.Event {
	return ssp.Join[int]{Req: d.req(), Conn: conn, Task: task - d.pick(16)/15, Tasks: 3 + d.pick(20)/19, Bound: ssp.Bound(d.pick(20) / 19),
		Client: []string{fmt.Sprint("c", task), "c0", ""}[d.pick(8)/6], Epoch: d.pick(4), Grace: time.Duration(d.pick(8)) * time.Second,
		Lease: time.Duration(d.pick(8)/5) * 10 * time.Second, Optional: d.pick(2) == 0, Replace: d.pick(2) == 0, Plan: []string{"a=", "a=1", "a=2"}[d.pick(12)/5],
		Attempt: []int{0, 0, 1, 2, -1}[d.pick(40)/8], Elsewhere: d.pick(3) == 0}
}

func (d *dice) matrices() []ssp.Matrix {
	matrices := []ssp.Matrix{{ID: 1, Name: "w"}, {ID: 2, Name: "v", Rule: true}, {ID: 3, Name: "u", Rule: true, Own: true, Bound: ssp.ASP},
		{ID: 4, Name: "t", Own: true, Bound: ssp.ASP}, {ID: 9}, {ID: 1, Own: true, Bound: -1}}
	return matrices[d.pick(2) : 4+d.pick(16)/14]
}

// begin is how most jobs begin: all tasks join, and matrices are created.
func (d *dice) begin() {
	attempt := d.pick(3)
	for task := range 3 {
		d.step(ssp.Join[int]{Req: d.req(), Conn: int64(1 + task), Task: task, Tasks: 3, Client: fmt.Sprint("c", task),
			Grace: time.Duration(d.pick(4)) * time.Second, Lease: time.Duration(d.pick(4)) * 10 * time.Second, Optional: d.pick(3) > 0,
			Attempt: attempt})
	}
	d.step(ssp.Create[int]{Req: d.req(), Conn: 1, Matrices: d.matrices()})
}

func (d *dice) end(conn int64) ssp.Event {
	switch d.pick(64) {
	case 0:
		return ssp.Push[string, string]{} // of no job of this type
	case 1:
		return ssp.Abort{Err: ssp.Aborted}
	case 2, 3, 4:
		return ssp.Quit[int]{Req: d.req(), Conn: conn, Final: d.pick(2) == 0, Without: d.pick(2) == 0}
	}
	return ssp.Leave[int]{Req: d.req(), Conn: conn}
}

func (d *dice) seq(task int) uint64 {
	return d.job.LastChange(task) + uint64(1+d.pick(16)/10) - uint64(d.pick(16)/15)
}

func (d *dice) need(task int) ssp.Need {
	m := d.pick(5) - d.pick(64)/63
	return ssp.Need{Matrix: m, Clock: max(0, d.job.ClockOf(task, m)) + d.pick(16)/14}
}

func (d *dice) needs(task int) (all []ssp.Need) {
	for range d.pick(3) {
		all = append(all, d.need(task))
	}
	return all
}

func (d *dice) push(conn int64, task int) ssp.Event {
	p := ssp.Push[int, int]{Req: d.req(), Conn: conn, Seq: d.seq(task), Then: d.needs(task)}
	for range d.pick(4) {
		n := d.need(task)
		p.Deltas = append(p.Deltas, ssp.Delta[int]{Matrix: max(n.Matrix, 1), Clock: n.Clock, Data: len(d.deltas), Weightless: d.pick(3) == 0})
		d.deltas = append(d.deltas, p.Req)
	}
	for m := range 5 {
		if d.pick(3) > 0 {
			p.Ticks = append(p.Ticks, ssp.Tick{Matrix: m, Clock: max(0, d.job.ClockOf(task, m)), Weight: float64(d.pick(3)), Rate: 1})
		}
	}
	return p
}

func (d *dice) step(e ssp.Event) {
	for _, e := range d.job.Step(d.now, e) {
		if d.ended {
			_, refused := e.(ssp.Refuse[int])
			if _, back := e.(ssp.Anew[int]); !refused && !back {
				d.t.Fatalf("%T %+v after the end", e, e)
			}
		}
		switch e := e.(type) {
		case ssp.Answer[int]:
			d.close(e.Req, !e.Again)
		case ssp.Roster[int]:
			d.close(e.Req, false)
		case ssp.Ordered[int]:
			d.close(e.Req, false)
		case ssp.Later[int]:
			if d.close(e.Req, false); e.Attempt == d.job.Attempt() && d.job.Failed() != nil {
				d.t.Fatalf("a task is to come in attempt %d, which has failed", e.Attempt)
			}
		case ssp.Anew[int]:
			d.close(e.Req, false)
		case ssp.Ended[int]:
			d.close(e.Req, false)
		case ssp.Refuse[int]:
			d.close(e.Req, e.Done)
			if e.Err == nil {
				d.t.Fatalf("request %d is refused for no reason", e.Req)
			}
		case ssp.Apply[int]:
			d.come(e.Deltas)
		case ssp.Discard[int]:
			d.come(e.Deltas)
		case ssp.Published:
			if e.Slowest <= d.slowest[e.Matrix] {
				d.t.Fatalf("slowest of matrix %d falls from %d to %d", e.Matrix, d.slowest[e.Matrix], e.Slowest)
			}
			d.slowest[e.Matrix] = e.Slowest
		case ssp.End:
			d.ended = true
		}
	}
}

func (d *dice) close(req int, taken bool) {
	if d.closed[req] || req < 1 || req > d.reqs {
		d.t.Fatalf("request %d of %d is answered, and was: %v", req, d.reqs, d.closed[req])
	}
	d.closed[req], d.taken[req] = true, taken
}

func (d *dice) come(deltas []int) {
	for _, n := range deltas {
		if d.back[n]++; d.back[n] > 1 {
			d.t.Fatalf("delta %d comes back twice", n)
		}
	}
}

// FuzzEvents lets any events happen: every request is answered once, and every delta that was taken comes back once.
func FuzzEvents(f *testing.F) {
	for seed := range 100 {
		b := make([]byte, 4000)
		x := uint32(seed + 1)
		for i := range b {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			b[i] = byte(x >> 8)
		}
		f.Add(b)
	}
	f.Fuzz(anything)
}

// anything lets the events of the bytes happen, and ends the job.
func anything(t *testing.T, bytes []byte) {
	d := &dice{t: t, job: ssp.NewJob[int, int]("j"), bytes: bytes, back: map[int]int{}, closed: map[int]bool{}, taken: map[int]bool{},
		slowest: map[int]int{}}
	if d.pick(8) > 0 {
		d.begin()
	}
	for len(d.bytes) > 0 && !d.ended {
		d.step(d.event())
		_ = fmt.Sprint(d.job, d.job.Urgent(1))
		if len(d.bytes)%16 == 0 {
			d.restored()
		}
		if d.job.Ended() != d.ended {
			t.Fatalf("ended is %v, want %v", d.job.Ended(), d.ended)
		}
	}
	d.step(ssp.Abort{Err: ssp.Aborted})
	for conn := range int64(7) {
		d.step(ssp.Gone{Conn: conn})
	}
	for req := 1; req <= d.reqs; req++ {
		if !d.closed[req] {
			t.Fatalf("request %d of %d is not answered", req, d.reqs)
		}
	}
	for n, req := range d.deltas {
		if taken := d.taken[req]; d.back[n] == 1 != taken {
			t.Fatalf("delta %d of request %d comes back %d times, taken: %v", n, req, d.back[n], taken)
		}
	}
	for _, m := range d.restored().Matrices {
		if len(m.Staged) > 0 {
			t.Fatalf("a job that has failed has staged %+v", m)
		}
	}
}

// restored is the job's state, after a job was made from it that has the same.
func (d *dice) restored() ssp.State[int] {
	s := d.job.State()
	if len(s.Members) == 0 {
		return s
	}
	j, err := ssp.FromState[int, int](s, d.now)
	if err != nil {
		d.t.Fatalf("state %+v: %v", s, err)
	}
	for i := range s.Members {
		if m := &s.Members[i]; m.Status == ssp.Here {
			m.Status = ssp.Away
		}
	}
	if got := j.State(); !reflect.DeepEqual(got, s) {
		d.t.Fatalf("state\n%+v\nis restored as\n%+v", s, got)
	}
	for i := range s.Members {
		m := &s.Members[i]
		if away := m.Status == ssp.Away; j.Seat(m.Task, int64(1000+m.Task)) != away || j.Seat(m.Task, int64(2000+m.Task)) {
			d.t.Fatalf("task %d that is %v has a seat, or another one", m.Task, m.Status)
		}
	}
	return s
}
