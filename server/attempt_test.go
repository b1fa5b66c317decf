package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/rpctest"
	"thole.example/server"
)

// attempted is a client of a task in an attempt, or why there is none.
func (f *fleet) attempted(task, attempt int) (*ps.Client, error) {
	return ps.Dial(f.t.Context(), ps.Options{
		Network: f.net, Servers: f.servers, Job: "j", Task: task, Tasks: 2, Attempt: attempt, Retry: time.Minute, Worker: fmt.Sprint(task),
	})
}

// mustDial is attempted, and wants one.
func (f *fleet) mustDial(task, attempt int) *ps.Client {
	f.t.Helper()
	p, err := f.attempted(task, attempt)
	if err != nil {
		f.t.Fatalf("task %d in attempt %d: %v", task, attempt, err)
	}
	return p
}

// toldLater wants a task to be told of an attempt to come in.
func toldLater(t *testing.T, err error, attempt int) {
	t.Helper()
	if later, ok := errors.AsType[*ps.LaterAttempt](err); !ok || later.Attempt != attempt || !ps.Recoverable(err) {
		t.Errorf("%v, want to come in attempt %d", err, attempt)
	}
}

// TestAttempts: a task gives up its attempt, the other hears of it, and both come in the next, on all servers. Clients of the one before
// change nothing there.
func TestAttempts(t *testing.T) {
	for _, network := range []string{"mem", "tcp"} {
		t.Run(network, func(t *testing.T) {
			f := newFleet(t, network, 3, &blob.Mem{}, nil)
			w := meta("w", 1, 8, matrix.RowDense)
			ctx := t.Context()
			a, b := f.mustDial(0, 1), f.mustDial(1, 1)
			if err := errors.Join(a.Create(ctx, "range", w), b.Create(ctx, "range", w), a.Clock(ctx, 0, 0)); err != nil {
				t.Fatal(err)
			}
			_, err := f.attempted(1, 1)
			if _, taken := errors.AsType[*ps.Taken](err); !taken || !errors.Is(err, rpc.ErrExists) || ps.Recoverable(err) {
				t.Errorf("a second process of a task that is here: %v, want that the place is taken", err)
			}
			_ = a.GiveUp(errors.New("lost a server"))
			err = b.Barrier(ctx)
			if !errors.Is(err, rpc.ErrAborted) || !ps.Recoverable(err) || !strings.Contains(err.Error(), "lost a server") {
				t.Errorf("%v, want that task 0 gave up and why", err)
			}
			_, err = f.attempted(0, 1)
			toldLater(t, err, 2)
			a = f.mustDial(0, 2)
			defer a.Close()
			err = b.Barrier(ctx)
			if want := "task 0 at"; !errors.Is(err, rpc.ErrAborted) || !strings.Contains(err.Error(), want) {
				t.Errorf("a task of the attempt before: %v, want %q", err, want)
			}
			_ = b.Close()
			_, err = f.attempted(1, 1)
			toldLater(t, err, 2)
			b = f.mustDial(1, 2)
			defer b.Close()
			if err := errors.Join(a.Create(ctx, "range", w), b.Create(ctx, "range", w), a.Push("w", ones(w)), a.SyncClock(ctx),
				b.SyncClock(ctx), b.Barrier(ctx)); err != nil {
				t.Fatal(err)
			}
			got, err := b.Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
			if err != nil || got[0].Data.Values().([]float64)[7] != 1 {
				t.Errorf("%v, %v, want what the second attempt has pushed", got, err)
			}
			if err := errors.Join(a.Leave(ctx), b.Leave(ctx)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplaceUnheard: a process goes on in the place of one that went away, also if the answer that says so is lost.
func TestReplaceUnheard(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	ctx, w := t.Context(), meta("w", 1, 8, matrix.RowDense)
	o := ps.Options{Network: f.net, Servers: f.servers, Job: "j", Tasks: 1, Attempt: 1, Grace: time.Minute, Worker: "a"}
	a, err := ps.Dial(ctx, o)
	if err == nil {
		err = errors.Join(a.Create(ctx, "range", w), a.Push("w", ones(w)), a.SyncClock(ctx), a.Barrier(ctx))
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	o.Worker, o.Replace, o.Retry = "b", true, time.Minute
	for taken := true; taken; { // until the servers hear that the first one is gone
		var joins atomic.Int32
		lossy := &rpctest.Faulty{Network: f.net, Spare: func(q *rpc.Request) bool { return q.Op != rpc.OpJoin || joins.Add(1) > 1 }}
		lossy.Chance[rpctest.CutAfter] = 1
		o.Network = lossy
		b, err := ps.Dial(ctx, o)
		if _, taken = errors.AsType[*ps.Taken](err); taken {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if n := lossy.Met()[rpctest.CutAfter]; n != 1 || !b.Replaces() || b.Now() != 1 {
			t.Errorf("%d answers lost, in the place of another %v at clock %d, want 1, true and 1", n, b.Replaces(), b.Now())
		}
		if err := errors.Join(b.Create(ctx, "range", w), b.Push("w", ones(w)), b.SyncClock(ctx), b.Leave(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// TestTakenUnheard: a process whose task another one has learns so, also if the first answer is lost and the second one says it.
func TestTakenUnheard(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	o := ps.Options{Network: f.net, Servers: f.servers, Job: "j", Tasks: 1, Attempt: 1, Grace: time.Minute, Worker: "a"}
	a, err := ps.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var joins atomic.Int32
	lossy := &rpctest.Faulty{Network: f.net, Spare: func(q *rpc.Request) bool { return q.Op != rpc.OpJoin || joins.Add(1) > 1 }}
	lossy.Chance[rpctest.CutAfter] = 1
	o.Network, o.Worker, o.Replace, o.Retry = lossy, "b", true, time.Minute
	_, err = ps.Dial(t.Context(), o)
	if _, taken := errors.AsType[*ps.Taken](err); !taken || lossy.Met()[rpctest.CutAfter] != 1 {
		t.Errorf("%v after %d lost answers, want *ps.Taken after 1", err, lossy.Met()[rpctest.CutAfter])
	}
}

// TestOthersLeft: tasks leave when the job is done, so the one that comes back then, and the attempt fails, hears that it has come to its
// end. Where nobody had left it has not.
func TestOthersLeft(t *testing.T) {
	for _, left := range []bool{false, true} {
		f := newFleet(t, "mem", 1, &blob.Mem{}, nil)
		ctx := t.Context()
		a, b := f.mustDial(0, 1), f.mustDial(1, 1)
		defer b.Close()
		var err error
		if left {
			err = b.Leave(ctx)
		}
		if err = errors.Join(err, a.GiveUp(errors.New("not between two steps"))); err != nil {
			t.Fatal(err)
		}
		a = f.mustDial(0, 2)
		defer a.Close()
		if now, err := a.Attendance(ctx); err != nil || now.Ended != left {
			t.Errorf("another task has left: %v; in the next attempt the job has ended: %v, %v", left, now.Ended, err)
		}
	}
}

func ones(m matrix.Meta) matrix.Block {
	b := matrix.NewDense(m.DType, m.Rect())
	for i := range b.Data.Values().([]float64) {
		b.Data.Values().([]float64)[i] = 1
	}
	return b
}

// TestStaleAttempt: the first server was started anew and knows nothing, the second has a later attempt: a task that begins at the first
// ends up in the later one, on both.
func TestStaleAttempt(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	all, net := f.servers, f.net
	f.servers, f.net = all[1:], placeless{net}
	old := f.mustDial(0, 5)
	defer old.Close()
	f.servers, f.net = all, net
	_, err := f.attempted(1, 1)
	toldLater(t, err, 5)
	p := f.mustDial(1, 5)
	defer p.Close()
	if err := old.Barrier(t.Context()); err != nil {
		t.Errorf("the later attempt: %v", err)
	}
}

// TestFinal: the others hear that another attempt is of no use, and none begins.
func TestFinal(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	a, b := f.mustDial(0, 1), f.mustDial(1, 1)
	defer b.Close()
	if err := a.Quit(errors.New("loss is NaN")); err != nil {
		t.Fatal(err)
	}
	err := b.Barrier(t.Context())
	if !errors.Is(err, rpc.ErrOver) || ps.Recoverable(err) || !strings.Contains(err.Error(), "loss is NaN") {
		t.Errorf("%v, want that it is over and why", err)
	}
	if _, err := f.attempted(0, 2); !errors.Is(err, rpc.ErrOver) {
		t.Errorf("another attempt: %v, want that it is over", err)
	}
}

// asks is the request of a checkpoint of matrix 1, by one server, at clock 0.
func asks(op rpc.Op, stage string, parts ...[]byte) rpc.Request {
	q := rpc.Request{Op: op, Arg: arg(rpc.Save{Path: "dir/c", Stage: stage, Checkpoint: true, Matrices: []string{"w"}, Servers: 1, Parts: parts})}
	if op == rpc.OpSave {
		q.Parts = []rpc.Part{{Kind: rpc.KindStored, Matrix: 1, DType: matrix.F64}}
	}
	return q
}

// slowPublish publishes when it is told to.
type slowPublish struct {
	blob.Bucket
	begun, let chan struct{}
}

func (b *slowPublish) Publish(ctx context.Context, from, to string, over blob.State) error {
	close(b.begun)
	<-b.let
	return b.Bucket.Publish(ctx, from, to, over)
}

// TestFenced: what an attempt has written and not committed when the next begins never becomes visible, and a commit that is under way
// has ended, well or not, before a task of the next attempt has joined.
func TestFenced(t *testing.T) {
	t.Run("before the commit", func(t *testing.T) {
		s := serve(t, nil)
		old := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 1})
		old.create(rpc.Spec{Meta: meta("w", 1, 4, matrix.RowDense), Partitioner: "range"})
		part := old.must(asks(rpc.OpSave, "s")).Results[0].Data
		late := old.start(asks(rpc.OpBarrier, ""))
		s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 2})
		_ = old.wait(late)
		fails(t, "a commit of the attempt before", old.refusal(asks(rpc.OpCommit, "s", part)), rpc.ErrAborted)
		fails(t, "a save of the attempt before", old.refusal(asks(rpc.OpSave, "t")), rpc.ErrAborted)
		if left, err := s.server.Bucket.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
	t.Run("within the commit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			bucket := &slowPublish{&blob.Mem{}, make(chan struct{}), make(chan struct{})}
			s := serve(t, func(s *server.Server) { s.Bucket = bucket })
			old := s.joinAs(rpc.Join{Job: "j", Tasks: 2, Attempt: 1})
			old.create(rpc.Spec{Meta: meta("w", 1, 4, matrix.RowDense), Partitioner: "range"})
			part := old.must(asks(rpc.OpSave, "s")).Results[0].Data
			commit := old.start(asks(rpc.OpCommit, "s", part))
			<-bucket.begun
			var joins []*rpc.Call
			for task := range 2 {
				joins = append(joins, s.dial().start(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "j", Task: task, Tasks: 2, Attempt: 2})}))
			}
			synctest.Wait()
			if joins[0].Ready() || joins[1].Ready() {
				t.Error("a task has joined the next attempt while the one before was committing")
			}
			close(bucket.let)
			old.wait(commit)
			for _, j := range joins {
				old.wait(j)
			}
			if _, err := bucket.Open(t.Context(), "dir/c/checkpoint"); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestAttemptMemory: the next attempt has the memory of the one before.
func TestAttemptMemory(t *testing.T) {
	s := serve(t, func(s *server.Server) { s.Ledger = budget.New(16 << 20) })
	for attempt := range 20 {
		c := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 1 + attempt})
		c.create(rpc.Spec{Meta: meta("w", 1, 1<<20, matrix.RowDense), Partitioner: "range"}) // 8 MiB: there is no room for two
	}
}

// TestAttemptAnswers: what a server answers to a Join that has not joined.
func TestAttemptAnswers(t *testing.T) {
	s := serve(t, nil)
	s.joinAs(rpc.Join{Job: "j", Tasks: 2, Attempt: 7, Client: "a", Grace: int64(time.Minute)}).Close()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // the server hears of the end
		c := s.dial()
		var got rpc.Joined
		r, err := c.ask(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "j", Tasks: 2, Attempt: 7})})
		if err == nil {
			err = json.Unmarshal(r.Results[0].Data, &got)
		}
		if err == nil && got.Attempt == 8 {
			fails(t, "a pull of who has not joined", c.refusal(rpc.Request{Op: rpc.OpBarrier}), rpc.ErrRefused)
			return
		}
		if !errors.Is(err, rpc.ErrExists) || time.Now().After(end) {
			t.Fatalf("%+v, %v, want attempt 8", got, err)
		}
	}
}

// TestMarksReady: a large dense matrix that steps change as a whole has memory for the first checkpoint before that is asked for, in a job
// that has checkpoints and where there is enough for others.
func TestMarksReady(t *testing.T) {
	least := int64(0)
	for _, c := range []struct {
		attempt int
		memory  int64
		ready   bool
	}{{0, 1 << 30, false}, {1, 1 << 30, true}, {1, 40 << 20, false}} {
		ledger := budget.New(c.memory)
		s := serve(t, func(s *server.Server) { s.Ledger = ledger })
		const cells = 1 << 20
		conn := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: c.attempt})
		m := conn.create(with(one("w", 1, cells), "adagrad"))[0]
		conn.pulled(m.row(0))
		used := ledger.Used()[budget.Tables]
		if c.attempt == 0 {
			least = used
		}
		if used > least+4*cells != c.ready {
			t.Errorf("attempt %d with %d bytes of memory: tables take %d, %d without checkpoints", c.attempt, c.memory, used, least)
		}
	}
}

// TestLaunches: when all processes of a job are started again, what is left of the ones before is shut out, whatever attempt it is in; those
// that were started later end it.
func TestLaunches(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	dial := func(task, launch, attempt int) (*ps.Client, error) {
		return ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "j", Task: task, Tasks: 2, Launch: launch, Attempt: attempt,
			Worker: fmt.Sprint(task, launch), Retry: time.Minute})
	}
	must := func(task, launch, attempt int) *ps.Client {
		t.Helper()
		p, err := dial(task, launch, attempt)
		if err != nil {
			t.Fatalf("task %d of launch %d: %v", task, launch, err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	refused := func(task, launch, attempt int, want string) {
		t.Helper()
		p, err := dial(task, launch, attempt)
		if !errors.Is(err, rpc.ErrRefused) || ps.Recoverable(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("task %d of launch %d in attempt %d: %v, want %s", task, launch, attempt, err, want)
		}
		if p != nil {
			p.Close()
		}
	}
	old := must(0, 1, 7)
	_, err := dial(1, 2, 3)
	toldLater(t, err, 8)
	a := must(1, 2, 8)
	if err := old.Barrier(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a task of the launch before: %v, want that it is shut out", err)
	}
	for _, attempt := range []int{1, 8, 9} {
		refused(0, 1, attempt, "was started with attempt 1 of all its processes, and attempt 2 has begun")
	}
	b := must(0, 2, 8)
	if err := errors.Join(a.Quit(errors.New("gives up")), b.Close()); err != nil { // the job fails, and ends
		t.Fatal(err)
	}
	for range 2 { // also when it is not there any more
		refused(0, 1, 20, "attempt 2 has begun")
	}
	a, b = must(0, 3, 30), must(1, 3, 30)
	if err := errors.Join(a.Leave(t.Context()), b.Leave(t.Context())); err != nil {
		t.Fatal(err)
	}
	must(0, 0, 1) // another training of the name, after one that came to its end
}
