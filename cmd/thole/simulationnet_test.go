package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/rpc"
	"thole.example/rpc/mem"
)

// silence is after how much of it an end of a connection takes it for lost, as package rpc/tcp does.
const silence = 10 * time.Second

// simNet is the network of a simulation: processes of it can freeze, be cut off from each other, and be killed. It takes up to simDelay
// for a request or an answer.
type simNet struct {
	mem.Network

	mu      sync.Mutex
	rnd     *rand.Rand
	blocked map[[2]string]time.Time // a process, or two: nothing passes before
	conns   map[*simConn]struct{}
	servers map[string]*simServer // what serves the addresses now
	ops     [64]int               // requests that arrived
	stale   []string              // changes of attempts that had ended
	highest int                   // attempt
	paused  int                   // questions of standbys that had no room
}

const simDelay = 10 * time.Millisecond

// simServer is what the network knows of a server process.
type simServer struct {
	name    string
	attempt atomic.Int64 // in which a task has joined last, as the process says: tasks hear of it in any order
}

// opens is when something can pass between a worker and a server.
func (n *simNet) opens(worker, server string) (at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, way := range [][2]string{{worker}, {server}, {worker, server}} {
		if until := n.blocked[way]; until.After(at) {
			at = until
		}
	}
	return at
}

// pass waits until something can pass, and for the time that it takes.
func (w *simWay) pass(server string) {
	w.mu.Lock()
	delay := time.Duration(cmp.Or(w.rnd, w.simNet.rnd).Int64N(int64(simDelay)))
	w.mu.Unlock()
	time.Sleep(delay)
	for {
		wait := time.Until(w.opens(w.name, server))
		if wait <= 0 {
			return
		}
		time.Sleep(min(wait, silence/4)) // who is killed does not stand still any more
	}
}

// block lets nothing pass for a while: from or to a process, or between two. Who does not stand still finds it out by the silence.
func (n *simNet) block(worker, server string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	way := [2]string{worker, server}
	if worker == "" || server == "" {
		way = [2]string{worker + server}
	}
	n.blocked[way] = time.Now().Add(d)
	if d <= silence {
		return
	}
	for c := range n.conns {
		if (worker == "" || c.way.name == worker) && (server == "" || c.server.name == server) {
			time.AfterFunc(silence, func() {
				if worker != "" { // the server hears nothing
					_ = c.inner.Close()
				}
				if server != "" { // nor does the worker; what it has sent may still be read when the server goes on
					c.lose(fmt.Errorf("nothing heard for %v: %w", silence, rpc.ErrLost), worker == "")
				}
			})
		}
	}
}

// free ends what blocks a process, which is killed.
func (n *simNet) free(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.blocked, [2]string{name})
}

// simWay is the network as a worker process has it.
type simWay struct {
	*simNet
	name string
	slow time.Duration // that each request takes in addition
	rnd  *rand.Rand    // of the time that a message takes; nil: the network's
	dead bool
	made int // connections so far
}

// kill ends the process's connections: the servers hear of it at once, and nothing else.
func (w *simWay) kill() {
	w.mu.Lock()
	w.dead = true
	var mine []*simConn
	for c := range w.conns {
		if c.way == w {
			mine = append(mine, c)
		}
	}
	w.mu.Unlock()
	for _, c := range mine {
		c.lose(rpc.ErrClosed, false)
		_ = c.inner.Close()
	}
}

var errSimKilled = errors.New("the process was killed")

func (w *simWay) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	for tried := time.Now(); ; {
		wait := time.Until(w.opens(w.name, addr))
		if wait <= 0 {
			break
		}
		if time.Since(tried) >= silence {
			return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(wait, silence/4)):
		}
	}
	inner, err := w.simNet.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	server := w.servers[addr]
	if w.dead || server == nil {
		_ = inner.Close()
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	c := &simConn{way: w, server: server, inner: inner, queue: make(chan *simCall, 1024), gone: make(chan struct{}), under: map[*simCall]bool{}}
	w.conns[c] = struct{}{}
	w.made++
	go c.carry()
	return c, nil
}

// simConn is a connection of a worker, as it sees it.
type simConn struct {
	way     *simWay
	server  *simServer
	inner   rpc.Conn
	queue   chan *simCall
	gone    chan struct{} // closed when the worker has lost it
	attempt int64         // in which a task has joined over it; under the network's mu

	mu    sync.Mutex
	err   error // why it was lost
	late  bool  // what was sent arrives all the same
	under map[*simCall]bool
}

// simCall is a request on its way.
type simCall struct {
	q    *rpc.Request
	call *rpc.Call
	ctx  context.Context
	stop context.CancelFunc
}

func (c *simConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	p := &simCall{q: q}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.call = rpc.NewCall(0, func(uint64) { p.stop() })
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.stop()
		p.call.Finish(nil, fmt.Errorf("server %s: %w", c.server.name, err))
		return p.call
	}
	q.Memory.Retain()
	c.under[p] = true
	c.queue <- p // the client has never so many under way
	return p.call
}

func (c *simConn) Close() error {
	c.lose(rpc.ErrClosed, false)
	return nil
}

// lose ends the worker's side; with late what was sent arrives all the same.
func (c *simConn) lose(why error, late bool) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.late = why, late
	under := c.under
	c.under = nil
	close(c.gone)
	c.mu.Unlock()
	for p := range under {
		p.stop()
		p.call.Finish(nil, fmt.Errorf("server %s: %w", c.server.name, why))
	}
}

// carry takes the requests to the server, one after the other, and the end of the connection.
func (c *simConn) carry() {
	defer func() {
		c.way.pass(c.server.name)
		_ = c.inner.Close()
		c.way.mu.Lock()
		delete(c.way.conns, c)
		c.way.mu.Unlock()
	}()
	for {
		select {
		case p := <-c.queue:
			c.deliver(p)
		case <-c.gone:
			for {
				select {
				case p := <-c.queue:
					c.deliver(p)
				default:
					return
				}
			}
		}
	}
}

func (c *simConn) deliver(p *simCall) {
	defer p.q.Memory.Release()
	time.Sleep(c.way.slow)
	c.way.pass(c.server.name)
	c.mu.Lock()
	dropped := c.err != nil && !c.late
	c.mu.Unlock()
	if dropped {
		return
	}
	n := c.way.simNet
	n.mu.Lock()
	n.ops[p.q.Op]++
	if p.q.Op == rpc.OpCopy && bytes.Contains(p.q.Arg, []byte(`"paused":true`)) {
		n.paused++
	}
	ended := c.attempt != c.server.attempt.Load() // which is a lower one if all tasks of the attempt were lost, and come anew
	n.mu.Unlock()
	inner := c.inner.Start(context.Background(), p.q)
	var join rpc.Join
	if p.q.Op == rpc.OpJoin {
		_ = json.Unmarshal(p.q.Arg, &join)
	}
	op := p.q.Op
	go func() { c.answer(p, inner, op, join.Attempt, ended) }()
}

// changes are the requests that change something.
var changes = map[rpc.Op]bool{rpc.OpCreate: true, rpc.OpPush: true, rpc.OpUpdate: true, rpc.OpSave: true, rpc.OpCommit: true,
	rpc.OpLoad: true, rpc.OpDirect: true, rpc.OpPrune: true}

// answer takes the answer back.
func (c *simConn) answer(p *simCall, inner *rpc.Call, op rpc.Op, attempt int, ended bool) {
	defer p.stop()
	r, err := inner.Wait(p.ctx)
	if err != nil && p.ctx.Err() != nil { // given up
		r, err = inner.Wait(context.Background())
	}
	n := c.way.simNet
	n.mu.Lock()
	switch {
	case err != nil:
	case op == rpc.OpJoin:
		var joined rpc.Joined
		if len(r.Results) == 1 && json.Unmarshal(r.Results[0].Data, &joined) == nil && joined.Attempt == 0 && !joined.Ended && !joined.Moved {
			c.attempt = int64(attempt)
			n.highest = max(n.highest, attempt)
		}
	case ended && changes[op]:
		n.stale = append(n.stale, fmt.Sprintf("%s: a %v of %s in attempt %d was answered well, and attempt %d had begun", c.server.name, op,
			c.way.name, c.attempt, c.server.attempt.Load()))
	}
	n.mu.Unlock()
	c.way.pass(c.server.name)
	if _, fault := errors.AsType[*rpc.Fault](err); err != nil && !fault { // the connection has ended
		c.lose(rpc.ErrLost, false)
		return
	}
	c.mu.Lock()
	waiting := c.under[p]
	delete(c.under, p)
	c.mu.Unlock()
	if !waiting {
		r.Release()
		return
	}
	p.call.Finish(r, err)
}
