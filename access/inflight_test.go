package access

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// take takes bytes of requests in the background; the result is closed when they are there.
func take(t *testing.T, w Wait, n int64, accounts ...*Account) (f *InFlight, there chan struct{}) {
	all := [2]*Account{}
	copy(all[:], accounts)
	one := NewInFlight(all)
	there = make(chan struct{})
	go func() {
		defer close(there)
		if err := one.Take(Requests, n, w); err != nil && !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return &one, there
}

func isThere(there chan struct{}) bool {
	synctest.Wait()
	select {
	case <-there:
		return true
	default:
		return false
	}
}

const kib = 1 << 10

// Requests wait in their order until those in flight are over, and lasting bytes count with them; small ones never wait.
func TestInFlightWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 1000 * kib})
		first, _ := take(t, Wait{}, 600*kib, a)
		_, _ = take(t, Wait{}, 300*kib, a)
		began := false
		third, there := take(t, Wait{Begins: func() { began = true }}, 200*kib, a)
		_, small := take(t, Wait{}, SmallMost, a)
		fourth, behind := take(t, Wait{}, 50*kib, a)
		if isThere(there) || isThere(behind) || !isThere(small) || !began {
			t.Errorf("a request without room is there: %v; one behind it: %v; a small one: %v; its waiting began: %v",
				isThere(there), isThere(behind), isThere(small), began)
		}
		time.Sleep(time.Hour)
		if isThere(there) {
			t.Error("after an hour without room the request is there")
		}
		first.Release()
		if !isThere(there) || !isThere(behind) {
			t.Error("with room the requests wait")
		}
		if used, _ := a.Used(); used != 550*kib+SmallMost || a.Left() != 1000*kib {
			t.Errorf("%d bytes are used, and %d are left to what lasts", used, a.Left())
		}
		a.Add(600*kib, 1)
		_, there = take(t, Wait{}, 100*kib, a)
		if isThere(there) {
			t.Error("a request has room next to what lasts and what is in flight")
		}
		a.Add(-600*kib, -1)
		if !isThere(there) {
			t.Error("when what lasted is gone the request waits")
		}
		third.Release()
		fourth.Release()
	})
}

// An account that is full of what lasts lets one large request pass at a time, and one large answer.
func TestInFlightFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 100 * kib})
		if err := a.Take(100*kib, 1); err != nil {
			t.Fatal(err)
		}
		first, there := take(t, Wait{}, 50*kib, a)
		second, behind := take(t, Wait{}, 60*kib, a)
		if !isThere(there) || isThere(behind) {
			t.Errorf("the first passes: %v; the second, too: %v", isThere(there), isThere(behind))
		}
		answer := NewInFlight([2]*Account{a})
		if err := answer.Take(Answers, 50*kib, Wait{}); err != nil {
			t.Error(err)
		}
		first.Set(Requests, 0)
		if !isThere(behind) {
			t.Error("after the first the second waits")
		}
		second.Release()
		answer.Release()
	})
}

// A request that others may wait for passes after a while in which nothing is given back, and no other with it.
func TestInFlightStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 100 * kib})
		held, _ := take(t, Wait{}, 90*kib, a)
		_, ahead := take(t, Wait{Urgent: func() bool { return false }}, 20*kib, a)
		urgent := Wait{Urgent: func() bool { return true }}
		one, there := take(t, urgent, 20*kib, a)
		two, later := take(t, urgent, 20*kib, a)
		time.Sleep(stalledAfter + stalledAfter/2)
		if isThere(there) == isThere(later) || isThere(ahead) {
			t.Errorf("two urgent ones pass: %v, %v, want one of them; one that is not: %v", isThere(there), isThere(later), isThere(ahead))
		}
		time.Sleep(2 * stalledAfter)
		if !isThere(there) || !isThere(later) || isThere(ahead) {
			t.Errorf("then two urgent ones pass: %v, %v, one that is not: %v", isThere(there), isThere(later), isThere(ahead))
		}
		one.Release()
		two.Release()
		held.Release()
		if !isThere(ahead) {
			t.Error("with room the request waits")
		}
	})
}

// What is more than a limit is refused by its name, a connection that ends leaves nothing counted, and limits that change hold at once.
func TestInFlightRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, job := NewAccount("token", Limits{}), NewAccount("job", Limits{Memory: 100 * kib})
		f := NewInFlight([2]*Account{token, job})
		var over *LimitError
		if err := f.Take(Requests, 101*kib, Wait{}); !errors.As(err, &over) || !strings.Contains(err.Error(), "the limit of the job is reached: memory=") {
			t.Errorf("%v, want that the limit of the job is reached", err)
		}
		f.Release()
		held, _ := take(t, Wait{}, 100*kib, token, job)
		gone := make(chan struct{})
		_, there := take(t, Wait{Gone: gone}, 50*kib, token, job)
		close(gone)
		if !isThere(there) {
			t.Error("a request of a connection that has ended waits")
		}
		_, there = take(t, Wait{}, 50*kib, token, job)
		job.limits.Store(&Limits{Memory: 200 * kib})
		time.Sleep(2 * stalledAfter)
		if !isThere(there) {
			t.Error("with a larger limit the request waits")
		}
		held.Release()
		for _, a := range []*Account{token, job} {
			if used, _ := a.Used(); used != 50*kib {
				t.Errorf("%d bytes are used, want %d", used, 50*kib)
			}
		}
	})
}

// Whatever happens, requests of many connections keep to the limit, all pass, and nothing is counted in the end.
func TestInFlightBound(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			a := NewAccount("token", Limits{Memory: 1000 * kib})
			var over atomic.Bool
			var all sync.WaitGroup
			for i := range 20 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				all.Go(func() {
					for range 20 {
						f := NewInFlight([2]*Account{a})
						if err := f.Take(Requests, SmallMost+1+rng.Int64N(300*kib), Wait{}); err != nil {
							t.Error(err)
						}
						if used, _ := a.Used(); used > 1000*kib {
							over.Store(true)
						}
						time.Sleep(time.Duration(rng.IntN(int(20 * time.Millisecond))))
						f.Release()
					}
				})
			}
			all.Wait()
			if used, _ := a.Used(); used != 0 || over.Load() {
				t.Errorf("seed %d: in the end %d bytes are used; more than the limit were: %v", seed, used, over.Load())
			}
		})
	}
}

// A request has room at once while answers wait, and answers while requests do.
func TestInFlightOtherDirection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 1000 * kib})
		held := NewInFlight([2]*Account{a})
		if err := held.Take(Answers, 700*kib, Wait{}); err != nil {
			t.Fatal(err)
		}
		behind := make(chan struct{})
		answer := NewInFlight([2]*Account{a})
		go func() {
			defer close(behind)
			if err := answer.Take(Answers, 400*kib, Wait{}); err != nil {
				t.Error(err)
			}
		}()
		if isThere(behind) {
			t.Error("an answer has no room and passes")
		}
		request, there := take(t, Wait{}, 50*kib, a)
		if !isThere(there) {
			t.Error("a request with room waits behind an answer")
		}
		request.Release()
		held.Release()
		<-behind
		answer.Release()
		if used, _ := a.Used(); used != 0 {
			t.Errorf("in the end %d bytes are used", used)
		}
	})
}

// An urgent request passes although answers end and lasting bytes are given back all the time: others may wait for it.
func TestInFlightStalledNextToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 100 * kib})
		held, _ := take(t, Wait{}, 90*kib, a)
		ended := make(chan struct{})
		var others sync.WaitGroup
		others.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(stalledAfter / 10):
				}
				a.Add(kib, 0)
				a.Add(-kib, 0)
				answer := NewInFlight([2]*Account{a})
				answer.Set(Answers, 20*kib)
				answer.Release()
			}
		})
		urgent, there := take(t, Wait{Urgent: func() bool { return true }}, 20*kib, a)
		time.Sleep(3 * stalledAfter)
		if !isThere(there) {
			t.Error("after three seconds an urgent request waits")
		}
		close(ended)
		others.Wait()
		held.Release()
		<-there
		urgent.Release()
	})
}

// A message keeps its room when its size becomes known: no waiting request takes it.
func TestInFlightSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccount("token", Limits{Memory: 100 * kib})
		first, _ := take(t, Wait{}, 60*kib, a)
		second, there := take(t, Wait{}, 50*kib, a)
		first.Set(Requests, 59*kib)
		if used, _ := a.Used(); isThere(there) || used != 59*kib {
			t.Errorf("%d bytes are used, and a request without room passes: %v", used, isThere(there))
		}
		first.Set(Requests, 50*kib)
		if !isThere(there) {
			t.Error("a request with room waits")
		}
		first.Release()
		second.Release()
	})
}
