package ssp_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/ssp"
)

func TestBound(t *testing.T) {
	for _, c := range []struct {
		bound ssp.Bound
		text  string
		now   int
		need  int
	}{
		{ssp.BSP, "BSP", 0, 0}, {ssp.BSP, "BSP", 7, 7},
		{1, "SSP(1)", 0, 0}, {1, "SSP(1)", 1, 0}, {1, "SSP(1)", 2, 1},
		{3, "SSP(3)", 10, 7}, {1 << 40, "SSP(1099511627776)", 10, 0},
		{ssp.ASP, "ASP", 0, 0}, {ssp.ASP, "ASP", ssp.Finished, 0},
	} {
		if got := c.bound.String(); got != c.text {
			t.Errorf("%d is called %q, want %q", int(c.bound), got, c.text)
		}
		if got := c.bound.Need(c.now); got != c.need {
			t.Errorf("%v at clock %d needs %d, want %d", c.bound, c.now, got, c.need)
		}
		if !c.bound.Fresh(c.need, c.now) || c.need > 0 && c.bound.Fresh(c.need-1, c.now) {
			t.Errorf("%v at clock %d: %d must be the smallest clock that is fresh", c.bound, c.now, c.need)
		}
	}
}

// TestFoldError wants deltas that were not handed over kept after an error.
func TestFoldError(t *testing.T) {
	var s ssp.Stage[string]
	s.Put(1, 0, "b")
	s.Put(0, 1, "a")
	s.Put(0, 0, "A")
	full := errors.New("full")
	if err := s.Fold(2, func(int, []string) error { return full }); !errors.Is(err, full) || s.Len() != 1 {
		t.Errorf("error %v and %d deltas left, want %v and 1", err, s.Len(), full)
	}
	var got []string
	if err := s.Fold(2, func(clock int, d []string) error { got = append(got, fmt.Sprint(clock, d)); return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != "1 [b]" || s.Len() != 0 {
		t.Errorf("then %v and %d left, want clock 1 with b and nothing", got, s.Len())
	}
}

// TestNoTasks wants a job without tasks to hold nobody up.
func TestNoTasks(t *testing.T) {
	var c ssp.Clocks
	if c.Slowest() != ssp.Finished || c.Of(0) != -1 || c.Of(-1) != -1 {
		t.Errorf("slowest %d, task 0 at %d, want %d and -1", c.Slowest(), c.Of(0), ssp.Finished)
	}
}

// note is a delta of the model: who put it when, and the how many-th of all it was.
type note struct{ clock, task, nth int }

// schedule is a random job beside a naive model of it: plain lists, searched from the start each time.
type schedule struct {
	bound  ssp.Bound
	clocks *ssp.Clocks
	gate   ssp.Gate[int]
	stage  ssp.Stage[note]
	folded []note

	at     []int
	all    []note
	parked []int // need of each reader in the order of parking, by number; -1: woken or dropped
}

func (s *schedule) slowest() int { return slices.Min(s.at) }

func (s *schedule) put(t *rapid.T) {
	task := rapid.IntRange(0, len(s.at)-1).Draw(t, "task")
	if s.at[task] == ssp.Finished {
		return
	}
	n := note{s.at[task], task, len(s.all)}
	s.all = append(s.all, n)
	s.stage.Put(n.clock, task, n)
}

func (s *schedule) tick(t *rapid.T) {
	task := rapid.IntRange(0, len(s.at)-1).Draw(t, "task")
	n := s.at[task] + rapid.IntRange(-1, 2).Draw(t, "by")
	if rapid.IntRange(0, 9).Draw(t, "finish") == 0 {
		n = ssp.Finished
	}
	slowest, err := s.clocks.Tick(task, n)
	if (err == nil) != (n >= s.at[task]) {
		t.Fatalf("task %d from %d to %d: error %v", task, s.at[task], n, err)
	}
	if err == nil {
		s.at[task] = n
	}
	if slowest != s.slowest() || s.clocks.Slowest() != slowest {
		t.Fatalf("slowest of %v is %d", s.at, slowest)
	}
	s.wake(t, slowest)
	last := -1
	if err := s.stage.Fold(slowest, func(clock int, deltas []note) error {
		if clock <= last || len(deltas) == 0 {
			return fmt.Errorf("clock %d after %d with %d deltas", clock, last, len(deltas))
		}
		last = clock
		s.folded = append(s.folded, deltas...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *schedule) wake(t *rapid.T, slowest int) {
	var want []int
	for who, need := range s.parked {
		if need >= 0 && need <= slowest {
			want = append(want, who)
			s.parked[who] = -1
		}
	}
	if got := s.gate.Reach(slowest); !slices.Equal(got, want) {
		t.Fatalf("clock %d wakes %v, want %v", slowest, got, want)
	}
}

func (s *schedule) park(t *rapid.T) {
	task := rapid.IntRange(0, len(s.at)-1).Draw(t, "task")
	if need := s.bound.Need(s.at[task]); need > s.slowest() {
		s.gate.Park(need, len(s.parked))
		s.parked = append(s.parked, need)
	}
}

func (s *schedule) drop(t *rapid.T) {
	if len(s.parked) == 0 {
		return
	}
	gone := rapid.IntRange(0, len(s.parked)-1).Draw(t, "who")
	s.gate.Drop(func(who int) bool { return who == gone })
	s.parked[gone] = -1
}

// check compares what was folded with the deltas that are due, sorted by clock and task.
func (s *schedule) check(t *rapid.T) {
	var want []note
	for _, n := range s.all {
		if n.clock < s.slowest() {
			want = append(want, n)
		}
	}
	slices.SortStableFunc(want, func(a, b note) int {
		if a.clock != b.clock {
			return a.clock - b.clock
		}
		return a.task - b.task
	})
	if !slices.Equal(s.folded, want) || s.stage.Len() != len(s.all)-len(want) {
		t.Fatalf("at %v folded %v and kept %d, want %v of %d", s.at, s.folded, s.stage.Len(), want, len(s.all))
	}
	for task, n := range s.at {
		if s.clocks.Of(task) != n {
			t.Fatalf("task %d is at %d, want %d", task, s.clocks.Of(task), n)
		}
	}
}

func TestSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.IntRange(1, 4).Draw(t, "tasks")
		s := &schedule{
			bound:  rapid.SampledFrom([]ssp.Bound{ssp.BSP, 1, 2, ssp.ASP}).Draw(t, "bound"),
			clocks: ssp.NewClocks(tasks), at: make([]int, tasks),
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": s.put, "tick": s.tick, "park": s.park, "drop": s.drop, "": s.check,
		})
	})
}
