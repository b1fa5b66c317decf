package ssp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"thole.example/ssp"
)

type (
	job  = ssp.Job[int, int]
	push = ssp.Push[int, int]
)

// joined is a job whose tasks have joined over the connections 1, 2, ..., with one matrix.
func joined(t testing.TB, tasks int, bound ssp.Bound) *job {
	t.Helper()
	j := ssp.NewJob[int, int]("j")
	for task := range tasks {
		one(t, j, ssp.Join[int]{Conn: int64(task + 1), Task: task, Tasks: tasks, Bound: bound, Client: fmt.Sprint("c", task),
			Grace: time.Second})
	}
	one(t, j, ssp.Create[int]{Conn: 1, Matrices: []ssp.Matrix{{ID: 1, Name: "w"}}})
	return j
}

// one lets an event happen, and gives the error if it is refused.
func one(t testing.TB, j *job, e ssp.Event) error {
	t.Helper()
	for _, e := range j.Step(0, e) {
		if r, ok := e.(ssp.Refuse[int]); ok {
			return r.Err
		}
	}
	return nil
}

// tick ends a task's clock of the matrix.
func tick(task int, seq uint64, clock int) push {
	return push{Conn: int64(task + 1), Seq: seq, Ticks: []ssp.Tick{{Matrix: 1, Clock: clock}}}
}

func TestQueries(t *testing.T) {
	j := ssp.NewJob[int, int]("j")
	if j.Slowest(0) != ssp.Finished || j.ClockOf(0, 0) != -1 || j.LastChange(0) != 0 || j.Urgent(1) {
		t.Errorf("a job that nobody has joined: slowest %d, clock %d", j.Slowest(0), j.ClockOf(0, 0))
	}
	j = joined(t, 2, 1)
	if !j.Urgent(1) || !j.Urgent(2) || j.Urgent(3) {
		t.Errorf("at the start both tasks hold the other up, and nobody else does")
	}
	for seq, e := range []push{tick(0, 1, 0), {Conn: 1, Seq: 2, Ticks: []ssp.Tick{{Clock: 0}}}} {
		if err := one(t, j, e); err != nil {
			t.Fatal(err)
		}
		if got, want := j.Urgent(1), seq == 0; got != want || !j.Urgent(2) {
			t.Errorf("after %d pushes task 0 is urgent: %v, want %v", seq+1, got, want)
		}
	}
	if j.Slowest(1) != 0 || j.ClockOf(0, 1) != 1 || j.ClockOf(1, 1) != 0 || j.ClockOf(2, 1) != -1 || j.ClockOf(0, 2) != -1 || j.ClockOf(0, -1) != -1 {
		t.Errorf("clocks %d and %d, want 1 and 0", j.ClockOf(0, 1), j.ClockOf(1, 1))
	}
	if j.LastChange(0) != 2 || j.LastChange(1) != 0 || j.LastChange(-1) != 0 || j.Slowest(-1) != ssp.Finished || j.Failed() != nil {
		t.Errorf("last changes %d and %d, want 2 and 0", j.LastChange(0), j.LastChange(1))
	}
	j.Step(0, ssp.Abort{Err: ssp.Refused})
	if !errors.Is(j.Failed(), ssp.Refused) || j.Ended() || !strings.Contains(j.String(), "failed: refused") {
		t.Errorf("an aborted job has failed with %v:\n%v", j.Failed(), j)
	}
}

// TestStrangeEvent: an event of another job's types is a mistake of the shell that must not go unseen.
func TestStrangeEvent(t *testing.T) {
	j := joined(t, 1, ssp.BSP)
	j.Step(0, ssp.Leave[string]{Req: "r", Conn: 1})
	if err := j.Failed(); !errors.Is(err, ssp.Malformed) || !strings.Contains(err.Error(), "Leave[string]") {
		t.Errorf("failed with %v", err)
	}
}

// TestWindow: the outcomes of the last changes are known, of older ones not; so many may come before their turn.
func TestWindow(t *testing.T) {
	j := joined(t, 1, ssp.BSP)
	const n = 2 * ssp.Window
	for seq := uint64(1); seq <= n; seq++ {
		err := one(t, j, tick(0, seq, int(seq-1)/2)) // every second one is wrong
		if wrong := seq%2 == 0; (err != nil) != wrong {
			t.Fatalf("change %d: %v, want it refused: %v", seq, err, wrong)
		}
	}
	for _, c := range []struct {
		seq  uint64
		kind error
	}{
		{n, ssp.Malformed}, {n - 1, nil}, {n - ssp.Window + 2, ssp.Malformed}, {n - ssp.Window + 1, nil},
		{n - ssp.Window, ssp.Refused}, {n - ssp.Window - 1, ssp.Refused}, {1, ssp.Refused},
		{n + 1 + ssp.Window, ssp.Refused}, {1<<64 - 1, ssp.Refused},
	} {
		if err := one(t, j, tick(0, c.seq, 0)); err != c.kind && !errors.Is(err, c.kind) {
			t.Errorf("change %d again: %v, want %v", c.seq, err, c.kind)
		}
	}
	if got := len(j.State().Members[0].Refused); got != ssp.Window/2 {
		t.Errorf("%d refusals are kept, want %d", got, ssp.Window/2)
	}
	for seq := uint64(n + ssp.Window); seq > n+1; seq-- {
		if err := one(t, j, tick(0, seq, int(seq)-n/2-1)); err != nil {
			t.Fatalf("change %d comes early: %v", seq, err)
		}
	}
	for i := range 2 {
		if err := one(t, j, tick(0, n+2, 0)); errors.Is(err, ssp.Refused) != (i == 1) {
			t.Fatalf("%d wait, and one more comes: %v", ssp.Window-1+i, err)
		}
	}
	if err := one(t, j, tick(0, n+1, n/2)); err != nil || j.LastChange(0) != n+ssp.Window || j.ClockOf(0, 1) != n/2+ssp.Window {
		t.Errorf("then %v, last %d at clock %d, want %d at %d", err, j.LastChange(0), j.ClockOf(0, 1), n+ssp.Window, n/2+ssp.Window)
	}
}

// TestTimeStands: an event cannot happen before the last one.
func TestTimeStands(t *testing.T) {
	j := joined(t, 1, ssp.BSP)
	j.Step(10*time.Second, ssp.Alive{Conn: 1})
	j.Step(3*time.Second, ssp.Gone{Conn: 1})
	if at, ok := j.Next(); !ok || at != 11*time.Second {
		t.Errorf("gone after 10s with a grace of 1s, the next deadline is at %v, %v", at, ok)
	}
}

// TestMatrixNumbers: matrices are numbered without gaps, and none takes the place of the job's own clock.
func TestMatrixNumbers(t *testing.T) {
	j := joined(t, 1, ssp.BSP)
	for _, id := range []int{-1, 0, 3} {
		e := ssp.Create[int]{Conn: 1, Matrices: []ssp.Matrix{{ID: id, Name: "v"}}}
		if err := one(t, j, e); !errors.Is(err, ssp.Malformed) {
			t.Errorf("matrix number %d: %v, want %v", id, err, ssp.Malformed)
		}
	}
	both := []ssp.Matrix{{ID: 2, Name: "v"}, {ID: 3, Name: "u"}, {ID: 5, Name: "t"}}
	if err := one(t, j, ssp.Create[int]{Conn: 1, Matrices: both}); err == nil || j.ClockOf(0, 2) != -1 {
		t.Errorf("one of three is wrong: %v, and the first is there: %v", err, j.ClockOf(0, 2) >= 0)
	}
	if err := one(t, j, ssp.Create[int]{Conn: 1, Matrices: both[:2]}); err != nil || j.ClockOf(0, 3) != 0 {
		t.Errorf("the right ones: %v, clock %d", err, j.ClockOf(0, 3))
	}
}

// TestLastClock: a clock cannot be ended into the one that means finished.
func TestLastClock(t *testing.T) {
	s := joined(t, 1, ssp.BSP).State()
	s.Matrices[1].Clocks[0] = ssp.Finished - 2
	j, err := ssp.FromState[int, int](s, 0)
	if err != nil {
		t.Fatal(err)
	}
	back := ssp.Join[int]{Conn: 1, Tasks: 1, Client: "c0", Epoch: 1}
	if err := errors.Join(one(t, j, back), one(t, j, tick(0, 1, ssp.Finished-2))); err != nil {
		t.Fatal(err)
	}
	if err := one(t, j, tick(0, 2, ssp.Finished-1)); !errors.Is(err, ssp.Malformed) || j.ClockOf(0, 1) != ssp.Finished-1 {
		t.Errorf("end of clock %d: %v, and it is at %d", ssp.Finished-1, err, j.ClockOf(0, 1))
	}
}

// TestWrongState: what cannot be in a state is told, whatever else is in it.
func TestWrongState(t *testing.T) {
	right := map[string]bool{"nothing": true, "a tick": true}
	for name, harm := range map[string]func(s *ssp.State[int]){
		"no tasks":     func(s *ssp.State[int]) { s.Tasks = 0 },
		"tasks":        func(s *ssp.State[int]) { s.Tasks = 1 << 20 },
		"no members":   func(s *ssp.State[int]) { s.Members = nil },
		"bound":        func(s *ssp.State[int]) { s.Bound = -1 },
		"task":         func(s *ssp.State[int]) { s.Members[1].Task = 2 },
		"twice":        func(s *ssp.State[int]) { s.Members[1].Task = 0 },
		"status":       func(s *ssp.State[int]) { s.Members[1].Status = ssp.Lost + 1 },
		"epoch":        func(s *ssp.State[int]) { s.Members[1].Epoch = -1 },
		"refusal":      func(s *ssp.State[int]) { s.Members[0].Refused[0].Seq = 3 },
		"order":        func(s *ssp.State[int]) { s.Members[0].Refused[0].Seq = 2 },
		"no matrices":  func(s *ssp.State[int]) { s.Matrices = nil },
		"number":       func(s *ssp.State[int]) { s.Matrices[1].ID = 2 },
		"staleness":    func(s *ssp.State[int]) { s.Matrices[1].Bound = -1 },
		"clocks":       func(s *ssp.State[int]) { s.Matrices[1].Clocks = s.Matrices[1].Clocks[:1] },
		"clock":        func(s *ssp.State[int]) { s.Matrices[1].Clocks[1] = -1 },
		"late clock":   func(s *ssp.State[int]) { s.Matrices[1].Clocks[1] = ssp.Finished + 1 },
		"staged task":  func(s *ssp.State[int]) { s.Matrices[1].Staged[0].Task = 2 },
		"staged clock": func(s *ssp.State[int]) { s.Matrices[1].Staged[0].Clock = -1 },
		"staged due":   func(s *ssp.State[int]) { s.Matrices[1].Clocks = []int{1, 1} },
		"staged early": func(s *ssp.State[int]) { s.Matrices[1].Staged[0].Clock = 1 },
		"staged tick":  func(s *ssp.State[int]) { s.Matrices[1].Staged[0].Tick = true; s.Matrices[1].Staged[0].Weight = 1 },
		"weight":       func(s *ssp.State[int]) { s.Matrices[1].Clocks[1] = 1; s.Matrices[1].Staged[0].Tick = true },
		"a tick": func(s *ssp.State[int]) {
			s.Matrices[1].Clocks[1] = 1
			s.Matrices[1].Staged[0].Tick, s.Matrices[1].Staged[0].Weight = true, 1
		},
		"nothing": func(*ssp.State[int]) {},
	} {
		j := joined(t, 2, ssp.BSP)
		for seq := range uint64(2) {
			_ = one(t, j, push{Conn: 1, Seq: seq + 1, Deltas: []ssp.Delta[int]{{Matrix: 2}}})
		}
		if err := one(t, j, push{Conn: 2, Seq: 1, Deltas: []ssp.Delta[int]{{Matrix: 1, Data: 7}}}); err != nil {
			t.Fatal(err)
		}
		s := j.State()
		harm(&s)
		if _, err := ssp.FromState[int, int](s, 0); right[name] && err != nil || !right[name] && !errors.Is(err, ssp.Malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStateIsACopy: a job goes on without changing the states that were taken of it.
func TestStateIsACopy(t *testing.T) {
	j := joined(t, 1, ssp.BSP)
	d := push{Conn: 1, Seq: 1, Deltas: []ssp.Delta[int]{{Matrix: 1, Data: 7}}}
	if err := one(t, j, d); err != nil {
		t.Fatal(err)
	}
	s := j.State()
	before := fmt.Sprint(s)
	twin, err := ssp.FromState[int, int](s, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range []*job{j, twin} {
		if i == 1 {
			_ = one(t, j, ssp.Join[int]{Conn: 1, Tasks: 1, Client: "c0", Epoch: 1})
		}
		if err := errors.Join(one(t, j, tick(0, 2, 0)), one(t, j, tick(0, 3, 1))); err != nil || j.Slowest(1) != 2 {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(s); got != before {
		t.Errorf("the state was\n%s\nand is\n%s", before, got)
	}
}

// TestPushAllocates little: the answer, and what is applied.
func TestPushAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, stepper(t, 1)); n > 6 {
		t.Errorf("a push that is applied at once allocates %v times, want at most 6", n)
	}
}

// stepper is a function in which every task pushes a delta and ends its clock.
func stepper(t testing.TB, tasks int) func() {
	j := joined(t, tasks, ssp.BSP)
	deltas, ticks := []ssp.Delta[int]{{Matrix: 1}}, []ssp.Tick{{}, {Matrix: 1}}
	seq := uint64(0)
	return func() {
		deltas[0].Clock, ticks[0].Clock, ticks[1].Clock = int(seq), int(seq), int(seq)
		seq++
		for task := range tasks {
			j.Step(0, push{Conn: int64(task + 1), Seq: seq, Deltas: deltas, Ticks: ticks})
		}
		if j.Slowest(1) != int(seq) {
			t.Fatalf("slowest %d, want %d", j.Slowest(1), seq)
		}
	}
}

func BenchmarkPush(b *testing.B) {
	for _, tasks := range []int{1, 8, 64, 1024} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			b.ReportAllocs()
			step := stepper(b, tasks)
			for range b.N {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tasks), "ns/push")
		})
	}
}
