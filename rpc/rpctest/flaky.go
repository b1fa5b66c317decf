package rpctest

import (
	"context"
	"fmt"
	"sync"

	"thole.example/rpc"
)

// Flaky is a network whose connections are lost again and again: in turn before a request is sent, and when it has been
// handled but the answer has not come. Tasks that join for the first time are spared.
type Flaky struct {
	rpc.Network
	Every int // the Every-th request of the network meets a loss

	mu     sync.Mutex
	asked  int
	losses [2]int
}

// Losses is how many connections were lost before and after a request was handled.
func (f *Flaky) Losses() (before, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.losses[0], f.losses[1]
}

// Dial implements rpc.Network.
func (f *Flaky) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := f.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &flakyConn{Conn: c, net: f, addr: addr}, nil
}

// fates of a request.
const (
	goesWell = iota
	lostBefore
	lostAfter
)

func (f *Flaky) fate(q *rpc.Request) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if q.Op == rpc.OpJoin {
		return goesWell
	}
	f.asked++
	if f.asked%f.Every != 0 {
		return goesWell
	}
	kind := f.asked / f.Every % 2
	f.losses[kind]++
	return lostBefore + kind
}

type flakyConn struct {
	rpc.Conn
	net  *Flaky
	addr string

	mu   sync.Mutex
	dead bool
}

func (c *flakyConn) lose() {
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	_ = c.Conn.Close()
}

func (c *flakyConn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return fmt.Errorf("server %s: %w", c.addr, rpc.ErrLost)
	}
	return nil
}

// Start implements rpc.Conn.
func (c *flakyConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	call := rpc.NewCall()
	fate := c.net.fate(q)
	if fate == lostBefore {
		c.lose()
	}
	if err := c.lost(); err != nil {
		call.Finish(nil, err)
		return call
	}
	inner := c.Conn.Start(ctx, q)
	go func() {
		r, err := inner.Wait(context.WithoutCancel(ctx))
		if fate == lostAfter {
			c.lose()
			err = c.lost()
		}
		if err != nil && c.lost() != nil {
			err = c.lost()
		}
		if err != nil {
			r = nil
		}
		call.Finish(r, err)
	}()
	return call
}
