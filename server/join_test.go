package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
)

// TestJoinTogether: the tasks of one process have their places from when the first of them joins; those of another process
// with the same job's name come too late for all of them.
func TestJoinTogether(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 1)
	both := func(worker string) []byte { return arg(rpc.Join{Tasks: 2, Worker: worker, Mine: []int{0, 1}}) }
	a0, a1, b1 := dialRaw(t, c), dialRaw(t, c), dialRaw(t, c)
	a0.must(rpc.Request{Op: rpc.OpJoin, Task: 0, Arg: both("a")})
	if _, err := b1.ask(rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: both("b")}); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("a task of another process: %v, want %v", err, rpc.ErrRefused)
	}
	if _, err := a1.ask(rpc.Request{Op: rpc.OpJoin, Task: 0, Arg: both("a")}); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("a task twice: %v, want %v", err, rpc.ErrRefused)
	}
	a1.must(rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: both("a")})
	a0.must(rpc.Request{Op: rpc.OpLeave})
	if _, err := b1.ask(rpc.Request{Op: rpc.OpJoin, Arg: both("b")}); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("a task that has left: %v, want %v", err, rpc.ErrRefused)
	}
	a1.must(rpc.Request{Op: rpc.OpLeave, Task: 1})
	b1.must(rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: both("b")}) // the job is over, this is a new one
	for _, mine := range [][]int{{0}, {1, 2}, {-1, 1}} {
		bad := arg(rpc.Join{Tasks: 2, Mine: mine})
		if _, err := a0.ask(rpc.Request{Op: rpc.OpJoin, Job: "k", Task: 1, Arg: bad}); !errors.Is(err, rpc.ErrMalformed) {
			t.Errorf("task 1 among %v: %v, want %v", mine, err, rpc.ErrMalformed)
		}
	}
}

// TestPlans: what one task does not say of the job the others decide, and every one who differs is refused.
func TestPlans(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 1)
	for i, s := range []struct{ plan, want string }{
		{"rate=1 model=", ""},
		{"rate=2 model=", "rate=1, not rate=2"},
		{"rate=1", "other settings"},
		{"rate=1 model=m", ""},
		{"rate=1 model=n", "model=m, not model=n"},
		{"rate=1 models=", "model=m, not models="},
		{"rate=1 model=", ""},
		{"rate=1 model=m", ""},
	} {
		r := dialRaw(t, c)
		_, err := r.ask(rpc.Request{Op: rpc.OpJoin, Task: int32(i), Arg: arg(rpc.Join{Tasks: 10, Plan: s.plan})})
		if s.want == "" && err != nil || s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) {
			t.Errorf("plan %q: %v, want %q", s.plan, err, s.want)
		}
	}
}

// TestRoll: whoever waits for the others hears of each that comes, and of the end.
func TestRoll(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	dial := func(task int) (*ps.Client, error) {
		return ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: task, Tasks: 3})
	}
	first, err := dial(1)
	if err != nil {
		t.Fatal(err)
	}
	told, done := make(chan []int), make(chan error)
	go func() { done <- first.Roll(t.Context(), func(_ int, missing []int) { told <- missing }) }()
	for _, s := range []struct {
		missing []int
		next    int
	}{{[]int{0, 2}, 2}, {[]int{0}, 0}, {[]int{}, -1}} {
		if got := <-told; !slices.Equal(got, s.missing) {
			t.Errorf("missing are %v, want %v", got, s.missing)
		}
		if s.next >= 0 {
			if _, err := dial(s.next); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRollFails: the end of a task that has joined ends the waiting.
func TestRollFails(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 1)
	first, second := dialRaw(t, c), dialRaw(t, c)
	first.must(rpc.Request{Op: rpc.OpJoin, Task: 0, Arg: join(3, 0)})
	second.must(rpc.Request{Op: rpc.OpJoin, Task: 2, Arg: join(3, 0)})
	call := first.conn.Start(t.Context(), &rpc.Request{Op: rpc.OpRoll, Job: "j", Clock: 2})
	second.conn.Close()
	if _, err := call.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "task 2") {
		t.Errorf("the roll ends with %v, want task 2 named", err)
	}
}
