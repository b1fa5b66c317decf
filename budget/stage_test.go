package budget

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// stage is bodies that were read and wait, until relieve spills them.
type stage struct {
	mu     sync.Mutex
	bodies []*Charge
	come   chan struct{}
}

func (s *stage) add(c *Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, c)
	select {
	case s.come <- struct{}{}:
	default:
	}
}

// largest takes the largest out, nil if there is none.
func (s *stage) largest() (most *Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := -1
	for i, c := range s.bodies {
		if most == nil || c.Bytes() > most.Bytes() {
			most, at = c, i
		}
	}
	if most != nil {
		s.bodies = append(s.bodies[:at], s.bodies[at+1:]...)
	}
	return most
}

// relieve spills one body for each token, as servers do.
func (s *stage) relieve(l *Ledger, done <-chan struct{}) {
	for hungry := false; ; {
		select {
		case <-done:
			return
		case <-l.Starved():
			hungry = true
		case <-s.come:
		}
		if c := s.largest(); hungry && c != nil {
			hungry = false
			c.Release()
		} else if c != nil {
			s.mu.Lock()
			s.bodies = append(s.bodies, c)
			s.mu.Unlock()
		}
	}
}

// Bodies that stay in the stage when they were read, many times what there is room for and beside tables, are all read if
// what is staged is spilled when the ledger says so; and never does the ledger give out more than there is.
func TestStagedComeThrough(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 50), 1, 30).Draw(r, "sizes")
		step := rapid.Int64Range(1, 10).Draw(r, "step")
		tables := rapid.Int64Range(0, 40).Draw(r, "tables")
		urgent := rapid.SliceOfN(rapid.Bool(), len(sizes), len(sizes)).Draw(r, "urgent")
		synctest.Test(t, func(t *testing.T) {
			l := ledger(t)
			take(t, l, Tables, tables)
			s := &stage{come: make(chan struct{}, 1)}
			done := make(chan struct{})
			go s.relieve(l, done)
			var slowest sync.WaitGroup
			for i, size := range sizes {
				read := func() { s.read(t, l, fmt.Sprint("body ", i), size, step, urgent[i]) }
				if urgent[i] {
					slowest.Go(read)
				} else {
					go read()
				}
			}
			slowest.Wait() // a bubble whose goroutines all wait for each other fails the test
			synctest.Wait()
			for c := s.largest(); c != nil; c = s.largest() { // their clock is folded
				c.Release()
				synctest.Wait()
			}
			close(done)
			synctest.Wait()
			if used := l.Used(); used != (Usage{Tables: tables}) {
				t.Errorf("used %v in the end, want the tables alone", used)
			}
		})
	})
}

// read reads a body, which stays in the stage.
func (s *stage) read(t *testing.T, l *Ledger, name string, size, step int64, urgent bool) {
	k, err := l.Claim(Frames, size)
	if err != nil {
		t.Error(err)
		return
	}
	for come := int64(0); come < size; come += step {
		if err := k.Take(t.Context(), min(step, size-come), func() bool { return urgent }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if used := l.Used(); used.Total() > 100 {
			t.Errorf("%s: used %v, want at most 100 together", name, used)
		}
	}
	charge := k.Done()
	charge.Move(Stage)
	s.add(&charge)
}
