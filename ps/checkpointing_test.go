package ps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
)

// checkpointed is a cluster of two whose stores answer a save with one result.
func checkpointed() *cluster {
	c := newCluster(2)
	for _, s := range c.stores {
		s.lie = func(q *rpc.Request, r *rpc.Response) {
			if q.Op == rpc.OpSave {
				r.Results = []rpc.Result{{Data: []byte("{}")}}
			}
		}
	}
	return c
}

// polled goes on with steps until the checkpoint is done.
func polled(t *testing.T, p *ps.Client, k *ps.Checkpointing, step func()) error {
	t.Helper()
	for range 1000 {
		if done, err := k.Poll(t.Context()); done {
			return err
		} else if err != nil {
			t.Fatal(err)
		}
		step()
	}
	t.Fatal("a checkpoint that is never done")
	return nil
}

// TestCheckpointLosesConnection: a connection that is lost while a checkpoint is under way fails that checkpoint alone, and both
// servers hear that it is over. Once it was committed nothing can.
func TestCheckpointLosesConnection(t *testing.T) {
	for _, op := range []rpc.Op{rpc.OpSave, rpc.OpCommit, rpc.OpAbort} {
		for server := range 2 {
			for _, how := range []fate{lostBefore, lostAfter} {
				if op == rpc.OpCommit && server == 1 {
					continue
				}
				t.Run(fmt.Sprint(op, server, how), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { losesConnection(t, op, server, how) })
				})
			}
		}
	}
}

func losesConnection(t *testing.T, op rpc.Op, server int, how fate) {
	c := checkpointed()
	p := c.dial(t, ps.Options{Retry: time.Minute})
	defer p.Close()
	d, s := both(t, p)
	lost, steps := false, 0
	aborted := [2]int{}
	c.become(func(at int, q *rpc.Request) fate {
		if q.Op == rpc.OpAbort {
			aborted[at]++
		}
		if q.Op == op && at == server && !lost {
			lost = true
			return how
		}
		return delivered
	})
	step := func() {
		steps++
		pushOnes(t, d, s)
		must(t, p.SyncClock(t.Context()))
	}
	k, err := p.BeginCheckpoint(t.Context(), ps.CheckpointOptions{Path: "c", Files: map[string][]byte{"f": []byte("x")}})
	must(t, err)
	err = polled(t, p, k, step)
	if want := op != rpc.OpAbort; errors.Is(err, rpc.ErrLost) != want || (err != nil) != want || !lost {
		t.Errorf("lost %v: %v, want an error %v", lost, err, want)
	}
	if aborted[0] == 0 || aborted[1] == 0 {
		t.Errorf("the servers were told %v times that it is over, want each", aborted)
	}
	k, err = p.BeginCheckpoint(t.Context(), ps.CheckpointOptions{Path: "c"})
	must(t, err)
	must(t, k.Wait(t.Context()))
	step()
	wantOnes(t, c, float64(steps))
}

// TestCheckpointPolledOnly: a connection that is lost while a checkpoint ends is found by one poll, and polls that follow without any other
// call make another one, or wait for the call that does.
func TestCheckpointPolledOnly(t *testing.T) {
	for server := range 2 {
		for _, how := range []fate{lostBefore, lostAfter} {
			t.Run(fmt.Sprint(server, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := checkpointed()
					p := c.dial(t, ps.Options{Retry: time.Minute})
					defer p.Close()
					d, s := both(t, p)
					lost := false
					c.become(func(at int, q *rpc.Request) fate {
						if q.Op == rpc.OpAbort && at == server && !lost {
							lost = true
							return how
						}
						return delivered
					})
					k, err := p.BeginCheckpoint(t.Context(), ps.CheckpointOptions{Path: "c"})
					must(t, err)
					for range 10 {
						_, err := k.Poll(t.Context())
						must(t, err)
						time.Sleep(time.Second)
					}
					must(t, k.Wait(t.Context()))
					pushOnes(t, d, s)
					must(t, p.SyncClock(t.Context()))
					if wantOnes(t, c, 1); !lost {
						t.Error("no connection was lost")
					}
				})
			})
		}
	}
}

// TestCheckpointRequests: what each server is asked: the settings of the checkpoint, its own number, the clocks at which it was asked for
// though the task has gone on; the first is brought the objects to keep.
func TestCheckpointRequests(t *testing.T) {
	c := checkpointed()
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	var told []string
	c.become(func(at int, q *rpc.Request) fate {
		if slices.Contains([]rpc.Op{rpc.OpSave, rpc.OpCommit, rpc.OpAbort}, q.Op) {
			var a rpc.Save
			must(t, json.Unmarshal(q.Arg, &a))
			told = append(told, fmt.Sprintf("%v of %d: %d of %d, %v %s %s, %d files, %d parts, %v",
				q.Op, at, a.Index, a.Servers, a.Track, a.Base, a.Moment, len(a.Files), len(a.Parts), a.Committed))
			if q.Op == rpc.OpSave && (q.Clock != 1 || q.Parts[0].Clock != 1) {
				t.Errorf("asked for at clock %d, %d, want 1", q.Clock, q.Parts[0].Clock)
			}
		}
		return delivered
	})
	pushOnes(t, d, s)
	must(t, p.Clock(t.Context(), 0, 0))
	k, err := p.BeginCheckpoint(t.Context(), ps.CheckpointOptions{
		Path: "c", Base: "b", Moment: json.RawMessage(`{"step":1}`), Files: map[string][]byte{"f": []byte("x")},
	})
	must(t, err)
	must(t, p.Clock(t.Context(), 0, 0))
	must(t, polled(t, p, k, func() { must(t, p.SyncClock(t.Context())) }))
	want := []string{
		`save of 0: 0 of 2, true b {"step":1}, 0 files, 0 parts, false`,
		`save of 1: 1 of 2, true b {"step":1}, 0 files, 0 parts, false`,
		`commit of 0: 0 of 2, true b {"step":1}, 1 files, 2 parts, false`,
		`abort of 0: 0 of 2, true b {"step":1}, 0 files, 0 parts, true`,
		`abort of 1: 1 of 2, true b {"step":1}, 0 files, 0 parts, true`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q, want\n%q", told, want)
	}
}

// TestCheckpointGivenUp: a task that gives up waiting has the servers forget what there is, and goes on.
func TestCheckpointGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := checkpointed()
		p := c.dial(t, ps.Options{})
		defer p.Close()
		d, s := both(t, p)
		save := c.handlers[1]
		stuck := true
		aborts := 0
		c.handlers[1] = handler(func(x *rpc.Exchange) {
			if x.Op == rpc.OpSave && stuck {
				return // it never answers
			}
			if x.Op == rpc.OpAbort {
				aborts++
			}
			save.Serve(x)
		})
		k, err := p.BeginCheckpoint(t.Context(), ps.CheckpointOptions{Path: "c"})
		must(t, err)
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := k.Wait(within); !errors.Is(err, context.DeadlineExceeded) || aborts != 1 {
			t.Errorf("%v after %d aborts", err, aborts)
		}
		if done, err := k.Poll(t.Context()); !done || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v, want that it is done", done, err)
		}
		stuck = false
		pushOnes(t, d, s)
		must(t, p.Checkpoint(t.Context(), "c"))
		must(t, p.SyncClock(t.Context()))
		wantOnes(t, c, 1)
	})
}
