package ssp_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"thole.example/ssp"
)

// told are the requests that are answered by how many have joined, and that number of the last one.
func told(effects []ssp.Effect) (reqs []int, joined int) {
	for _, e := range effects {
		if r, ok := e.(ssp.Roster[int]); ok {
			reqs, joined = append(reqs, r.Req), r.Joined
		}
	}
	return reqs, joined
}

// TestRosterOfMany: while many tasks join one after the other, each of which waits for all, the answers are a few for each task and not one
// for each two of them.
func TestRosterOfMany(t *testing.T) {
	const tasks, every = 1000, 10 * time.Millisecond
	j := ssp.NewJob[int, int]("j")
	now, knows, answers := time.Duration(0), make([]int, tasks), 0
	var step func(e ssp.Event)
	step = func(e ssp.Event) {
		again, joined := told(j.Step(now, e))
		answers += len(again)
		for _, task := range again {
			if joined <= knows[task] {
				t.Fatalf("task %d is told that %d have joined, and knew of %d", task, joined, knows[task])
			}
			if knows[task] = joined; joined < tasks {
				step(ssp.Members[int]{Req: task, Conn: int64(task + 1), Joined: joined})
			}
		}
	}
	for task := range tasks {
		now += every
		for at, ok := j.Next(); ok && at <= now; at, ok = j.Next() {
			step(ssp.Deadline{})
		}
		step(ssp.Join[int]{Req: -1, Conn: int64(task + 1), Task: task, Tasks: tasks, Client: fmt.Sprint("c", task)})
		step(ssp.Members[int]{Req: task, Conn: int64(task + 1)})
	}
	if n := slices.Min(knows); n != tasks {
		t.Errorf("a task knows of %d tasks that have joined, want %d", n, tasks)
	}
	if most := tasks * (2 + int(tasks*every/time.Second)); answers > most {
		t.Errorf("%d answers to %d tasks, want %d at most", answers, tasks, most)
	}
}

// TestRosterSoon: who waits hears within a second that another has joined; at once that all have, and that one was refused.
func TestRosterSoon(t *testing.T) {
	j := ssp.NewJob[int, int]("j")
	join := func(task int) ssp.Join[int] {
		return ssp.Join[int]{Req: -1, Conn: int64(task + 1), Task: task, Tasks: 4, Client: fmt.Sprint("c", task)}
	}
	wait := func(joined, refusals int) ssp.Event {
		return ssp.Members[int]{Req: 7, Conn: 1, Joined: joined, Refusals: refusals}
	}
	other := join(0)
	other.Client, other.Conn = "another", 9
	for i, c := range []struct {
		at     time.Duration
		e      ssp.Event
		joined int // that is told; 0: nothing is
	}{
		{0, join(0), 0}, {0, wait(0, 0), 1}, {0, wait(1, 0), 0},
		{10, join(1), 0}, {900, ssp.Deadline{}, 0}, {1010, ssp.Deadline{}, 2}, {1010, wait(2, 0), 0},
		{1100, other, 2}, {1100, wait(2, 1), 0},
		{5000, join(2), 0}, {5400, join(3), 4},
	} {
		if reqs, joined := told(j.Step(c.at*time.Millisecond, c.e)); joined != c.joined || (joined > 0) != slices.Equal(reqs, []int{7}) {
			t.Errorf("event %d: requests %v are told that %d have joined, want %d", i, reqs, joined, c.joined)
		}
		if at, ok := j.Next(); i == 3 && (!ok || at != 1010*time.Millisecond) {
			t.Errorf("the next time is %v, %v, want 1.01s", at, ok)
		}
	}
}
