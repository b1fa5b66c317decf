package server_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// numbered starts servers that call themselves by these numbers, each at two addresses.
func numbered(t *testing.T, numbers ...int) (addrs, others []string) {
	t.Helper()
	for i, n := range numbers {
		is := rpc.Server{Name: fmt.Sprint("ps-", i), Number: n, Instance: fmt.Sprint("instance-", i)}
		s := &server.Server{Codecs: codecs, Bucket: &blob.Mem{}}
		for _, all := range []*[]string{&addrs, &others} {
			l, err := tcp.Network{Name: is.Text()}.Listen(t.Context(), "127.0.0.1:0", s)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			*all = append(*all, l.Addr())
		}
	}
	return addrs, others
}

// TestNamedServers: who names a server twice, or servers in an order that is not theirs, is told what is wrong with which address.
func TestNamedServers(t *testing.T) {
	addrs, others := numbered(t, 0, 1, -1)
	free, _ := numbered(t, -1, -1)
	for _, tc := range []struct {
		servers  []string
		numbered bool
		want     string
	}{
		{addrs, true, ""},
		{others, true, ""},
		{free, true, ""},
		{[]string{free[1], free[0]}, true, ""}, // which have no numbers
		{[]string{addrs[1], addrs[0]}, false, ""},
		{[]string{addrs[1], addrs[0]}, true, addrs[1] + ", the address of server 0, leads to server 1 (ps-1): want the addresses in the order"},
		{[]string{addrs[0], addrs[2], others[2]}, true, addrs[2] + " and " + others[2] + " are one server (ps-2): want each once"},
		{[]string{addrs[0], others[0]}, false, addrs[0] + " and " + others[0] + " are one server (ps-0): want each once"},
	} {
		p, err := ps.Dial(t.Context(), ps.Options{Network: tcp.Network{}, Servers: tc.servers, Numbered: tc.numbered, Job: "j", Tasks: 1})
		switch {
		case err == nil && tc.want == "":
			if err := p.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		case err == nil || tc.want == "":
			t.Errorf("%v: %v, want %q", tc.servers, err, tc.want)
		case !errors.Is(err, ps.ErrServers) || ps.Recoverable(err) || !strings.HasPrefix(err.Error(), tc.want):
			t.Errorf("%v: %v, want %q", tc.servers, err, tc.want)
		}
		if p != nil {
			p.Close()
		}
	}
}

// TestSameServers: the tasks of a job have the same idea of which server is which. One that has another is refused, wherever it comes first.
func TestSameServers(t *testing.T) {
	addrs, _ := numbered(t, -1, -1, -1)
	dial := func(task, attempt int, servers ...string) (*ps.Client, error) {
		return ps.Dial(t.Context(), ps.Options{Network: tcp.Network{}, Servers: servers, Job: "j", Task: task, Tasks: 2, Bound: ssp.BSP,
			Attempt: attempt, Worker: fmt.Sprint(task)})
	}
	first, err := dial(0, 1, addrs[0], addrs[1])
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for _, servers := range [][]string{{addrs[1], addrs[0]}, {addrs[0]}, {addrs[0], addrs[1], addrs[2]}, {addrs[2], addrs[1], addrs[0]}} {
		p, err := dial(1, 1, servers...)
		if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "give all workers the same servers in the same order") {
			t.Errorf("%v: %v, want that it is refused", servers, err)
		}
		if p != nil {
			p.Close()
		}
	}
	second, err := dial(1, 1, addrs[0], addrs[1])
	if err != nil {
		t.Fatalf("a task with the same servers, after others: %v", err)
	}
	defer second.Close()
	later, err := dial(0, 2, addrs[1], addrs[0], addrs[2]) // the job has moved
	if err != nil {
		t.Fatalf("a later attempt on other servers: %v", err)
	}
	later.Close()
}

// placeless is a network on which nobody says which servers a job has: tests join on some of them, as if the others had forgotten it.
type placeless struct{ rpc.Network }

func (n placeless) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	return placelessConn{c}, err
}

type placelessConn struct{ rpc.Conn }

// Start implements rpc.Conn.
func (c placelessConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	if q.Op == rpc.OpJoin {
		own := *q
		own.Arg = placeIn.ReplaceAll(q.Arg, nil)
		q = &own
	}
	return c.Conn.Start(ctx, q)
}

var placeIn = regexp.MustCompile(`,"place":\d+,"places":\d+`)
