// Package scale simulates a cluster of many servers and tasks: the state machines that decide in a real one (ssp.Job on every server,
// coord.Claimant for every role, the catalogue, routing maps, partitions) run as they are, beneath a network, disks and a store of roles
// that are events of one seeded queue in virtual time. Nothing sleeps, and one seed is one story.
package scale

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"thole.example/coord"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ssp"
)

// setup is the cluster and what happens to it.
type setup struct {
	tasks, servers int
	bound          ssp.Bound
	clocks         int // that each task makes
	keys           int // that a task reads and changes in a step
	space          int // from so many
	logs           bool
	seed           uint64

	kills, workers, cuts int // servers and workers that are killed, connections that break
	moveTo               int // servers to which the job moves amid it; 0: it stays
	checkpoint           int // clocks between two checkpoints; 0: none
	lossOf               int // messages of which one is lost on the way, and sent again; 0: 20,000
}

// What things take. A message costs its server and its task what one costs on the machine of docs/scale.md.
const (
	flight     = 100 * time.Microsecond // of a message on the network, at least
	resend     = 200 * time.Millisecond // until a packet that was lost comes again
	serverCost = 6 * time.Microsecond   // of a message
	taskCost   = 3 * time.Microsecond
	compute    = 50 * time.Millisecond  // of a step, about
	slowTask   = 4                      // times as long one step in a hundred takes, and all steps of the last task in some runs
	restart    = 500 * time.Millisecond // until a process that was killed is there again
	syncTime   = 2 * time.Millisecond   // of a log
	retryTime  = 5 * time.Second        // that a task tries to reach a server again, without a log
	logTime    = time.Minute            // the same where servers have logs
	lease      = 10 * time.Second
	limit      = 10 * time.Minute // in which every job ends
)

// happening is something at a time.
type happening struct {
	at  time.Duration
	seq uint64
	do  func()
}

type queue []happening

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, k int) bool {
	return q[i].at < q[k].at || q[i].at == q[k].at && q[i].seq < q[k].seq
}
func (q queue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = happening{}
	*q = (*q)[:len(*q)-1]
	return last
}

// world is a cluster and its job.
type world struct {
	setup
	now     time.Duration
	queue   queue
	seq     uint64
	rnd     *rand.Rand
	meta    matrix.Meta
	cut     part.Partitioner
	tasks   []*task
	conns   int64
	places  []*place
	store   roles
	truth   truth
	saved   saved
	count   counts
	err     error                      // what must not be
	reached int                        // clock that all servers have folded
	moments []time.Duration            // at which it went on
	ended   int                        // tasks that are done
	last    map[string]time.Duration   // what was killed since the clock went on last
	outages map[string][]time.Duration // until it went on after that
}

// counts are what happened.
type counts struct {
	events, steps                             int // of the queue; of the machines of jobs
	requests, pulls, pushes, answers, rosters int
	kills, killed, cuts, lost                 int // servers, workers, connections; packets
	attempts, replaced, replays               int // the highest; workers that went on in a place; logs
	checkpoints, moved, storeRequests         int
}

func newWorld(s setup) *world {
	w := &world{setup: s, rnd: rand.New(rand.NewPCG(s.seed, 1)), last: map[string]time.Duration{},
		outages: map[string][]time.Duration{}}
	w.meta = matrix.Meta{Name: "w", Rows: 1, Cols: int64(s.space), DType: matrix.I64, Layout: matrix.RowSparse}
	w.cut, _ = part.Lookup("hash", &w.meta)
	w.truth = truth{w: w, at: [][]int64{make([]int64, s.space)}}
	w.store = roles{w: w, Memory: &coord.Memory{}, watching: map[string][]func(){}}
	w.saved = saved{cells: map[int64]int64{}, servers: s.servers}
	for i := range max(s.servers, s.moveTo) {
		w.places = append(w.places, &place{w: w, index: i})
		w.places[i].start()
	}
	for i := range s.tasks {
		w.tasks = append(w.tasks, nil)
		w.startTask(i)
	}
	return w
}

// after lets something happen later.
func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

func (w *world) at(t time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{max(t, w.now), w.seq, do})
}

// fail notes what must not be.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at %v: "+format, append([]any{w.now}, args...)...)
	}
}

// run lets all happen until every task is done.
func (w *world) run() error {
	w.plan()
	for w.err == nil && w.ended < w.setup.tasks {
		if len(w.queue) == 0 || w.now > limit {
			w.fail("%d of %d tasks are done, and nothing happens any more: %s", w.ended, w.setup.tasks, w.whereabouts())
			break
		}
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		w.count.events++
		h.do()
	}
	if w.err == nil {
		w.checkEnd()
	}
	return w.err
}

// plan draws what happens to the processes.
func (w *world) plan() {
	long := time.Duration(w.clocks) * compute
	draw := func(n int, do func()) {
		for range n {
			w.after(1700*time.Millisecond+time.Duration(w.rnd.Int64N(int64(long/2))), do) // workers come within a second
		}
	}
	draw(w.setup.kills, func() { w.places[w.rnd.IntN(w.saved.servers)].kill() })
	draw(w.workers, func() { w.killTask(w.rnd.IntN(w.setup.tasks)) })
	draw(w.cuts, func() {
		t := w.tasks[w.rnd.IntN(w.setup.tasks)]
		if len(t.links) == 0 {
			return
		}
		if c := t.links[w.rnd.IntN(len(t.links))].conn; c != nil {
			w.count.cuts++
			c.end()
		}
	})
	if w.moveTo > 0 {
		w.after(1700*time.Millisecond+long/4, w.order)
	}
}

// delay is how long a message is on its way.
func (w *world) delay() time.Duration {
	d := flight + time.Duration(w.rnd.ExpFloat64()*float64(flight))
	if w.rnd.IntN(cmp.Or(w.lossOf, 20_000)) == 0 {
		w.count.lost++
		d += resend
	}
	return d
}

// keysOf is what a task reads and changes in a step: the same keys by seed, task and clock, some more often than others.
func (w *world) keysOf(task, clock int, into []int64) []int64 {
	r := rand.New(rand.NewPCG(w.seed^uint64(task)<<20, uint64(clock)))
	into = into[:0]
	for range w.setup.keys {
		into = append(into, min(r.Int64N(int64(w.space)), r.Int64N(int64(w.space))))
	}
	slices.Sort(into)
	return slices.Compact(into)
}

// truth is what each key has to be when all steps up to a clock are in it, and nothing else.
type truth struct {
	w  *world
	at [][]int64
}

func (t *truth) value(clock int, key int64) int64 {
	var keys []int64
	for len(t.at) <= clock {
		next := slices.Clone(t.at[len(t.at)-1])
		for task := range t.w.setup.tasks {
			keys = t.w.keysOf(task, len(t.at)-1, keys)
			for _, k := range keys {
				next[k]++
			}
		}
		t.at = append(t.at, next)
	}
	return t.at[clock][key]
}

// saved is the checkpoint from which the next attempt goes on.
type saved struct {
	clock   int
	cells   map[int64]int64
	servers int // on which the job is
}

// published notes how far a server's matrix is, and that a clock has gone on on all.
func (w *world) published(s *server, e ssp.Published) {
	if e.Matrix != 1 || e.Slowest == ssp.Finished {
		return
	}
	s.shown = s.base.clock + e.Slowest
	if w.reached >= s.shown {
		return
	}
	for i := range w.saved.servers {
		if o := w.places[i].server; o == nil || o.shown <= w.reached {
			return
		}
	}
	w.reached++
	w.moments = append(w.moments, w.now)
	for what, since := range w.last {
		w.outages[what] = append(w.outages[what], w.now-since)
	}
	clear(w.last)
}

// blame notes that the clock waits for the end of an outage from now on.
func (w *world) blame(what string) {
	if _, there := w.last[what]; !there {
		w.last[what] = w.now
	}
}

// checkEnd wants each key on one server of the job, with the value that all pushes make, each counted once.
func (w *world) checkEnd() {
	owner := map[int64]int{}
	for i := range w.saved.servers {
		s := w.places[i].server
		if s == nil {
			w.fail("server %d is not there", i)
			return
		}
		s.each(func(key, value int64) {
			if other, twice := owner[key]; twice {
				w.fail("key %d is on servers %d and %d", key, other, i)
			}
			owner[key] = i
			if want := w.truth.value(w.clocks, key); value != want {
				w.fail("key %d ends as %d, want %d", key, value, want)
			}
		})
	}
	for k := range w.space {
		if want := w.truth.value(w.clocks, int64(k)); want > 0 {
			if _, there := owner[int64(k)]; !there {
				w.fail("key %d is on no server, want %d on one", k, want)
			}
		}
	}
}

// whereabouts is where some of the tasks are.
func (w *world) whereabouts() (text string) {
	for _, t := range w.tasks {
		if t.phase != done && len(text) < 400 {
			text += fmt.Sprintf("task %d in attempt %d at clock %d %v; ", t.number, t.attempt, t.base+t.clock, t.phase)
		}
	}
	return text
}
