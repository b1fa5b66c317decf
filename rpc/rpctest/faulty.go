package rpctest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"thole.example/rpc"
)

// Fate is what becomes of a request.
type Fate uint8

// The fates. A frame that is dropped or comes twice on a connection that lives is noticed, as package rpc/tcp notices it by
// the numbers of frames, and ends the connection.
const (
	GoesWell      Fate = iota
	CutBefore          // the connection is lost before the request arrives
	CutAfter           // the connection is lost when the request has arrived and the answer is not back
	DropRequest        // it does not arrive, nor does what follows, until that is noticed
	RepeatRequest      // it arrives, and then the server sees it again
	DropAnswer         // the answer does not come back; what follows goes on until that is noticed
	RepeatAnswer       // the answer comes back, and then again
	FreezeServer       // the server stands still; if for longer than the timeout, only the client knows, until it goes on
	FreezeClient       // the client stands still; if for longer than the timeout, only the server knows, until it goes on
	Fates              // their number
)

// Faulty is a network on whose way things go wrong, by chance but by a seed. It works over rpc/mem in testing/synctest
// bubbles, where delays cost nothing. Requests of one connection stay in order; those of several overtake each other.
// Fields must not change once it is used.
type Faulty struct {
	rpc.Network
	Seed    uint64
	Chance  [Fates]float64          // of each request; what is left goes well
	Spare   func(*rpc.Request) bool // requests that nothing happens to, or nil
	Refuse  float64                 // chance of a Dial to find nobody
	Delay   time.Duration           // requests and answers are each up to this long on their way
	Notice  time.Duration           // how long until the loss of a frame is noticed, at most
	Timeout time.Duration           // of silence; freezes last up to twice as long
	Window  int                     // requests under way on a connection; 0: 64

	mu    sync.Mutex
	dials uint64
	met   [Fates]int
	every int // of Flaky
	asked int
	late  sync.WaitGroup // requests in servers that stand still
}

// Even gives every fate but GoesWell the same chance.
func Even(chance float64) (all [Fates]float64) {
	for f := CutBefore; f < Fates; f++ {
		all[f] = chance
	}
	return all
}

// Met is how often each fate was met so far.
func (n *Faulty) Met() [Fates]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.met
}

// Wait waits until no server stands still any more. The Close of a listener of this network waits, too.
func (n *Faulty) Wait() { n.late.Wait() }

// Listen implements rpc.Network.
func (n *Faulty) Listen(ctx context.Context, addr string, h rpc.Handler) (rpc.Listener, error) {
	l, err := n.Network.Listen(ctx, addr, h)
	if err != nil {
		return nil, err
	}
	return &waiting{l, n}, nil
}

type waiting struct {
	rpc.Listener
	net *Faulty
}

// Close implements rpc.Listener.
func (w *waiting) Close() error {
	w.net.Wait()
	return w.Listener.Close()
}

// Dial implements rpc.Network.
func (n *Faulty) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	n.mu.Lock()
	n.dials++
	rnd := rand.New(rand.NewPCG(n.Seed, n.dials))
	n.mu.Unlock()
	if n.Refuse > 0 && rnd.Float64() < n.Refuse {
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	inner, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	window := n.Window
	if window == 0 {
		window = 64
	}
	l := &link{net: n, addr: addr, inner: inner, rnd: rnd, slot: make(chan struct{}, window),
		queue: make(chan *passage, window), gone: make(chan struct{}), under: map[*passage]struct{}{}}
	l.work.Go(l.carry)
	return l, nil
}

// fate draws what becomes of a request.
func (n *Faulty) fate(q *rpc.Request, rnd *rand.Rand) Fate {
	if n.Spare != nil && n.Spare(q) {
		return GoesWell
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	fate := GoesWell
	if n.every > 0 {
		if n.asked++; n.asked%n.every == 0 {
			fate = CutBefore + Fate(n.asked/n.every%2)
		}
	} else {
		at := rnd.Float64()
		for f := CutBefore; f < Fates; f++ {
			if at < n.Chance[f] {
				fate = f
				break
			}
			at -= n.Chance[f]
		}
	}
	n.met[fate]++
	return fate
}

// Flaky is a network whose connections are lost again and again, without any use of time: every n-th request but joins, in
// turn before it is sent and when it has been handled but the answer has not come.
func Flaky(inner rpc.Network, n int) *Faulty {
	return &Faulty{Network: inner, every: n, Spare: func(q *rpc.Request) bool { return q.Op == rpc.OpJoin }}
}

// up to d, by chance.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rnd.Int64N(int64(d) + 1))
}
