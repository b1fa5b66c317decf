package server

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// The limits of jobs are their parts by weight, or what others leave but for one processor, and none is 0.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		all     float64
		used    []float64
		weights []float64
		want    []int64
	}{
		{2, []float64{1.9, 0.05}, []float64{1, 1}, []int64{1, 1}},
		{64, []float64{60, 0.5}, []float64{1, 1}, []int64{62, 32}},
		{64, []float64{60, 60}, []float64{1, 1}, []int64{32, 32}},
		{64, []float64{60, 60}, []float64{3, 1}, []int64{48, 16}},
		{64, []float64{60, 0, 0}, []float64{1, 1, 1}, []int64{63, 41, 41}},
		{1, []float64{1, 1, 1}, []float64{1, 1, 1}, []int64{1, 1, 1}},
		{8, []float64{0, 0}, []float64{7, 1}, []int64{7, 7}},
	} {
		parts := make([]processors, len(c.used))
		for i, used := range c.used {
			parts[i].used = used
		}
		divide(parts, c.weights, c.all)
		var got []int64
		for _, p := range parts {
			got = append(got, p.limit)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v processors for jobs that used %v with weights %v: %v, want %v", c.all, c.used, c.weights, got, c.want)
		}
	}
}

// No more requests are worked on than the limit says, all come to their turn in their order, and some give up.
func TestGate(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			limit := 1 + rng.Int64N(4)
			g := &gate{}
			g.bound(limit)
			var running, most atomic.Int64
			var all sync.WaitGroup
			for range 30 {
				wait := g.enter()
				gives := wait != nil && rng.IntN(4) == 0
				all.Go(func() {
					if gives {
						g.leave(wait)
						return
					}
					if wait != nil {
						<-wait
					}
					now := running.Add(1)
					for was := most.Load(); was < now && !most.CompareAndSwap(was, now); was = most.Load() {
					}
					time.Sleep(time.Millisecond)
					running.Add(-1)
					g.leave(wait)
				})
			}
			all.Wait()
			if most.Load() > limit || g.running != 0 || len(g.waiting) != 0 {
				t.Errorf("seed %d: %d at once at a limit of %d, %d and %d left", seed, most.Load(), limit, g.running, len(g.waiting))
			}
		})
	}
}

// A job that works alone is not counted. Next to another it has a limit, which ends when the other has no more requests.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Tokens: access.NewTable([]access.Token{{Name: "few", Limits: access.Limits{Processors: 1}}})}
		peer := func(owner, name string) *rpc.Exchange {
			j := s.newJob(access.JobName{Owner: owner, Name: name}, nil)
			at := &seat{}
			at.member.Store(&member{job: j})
			return rpc.NewExchange(&rpc.Request{Op: rpc.OpPull}, &rpc.Peer{State: at, Gone: make(chan struct{})}, nil)
		}
		waits := func() { t.Error("a request waits") }
		one, two := peer("", "one"), peer("", "two")
		if s.Turn(one, waits) != nil {
			t.Error("a job that works alone is counted")
		}
		end := s.Turn(two, waits)
		if end == nil {
			t.Fatal("the second job is not counted")
		}
		gate := &memberOf(one.From).job.gate
		if gate.limit.Load() == 0 {
			t.Error("the first job has no limit next to the second")
		}
		end()
		for range 5 {
			synctest.Wait()
			if end := s.Turn(one, waits); end != nil {
				end()
			}
			time.Sleep(shareEvery)
		}
		synctest.Wait()
		if gate.limit.Load() != 0 {
			t.Error("the first job keeps its limit when the second has no more requests")
		}
		few := peer("few", "j")
		end = s.Turn(few, waits)
		if end == nil {
			t.Fatal("a job whose token limits processors is not counted")
		}
		waited := false
		go func() {
			s.Turn(few, func() { waited = true })()
		}()
		synctest.Wait()
		if !waited {
			t.Error("a second request of a token with processors=1 does not wait for the first")
		}
		end()
		synctest.Wait()
		time.Sleep(10 * shareEvery)
	})
}
