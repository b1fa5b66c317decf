package rpctest_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
)

func quiet() *mem.Network { return &mem.Network{Log: slog.New(slog.NewTextHandler(io.Discard, nil))} }

// Without faults it is a network like any other.
func TestFaultless(t *testing.T) {
	rpctest.Run(t, func(_ testing.TB, window int) (rpc.Network, string) {
		n := quiet()
		n.Window = window
		return &rpctest.Faulty{Network: n, Window: window}, ""
	})
}

// counter is a server that makes numbered changes of each client once, and tells a client that joins how many it has made.
// The clock of a request is how often its client has come back.
type counter struct {
	mu    sync.Mutex
	made  map[string]uint64
	epoch map[string]int32
	late  int // requests of a client that was back on another connection
}

func (c *counter) Serve(x *rpc.Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := string(x.Arg)
	if x.Clock < c.epoch[name] {
		c.late++
		x.Fail(rpc.ErrRefused)
		return
	}
	if x.Op == rpc.OpJoin {
		c.epoch[name] = x.Clock
	} else if x.Seq == c.made[name]+1 {
		c.made[name]++
	} else if x.Seq > c.made[name]+1 {
		x.Fail(fmt.Errorf("change %d after %d", x.Seq, c.made[name]))
		return
	}
	x.Answer(&rpc.Response{Clock: int32(c.made[name])})
}

// push makes n changes through whatever happens, four under way at a time.
func push(t *testing.T, n rpc.Network, addr, name string, count uint64) (losses int) {
	for made, epoch := uint64(0), int32(0); made < count; losses++ {
		epoch++
		c, err := n.Dial(t.Context(), addr)
		if errors.Is(err, rpc.ErrUnreachable) {
			time.Sleep(time.Second)
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		r, err := c.Start(t.Context(), &rpc.Request{Op: rpc.OpJoin, Clock: epoch, Arg: []byte(name)}).Wait(t.Context())
		if err == nil {
			made = uint64(r.Clock)
			var calls []*rpc.Call
			for seq := made + 1; seq <= min(made+4, count); seq++ {
				memory := rpc.NewBuffer(8, budget.Charge{})
				calls = append(calls, c.Start(t.Context(), &rpc.Request{Op: rpc.OpPush, Clock: epoch, Seq: seq,
					Arg: []byte(name), Memory: memory}))
				memory.Release()
			}
			for _, call := range calls {
				if _, err := call.Wait(t.Context()); err != nil && !errors.Is(err, rpc.ErrLost) {
					t.Errorf("%s: %v", name, err)
				}
			}
		} else if !errors.Is(err, rpc.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close()
	}
	return losses
}

// Whatever happens, a client that comes back makes each change once; and every fate is met.
func TestFaults(t *testing.T) {
	var met [rpctest.Fates]int
	late := 0
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			n := &rpctest.Faulty{Network: quiet(), Seed: seed, Chance: rpctest.Even(0.03), Refuse: 0.05, Delay: 50 * time.Millisecond,
				Notice: 2 * time.Second, Timeout: 10 * time.Second}
			h := &counter{made: map[string]uint64{}, epoch: map[string]int32{}}
			l, err := n.Listen(t.Context(), "", h)
			if err != nil {
				t.Fatal(err)
			}
			var clients sync.WaitGroup
			for i := range 3 {
				clients.Go(func() { push(t, n, l.Addr(), fmt.Sprint(i), 20) })
			}
			clients.Wait()
			for i := range 3 {
				if got := h.made[fmt.Sprint(i)]; got != 20 {
					t.Errorf("seed %d: client %d made %d changes, want 20", seed, i, got)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for f, k := range n.Met() {
				met[f] += k
			}
			late += h.late
		})
	}
	for f, k := range met {
		if k == 0 {
			t.Errorf("fate %d was never met", f)
		}
	}
	if late == 0 {
		t.Error("no request arrived when its client was back on another connection")
	}
}

// Every third request meets a loss, in turn before it arrives and after.
func TestFlaky(t *testing.T) {
	n := rpctest.Flaky(quiet(), 3)
	h := &counter{made: map[string]uint64{}, epoch: map[string]int32{}}
	l, err := n.Listen(t.Context(), "", h)
	if err != nil {
		t.Fatal(err)
	}
	if losses := push(t, n, l.Addr(), "one", 100); losses < 20 || h.made["one"] != 100 {
		t.Errorf("%d losses, %d changes made, want at least 20 and 100", losses, h.made["one"])
	}
	if met := n.Met(); met[rpctest.CutBefore] < 10 || met[rpctest.CutAfter] < 10 {
		t.Errorf("fates met: %v, want many losses of both kinds", met)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
