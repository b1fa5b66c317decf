package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// distant is a server as it is reached from far away: the small requests by which readers choose take a time.
type distant struct {
	*server.Server
	takes *atomic.Int64 // nanoseconds
}

// Serve implements rpc.Handler.
func (d distant) Serve(x *rpc.Exchange) {
	if x.Op != rpc.OpFollow {
		d.Server.Serve(x)
		return
	}
	time.AfterFunc(time.Duration(d.takes.Load()), func() { d.Server.Serve(x) })
}

// places are addresses at which the servers of a pair are reached from afar.
type places struct {
	p     *pair
	takes map[string]*atomic.Int64
	ends  map[string]func()
}

// listen has a server of the pair be reached at an address, too.
func (s *places) listen(addr string, number int) {
	s.p.t.Helper()
	if s.takes[addr] == nil {
		s.takes[addr] = &atomic.Int64{}
	}
	l, err := s.p.net.Listen(s.p.t.Context(), addr, distant{s.p.servers[number], s.takes[addr]})
	if err != nil {
		s.p.t.Fatal(err)
	}
	s.ends[addr] = func() { _ = l.Close() }
}

// set sets how long the small requests take.
func (s *places) set(takes map[string]time.Duration) {
	for addr, d := range takes {
		s.takes[addr].Store(int64(d))
	}
}

// reader is one that may read from all places.
func (s *places) reader(from ps.ReadFrom) (*ps.Client, error) {
	return ps.Follow(s.p.t.Context(), ps.Options{Network: s.p.net, Servers: []string{"primary"}, Job: "j", ReadFrom: from,
		Replicas: func(context.Context, int) ([]string, error) { return []string{"east", "west"}, nil }})
}

// placesOf runs a test with a server, reached as "primary", and a standby with a copy, reached as "east" and "west".
func placesOf(t *testing.T, run func(t *testing.T, s *places)) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		c, err := p.task("a", "j")
		if err == nil {
			err = push(t.Context(), c, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, cut := p.copies()
		s := &places{p, map[string]*atomic.Int64{}, map[string]func(){}}
		s.listen("primary", 0)
		s.listen("east", 1)
		s.listen("west", 1)
		run(t, s)
		for _, end := range s.ends {
			end()
		}
		cut()
		_ = c.Close()
	})
}

// TestNearest: a reader reads from what answers fastest. A standby has to be faster than the server by a fifth, the first of those that are
// equally fast is taken, and one that does not answer within a second is none.
func TestNearest(t *testing.T) {
	placesOf(t, func(t *testing.T, s *places) {
		const ms = time.Millisecond
		for _, c := range []struct {
			primary, east, west time.Duration
			nearest, replica    string
		}{
			{10 * ms, 5 * ms, 2 * ms, "west", "west"},
			{10 * ms, 2 * ms, 5 * ms, "east", "east"},
			{10 * ms, 2 * ms, 2 * ms, "east", "east"},
			{5 * ms, 5 * ms, 5 * ms, "primary", "east"},
			{10 * ms, 9 * ms, 8100 * time.Microsecond, "primary", "west"},
			{10 * ms, 9 * ms, 7900 * time.Microsecond, "west", "west"},
			{1 * ms, 9 * ms, 5 * ms, "primary", "west"},
			{10 * ms, 2000 * ms, 400 * ms, "primary", "primary"}, // three requests of 400 ms are too many
			{10 * ms, 2000 * ms, 300 * ms, "primary", "west"},
			{900 * ms, 2000 * ms, 300 * ms, "west", "west"},
		} {
			s.set(map[string]time.Duration{"primary": c.primary, "east": c.east, "west": c.west})
			for from, want := range map[ps.ReadFrom]string{ps.ReadNearest: c.nearest, ps.ReadReplica: c.replica, ps.ReadPrimary: "primary"} {
				r, err := s.reader(from)
				if err != nil {
					t.Errorf("%+v, %v: %v", c, from, err)
					continue
				}
				at := r.Sources()[0]
				if at.Addr != want || (at.Lag != nil) != (want != "primary") {
					t.Errorf("%+v, %v: reads from %+v, want %s", c, from, at, want)
				}
				takes := map[string]time.Duration{"primary": c.primary, "east": c.east, "west": c.west}[want]
				if from != ps.ReadPrimary && at.RoundTrip != takes {
					t.Errorf("%+v, %v: %s takes %v as measured, want %v", c, from, want, at.RoundTrip, takes)
				}
				if got, err := first(t.Context(), r); err != nil || got != 1 {
					t.Errorf("%+v, %v: %v, %v", c, from, got, err)
				}
				_ = r.Close()
			}
		}
	})
}

// TestNearestDies: a reader whose nearest place is lost reads from the next, and in the end from the server; it looks again later.
func TestNearestDies(t *testing.T) {
	placesOf(t, func(t *testing.T, s *places) {
		s.set(map[string]time.Duration{"primary": 20 * time.Millisecond, "east": 10 * time.Millisecond, "west": time.Millisecond})
		r, err := s.reader(ps.ReadNearest)
		if err != nil {
			t.Fatal(err)
		}
		read := func(when, want string) {
			t.Helper()
			got, err := first(t.Context(), r)
			if at := r.Sources()[0].Addr; err != nil || got != 1 || at != want {
				t.Fatalf("%s: %v from %s, %v; want 1 from %s", when, got, at, err, want)
			}
		}
		read("at first", "west")
		s.ends["west"]()
		read("without the nearest", "east")
		s.ends["east"]()
		read("without standbys", "primary")
		s.listen("west", 1)
		time.Sleep(5 * time.Second)
		read("before it looks again", "primary")
		time.Sleep(time.Minute)
		read("a minute later", "west")
		_ = r.Close()
	})
}

// TestReplicaCutServers: a cut over several servers, some of which are read at their standbys, of which one lags, is of one clock everywhere.
func TestReplicaCutServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const servers, steps = 3, 150
		ctx, stop := context.WithCancel(t.Context())
		net, pairs, addrs := &mem.Network{}, []*pair{}, []string{}
		for i := range servers {
			p, end := newPair(ctx, t, net, [2]string{fmt.Sprint("a", i), fmt.Sprint("b", i)}, 1<<40)
			defer end()
			pairs, addrs = append(pairs, p), append(addrs, p.at[0])
		}
		c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: addrs, Job: "j", Tasks: 1, Bound: ssp.BSP})
		if err == nil {
			err = c.Create(ctx, "", meta("m", 1, 600, matrix.RowDense), meta("s", 1, 600, matrix.RowSparse))
		}
		if err != nil {
			t.Fatal(err)
		}
		pairs[2].disks[1].Slow = 30 * time.Millisecond // its standby is behind by that
		var cuts []func()
		for _, p := range pairs[1:] { // the first has no standby
			_, cut := p.copies()
			cuts = append(cuts, cut)
		}
		r, err := ps.Follow(ctx, ps.Options{Network: net, Servers: addrs, Job: "j", ReadFrom: ps.ReadReplica,
			Replicas: func(_ context.Context, i int) ([]string, error) { return pairs[i].at[1:], nil }})
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- pushOnes(ctx, c, steps) }()
		last, n := 0, 0
		for last < steps-10 {
			got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "m"}, {Matrix: "s"}})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := r.Matrix("m")
			if v, err := oneValue(got...); err != nil || v != float64(m.AsOf()) || m.AsOf() < last {
				t.Fatalf("a cut has %v at clock %d, after clock %d: %v", v, m.AsOf(), last, err)
			}
			last, n = m.AsOf(), n+1
			var at []string
			for _, s := range r.Sources() {
				at = append(at, s.Addr)
			}
			if !slices.Equal(at, []string{"a0", "b1", "b2"}) {
				t.Fatalf("a cut from %v", at)
			}
			time.Sleep(7 * time.Millisecond)
		}
		if err := <-over; err != nil || n < 20 {
			t.Errorf("%d cuts, %v", n, err)
		}
		_ = r.Close()
		for _, cut := range cuts {
			cut()
		}
		_ = c.Close()
		stop()
		time.Sleep(time.Hour)
	})
}

// pushOnes adds 1 to all cells of m and s with each step.
func pushOnes(ctx context.Context, c *ps.Client, steps int) error {
	for range steps {
		for _, name := range []string{"m", "s"} {
			m, err := c.Matrix(name)
			if err == nil {
				err = c.Push(name, ones(*m.Meta()))
			}
			if err != nil {
				return err
			}
		}
		if err := c.SyncClock(ctx); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// TestReplicaCutAttempts: a cut has the values of one attempt of the job on all servers, also where a copy is still of the attempt before.
func TestReplicaCutAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		net, pairs, addrs := &mem.Network{}, []*pair{}, []string{}
		for i := range 2 {
			p, end := newPair(ctx, t, net, [2]string{fmt.Sprint("a", i), fmt.Sprint("b", i)}, 1<<40)
			defer end()
			pairs, addrs = append(pairs, p), append(addrs, p.at[0])
		}
		begin := func(attempt int) *ps.Client {
			c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: addrs, Job: "j", Tasks: 1, Bound: ssp.BSP, Attempt: attempt})
			if err == nil {
				err = c.Create(ctx, "", meta("m", 1, 600, matrix.RowDense), meta("s", 1, 600, matrix.RowSparse))
			}
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := begin(1)
		_, cut := pairs[1].copies()
		r, err := ps.Follow(ctx, ps.Options{Network: net, Servers: addrs, Job: "j", ReadFrom: ps.ReadReplica, MaxLag: time.Hour,
			Replicas: func(_ context.Context, i int) ([]string, error) { return pairs[i].at[2-i:], nil }})
		if err != nil {
			t.Fatal(err)
		}
		read := func(more int, from string) {
			t.Helper()
			got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "m"}})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := r.Matrix("m")
			if v, err := oneValue(got...); err != nil || v != float64(m.AsOf()+more) || r.Sources()[1].Addr != from {
				t.Fatalf("%v at clock %d from %+v, %v; want %d more than the clock, from %s", v, m.AsOf(), r.Sources(), err, more, from)
			}
		}
		if err := pushOnes(ctx, c, 5); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		read(0, "b1")
		cut() // the copy remains at clock 5 of attempt 1
		second := begin(2)
		over := make(chan error, 1)
		go func() {
			over <- errors.Join(second.Push("m", ones(meta("m", 1, 600, matrix.RowDense))), pushOnes(ctx, second, 10))
		}()
		time.Sleep(50 * time.Millisecond)
		for range 3 {
			read(1, "a1")
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
		_ = r.Close()
		_ = c.Close()
		_ = second.Close()
		stop()
		time.Sleep(time.Hour)
	})
}
