package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// joining is a request to join.
func joining(a rpc.Join) rpc.Request {
	if a.Job == "" {
		a.Job = "j"
	}
	return rpc.Request{Op: rpc.OpJoin, Arg: arg(a)}
}

// fails wants an error of the kind with all the texts.
func fails(t *testing.T, what string, err, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error is %v, want %v", what, err, kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error is %v, want %q in it", what, err, text)
		}
	}
}

// refusal is the error of a request.
func (c *conn) refusal(q rpc.Request) error {
	_, err := c.ask(q)
	return err
}

// TestJoinTogether: the tasks of one process have their places from when the first of them joins; those of another process
// with the same job's name come too late for all of them.
func TestJoinTogether(t *testing.T) {
	s := serve(t, nil)
	as := func(worker string, task int) rpc.Request {
		return joining(rpc.Join{Task: task, Tasks: 2, Worker: worker, Mine: []int{0, 1}})
	}
	a0, a1, b1 := s.dial(), s.dial(), s.dial()
	a0.must(as("a", 0))
	fails(t, "a task of another process", b1.refusal(as("b", 1)), rpc.ErrRefused)
	fails(t, "a task twice", a1.refusal(as("a", 0)), rpc.ErrRefused)
	a1.must(as("a", 1))
	a0.leave()
	fails(t, "a task that has left", b1.refusal(as("b", 0)), rpc.ErrRefused)
	a1.leave()
	b1.must(as("b", 1)) // the job is over, this is a new one
	a0.must(joining(rpc.Join{Job: "another", Task: 1, Tasks: 2}))
}

// TestPlans: what one task does not say of the job the others decide, and every one who differs is refused.
func TestPlans(t *testing.T) {
	s := serve(t, nil)
	for i, c := range []struct{ plan, want string }{
		{"rate=1 model=", ""},
		{"rate=2 model=", "rate=1, not rate=2"},
		{"rate=1", "other settings"},
		{"rate=1 model=m", ""},
		{"rate=1 model=n", "model=m, not model=n"},
		{"rate=1 models=", "model=m, not models="},
		{"rate=1 model=", ""},
		{"rate=1 model=m", ""},
	} {
		err := s.dial().refusal(joining(rpc.Join{Task: i, Tasks: 10, Plan: c.plan}))
		if c.want != "" {
			fails(t, c.plan, err, rpc.ErrRefused, c.want)
		} else if err != nil {
			t.Errorf("plan %q: %v", c.plan, err)
		}
	}
}

// TestOneTask: a connection is one task's until it has left, and a Join that is refused changes nothing about that.
func TestOneTask(t *testing.T) {
	s := serve(t, nil)
	c := s.join(0, 2, ssp.BSP)
	fails(t, "another task", c.refusal(joining(rpc.Join{Task: 1, Tasks: 2})), rpc.ErrRefused, "task 0")
	fails(t, "another job", c.refusal(joining(rpc.Join{Job: "k", Tasks: 1})), rpc.ErrRefused, `job "j"`)
	c.create(one("m", 1, 1))
	other := s.dial()
	fails(t, "before it joins", other.refusal(rpc.Request{Op: rpc.OpPull}), rpc.ErrRefused)
	fails(t, "a refused one", other.refusal(joining(rpc.Join{Tasks: 2})), rpc.ErrRefused, "task 0")
	fails(t, "after it was refused", other.refusal(rpc.Request{Op: rpc.OpPull}), rpc.ErrRefused)
	other.must(joining(rpc.Join{Task: 1, Tasks: 2}))
	other.must(rpc.Request{Op: rpc.OpPull})
	c.leave()
	for _, op := range []rpc.Op{rpc.OpPull, rpc.OpMembers, rpc.OpCreate, rpc.OpBarrier, rpc.OpLeave} {
		fails(t, op.String()+" after it has left", c.refusal(rpc.Request{Op: op, Arg: []byte("{}")}), rpc.ErrRefused)
	}
	c.must(joining(rpc.Join{Job: "k", Tasks: 1}))
}

// TestJoinComesAgain: a first Join whose answer was lost is answered again, over the same connection and over another, which
// is the task's from then on.
func TestJoinComesAgain(t *testing.T) {
	s := serve(t, nil)
	as := joining(rpc.Join{Tasks: 1, Client: "c"})
	first, second := s.dial(), s.dial()
	first.must(as)
	first.must(as)
	m := first.create(one("m", 1, 1))[0]
	second.must(as)
	fails(t, "over the first connection", first.refusal(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{m.whole(0)}}), rpc.ErrRefused)
	fails(t, "a Get over it", first.refusal(rpc.Request{Op: rpc.OpGet, Func: "sum", Parts: []rpc.Part{m.whole(0)}}), rpc.ErrRefused)
	second.pushed([]rpc.Part{m.row(0, 1)}, m.tick(0, 0, 0))
	fails(t, "with another client", first.refusal(joining(rpc.Join{Tasks: 1, Client: "d"})), rpc.ErrRefused)
	first.Close()
	if got := second.pulled(m.whole(1)); got[0] != 1 {
		t.Errorf("value is %v, want 1", got)
	}
}

// TestComeBack: only the client that was there comes back, and not with a number below that of its last connection; it is told
// its last change.
func TestComeBack(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		as := func(client string, epoch int) rpc.Request {
			return joining(rpc.Join{Tasks: 2, Client: client, Epoch: epoch, Grace: int64(time.Minute)})
		}
		first, two := s.dial(), s.dial()
		first.must(as("a", 0))
		m := first.create(one("m", 1, 1))[0]
		first.pushed([]rpc.Part{m.row(0, 1)})
		first.pushed([]rpc.Part{m.row(0, 1)})
		fails(t, "another", two.refusal(as("b", 1)), rpc.ErrNotFound)
		fails(t, "nobody", two.refusal(as("", 1)), rpc.ErrNotFound)
		fails(t, "a new one", two.refusal(as("b", 0)), rpc.ErrRefused)
		fails(t, "another job", two.refusal(joining(rpc.Join{Job: "k", Tasks: 2, Client: "a", Epoch: 1})), rpc.ErrNotFound, "is lost")
		first.Close()
		synctest.Wait()
		fails(t, "another meanwhile", two.refusal(as("b", 0)), rpc.ErrRefused, "waited for")
		r := two.must(as("a", 2))
		var joined rpc.Joined
		if err := json.Unmarshal(r.Results[0].Data, &joined); err != nil || joined.Seq != 2 {
			t.Errorf("the last change is %d, %v, want 2", joined.Seq, err)
		}
		fails(t, "an older number", s.dial().refusal(as("a", 1)), rpc.ErrRefused)
		two.must(rpc.Request{Op: rpc.OpPull})
		two.must(rpc.Request{Op: rpc.OpQuit})
		fails(t, "after it gave up", s.dial().refusal(as("a", 3)), rpc.ErrNotFound)
	})
}

// roster is what the server says of the members.
func (c *conn) roster(call *rpc.Call) (m rpc.Membership) {
	c.s.t.Helper()
	if err := json.Unmarshal(c.wait(call).Results[0].Data, &m); err != nil {
		c.s.t.Fatal(err)
	}
	return m
}

// TestMembers: whoever waits for the others hears of each that comes, of workers that were refused and why, and of the end
// of one that had come.
func TestMembers(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		knows := func(joined, refused int) rpc.Request {
			return rpc.Request{Op: rpc.OpMembers, Arg: arg(rpc.Members{Joined: joined, Refused: refused})}
		}
		c := s.join(1, 3, ssp.BSP)
		if m := c.roster(c.start(knows(0, 0))); m.Joined != 1 || !slices.Equal(m.Missing, []int{0, 2}) || m.Refused != 0 || m.Why != "" {
			t.Errorf("at first: %+v", m)
		}
		call := c.start(knows(1, 0))
		synctest.Wait()
		if call.Ready() {
			t.Error("answered though nobody has come")
		}
		two := s.join(2, 3, ssp.BSP)
		if m := c.roster(call); m.Joined != 2 || !slices.Equal(m.Missing, []int{0}) {
			t.Errorf("after one has come: %+v", m)
		}
		call = c.start(knows(2, 0))
		fails(t, "other settings", s.dial().refusal(joining(rpc.Join{Tasks: 3, Bound: 5})), rpc.ErrRefused)
		if m := c.roster(call); m.Joined != 2 || m.Refused != 1 || !strings.Contains(m.Why, "under SSP(5)") {
			t.Errorf("after one was refused: %+v", m)
		}
		call = c.start(knows(2, 1))
		s.join(0, 3, ssp.BSP)
		if m := c.roster(call); m.Joined != 3 || m.Missing != nil || m.Refused != 1 {
			t.Errorf("when all are there: %+v", m)
		}
		if m := c.roster(c.start(knows(3, 1))); m.Joined != 3 {
			t.Errorf("once more: %+v", m)
		}
		two.Close()
		synctest.Wait()
		fails(t, "after the job failed", c.refusal(knows(3, 1)), rpc.ErrAborted, "task 2")
	})
}

// TestMembersFail: the end of a task that has joined ends the waiting for the others.
func TestMembersFail(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c, two := s.join(0, 3, ssp.BSP), s.join(2, 3, ssp.BSP)
		call := c.start(rpc.Request{Op: rpc.OpMembers, Arg: arg(rpc.Members{Joined: 2})})
		two.Close()
		_, err := c.outcome(call)
		fails(t, "the waiting", err, rpc.ErrAborted, "task 2")
	})
}

// waiting has two tasks of which the second waits for the first: with a pull, a push with a pull, a barrier and a save.
func waiting(s *site, a rpc.Join) (first, second *conn, calls []*rpc.Call) {
	a.Job, a.Tasks, a.Client = "j", 2, "c0"
	first = s.joinAs(a)
	a.Task, a.Client = 1, "c1"
	second = s.joinAs(a)
	m := second.create(one("m", 1, 4))[0]
	calls = []*rpc.Call{
		second.push([]rpc.Part{m.row(0, 1), m.whole(1)}, own(0), m.tick(0, 0, 0)),
		second.pull(m.whole(1)),
		second.start(rpc.Request{Op: rpc.OpBarrier, Clock: 1}),
		second.start(rpc.Request{Op: rpc.OpSave, Clock: 1, Arg: arg(rpc.Save{Codec: "npy", Path: "p", Stage: "s", Matrices: []string{"m"}})}),
	}
	synctest.Wait()
	for i, call := range calls {
		if call.Ready() {
			_, err := call.Wait(s.t.Context())
			s.t.Errorf("request %d is answered before its time: %v", i, err)
		}
	}
	return first, second, calls
}

// TestGone wants everybody who waits for a task that went away to hear of it by name: at once, when it gave up; or when it
// has not come back in its time.
func TestGone(t *testing.T) {
	all := func(t *testing.T, c *conn, calls []*rpc.Call, texts ...string) {
		t.Helper()
		for _, call := range calls {
			_, err := c.outcome(call)
			fails(t, "who waits", err, rpc.ErrAborted, texts...)
		}
		fails(t, "the next push", c.refusal(rpc.Request{Op: rpc.OpPush, Seq: 2}), rpc.ErrAborted, texts...)
		fails(t, "the next pull", c.refusal(rpc.Request{Op: rpc.OpPull}), rpc.ErrAborted, texts...)
		fails(t, "a load", c.refusal(rpc.Request{Op: rpc.OpLoad, Seq: 3, Arg: []byte("{}")}), rpc.ErrAborted, texts...)
		fails(t, "a Join", c.s.dial().refusal(joining(rpc.Join{Tasks: 2})), rpc.ErrAborted, texts...)
	}
	bubble(t, "at once", func(t *testing.T) {
		first, second, calls := waiting(serve(t, nil), rpc.Join{})
		first.Close()
		all(t, second, calls, "task 0 at ", "went away")
	})
	bubble(t, "after its time", func(t *testing.T) {
		first, second, calls := waiting(serve(t, nil), rpc.Join{Grace: int64(20 * time.Second)})
		first.Close()
		time.Sleep(19 * time.Second)
		synctest.Wait()
		if calls[0].Ready() {
			t.Error("it was not waited for")
		}
		all(t, second, calls, "task 0 at ", "did not come back within 20s")
	})
	bubble(t, "gave up", func(t *testing.T) {
		first, second, calls := waiting(serve(t, nil), rpc.Join{Grace: int64(time.Hour)})
		first.must(rpc.Request{Op: rpc.OpQuit})
		all(t, second, calls, "task 0 at ", "gave up")
	})
	bubble(t, "gave up for a reason", func(t *testing.T) {
		first, second, calls := waiting(serve(t, nil), rpc.Join{})
		long, err := json.Marshal(rpc.Quit{Reason: strings.Repeat("x", rpc.ReasonLimit+1)})
		if err != nil {
			t.Fatal(err)
		}
		fails(t, "a reason too long", first.refusal(rpc.Request{Op: rpc.OpQuit, Arg: long}), rpc.ErrMalformed)
		first.must(rpc.Request{Op: rpc.OpQuit, Arg: []byte(`{"reason":"no such file"}`)})
		all(t, second, calls, "task 0 at ", "gave up (no such file)")
	})
	bubble(t, "comes back", func(t *testing.T) {
		s := serve(t, nil)
		first, second, calls := waiting(s, rpc.Join{Grace: int64(20 * time.Second)})
		first.Close()
		time.Sleep(19 * time.Second)
		back := s.joinAs(rpc.Join{Job: "j", Tasks: 2, Client: "c0", Epoch: 1, Grace: int64(20 * time.Second)})
		time.Sleep(time.Minute)
		m := back.create(one("m", 1, 4))[0]
		back.pushed([]rpc.Part{m.row(0, 2)}, own(0), m.tick(0, 0, 0))
		for i, call := range calls {
			if r := second.wait(call); i < 2 && numbers(r.Parts)[0] != 3 {
				t.Errorf("values are %v, want 3", numbers(r.Parts))
			}
		}
	})
}

// TestFirstFinishes (T14): once a task has left nobody waits for it, and what it pushed stays.
func TestFirstFinishes(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		first, second := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		m := first.create(one("m", 1, 1))[0]
		first.pushed([]rpc.Part{m.row(0, 1)}, m.tick(0, 0, 0))
		first.pushed([]rpc.Part{m.row(1, 10)}) // in the clock that its leaving ends
		first.leave()
		first.Close()
		for clock := range 4 {
			want := []float64{0, 101, 211, 311}[clock]
			if got := second.pulled(m.whole(clock)); got[0] != want {
				t.Errorf("at clock %d the value is %v, want %v", clock, got, want)
			}
			second.pushed([]rpc.Part{m.row(clock, 100)}, m.tick(clock, 0, 0))
		}
	})
}

// TestOptional (T15): the others go on without an optional task that went away for good; of what it did not end nothing is
// left.
func TestOptional(t *testing.T) {
	for _, how := range []string{"gone", "given up", "not back"} {
		bubble(t, how, func(t *testing.T) {
			s := serve(t, nil)
			grace := map[string]time.Duration{"not back": time.Minute, "given up": time.Hour}[how]
			first := s.joinAs(rpc.Join{Job: "j", Tasks: 2, Optional: true, Client: "c", Grace: int64(grace)})
			second := s.join(1, 2, ssp.BSP)
			m := first.create(one("m", 1, 1))[0]
			first.pushed([]rpc.Part{m.row(0, 1)}, own(0), m.tick(0, 0, 0))
			first.pushed([]rpc.Part{m.row(1, 10)})
			second.pushed([]rpc.Part{m.row(0, 100)}, own(0), m.tick(0, 0, 0))
			second.pushed([]rpc.Part{m.row(1, 100)}, own(1), m.tick(1, 0, 0))
			if how == "given up" {
				first.must(rpc.Request{Op: rpc.OpQuit})
			}
			first.Close()
			second.must(rpc.Request{Op: rpc.OpBarrier, Clock: 2})
			if got := second.pulled(m.whole(2)); got[0] != 201 {
				t.Errorf("value is %v, want 201", got)
			}
			fails(t, "to come back", s.dial().refusal(joining(rpc.Join{Tasks: 2, Client: "c", Epoch: 1})), rpc.ErrNotFound)
		})
	}
}

// TestNameAgain: when all have left or are lost the job's name is free for another job, which has nothing of the first.
func TestNameAgain(t *testing.T) {
	for name, end := range map[string]func(a, b *conn){
		"left":    func(a, b *conn) { a.leave(); b.leave() },
		"closed":  func(a, b *conn) { a.Close(); b.Close() },
		"gave up": func(a, b *conn) { a.must(rpc.Request{Op: rpc.OpQuit}); b.leave() },
		"both":    func(a, b *conn) { a.leave(); b.Close() },
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(t, nil)
			a, b := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
			m := a.create(one("m", 1, 1))[0]
			a.pushed([]rpc.Part{m.row(0, 1)}, m.tick(0, 0, 0))
			b.pushed(nil, m.tick(0, 0, 0))
			end(a, b)
			synctest.Wait()
			c := s.join(0, 1, ssp.ASP)
			fails(t, "what the first job had", c.refusal(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{m.whole(0)}}), rpc.ErrNotFound)
			again := c.create(spec("m", 2, 8, matrix.RowSparse))[0]
			c.pushed([]rpc.Part{again.columns(0, map[int64]float64{3: 2})})
			if got := c.pulled(again.keys(0, 3)); !slices.Equal(got, []float64{2, 2}) {
				t.Errorf("values are %v", got)
			}
		})
	}
}

// TestJoinAtTheEnd: a Join that meets a job just ending is refused by that or begins a new one, which works.
func TestJoinAtTheEnd(t *testing.T) {
	s := serve(t, nil)
	last := s.join(0, 1, ssp.BSP)
	met := 0
	for range 300 {
		next := s.dial()
		var wg sync.WaitGroup
		wg.Go(func() { last.leave() })
		wg.Go(func() {
			for {
				call := next.start(joining(rpc.Join{Tasks: 1}))
				create := next.start(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Servers: 1})}) // not waited for the Join
				_, err := next.outcome(call)
				_, _ = next.outcome(create)
				if err == nil {
					return
				}
				if met++; !errors.Is(err, rpc.ErrRefused) {
					t.Errorf("at the end: %v", err)
					return
				}
			}
		})
		wg.Wait()
		if made := next.create(one("m", 1, 1))[0]; made.number != 1 {
			t.Fatalf("the matrix of a new job has number %d", made.number)
		}
		last.Close()
		last = next
	}
	t.Logf("%d were refused by the job before", met)
}

// TestRefusedJoins: connections over which one Join after the other is refused cost nothing.
func TestRefusedJoins(t *testing.T) {
	s := serve(t, nil)
	s.join(0, 1, ssp.BSP)
	c := s.dial()
	before := runtime.NumGoroutine()
	for range 1000 {
		fails(t, "a Join", c.refusal(joining(rpc.Join{Tasks: 1})), rpc.ErrRefused)
	}
	if n := runtime.NumGoroutine(); n > before+50 {
		t.Errorf("%d goroutines, %d before 1000 refused Joins", n, before)
	}
}

// TestJoinedIsLogged: the log names the task that has joined, and its token if it has one.
func TestJoinedIsLogged(t *testing.T) {
	bubble(t, "log", func(t *testing.T) {
		log := &bytes.Buffer{}
		c := serve(t, func(s *server.Server) { s.Log = slog.New(slog.NewTextHandler(log, nil)) }).join(0, 1, ssp.BSP)
		c.leave()
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, `msg="task joined" job=j task=0`) || strings.Contains(text, "token") {
			t.Errorf("without a token the log says %s", text)
		}
	})
}
