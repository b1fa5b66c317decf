package ssp_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"thole.example/ssp"
)

// cluster runs a program over connections that lose, repeat and reorder what is sent, and checks each effect.
type cluster struct {
	t       *rapid.T
	program *program
	job     *ssp.Job[string, string]
	twin    *ssp.Job[string, string] // nil, or a job from an earlier state, which has to do the same
	now     time.Duration
	conns   int64
	clients []*client
	reqs    map[string]*request // all that were delivered, by name
	runs    []ssp.Ran           // updates that are executed at the moment
	applied [][]step            // by matrix
	slowest []int
}

// client is one task's end of the connection.
type client struct {
	task   int
	conn   int64
	epoch  int
	joined bool   // and knows it
	next   int    // action to send
	done   []bool // actions that were answered
	sent   []message
}

// message is on its way to the job.
type message struct {
	conn   int64
	action int // -1: a Join
	epoch  int
}

type request struct {
	message
	of     *client
	closed bool
}

func newCluster(t *rapid.T) *cluster {
	c := &cluster{t: t, program: drawProgram(t), job: ssp.NewJob[string, string]("j"), reqs: map[string]*request{}}
	for task, actions := range c.program.tasks {
		c.clients = append(c.clients, &client{task: task, done: make([]bool, len(actions))})
	}
	c.applied = make([][]step, len(c.program.matrices)+1)
	c.slowest = make([]int, len(c.program.matrices)+1)
	for _, k := range c.clients {
		c.dial(k)
	}
	return c
}

// dial opens a connection of the client, and sends its Join.
func (c *cluster) dial(k *client) {
	c.conns++
	k.conn = c.conns
	k.sent = append(k.sent, message{k.conn, -1, k.epoch})
}

func (c *cluster) some(k string) *client {
	return c.clients[rapid.IntRange(0, len(c.clients)-1).Draw(c.t, k)]
}

// send sends the client's next action, unless it waits for an answer or has enough under way.
func (c *cluster) send(k *client) bool {
	if !k.joined || k.next == len(k.done) || k.next > 0 && c.program.tasks[k.task][k.next-1].wait && !k.done[k.next-1] {
		return false
	}
	k.sent = append(k.sent, message{k.conn, k.next, k.epoch})
	k.next++
	return true
}

// cut loses the client's connection: what is under way on it is lost, or arrives late. The job may hear of it before the
// client is back, or not.
func (c *cluster) cut(k *client) {
	k.sent = slices.DeleteFunc(k.sent, func(message) bool { return rapid.Bool().Draw(c.t, "lost") })
	if rapid.Bool().Draw(c.t, "heard") {
		c.step(ssp.Gone{Conn: k.conn})
	}
	if k.joined {
		k.epoch++
	}
	k.joined = false
	c.dial(k)
}

// deliver lets one of the client's messages arrive: any, for a new one may overtake an old one.
func (c *cluster) deliver(k *client, twice bool) bool {
	if len(k.sent) == 0 {
		return false
	}
	i := rapid.IntRange(0, len(k.sent)-1).Draw(c.t, "message")
	m := k.sent[i]
	if !twice {
		k.sent = slices.Delete(k.sent, i, i+1)
	}
	name := fmt.Sprintf("r%d", len(c.reqs))
	c.reqs[name] = &request{message: m, of: k}
	if m.action < 0 {
		c.step(ssp.Join[string]{Req: name, Conn: m.conn, Task: k.task, Tasks: len(c.clients), Bound: c.program.bound,
			Worker: fmt.Sprint(k.task), Client: fmt.Sprint("c", k.task), Epoch: m.epoch, Grace: time.Hour})
		return true
	}
	a := c.program.tasks[k.task][m.action]
	p := a.push
	p.Req, p.Conn = name, m.conn
	switch {
	case a.pull:
		c.step(ssp.Pull[string]{Req: name, Conn: m.conn, Needs: p.Then})
	case a.update:
		c.step(ssp.Update[string]{Req: name, Conn: m.conn, Seq: p.Seq})
	default:
		c.step(p)
	}
	return true
}

// step lets an event happen, and does what it leads to.
func (c *cluster) step(e ssp.Event) {
	effects := slices.Clone(c.job.Step(c.now, e))
	if c.twin != nil {
		got := texts(c.twin.Step(c.now, e))
		if want := texts(effects); got != want {
			c.t.Fatalf("after %+v a job from a state does\n%swant\n%s", e, got, want)
		}
	}
	for _, e := range effects {
		c.effect(e)
	}
}

func texts(effects []ssp.Effect) string {
	var b strings.Builder
	for _, e := range effects {
		fmt.Fprintf(&b, "%T %+v\n", e, e)
	}
	return b.String()
}

func (c *cluster) effect(e ssp.Effect) {
	switch e := e.(type) {
	case ssp.Apply[string]:
		s := step{e.Clock, e.Deltas, e.Weight, e.Rate}
		if e.Step != (e.Weight > 0) || e.Step && !c.program.matrices[e.Matrix-1].Rule {
			c.t.Fatalf("%+v: a step has a weight and a rule", e)
		}
		c.applied[e.Matrix] = append(c.applied[e.Matrix], s)
	case ssp.Published:
		if e.Slowest <= c.slowest[e.Matrix] || e.Slowest > c.job.Slowest(e.Matrix) {
			c.t.Fatalf("slowest of matrix %d goes from %d to %d", e.Matrix, c.slowest[e.Matrix], e.Slowest)
		}
		c.slowest[e.Matrix] = e.Slowest
	case ssp.Run[string]:
		c.runs = append(c.runs, ssp.Ran{Task: e.Task, Seq: e.Seq})
	case ssp.Answer[string]:
		c.answered(e.Req, nil)
	case ssp.Refuse[string]:
		c.answered(e.Req, e.Err)
	case ssp.DropConn, ssp.Say, ssp.End:
	default:
		c.t.Fatalf("effect %T %+v", e, e)
	}
}

func (c *cluster) answered(name string, err error) {
	if strings.HasPrefix(name, "create") {
		return
	}
	r := c.reqs[name]
	if r.closed {
		c.t.Fatalf("request %s is answered twice", name)
	}
	r.closed = true
	k := r.of
	if r.action >= 0 && err == nil {
		c.fresh(k, r.action)
	}
	if r.conn != k.conn {
		return // nobody hears it
	}
	switch {
	case r.action < 0 && err != nil:
		c.t.Fatalf("task %d cannot join or leave: %v", k.task, err)
	case r.action == -1 && !k.joined:
		k.joined = true
		c.step(ssp.Create[string]{Req: "create", Conn: k.conn, Matrices: c.program.matrices})
		for i := range k.next { // whatever was not answered comes again
			if !k.done[i] {
				k.sent = append(k.sent, message{k.conn, i, k.epoch})
			}
		}
	case r.action >= 0 && (!errors.Is(err, ssp.Aborted) && !strings.Contains(fmt.Sprint(err), "over this connection")):
		if want := c.program.tasks[k.task][r.action].refused; want != (err != nil) {
			c.t.Fatalf("action %d of task %d: %v, refused should be %v", r.action, k.task, err, want)
		}
		k.done[r.action] = true
	}
}

// fresh wants what a pull that is answered reads to be what its bounds promise.
func (c *cluster) fresh(k *client, action int) {
	for _, n := range c.program.tasks[k.task][action].push.Then {
		m := c.program.matrices[n.Matrix-1]
		if m.Bound == ssp.ASP {
			continue
		}
		least, most := 0, 0
		ticked := c.program.steps
		for _, other := range c.clients {
			ticked = min(ticked, other.ticked(c.program, m.ID))
		}
		for _, s := range c.program.expect(m, c.all()) {
			if s.clock < m.Bound.Need(n.Clock) {
				least++
			}
			if s.clock < ticked {
				most++
			}
		}
		if got := len(c.applied[m.ID]); got < least || got > most {
			c.t.Fatalf("task %d at clock %d of %+v reads %d steps, want %d to %d", k.task, n.Clock, m, got, least, most)
		}
	}
}

// ticked is how many clocks of a matrix the client has ended with what it sent.
func (k *client) ticked(p *program, matrix int) (n int) {
	for _, a := range p.tasks[k.task][:k.next] {
		for _, t := range a.push.Ticks {
			if t.Matrix == matrix {
				n++
			}
		}
	}
	return n
}

func (c *cluster) all() (tasks []int) {
	for task := range c.clients {
		tasks = append(tasks, task)
	}
	return tasks
}

// restore makes the twin a job from the job's state; all connections are lost.
func (c *cluster) restore() {
	for _, k := range c.clients {
		if !k.joined {
			return
		}
	}
	if len(c.runs) > 0 {
		return
	}
	c.twin = nil
	twin, err := ssp.FromState[string, string](c.job.State(), c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, k := range c.clients {
		c.step(ssp.Gone{Conn: k.conn})
	}
	c.twin = twin
	for _, k := range c.clients {
		k.sent, k.joined = nil, false
		k.epoch++
		c.dial(k)
	}
}

func (c *cluster) ran() bool {
	if len(c.runs) == 0 {
		return false
	}
	r := c.runs[0]
	c.runs = c.runs[1:]
	c.step(r)
	return true
}

// finish lets everything that was sent arrive, until all is done.
func (c *cluster) finish() {
	for busy := true; busy; {
		busy = c.ran()
		for _, k := range c.clients {
			for c.send(k) || c.deliver(k, false) {
				busy = true
			}
		}
	}
	for _, k := range c.clients {
		if i := slices.Index(k.done, false); i >= 0 || !k.joined {
			c.t.Fatalf("action %d of task %d (joined: %v) waits for ever:\n%v", i, k.task, k.joined, c.job)
		}
	}
	for name, r := range c.reqs {
		if !r.closed {
			c.t.Fatalf("request %s is not answered", name)
		}
	}
}

// leave lets all tasks leave: nothing is left to apply, and the job ends with the last.
func (c *cluster) leave() {
	for i, k := range c.clients {
		if c.job.Ended() {
			c.t.Fatalf("ended before task %d has left", k.task)
		}
		name := fmt.Sprint("leave", i)
		c.reqs[name] = &request{message: message{conn: k.conn, action: -2}, of: k}
		c.step(ssp.Leave[string]{Req: name, Conn: k.conn})
	}
	if !c.job.Ended() {
		c.t.Fatalf("not ended:\n%v", c.job)
	}
}

// check wants to have been applied what the program says, and nothing else.
func (c *cluster) check() {
	for _, m := range c.program.matrices {
		got := c.applied[m.ID]
		if m.Bound != ssp.ASP {
			c.same(m, got, c.program.expect(m, c.all()))
			continue
		}
		ticks := 0
		for task := range c.clients {
			want := c.program.expect(m, []int{task})
			c.same(m, ofTask(m, task, got), ofTask(m, task, want))
			ticks += len(want)
		}
		if m.Rule && len(got) != ticks {
			c.t.Fatalf("%+v: %d steps, want %d", m, len(got), ticks)
		}
	}
	if c.twin != nil && !reflect.DeepEqual(c.job.State(), c.twin.State()) {
		c.t.Fatalf("states differ:\n%+v\n%+v", c.job.State(), c.twin.State())
	}
}

// ofTask is what a task did under ASP: one step for each tick that has deltas, or if there is no rule the deltas alone.
func ofTask(m ssp.Matrix, task int, all []step) (steps []step) {
	mine := fmt.Sprintf(".t%d.", task)
	for _, s := range all {
		switch {
		case len(s.deltas) == 0 || !strings.Contains(s.deltas[0], mine):
		case m.Rule:
			steps = append(steps, s)
		default:
			for _, d := range s.deltas {
				steps = append(steps, step{clock: s.clock, deltas: []string{d}})
			}
		}
	}
	return steps
}

func (c *cluster) same(m ssp.Matrix, got, want []step) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.t.Fatalf("%+v: applied\n%v\nwant\n%v", m, got, want)
	}
}

// TestProgramsUnderFaults runs random programs, and wants what is applied to depend on the program alone.
func TestProgramsUnderFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		t.Repeat(map[string]func(*rapid.T){
			"send":    func(*rapid.T) { c.send(c.some("who")) },
			"more":    func(*rapid.T) { c.send(c.some("who")) },
			"deliver": func(*rapid.T) { c.deliver(c.some("whose"), false) },
			"arrive":  func(*rapid.T) { c.deliver(c.some("whose"), false) },
			"twice":   func(*rapid.T) { c.deliver(c.some("whose"), true) },
			"cut":     func(*rapid.T) { c.cut(c.some("whose")) },
			"ran":     func(*rapid.T) { c.ran() },
			"restore": func(*rapid.T) { c.restore() },
			"wait": func(*rapid.T) {
				c.now += time.Duration(rapid.IntRange(1, 20).Draw(c.t, "seconds")) * time.Second
				c.step(ssp.Deadline{})
			},
			"": func(*rapid.T) {},
		})
		c.finish()
		c.check()
		c.leave()
	})
}
