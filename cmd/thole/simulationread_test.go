package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/wire"
)

// simCuts is what readers have read of jobs that end with the same bits: by the key of the job and the steps made, a digest of the parameters
// after these steps. The readers of all runs share it.
type simCuts struct {
	mu   sync.Mutex
	seen map[[3]int]map[int]uint64
}

// first adds a digest, unless there is one for as many steps, which it returns.
func (c *simCuts) first(key [3]int, made int, digest uint64) (first uint64, compared bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[key] == nil {
		c.seen[key] = map[int]uint64{}
	}
	if have, there := c.seen[key][made]; there {
		return have, true
	}
	c.seen[key][made] = digest
	return digest, false
}

// simMoment is a moment of the job that a reader has seen.
type simMoment struct {
	attempt, clock int
	at             time.Time
}

// simReads is what the readers of a run have seen: of each attempt, how far it was when, which ascends.
type simReads struct {
	mu   sync.Mutex
	seen map[int][]simMoment

	wrong atomic.Bool // a cut was
}

// before is the clock of an attempt that was seen until then.
func (r *simReads) before(attempt int, until time.Time) (clock int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.seen[attempt] {
		if m.at.After(until) {
			break
		}
		clock = m.clock
	}
	return clock
}

func (r *simReads) add(m simMoment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.seen[m.attempt]; len(all) == 0 || all[len(all)-1].clock < m.clock {
		r.seen[m.attempt] = append(all, m)
	}
}

// simCallTime is how long a call of a reader may take. It is the time of its context.
const simCallTime = 2 * time.Minute

// simReader is a process that follows the job, and does so again after an error. Under BSP what it reads at a clock is what every run of the
// job has after as many steps; under BSP and SSP all is of one clock, nothing is later, the clock of an attempt does not go back, and a copy has
// what others saw before its highest age (check).
type simReader struct {
	s      *sim
	rnd    *rand.Rand
	way    *simWay
	o      ps.Options
	places [][]string // servers to which the job may have moved
}

// read has the readers of the job read until it has ended.
func (s *sim) read() {
	s.reads.seen = map[int][]simMoment{}
	ctx, cancel := context.WithCancel(context.Background())
	s.ending.Go(func() {
		<-s.over
		cancel()
	})
	for i := range s.drawn.readers {
		s.ending.Go(func() { s.newReader(i).run(ctx) })
	}
}

// newReader draws a reader.
func (s *sim) newReader(i int) *simReader {
	rnd := rand.New(rand.NewPCG(s.drawn.seed, uint64(200+i)))
	r := &simReader{s: s, rnd: rnd, way: &simWay{simNet: s.net, name: fmt.Sprint("r", i), rnd: rand.New(rand.NewPCG(s.drawn.seed, uint64(300+i)))}}
	r.o = ps.Options{Job: "job", Network: r.way, ReadFrom: ps.ReadFrom(rnd.IntN(len(ps.ReadFromNames()))),
		MaxLag: []time.Duration{0, 500 * time.Millisecond, 2 * time.Second}[rnd.IntN(3)],
		Retry:  []time.Duration{0, 2 * time.Second, 30 * time.Second}[rnd.IntN(3)]}
	if s.places != nil {
		r.o.Replicas = func(_ context.Context, server int) ([]string, error) {
			return s.places[s.number(r.o.Servers[server])].readable(), nil
		}
	}
	r.places = [][]string{s.drawn.addrs()}
	for _, e := range s.drawn.program {
		if e.what != simMove {
			continue
		}
		var to []string
		for _, i := range e.to {
			to = append(to, fmt.Sprint("s", i))
		}
		r.places = append(r.places, to)
	}
	return r
}

// number is the number of the server at an address.
func (s *sim) number(addr string) int { return slices.Index(s.drawn.addrs(), addr) }

// upTo draws a pause.
func (r *simReader) upTo(d time.Duration) time.Duration { return time.Duration(r.rnd.Int64N(int64(d))) }

// run follows the job again and again.
func (r *simReader) run(ctx context.Context) {
	for next := 0; ctx.Err() == nil; {
		r.o.Servers = r.places[next%len(r.places)]
		var c *ps.Client
		err := r.call(ctx, "follow", func(ctx context.Context) (err error) {
			c, err = ps.Follow(ctx, r.o)
			return err
		})
		if err != nil {
			next++ // the job may have moved
		} else {
			r.follow(ctx, c)
			_ = c.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.upTo(2 * time.Second)):
		}
	}
}

// follow reads over a client until that fails, or the reader has had enough of it.
func (r *simReader) follow(ctx context.Context, c *ps.Client) {
	last := simMoment{}
	places := ""
	for range 1 + r.rnd.IntN(200) {
		pause := []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Second}[r.rnd.IntN(3)]
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.upTo(pause)):
		}
		if len(r.s.drawn.program) > 0 && r.rnd.IntN(100) == 0 { // the calm run is calm
			server := ""
			if r.rnd.IntN(2) == 0 {
				server = r.o.Servers[r.rnd.IntN(len(r.o.Servers))]
			}
			r.s.net.block(r.way.name, server, r.upTo(2*silence))
		}
		began := time.Now()
		var cut *simCut
		err := r.call(ctx, "cut", func(ctx context.Context) (err error) {
			cut, err = newSimCut(ctx, c, r.s.drawn.tasks)
			return err
		})
		if err != nil {
			return
		}
		now := r.sources(c)
		if m := r.check(cut, c, began); m.attempt > 0 {
			if last.attempt == m.attempt && places == now && m.clock < last.clock {
				r.s.t.Errorf("%s: clock %d of attempt %d after clock %d, from %s", r.way.name, m.clock, m.attempt, last.clock, now)
			}
			last, places = m, now
		}
	}
}

// sources says where the client reads, and over which connections.
func (r *simReader) sources(c *ps.Client) string {
	r.s.net.mu.Lock()
	defer r.s.net.mu.Unlock()
	text := fmt.Sprint(r.way.made)
	for _, s := range c.Sources() {
		text += " " + s.Addr
	}
	return text
}

// call makes a call, which has to end in time, and wants its error to be one that a reader may meet.
func (r *simReader) call(ctx context.Context, what string, call func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, simCallTime)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- call(within) }()
	select {
	case err := <-over:
		if err != nil && !simReadError(err) {
			r.s.t.Errorf("%s: %s from %v: %v", r.way.name, what, r.o.Servers, err)
		}
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			r.s.countRead(func(n *simCount) { n.expired++ })
			r.s.t.Logf("%s: %s from %v, reading from %d, %v", r.way.name, what, r.o.Servers, r.o.ReadFrom, err)
		}
		return err
	case <-time.After(simCallTime + time.Second):
		r.s.t.Errorf("%s: %s from %v has not ended after %v", r.way.name, what, r.o.Servers, simCallTime)
		return <-over
	}
}

// simReadError reports whether a reader may meet an error: a job that is not there, has ended or has moved to other servers, a server that cannot be reached or has
// lost its role, a copy that is too old, a clock that has passed, or the end of the call's time.
func simReadError(err error) bool {
	for _, bad := range []error{rpc.ErrMalformed, rpc.ErrInternal, rpc.ErrTooLarge, ps.ErrAnswer} {
		if errors.Is(err, bad) {
			return false
		}
	}
	for _, kind := range []error{rpc.ErrNotFound, rpc.ErrAborted, rpc.ErrClosed, rpc.ErrLost, rpc.ErrUnreachable, rpc.ErrStandby, rpc.ErrLag,
		rpc.ErrPassed, ps.ErrServers, blob.ErrUnavailable, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func (s *sim) countRead(add func(*simCount)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.count)
}

// simCut is the values of one moment.
type simCut struct {
	asOf     []int // of each matrix
	names    []string
	places   [][]float64 // of the tasks (train.place); nil: there are none yet
	digest   uint64      // of the parameters
	replicas int         // servers of which copies were read
}

// simPlaceRow are the rows of train.place that readers know.
const (
	simPlaceMade    = 9
	simPlaceAttempt = 10
	simPlaceClock   = 14
	simPlaceBoard   = "train.place"
)

// isSimPlaceOrParam reports whether a matrix has parameters or places, which are created together: the boards begin to count clocks later.
func isSimPlaceOrParam(name string) bool {
	return name == simPlaceBoard || !strings.HasPrefix(name, "train.") && !strings.HasPrefix(name, "valid.")
}

// newSimCut reads all that the client knows.
func newSimCut(ctx context.Context, c *ps.Client, tasks int) (*simCut, error) {
	var lookups []matrix.Lookup
	out := &simCut{}
	for _, m := range c.Matrices() {
		l := matrix.Lookup{Matrix: m.Meta().Name}
		if l.Matrix == simPlaceBoard {
			for task := range tasks {
				l.Cols = append(l.Cols, int64(task))
			}
		}
		lookups = append(lookups, l)
	}
	blocks, err := c.Cut(ctx, lookups)
	if err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	for i, b := range blocks {
		name := lookups[i].Matrix
		m, err := c.Matrix(name)
		if err != nil {
			return nil, err
		}
		out.names, out.asOf = append(out.names, name), append(out.asOf, m.AsOf())
		switch {
		case name == simPlaceBoard:
			val := b.Data.Values().([]float64)
			for rows := len(val) / tasks; len(val) > 0; val = val[rows:] {
				out.places = append(out.places, val[:rows])
			}
		case isSimPlaceOrParam(name):
			data, _ := wire.ViewAny(b.Data.Values())
			_, _ = fmt.Fprintln(sum, name, b.At, len(data))
			_, _ = sum.Write(data)
		}
	}
	out.digest = sum.Sum64()
	for _, s := range c.Sources() {
		if s.Lag != nil {
			out.replicas++
		}
	}
	return out, nil
}

// check checks a cut. It returns the moment that it is of, without an attempt if that is not known.
func (r *simReader) check(cut *simCut, c *ps.Client, began time.Time) (now simMoment) {
	if len(cut.asOf) == 0 {
		return now
	}
	s, j := r.s, r.s.drawn
	fails := func(format string, a ...any) {
		if s.reads.wrong.Swap(true) {
			return // the first is enough
		}
		s.t.Errorf("%s: a cut from %s: %s (clocks %v of %v, places %v)", r.way.name, r.sources(c), fmt.Sprintf(format, a...), cut.asOf, cut.names,
			cut.places)
	}
	s.countRead(func(n *simCount) {
		if cut.replicas > 0 {
			n.cutsOfCopies++
		} else {
			n.cuts++
		}
	})
	if j.asp {
		return now
	}
	clock := cut.asOf[0]
	for i, of := range cut.asOf {
		if of != clock && isSimPlaceOrParam(cut.names[i]) {
			fails("matrices are of different clocks")
			return now
		}
	}
	most := r.o.MaxLag
	if most == 0 {
		most = rpc.ReplicaLag
	}
	for _, at := range c.Sources() {
		if at.Lag != nil && at.Lag.Seconds > most.Seconds() {
			fails("a copy lags by %v s, want at most %v", at.Lag.Seconds, most)
		}
	}
	if cut.places == nil || cut.places[0][simPlaceMade] == 0 {
		return now
	}
	first := cut.places[0]
	if j.bits {
		for _, p := range cut.places[1:] {
			if p[simPlaceMade] != first[simPlaceMade] || p[simPlaceClock] != first[simPlaceClock] || p[simPlaceAttempt] != first[simPlaceAttempt] {
				fails("the tasks are at different places")
				return now
			}
		}
	}
	// At later clocks the best epoch may be restored, on one server after the other, or the bias be moved.
	if at := int(first[simPlaceClock]); j.bits && at == clock {
		made := int(first[simPlaceMade])
		want, compared := j.cuts.first(j.key(), made, cut.digest)
		if compared && len(j.program) > 0 {
			s.countRead(func(n *simCount) { n.compared++ })
		}
		if want != cut.digest {
			fails("after %d steps the parameters have digest %x, and had %x before", made, cut.digest, want)
		}
	}
	s.net.mu.Lock()
	current := int(first[simPlaceAttempt]) == s.net.highest
	s.net.mu.Unlock()
	if !current {
		return now
	}
	for task, p := range cut.places {
		if int(p[simPlaceAttempt]) == int(first[simPlaceAttempt]) && int(p[simPlaceClock]) > clock {
			fails("task %d is at clock %v already", task, p[simPlaceClock])
		}
	}
	now = simMoment{int(first[simPlaceAttempt]), clock, time.Now()}
	lag := time.Duration(0)
	if cut.replicas > 0 {
		lag = most
	}
	if have := s.reads.before(now.attempt, began.Add(-lag)); have > clock {
		fails("clock %d of attempt %d was seen %v before", have, now.attempt, lag)
	}
	s.reads.add(now)
	return now
}
