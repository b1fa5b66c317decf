package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// line is goroutines that wait for room, in a bubble, and what became of them.
type line struct {
	t    *testing.T
	l    *Ledger
	mu   sync.Mutex
	done []string
	have map[string]*Charge
}

// is records that somebody is done.
func (w *line) is(name string, charge *Charge) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.have[name] = charge
	w.done = append(w.done, name)
}

// wait lets somebody wait until its bytes are given or ctx ends.
func (w *line) wait(ctx context.Context, name string, c Class, n int64, urgent func() bool) {
	w.t.Helper()
	go func() {
		charge, err := w.l.Take(ctx, c, n, urgent)
		if err != nil {
			name += " " + err.Error()
		}
		w.is(name, &charge)
	}()
	synctest.Wait()
}

// then says who is done since the last time, in any order.
func (w *line) then(names ...string) {
	w.t.Helper()
	synctest.Wait()
	slices.Sort(names)
	slices.Sort(w.done)
	if !slices.Equal(w.done, names) {
		w.t.Errorf("%q are done, want %q, used %v", w.done, names, w.l.Used())
	}
	w.done = nil
}

func lines(t *testing.T, test func(t *testing.T, w *line)) {
	synctest.Test(t, func(t *testing.T) {
		w := &line{t: t, l: ledger(t), have: map[string]*Charge{}}
		test(t, w)
		for _, c := range w.have {
			c.Release()
		}
		if used := w.l.Used(); used != (Usage{}) || len(w.l.waiting) > 0 || w.l.shared || w.l.blocked != [Classes]bool{} {
			t.Errorf("used %v after all was given back, %d wait", used, len(w.l.waiting))
		}
	})
}

func yes() bool { return true }

func TestFirstComeFirstServed(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		stage := take(t, w.l, Stage, 40)
		w.wait(t.Context(), "large", Saves, 60, nil)
		w.wait(t.Context(), "small", Saves, 1, nil)
		w.wait(t.Context(), "other class", Stage, 1, nil)
		w.then()
		if _, ok := w.l.TryTake(Tables, 1); ok {
			t.Error("who does not wait passed those who do")
		}
		w.wait(t.Context(), "floor", Frames, 20, nil)
		w.wait(t.Context(), "beyond the floor", Frames, 1, nil)
		w.then("floor")
		stage.Release()
		w.then("large", "small", "other class", "beyond the floor")
	})
}

func TestCeilingBlocksItsClassAlone(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		queues := take(t, w.l, Queues, 25)
		w.wait(t.Context(), "queue", Queues, 10, nil)
		w.wait(t.Context(), "after it", Queues, 1, nil)
		w.then()
		take(t, w.l, Stage, 30).Release()
		w.wait(t.Context(), "stage", Stage, 30, nil)
		w.then("stage")
		queues.Release()
		w.then("queue", "after it")
	})
}

func TestUrgent(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		stage := take(t, w.l, Stage, 70)
		floor := take(t, w.l, Frames, 20)
		w.wait(t.Context(), "patient", Frames, 5, nil)
		w.then()
		w.wait(t.Context(), "urgent", Frames, 6, yes)
		w.then("urgent")
		select {
		case <-w.l.Starved():
			t.Error("starved, although it got the reserve")
		default:
		}
		w.wait(t.Context(), "urgent too", Frames, 6, yes)
		w.then()
		<-w.l.Starved()
		floor.Release()
		w.then("urgent too", "patient")
		stage.Release()
	})
}

// Who waits is asked again when a clock has moved.
func TestWake(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		stage := take(t, w.l, Stage, 70)
		floor := take(t, w.l, Frames, 20)
		var slowest atomic.Int32
		for i := range int32(3) {
			w.wait(t.Context(), fmt.Sprint("task ", i+1), Frames, 10, func() bool { return slowest.Load() == i+1 })
		}
		w.l.Wake()
		w.then()
		slowest.Store(2)
		w.then()
		w.l.Wake()
		w.then("task 2")
		w.have["task 2"].Release()
		slowest.Store(1)
		w.l.Wake()
		w.then("task 1")
		floor.Release()
		w.then("task 3")
		stage.Release()
	})
}

func TestWaitingEnds(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		full := take(t, w.l, Queues, 30)
		ctx, cancel := context.WithCancelCause(t.Context())
		w.wait(ctx, "first", Queues, 30, nil)
		w.wait(t.Context(), "second", Queues, 1, nil)
		full.Release()
		w.then("first")
		w.wait(ctx, "third", Queues, 30, nil)
		w.wait(t.Context(), "fourth", Queues, 2, nil)
		cancel(errors.New("gave up"))
		w.then("third gave up") // the second and the fourth wait for the first
		w.have["first"].Release()
		w.then("second", "fourth")
	})
}

func TestGrow(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		full := take(t, w.l, Queues, 20)
		grown := take(t, w.l, Queues, 5)
		if err := grown.Grow(t.Context(), 5, nil); err != nil || grown.Bytes() != 10 {
			t.Errorf("grown to %d, error %v, want 10", grown.Bytes(), err)
		}
		go func() {
			if err := grown.Grow(t.Context(), 7, nil); err != nil {
				t.Error(err)
			}
			w.is("grown", grown)
		}()
		w.then()
		full.Release()
		w.then("grown")
		if grown.Bytes() != 17 {
			t.Errorf("grown to %d, want 17", grown.Bytes())
		}
	})
}

// A Wake that comes between the first question and the waiting is not missed: whoever became urgent by it gets the reserve.
func TestWakeAtTheBeginning(t *testing.T) {
	lines(t, func(t *testing.T, w *line) {
		stage := take(t, w.l, Stage, 70)
		floor := take(t, w.l, Frames, 20)
		asked := 0
		w.wait(t.Context(), "urgent", Frames, 10, func() bool {
			if asked++; asked == 1 {
				w.l.Wake() // the slowest clock moves while it answers
				return false
			}
			return true
		})
		w.then("urgent")
		floor.Release()
		stage.Release()
	})
}

// TestHopeless: who has no room beside tables, which stay, is told so after 20 seconds, and those after it go on; who waits for
// anything else waits for as long as it takes, as does everybody while something is saved.
func TestHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1 << 20) // floors of 32 KiB for frames, queues and small requests
		tables, stage := l.Force(Tables, 600<<10), l.Force(Stage, 100<<10)
		saves := l.Force(Saves, 1)
		start := time.Now()
		failed := make(chan error)
		go func() {
			_, err := l.Take(t.Context(), Frames, 400<<10, nil)
			failed <- err
		}()
		synctest.Wait()
		claim, err := l.Claim(Frames, 400<<10)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			err := claim.Take(t.Context(), 64<<10, nil)
			if err == nil {
				err = claim.Take(t.Context(), 336<<10, nil)
			}
			charge := claim.Done()
			charge.Release()
			failed <- err
		}()
		slow := make(chan Charge)
		go func() {
			charge, err := l.Take(t.Context(), Stage, 150<<10, nil)
			if err != nil {
				t.Error(err)
			}
			slow <- charge
		}()
		time.Sleep(time.Hour)
		saves.Release()
		for range 2 {
			err := <-failed
			want := &TooLarge{Class: Frames, Wanted: 400 << 10, Most: 1<<20 - 600<<10 - 96<<10, Beside: 600 << 10}
			if large, ok := errors.AsType[*TooLarge](err); !ok || *large != *want {
				t.Errorf("told %v, want %v", err, want)
			}
			if waited := time.Since(start) - time.Hour; waited <= 0 || waited > 2*lookAfter {
				t.Errorf("told after %v without hope", waited)
			}
		}
		time.Sleep(time.Hour)
		stage.Release()
		charge := <-slow
		charge.Release()
		tables.Release()
		if used := l.Used(); used != (Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	})
}
