package server

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// Jobs share the processors. While one job works alone nothing is counted and nobody waits. As soon as a second one has requests, each has
// a limit of how many of its requests are worked on at once, with what they leave to other goroutines; more wait in a queue of the job,
// before the server looks at them. Reading a large request from the network is a part of the work. So the runnable goroutines of a job with
// many connections are few, and a request of another job waits for one of them and not for all. There is no queue or lock that two jobs
// share: limits are set again ten times a second.
//
// The limit of a job is its part of the processors by weight, or what the others leave of them but for one, if that is more: what is not
// used is not lost, and one processor is soon free for another job. The limit processors of a token bounds all its jobs together, always.

// shareEvery is how often limits are set anew. A job that had no request for twice as long does not work.
const shareEvery = 100 * time.Millisecond

// shares is the jobs that work.
type shares struct {
	mu      sync.Mutex
	working []*job
	owners  map[string]*gate // of all jobs of an owner
	looks   bool             // a goroutine sets limits
	last    time.Time
}

// gate bounds how many requests of a job, or of all jobs of an owner, are worked on at once.
type gate struct {
	working atomic.Bool  // it has had a request since the last look; of a job
	limit   atomic.Int64 // 0: none, and nothing is counted
	busy    atomic.Int64 // nanoseconds that was worked for it since the last look, added up

	mu      sync.Mutex
	running int64
	waiting []chan struct{} // in the order in which they came
	idle    bool            // it had no request between the last two looks; the looking goroutine's
}

// enter begins to count a request. wait is closed when it may be worked on; nil: now.
func (g *gate) enter() (wait chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if limit := g.limit.Load(); limit == 0 || g.running < limit {
		g.running++
		return nil
	}
	wait = make(chan struct{})
	g.waiting = append(g.waiting, wait)
	return wait
}

// add counts work that a request has left, which nobody waits for.
func (g *gate) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
}

// leave ends what enter or add began. wait is what enter returned; if it has not been closed the request was given up.
func (g *gate) leave(wait chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, wait); wait != nil && i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return
	}
	g.running--
	g.admit()
}

// admit lets those work for whom there is room. It is locked.
func (g *gate) admit() {
	limit := g.limit.Load()
	for len(g.waiting) > 0 && (limit == 0 || g.running < limit) {
		g.running++
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// bound sets the limit.
func (g *gate) bound(limit int64) {
	if g.limit.Load() == limit {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit.Store(limit)
	g.admit()
}

// most is how many goroutines may work at something of the job for which there are n.
func (j *job) most(n int) int {
	if limit := j.gate.limit.Load(); limit > 0 {
		return int(min(int64(n), limit))
	}
	return n
}

// leaves begins to count work of the job that another goroutine does; the caller calls the result when that is done.
func (j *job) leaves() (done func()) {
	if j.gate.limit.Load() == 0 {
		return func() {}
	}
	began := j.server.now()
	j.gate.add()
	return func() {
		j.gate.busy.Add(int64(j.server.now() - began))
		j.gate.leave(nil)
	}
}

// Turn implements rpc.Scheduler.
func (s *Server) Turn(x *rpc.Exchange, waits func()) (end func()) {
	if !operationOf(x.Op).works {
		return nil
	}
	return s.TurnToRead(x.From, waits)
}

// TurnToRead implements rpc.Scheduler: reading large requests is work as well. It waits in the queue of the job first, so that a job waits
// for no other.
func (s *Server) TurnToRead(from *rpc.Peer, waits func()) (end func()) {
	m := memberOf(from)
	if m == nil {
		return nil
	}
	j := m.job
	if !j.gate.working.Load() {
		s.shares.begin(j)
	}
	var in []entered
	if j.gate.limit.Load() > 0 {
		in = append(in, entered{of: &j.gate})
	}
	if most := j.owner.Account().Limits().Processors; most > 0 {
		j.ownerGate.bound(most)
		in = append(in, entered{of: j.ownerGate})
	}
	if in == nil {
		return nil
	}
	for i := range in {
		if in[i].wait = in[i].of.enter(); in[i].wait == nil {
			continue
		}
		waits()
		select {
		case <-in[i].wait:
		case <-from.Gone: // it is served all the same, as the answer is of no use to anybody
		}
	}
	began := s.now()
	return func() {
		j.gate.busy.Add(int64(s.now() - began))
		for _, e := range in {
			e.of.leave(e.wait)
		}
	}
}

var _ rpc.Scheduler = (*Server)(nil)

// entered is a request in a gate.
type entered struct {
	of   *gate
	wait chan struct{}
}

// of is the gate of all jobs of an owner.
func (s *shares) of(owner *access.Owner) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners == nil {
		s.owners = map[string]*gate{}
	}
	g := s.owners[owner.Name()]
	if g == nil {
		g = &gate{}
		s.owners[owner.Name()] = g
	}
	return g
}

// begin notes that a job works.
func (s *shares) begin(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.gate.working.Swap(true) || slices.Contains(s.working, j) {
		return
	}
	j.gate.idle = false
	s.working = append(s.working, j)
	if len(s.working) < 2 {
		j.gate.bound(j.server.JobLimits.Processors)
		return
	}
	s.set(nil)
	if !s.looks {
		s.looks, s.last = true, time.Now()
		go s.look()
	}
}

// look sets limits until one job works alone or none does.
func (s *shares) look() {
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	for range tick.C {
		if !s.once() {
			return
		}
	}
}

// once sets limits from what was worked since the last look, and reports whether there will be another.
func (s *shares) once() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	took := now.Sub(s.last)
	s.last = now
	used := map[*job]float64{}
	s.working = slices.DeleteFunc(s.working, func(j *job) bool {
		used[j] = float64(j.gate.busy.Swap(0)) / float64(max(1, took))
		worked := j.gate.working.Swap(false) || used[j] > 0
		gone := !worked && j.gate.idle || j.ctx.Err() != nil
		if j.gate.idle = !worked; gone {
			j.gate.bound(j.server.JobLimits.Processors)
		}
		return gone
	})
	s.looks = len(s.working) > 1
	s.set(used)
	return s.looks
}

// set sets the limits of the jobs that work, by how many processors each has used. s is locked.
func (s *shares) set(used map[*job]float64) {
	if len(s.working) < 2 {
		for _, j := range s.working {
			j.gate.bound(j.server.JobLimits.Processors)
		}
		return
	}
	jobs := map[*access.Owner]int{}
	for _, j := range s.working {
		jobs[j.owner]++
	}
	weights, parts := make([]float64, len(s.working)), make([]processors, len(s.working))
	for i, j := range s.working {
		weights[i] = float64(max(1, j.owner.Account().Limits().Weight))
		if j.owner != nil { // jobs of one owner share its weight
			weights[i] /= float64(jobs[j.owner])
		}
		parts[i].used = used[j]
	}
	divide(parts, weights, float64(runtime.GOMAXPROCS(0)))
	for i, j := range s.working {
		limit := parts[i].limit
		if most := j.server.JobLimits.Processors; most > 0 {
			limit = min(limit, most)
		}
		j.gate.bound(limit)
	}
}

// processors is how many processors a job has used, and how many of its requests may be worked on at once.
type processors struct {
	used  float64
	limit int64
}

// divide sets the limits: the part by weight, or what others leave but for one processor, and at least 1.
func divide(parts []processors, weights []float64, all float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	left := all
	for i := range parts {
		left -= min(parts[i].used, all*weights[i]/sum)
	}
	for i := range parts {
		fair := all * weights[i] / sum
		spare := left + min(parts[i].used, fair) - 1
		parts[i].limit = max(1, int64(max(fair, spare)))
	}
}
