package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/journal/journaltest"
	"thole.example/rpc"
	"thole.example/server"
)

// drained is what Drain answers once it has.
func (s *site) drained(grace time.Duration) <-chan []server.Unfinished {
	out := make(chan []server.Unfinished, 1)
	ctx, cancel := context.WithTimeout(s.t.Context(), grace)
	s.t.Cleanup(cancel)
	go func() { out <- s.server.Drain(ctx) }()
	return out
}

// waits wants Drain to wait still.
func waits(t *testing.T, out <-chan []server.Unfinished) {
	t.Helper()
	synctest.Wait()
	select {
	case all := <-out:
		t.Fatalf("it answers %+v, want it to wait", all)
	default:
	}
}

// written tells that the checkpoint is there.
func (c *conn) written(path string) {
	c.s.t.Helper()
	c.must(rpc.Request{Op: rpc.OpMoving, Arg: arg(rpc.Moving{Step: rpc.MovingMoved, Checkpoint: path})})
}

// TestDrain: a server that is about to end has a checkpoint written, serves those who are here until then, and takes no new ones.
func TestDrain(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c, asks := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 4, Grace: int64(time.Minute)}), s.dial()
		plain, done := s.joinAs(rpc.Join{Job: "without", Tasks: 1}), s.joinAs(rpc.Join{Job: "done", Tasks: 1, Attempt: 1})
		for _, c := range []*conn{c, done, plain} {
			c.pushed(nil, own(0))
		}
		await, other := c.start(rpc.Request{Op: rpc.OpAwait}), done.start(rpc.Request{Op: rpc.OpAwait})
		out := s.drained(time.Hour)
		var told rpc.Order
		if err := json.Unmarshal(c.wait(await).Results[0].Data, &told); err != nil || !told.Checkpoint || told.Servers != nil {
			t.Errorf("the order is %+v, %v, want a checkpoint", told, err)
		}
		done.wait(other)
		done.leave()
		c.pushed(nil, own(1))
		for _, join := range []rpc.Join{{Job: "new", Tasks: 1}, {Job: "new", Tasks: 1, Attempt: 1}} {
			_, err := s.dial().ask(rpc.Request{Op: rpc.OpJoin, Arg: arg(join)})
			fails(t, "a new job", err, rpc.ErrStandby, "is about to end, and takes no new jobs")
		}
		asked := asks.start(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","checkpoint":true}`)})
		waits(t, out)
		c.written("run/7")
		var moved rpc.Moved
		if err := json.Unmarshal(asks.wait(asked).Results[0].Data, &moved); err != nil || moved.Checkpoint != "run/7" || moved.Attempt != 4 {
			t.Errorf("who asked hears %+v, %v, want run/7 of attempt 4", moved, err)
		}
		all := <-out
		if len(all) != 2 || all[0] != (server.Unfinished{Job: "j", Checkpoint: "run/7"}) || all[1].Job != "without" {
			t.Fatalf("it leaves %+v, want job j with its checkpoint, and job without", all)
		}
		fails(t, "a job without checkpoints", all[1].Err, rpc.ErrNotFound, "none of its tasks writes any")
		c.pushed(nil, own(2)) // nobody was sent away
		_, err := s.dial().ask(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "j", Tasks: 1, Attempt: 5})})
		fails(t, "the next attempt", err, rpc.ErrStandby)
		_, err = asks.ask(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","checkpoint":true,"servers":["x"]}`)})
		fails(t, "a checkpoint and a move", err, rpc.ErrMalformed, "want one of both")
	})
}

// TestDrainWaits: it waits for no checkpoint that nobody writes, nor longer than it may, nor for one that no step has come after.
func TestDrainWaits(t *testing.T) {
	const grace = 20 * time.Second
	for _, c := range []struct {
		name  string
		meets func(c *conn, order func() *rpc.Call)
		takes time.Duration
		err   error
	}{
		{"the task does not hear", func(c *conn, order func() *rpc.Call) { order() }, grace, context.DeadlineExceeded},
		{"the task goes away", func(c *conn, order func() *rpc.Call) { order(); time.AfterFunc(time.Second, func() { c.Close() }) }, time.Second,
			rpc.ErrAborted},
		{"the task cannot", func(c *conn, order func() *rpc.Call) {
			q := order()
			time.AfterFunc(time.Second, func() {
				c.wait(q)
				c.must(rpc.Request{Op: rpc.OpMoving, Arg: arg(rpc.Moving{Step: rpc.MovingVoid, Reason: "no room"})})
			})
		}, time.Second, nil},
		{"the task is not there", func(c *conn, order func() *rpc.Call) { c.Close() }, 0, rpc.ErrNotFound},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := serve(t, nil)
			first := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 1, Grace: int64(time.Hour)})
			first.pushed(nil, own(0))
			c.meets(first, func() *rpc.Call { return first.start(rpc.Request{Op: rpc.OpAwait}) })
			synctest.Wait()
			began := time.Now()
			all := <-s.drained(grace)
			if took := time.Since(began); took != c.takes {
				t.Errorf("it takes %v of the bubble's time, want %v", took, c.takes)
			}
			if len(all) != 1 || all[0].Err == nil || c.err != nil && !errors.Is(all[0].Err, c.err) {
				t.Errorf("it leaves %+v, want a job without a checkpoint: %v", all, c.err)
			}
		})
	}
	bubble(t, "two servers end one after the other", func(t *testing.T) {
		s := serve(t, nil)
		first := s.joinAs(rpc.Join{Job: "j", Tasks: 2, Attempt: 1})
		second := s.joinAs(rpc.Join{Job: "j", Task: 1, Tasks: 2, Attempt: 1})
		first.pushed(nil, own(0))
		second.pushed(nil, own(0))
		await, asks := first.start(rpc.Request{Op: rpc.OpAwait}), s.dial()
		asked := asks.start(rpc.Request{Op: rpc.OpMove, Arg: []byte(`{"job":"j","checkpoint":true}`)})
		first.wait(await)
		first.written("run/1")
		asks.wait(asked)
		first.pushed(nil, own(1)) // and waits for the other, which has ended
		all := <-s.drained(grace)
		if len(all) != 1 || all[0] != (server.Unfinished{Job: "j", Checkpoint: "run/1"}) {
			t.Errorf("it leaves %+v, want job j with run/1", all)
		}
	})
}

// TestDrainLogged: what is in a log is not waited for.
func TestDrainLogged(t *testing.T) {
	disk := journaltest.NewDisk(1)
	s := serve(t, func(s *server.Server) { s.Logs = disk.Start() })
	c := s.joinAs(rpc.Join{Job: "j", Tasks: 1, Attempt: 1})
	c.start(rpc.Request{Op: rpc.OpAwait})
	all := s.server.Drain(t.Context())
	if len(all) != 1 || all[0] != (server.Unfinished{Job: "j", Logged: true}) {
		t.Errorf("it leaves %+v, want job j as it is in the log", all)
	}
	_, err := s.dial().ask(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "new", Tasks: 1})})
	fails(t, "a new job", err, rpc.ErrStandby)
	c.leave()
}
