// Package rpctest holds what every network must keep of the promises of package rpc, as tests.
package rpctest

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"thole.example/rpc"
)

// Setup makes a network whose connections have room for the given number of requests under way, and an address to
// listen at.
type Setup func(t testing.TB, window int) (rpc.Network, string)

// Run tests the network.
func Run(t *testing.T, setup Setup) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Setup)
	}{
		{"echo", testEcho},
		{"big", testBig},
		{"many", testMany},
		{"nothing", testNothing},
		{"order", testOrder},
		{"answers from elsewhere", testElsewhere},
		{"answers in any order", testAnyOrder},
		{"answered twice", testTwice},
		{"memory", testMemory},
		{"errors", testErrors},
		{"panic", testPanic},
		{"cancel", testCancel},
		{"deadline", testDeadline},
		{"ended context", testEnded},
		{"window", testWindow},
		{"window given up", testWindowGivenUp},
		{"client closes", testClientCloses},
		{"server closes", testServerCloses},
		{"server closes idle", testServerClosesIdle},
		{"answer after the end", testLate},
		{"nobody", testNobody},
		{"in use", testInUse},
		{"two servers", testTwoServers},
		{"peers", testPeers},
		{"many waiters", testWaiters},
		{"alarm", testAlarm},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			c.test(t, setup)
		})
	}
}

// Func is a handler made of a function.
type Func func(x *rpc.Exchange)

// Serve implements rpc.Handler.
func (f Func) Serve(x *rpc.Exchange) { f(x) }

// Echo answers at once with what the request holds.
func Echo(x *rpc.Exchange) { x.Answer(reply(x)) }

// reply is what the request holds.
func reply(x *rpc.Exchange) *rpc.Response {
	return &rpc.Response{Clock: x.Clock, Parts: x.Parts, Memory: x.Memory.Retain()}
}

// Blocking is a handler that answers each request from a goroutine of its own, which may wait.
func Blocking(answer func(x *rpc.Exchange) (*rpc.Response, error)) Func {
	return func(x *rpc.Exchange) {
		go func() {
			if r, err := answer(x); err != nil {
				x.Fail(err)
			} else {
				x.Answer(r)
			}
		}()
	}
}

// plenty is a window that no test fills by chance.
const plenty = 64

// start serves the handler and connects to it. The function closes both.
func start(t testing.TB, setup Setup, window int, h Func) (rpc.Conn, rpc.Listener, func()) {
	t.Helper()
	n, addr := setup(t, window)
	l, err := n.Listen(context.Background(), addr, h)
	if err != nil {
		t.Fatal(err)
	}
	c, err := n.Dial(context.Background(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return c, l, func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("close the listener: %v", err)
		}
	}
}

// call sends the request and waits for its answer.
func call(t testing.TB, c rpc.Conn, q *rpc.Request) *rpc.Response {
	t.Helper()
	r, err := c.Start(context.Background(), q).Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
