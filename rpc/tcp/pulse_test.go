package tcp

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
)

// A connection without anything to do lives, and so does one whose handler takes long.
func TestIdle(t *testing.T) {
	inBubble(t, Network{}, handler(func(x *rpc.Exchange) {
		if x.Op == rpc.OpBarrier {
			time.AfterFunc(time.Hour, func() { echo(x) })
			return
		}
		echo(x)
	}), func(b *bubble) {
		c := b.dial(Network{}, relay{})
		b.served(c)
		time.Sleep(time.Hour)
		b.served(c)
		if _, err := c.Start(b.Context(), &rpc.Request{Op: rpc.OpBarrier}).Wait(b.Context()); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// A connection that does nothing takes its own memory from the ledger, and no more.
func TestIdleTakesNothing(t *testing.T) {
	ledger := budget.New(64 << 20)
	inBubble(t, Network{Ledger: ledger}, handler(echo), func(b *bubble) {
		c := b.dial(Network{}, relay{})
		b.served(c)
		own := budget.Usage{budget.Connections: connectionBytes}
		if used := ledger.Used(); used == own {
			t.Error("nothing is counted, so this test sees nothing")
		}
		time.Sleep(time.Minute)
		if used := ledger.Used(); used != own {
			t.Errorf("used %v, want %v", used, own)
		}
		_ = c.Close()
	})
}

// The two sides need not agree on the times.
func TestDifferentTimes(t *testing.T) {
	inBubble(t, Network{PingEvery: 5 * time.Minute, Timeout: 20 * time.Minute}, handler(echo), func(b *bubble) {
		c := b.dial(Network{PingEvery: time.Hour, Timeout: time.Second}, relay{})
		d := b.dial(Network{PingEvery: time.Hour, Timeout: time.Hour}, relay{})
		time.Sleep(2 * time.Hour)
		b.served(c)
		b.served(d)
		_, _ = c.Close(), d.Close()
	})
}

// freeze is a hook that stands still once it is told to, until it may go on.
func freeze(still *atomic.Bool, thaw <-chan struct{}) func(head, []byte) [][]byte {
	return func(_ head, frame []byte) [][]byte {
		if still.Load() {
			<-thaw
		}
		return [][]byte{frame}
	}
}

// A client of which nothing is heard is gone: the server ends its connection and says who it was and how long.
func TestFrozenClient(t *testing.T) {
	parked := make(chan *rpc.Exchange, 1)
	inBubble(t, Network{}, handler(func(x *rpc.Exchange) {
		if x.Op == rpc.OpBarrier {
			parked <- x
			return
		}
		echo(x)
	}), func(b *bubble) {
		var still atomic.Bool
		thaw := make(chan struct{})
		c := b.dial(Network{Name: "worker-1"}, relay{up: freeze(&still, thaw), down: freeze(&still, thaw)})
		neighbour := b.dial(Network{}, relay{})
		b.served(c)
		call := c.Start(b.Context(), &rpc.Request{Op: rpc.OpBarrier})
		x := <-parked
		still.Store(true)
		<-x.From.Gone
		if err := x.Context().Err(); err == nil {
			t.Error("the connection has ended, the context of its request has not")
		}
		x.Fail(rpc.ErrAborted)
		synctest.Wait()
		if !strings.Contains(b.log.text(), "client=worker-1@pipe") || !strings.Contains(b.log.text(), "nothing heard for 10s") {
			t.Errorf("the log says %q, want who was silent for how long", b.log.text())
		}
		b.served(neighbour)
		close(thaw)
		if _, err := call.Wait(b.Context()); !errors.Is(err, rpc.ErrLost) {
			t.Errorf("the call of the client that was frozen: %v, want %v", err, rpc.ErrLost)
		}
		again := b.dial(Network{}, relay{})
		b.served(again)
		_, _, _ = c.Close(), neighbour.Close(), again.Close()
	})
}

// A server of which nothing is heard is gone, though it may have got the request.
func TestFrozenServer(t *testing.T) {
	inBubble(t, Network{}, handler(func(*rpc.Exchange) {}), func(b *bubble) {
		var still atomic.Bool
		thaw := make(chan struct{})
		c := b.dial(Network{Timeout: 7 * time.Second}, relay{down: freeze(&still, thaw)})
		synctest.Wait()
		still.Store(true)
		began := time.Now()
		first := c.Start(b.Context(), &rpc.Request{})
		time.Sleep(time.Second)
		b.lost(first, "nothing heard for 8s")
		b.lost(c.Start(b.Context(), &rpc.Request{}), "nothing heard for 8s")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("noticed after %v", took)
		}
		close(thaw)
		_ = c.Close()
	})
}

// nth is a hook that does something to the n-th frame of a kind.
func nth(k kind, n int, do func(frame []byte) [][]byte) func(head, []byte) [][]byte {
	return func(h head, frame []byte) [][]byte {
		if h.kind == k {
			if n--; n == 0 {
				return do(frame)
			}
		}
		return [][]byte{frame}
	}
}

func drop([]byte) [][]byte         { return nil }
func repeat(frame []byte) [][]byte { return [][]byte{frame, frame} }
func flip(frame []byte) [][]byte {
	frame[len(frame)-10] ^= 4
	return [][]byte{frame}
}

// A frame that is lost, repeated or changed on the way ends the connection, at the latest with the next sign of life; so
// every call is answered or fails, and a new connection works.
func TestLostFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		relay relay
		kind  kind // of the frames that are counted
		why   string
	}{
		{"last request lost", relay{up: nth(kindRequest, 3, drop)}, 0, "the server ended it: request 3 was lost on the way"},
		{"request lost", relay{up: nth(kindRequest, 2, drop)}, 0, "the server ended it: request 2 was lost on the way"},
		{"request repeated", relay{up: nth(kindRequest, 2, repeat)}, 0, "the server ended it: request 2 came when 3 was due"},
		{"request changed", relay{up: nth(kindRequest, 2, flip)}, 0, "the server ended it: checksum of a body of 1032 bytes"},
		{"last answer lost", relay{down: nth(kindResponse, 3, drop)}, 0, "2 answers came, want 3: the others were lost on the way"},
		{"answer lost", relay{down: nth(kindResponse, 2, drop)}, 0, "frame 2 follows frame 0"},
		{"answer repeated", relay{down: nth(kindResponse, 2, repeat)}, 0, "frame 1 follows frame 1"},
		{"answer changed", relay{down: nth(kindResponse, 3, flip)}, 0, "checksum of a body of 16 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Network{}, handler(echo), func(b *bubble) {
				conn := b.dial(Network{}, c.relay)
				var calls []*rpc.Call
				for i := range int32(3) {
					calls = append(calls, conn.Start(b.Context(), &rpc.Request{Clock: i, Arg: make([]byte, 1000)}))
				}
				lost := 0
				for i, call := range calls {
					r, err := call.Wait(b.Context())
					if err == nil && r.Clock != int32(i) {
						t.Errorf("call %d: answer %d", i, r.Clock)
					}
					if err != nil {
						lost++
						if !errors.Is(err, rpc.ErrLost) || !strings.Contains(err.Error(), c.why) {
							t.Errorf("call %d: %v, want %q", i, err, c.why)
						}
					}
					r.Release()
				}
				if _, err := conn.Start(b.Context(), &rpc.Request{}).Wait(b.Context()); !errors.Is(err, rpc.ErrLost) ||
					!strings.Contains(err.Error(), c.why) {
					t.Errorf("a later call: %v, want %q", err, c.why)
				}
				if lost == 0 && !strings.Contains(c.name, "repeated") {
					t.Error("no call failed")
				}
				again := b.dial(Network{}, relay{})
				b.served(again)
				_, _ = conn.Close(), again.Close()
			})
		})
	}
}

// A connection that waits for room lives as long as it takes, at both ends; and nobody who has room waits.
func TestWaitsForRoom(t *testing.T) {
	ledger := budget.New(16 << 20)
	parked := make(chan *rpc.Buffer, 9)
	h := handler(func(x *rpc.Exchange) {
		if x.Op == rpc.OpPush { // what is pushed stays
			parked <- x.Memory.Retain()
		}
		echo(x)
	})
	inBubble(t, Network{Ledger: ledger}, h, func(b *bubble) {
		push := func(c rpc.Conn) *rpc.Call {
			return c.Start(b.Context(), &rpc.Request{Op: rpc.OpPush, Arg: make([]byte, 4<<20-32)})
		}
		c, neighbour := b.dial(Network{}, relay{}), b.dial(Network{}, relay{})
		for range 2 { // frames have a ceiling of 8 MiB
			if _, err := push(c).Wait(b.Context()); err != nil {
				t.Error(err)
			}
		}
		waiting := push(c)
		time.Sleep(10 * time.Hour)
		if len(parked) != 2 {
			t.Errorf("%d pushes have arrived, want 2: %v", len(parked), ledger.Used())
		}
		b.served(neighbour)
		(<-parked).Release()
		if _, err := waiting.Wait(b.Context()); err != nil {
			t.Errorf("the push that waited for room: %v", err)
		}
		(<-parked).Release()
		(<-parked).Release()
		if _, err := c.Start(b.Context(), &rpc.Request{Arg: make([]byte, 9<<20)}).Wait(b.Context()); !errors.Is(err, rpc.ErrTooLarge) ||
			!strings.Contains(err.Error(), "9437216 bytes of frames, want at most 8388608") {
			t.Errorf("a push for which there is never room: %v", err)
		}
		b.served(c)
		_, _ = c.Close(), neighbour.Close()
	})
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}

// urgent is a server on which the pushes of fast tasks stay until the slow one's has come.
type urgent struct {
	ledger *budget.Ledger
	slow   atomic.Pointer[rpc.Peer]
	mu     sync.Mutex
	staged []*rpc.Buffer
	came   chan int
}

func (u *urgent) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.staged)
}

func (u *urgent) Urgent(from *rpc.Peer) bool { return from == u.slow.Load() }

func (u *urgent) Serve(x *rpc.Exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.Op == rpc.OpJoin {
		u.slow.Store(x.From)
	} else if x.From != u.slow.Load() || len(u.staged) < 3 {
		u.staged = append(u.staged, x.Memory.Retain())
		u.came <- len(u.staged)
	} else {
		for _, f := range u.staged {
			f.Release()
		}
		u.staged = nil
	}
	x.Answer(nil)
}

// The reserve lets the slowest task through where all others wait, also if it became the slowest while it waited.
func TestUrgent(t *testing.T) {
	for _, before := range []bool{true, false} {
		ledger := budget.New(16 << 20)
		u := &urgent{ledger: ledger, came: make(chan int, 9)}
		inBubble(t, Network{Ledger: ledger}, u, func(b *bubble) {
			push := &rpc.Request{Op: rpc.OpPush, Arg: make([]byte, 2<<20)}
			fast, slow := b.dial(Network{}, relay{}), b.dial(Network{}, relay{})
			join := func() {
				if _, err := slow.Start(b.Context(), &rpc.Request{Op: rpc.OpJoin}).Wait(b.Context()); err != nil {
					t.Error(err)
				}
			}
			if before {
				join()
			}
			for range 3 {
				if _, err := fast.Start(b.Context(), push).Wait(b.Context()); err != nil {
					t.Error(err)
				}
				<-u.came
			}
			blocked := fast.Start(b.Context(), push)
			time.Sleep(time.Minute)
			call := slow.Start(b.Context(), push)
			if !before {
				time.Sleep(time.Minute)
				if n := u.count(); n != 3 {
					t.Errorf("%d pushes staged, want 3", n)
				}
				listener := b.l.(*listener)
				listener.mu.Lock()
				for s := range listener.sessions {
					if s.in.state.Load() == noRoom && s.last == 1 {
						u.slow.Store(&s.peer)
					}
				}
				listener.mu.Unlock()
				ledger.Wake()
			}
			if _, err := call.Wait(b.Context()); err != nil {
				t.Error(err)
			}
			if _, err := blocked.Wait(b.Context()); err != nil {
				t.Error(err)
			}
			u.mu.Lock()
			for _, f := range u.staged {
				f.Release()
			}
			u.mu.Unlock()
			_, _ = fast.Close(), slow.Close()
		})
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	}
}

// A stranger who announces much and brings little costs what he brings, holds up nobody, and is sent away in the end.
func TestDrip(t *testing.T) {
	ledger := budget.New(64 << 20)
	inBubble(t, Network{Ledger: ledger}, handler(echo), func(b *bubble) {
		neighbour := b.dial(Network{}, relay{})
		for range 20 {
			r := b.raw()
			big := sealed(0, kindRequest, 1, &rpc.Request{})
			h, _ := parseHead((*[headSize]byte)(big), 1<<20)
			h.size = 30 << 20
			h.put(big)
			go func() {
				for _, err := r.Write(big[:headSize+10]); err == nil; _, err = r.Write([]byte{1}) {
					time.Sleep(5 * time.Second)
				}
			}()
		}
		for range 5 {
			time.Sleep(8 * time.Second)
			if used := ledger.Used().Total(); used > 20*firstStep+2<<20 {
				t.Errorf("%d bytes are counted for strangers who brought a few", used)
			}
			r, err := neighbour.Start(b.Context(), &rpc.Request{Arg: make([]byte, 20<<20)}).Wait(b.Context())
			if err != nil {
				t.Errorf("the neighbour: %v", err)
			}
			r.Release()
		}
		time.Sleep(2 * time.Minute)
		if n := strings.Count(b.log.text(), "bytes of a frame came within 1m0s, want at least 65536"); n != 20 {
			t.Errorf("%d strangers were sent away, want 20: %s", n, b.log.text())
		}
		_ = neighbour.Close()
	})
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}

// sized is a server whose answers have the size that the request's clock says.
type sized struct{}

func (sized) Size(x *rpc.Exchange) int64 { return int64(x.Clock) }

func (sized) Serve(x *rpc.Exchange) {
	memory := x.Buffer(int(x.Clock))
	x.Answer(&rpc.Response{Clock: x.Clock, Memory: memory, Results: []rpc.Result{{Data: memory.Bytes()}}})
}

// A client that shows that it lives but does not read its answers costs its share at most and holds up nobody.
func TestDoesNotRead(t *testing.T) {
	ledger := budget.New(64 << 20)
	inBubble(t, Network{Ledger: ledger}, sized{}, func(b *bubble) {
		neighbour := b.dial(Network{}, relay{})
		r := b.raw()
		go func() {
			number := uint16(0)
			for id := range uint64(100) {
				if _, err := r.Write(sealed(number, kindRequest, id+1, &rpc.Request{Clock: 500_000})); err != nil {
					return
				}
				number++
			}
			for {
				if _, err := r.Write(sealed(number, kindAlive, 100, nil)); err != nil {
					return
				}
				number++
				time.Sleep(time.Second)
			}
		}()
		time.Sleep(30 * time.Second)
		if used := ledger.Used(); used[budget.Queues] < 2_000_000 || used[budget.Queues] > 3<<20 {
			t.Errorf("used %v, want about the share of one connection, 2 MiB", used)
		}
		for range 5 {
			a, err := neighbour.Start(b.Context(), &rpc.Request{Clock: 5 << 20}).Wait(b.Context())
			if err != nil || len(a.Results[0].Data) != 5<<20 {
				t.Errorf("the neighbour: %v", err)
			}
			a.Release()
		}
		if _, err := neighbour.Start(b.Context(), &rpc.Request{Clock: 17 << 20}).Wait(b.Context()); !errors.Is(err, rpc.ErrTooLarge) ||
			!strings.Contains(err.Error(), fmt.Sprintf("%d bytes of queues, want at most %d", 17<<20, 16<<20)) {
			t.Errorf("an answer for which there is never room: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if !strings.Contains(b.log.text(), "bytes of answers for 1m0s") {
			t.Errorf("the log says %q, want how long nothing was taken", b.log.text())
		}
		_ = neighbour.Close()
	})
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}
