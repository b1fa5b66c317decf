package ps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
)

// TestMembers: whoever waits for the others hears of each that comes.
func TestMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		first := c.dial(t, ps.Options{Task: 1, Tasks: 3})
		defer first.Close()
		go func() {
			for _, task := range []int{2, 0} {
				time.Sleep(time.Minute)
				defer c.dial(t, ps.Options{Task: task, Tasks: 3}).Close()
			}
		}()
		var told [][]int
		must(t, first.Members(t.Context(), func(now rpc.Membership) { told = append(told, now.Missing) }))
		if want := [][]int{{0, 2}, {0}, nil}; !slices.EqualFunc(told, want, slices.Equal) {
			t.Errorf("missing are %v, want %v", told, want)
		}
	})
}

// TestRefusedMember: whoever waits hears why another worker was refused.
func TestRefusedMember(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{Tasks: 2})
	defer p.Close()
	answers := []rpc.Membership{{Joined: 1, Missing: []int{1}}, {Joined: 1, Missing: []int{1}, Refused: 1, Why: "rate=1, not rate=2"}, {Joined: 2, Refused: 1}}
	var asked []rpc.Members
	c.handlers[0] = handler(func(x *rpc.Exchange) {
		var known rpc.Members
		must(t, json.Unmarshal(x.Arg, &known))
		asked = append(asked, known)
		control(x, answers[len(asked)-1])
	})
	var why []string
	must(t, p.Members(t.Context(), func(now rpc.Membership) { why = append(why, now.Why) }))
	if want := []rpc.Members{{}, {Joined: 1}, {Joined: 1, Refused: 1}}; !reflect.DeepEqual(asked, want) || why[1] != "rate=1, not rate=2" {
		t.Errorf("asked %v, want %v; told %q", asked, want, why)
	}
}

// TestFunctions: answers are merged in the order of partitions.
func TestFunctions(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	got, err := d.Get(t.Context(), "parts", nil)
	must(t, err)
	if string(got) != "3 3 3 " {
		t.Errorf("%q, want three sums of three cells", got)
	}
	must(t, d.Update(t.Context(), "double", nil))
	wantSum(t, c, "d", cell{0, 0}, 2)
	must(t, d.Increment(dense(matrix.At(0, 1, 0, 1), 1)))
	must(t, d.Update(t.Context(), "double", nil)) // what was pushed and not sent is not doubled
	must(t, p.SyncClock(t.Context()))
	wantSum(t, c, "d", cell{0, 0}, 5)
	c.stores[2].change = func(*rpc.Request) error { return errRefused }
	wantForGood(t, p, d, d.Update(t.Context(), "double", nil), "server 2: no room")
}

func wantSum(t *testing.T, c *cluster, name string, at cell, want float64) {
	t.Helper()
	if v := c.sum(name, at); v != want {
		t.Errorf("cell %v of %s is %v, want %v", at, name, v, want)
	}
}

// TestSave: parts are committed in the order of matrices and partitions, whatever server has them and however it numbers
// its matrices; what goes wrong is aborted everywhere.
func TestSave(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	both(t, p)
	var ops []string
	var parts []int
	c.fate = func(server int, q *rpc.Request) fate {
		ops = append(ops, q.Op.String())
		if q.Op == rpc.OpCommit {
			var a rpc.Save
			must(t, json.Unmarshal(q.Arg, &a))
			for _, p := range a.Parts {
				parts = append(parts, int(p[0]))
			}
		}
		return delivered
	}
	o := ps.SaveOptions{Codec: "x", Path: "m", Matrices: []string{"s", "d"}}
	must(t, p.Save(t.Context(), o))
	var want []int
	for _, n := range []int{16, 3} {
		for i := range n {
			want = append(want, i)
		}
	}
	if !slices.Equal(parts, want) || strings.Join(ops, " ") != "save save save commit abort abort abort" {
		t.Errorf("%q with parts %v, want %v", ops, parts, want)
	}
	ops = nil
	lost, err := p.Rehearse(t.Context(), o)
	must(t, err)
	if !slices.Equal(lost, []string{"nothing"}) || strings.Join(ops, " ") != "save save save commit abort abort abort" {
		t.Errorf("%q, lost %q", ops, lost)
	}
	if err := p.Save(t.Context(), ps.SaveOptions{Matrices: []string{"x"}}); err == nil {
		t.Error("a matrix that is not there is saved")
	}
	ops = nil
	h := c.handlers[1]
	c.handlers[1] = handler(func(x *rpc.Exchange) {
		if x.Op == rpc.OpSave {
			x.Fail(errRefused)
			return
		}
		h.Serve(x)
	})
	if err := p.Save(t.Context(), o); err == nil || strings.Join(ops, " ") != "save save save abort abort abort" {
		t.Errorf("%v after %q", err, ops)
	}
	c.handlers[1] = h
	must(t, p.Load(t.Context(), ps.LoadOptions{Path: "m"}))
	if err := p.Load(t.Context(), ps.LoadOptions{Path: "none"}); !errors.Is(err, rpc.ErrNotFound) {
		t.Errorf("a load of nothing: %v", err)
	}
	must(t, p.Leave(t.Context())) // all refused it, so that nothing has happened
	c.right(t)
}

// TestSaveAgain: a save within which a connection is lost is repeated as a whole.
func TestSaveAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Retry: time.Minute})
		defer p.Close()
		both(t, p)
		stages := map[string]int{}
		times := 2
		c.fate = func(server int, q *rpc.Request) fate {
			if q.Op == rpc.OpSave || q.Op == rpc.OpCommit {
				var a rpc.Save
				must(t, json.Unmarshal(q.Arg, &a))
				stages[a.Stage]++
			}
			if (q.Op == rpc.OpSave && server == 1 || q.Op == rpc.OpCommit) && times > 0 {
				times--
				return lostAfter
			}
			return delivered
		}
		must(t, p.Save(t.Context(), ps.SaveOptions{Path: "m"}))
		if len(stages) != 3 {
			t.Errorf("stages %v, want 3", stages)
		}
	})
}

// TestLeave sends what was pushed before.
func TestLeave(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{Retry: time.Minute})
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, p.Leave(t.Context()))
	wantOnes(t, c, 1)
	requests, _ := c.count()
	must(t, p.Close())
	if requests[rpc.OpQuit] != 0 {
		t.Error("a task that has left quits")
	}
}

// TestQuit: a client that is closed before it leaves says so, and calls under way end.
func TestQuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Retry: time.Minute, Tasks: 2})
		both(t, p)
		must(t, p.Clock(t.Context(), 0, 0))
		requests, _ := c.count()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Barrier(context.Background()); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("a barrier of a client that is closed: %v", err)
			}
		})
		synctest.Wait()
		must(t, p.Close())
		wg.Wait()
		if requests[rpc.OpQuit] != 2 {
			t.Errorf("%d servers hear that the client quits, want 2", requests[rpc.OpQuit])
		}
		if err := p.Flush(t.Context()); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("flush of a closed client: %v", err)
		}
	})
}

// TestQuitReason: whoever gives up says why to every server, as far as there is room for it.
func TestQuitReason(t *testing.T) {
	for why, want := range map[string]string{
		"no such file": "no such file",
		strings.Repeat("\u00e4", rpc.ReasonLimit): strings.Repeat("\u00e4", rpc.ReasonLimit/2),
	} {
		c := newCluster(2)
		p := c.dial(t, ps.Options{})
		requests, _ := c.count()
		must(t, p.Quit(errors.New(why)))
		if told := c.stores[1].quit; requests[rpc.OpQuit] != 2 || told != `{"reason":"`+want+`","final":true}` {
			t.Errorf("%d servers heard, %.60q", requests[rpc.OpQuit], told)
		}
	}
}

// TestDial: nobody there, nothing given.
func TestDial(t *testing.T) {
	if _, err := ps.Dial(t.Context(), ps.Options{}); err == nil {
		t.Error("a client of no servers")
	}
	c := newCluster(2)
	c.down[1] = true
	if _, err := ps.Dial(t.Context(), ps.Options{Network: c.fake, Servers: c.addrs()}); !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("a server that is not there: %v", err)
	}
	c.down[1] = false
	c.dial(t, ps.Options{})
	if _, err := ps.Dial(t.Context(), ps.Options{Network: c.fake, Servers: c.addrs()}); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("a task that is there: %v", err)
	}
}

// TestAddresses: a server that is named twice, or not at all, is refused before anything is sent.
func TestAddresses(t *testing.T) {
	for _, servers := range [][]string{{"0", "0"}, {"0", ""}, {"0", "1", "0"}} {
		c := newCluster(2)
		_, err := ps.Dial(t.Context(), ps.Options{Network: c.fake, Servers: servers, Job: "j", Tasks: 1})
		want := fmt.Sprintf("server %d of %d has address %q", len(servers), len(servers), servers[len(servers)-1])
		if err == nil || !strings.Contains(err.Error(), want) || len(c.sent) > 0 {
			t.Errorf("%q: %v, want %s; %v requests sent", servers, err, want, c.sent)
		}
	}
}
