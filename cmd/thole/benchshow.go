package main

import (
	"sync"
	"time"

	"thole.example/bench"
)

// benchShow shows what a measurement does, also while nothing is heard from it: a request may take many seconds.
type benchShow struct {
	mu    sync.Mutex
	bar   *progress
	now   func() time.Time
	phase bench.Phase
	began time.Time // of the phase
	over  chan struct{}
	wait  sync.WaitGroup
}

// showBench begins with a phase of no known length.
func (e *env) showBench(kind, phase string, keys int) *benchShow {
	s := &benchShow{bar: e.progress("bench "+kind, "keys", int64(keys)), now: e.now, over: make(chan struct{})}
	s.tell(bench.Phase{Name: phase})
	s.wait.Go(func() {
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case <-s.over:
				return
			case <-tick.C:
				s.mu.Lock()
				s.show()
				s.mu.Unlock()
			}
		}
	})
	return s
}

// tell is what bench calls.
func (s *benchShow) tell(p bench.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Name != s.phase.Name {
		s.began = s.now()
	}
	s.phase = p
	s.show()
}

func (s *benchShow) show() {
	if p := &s.phase; p.Total > 0 {
		s.bar.set(int64(p.Done), p.Name)
	} else {
		s.bar.during(p.Name, s.now().Sub(s.began), p.Over)
	}
}

// end removes the line; nothing is shown after it.
func (s *benchShow) end() {
	close(s.over)
	s.wait.Wait()
	s.bar.end()
}
