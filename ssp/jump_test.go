package ssp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/ssp"
)

// served is a job whose only task has left, with two matrices at a clock.
func served(t *testing.T, clock int) *ssp.Job[string, string] {
	t.Helper()
	s := ssp.State[string]{Name: "j", Tasks: 1, Members: []ssp.MemberState{{Task: 0, Status: ssp.Left}}}
	for id, name := range []string{"", "w", "v"} {
		s.Matrices = append(s.Matrices, ssp.MatrixState[string]{Matrix: ssp.Matrix{ID: id, Name: name}, Clocks: []int{clock}})
	}
	j, err := ssp.FromState[string, string](s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// said is the effects as words.
func said(effects []ssp.Effect) string {
	var words []string
	for _, e := range effects {
		switch e := e.(type) {
		case ssp.Published:
			words = append(words, fmt.Sprintf("published %d %d", e.Matrix, e.Slowest))
		case ssp.Answer[string]:
			words = append(words, fmt.Sprintf("answer %s at %d", e.Req, e.Clock))
		case ssp.Refuse[string]:
			words = append(words, fmt.Sprintf("refuse %s passed=%v", e.Req, errors.Is(e.Err, ssp.Passed)))
		case ssp.Fail:
			words = append(words, fmt.Sprintf("fail malformed=%v", errors.Is(e.Err, ssp.Malformed)))
		default:
			words = append(words, fmt.Sprintf("%T", e))
		}
	}
	return strings.Join(words, ", ")
}

// TestJump: all clocks move at once; a reader of the new clock is answered, one of a clock that was skipped is refused, one of a later clock
// waits.
func TestJump(t *testing.T) {
	j := served(t, 10)
	look := func(name string, clock int) ssp.Look[string] {
		return ssp.Look[string]{Req: name, Needs: []ssp.Need{{Matrix: 1, Clock: clock}, {Matrix: 2, Clock: clock}}}
	}
	for i, step := range []struct {
		e    ssp.Event
		want string
	}{
		{look("now", 10), "answer now at 10"},
		{look("skipped", 15), ""},
		{look("next", 20), ""},
		{look("later", 30), ""},
		{ssp.Jump{Clock: 20}, "published 0 20, published 1 20, published 2 20, refuse skipped passed=true, answer next at 20"},
		{look("old", 10), "refuse old passed=true"},
		{ssp.Jump{Clock: 20}, "published 0 20, published 1 20, published 2 20"},
		{ssp.Jump{Clock: 30}, "published 0 30, published 1 30, published 2 30, answer later at 30"},
		{look("waits", 40), ""},
		{ssp.Jump{Clock: 29}, "fail malformed=true, refuse waits passed=false"},
	} {
		if got := said(j.Step(0, step.e)); got != step.want {
			t.Fatalf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// TestJumpWithTasks: the clocks of a job that has tasks, or may get some, are theirs.
func TestJumpWithTasks(t *testing.T) {
	j := ssp.NewJob[string, string]("j")
	j.Step(0, ssp.Join[string]{Req: "a", Conn: 1, Task: 0, Tasks: 2})
	if got := said(j.Step(0, ssp.Jump{Clock: 3})); got != "fail malformed=true" {
		t.Errorf("a jump with a task here: %s", got)
	}
	if got := said(served(t, 1).Step(0, ssp.Jump{Clock: ssp.Finished + 1})); got != "fail malformed=true" {
		t.Errorf("a jump beyond the last clock: %s", got)
	}
}
