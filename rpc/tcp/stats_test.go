package tcp

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// The statistics count every request once, by operation and token, also of connections that are over, and refusals by reason.
func TestStats(t *testing.T) {
	ann, bob := access.NewSecret(), access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "ann", Key: ann.Key(), Rights: access.Write}, {Name: "bob", Key: bob.Key(), Rights: access.Read}})
	l := listen(t, Network{Tokens: table, Strangers: 2, Log: (&journal{}).logger()}, func(x *rpc.Exchange) {
		switch {
		case x.Op == rpc.OpPush:
			x.Fail(fmt.Errorf("%w: %w", rpc.ErrRefused, x.From.Grant.Check(access.Administer)))
		case x.Op == rpc.OpSave:
			x.Fail(fmt.Errorf("%w: %w", rpc.ErrRefused, access.NewAccount("job", access.Limits{}).Full()))
		default:
			echo(x)
		}
	})
	do := func(c rpc.Conn, op rpc.Op, n int) {
		for range n {
			r, err := c.Start(t.Context(), &rpc.Request{Op: op}).Wait(t.Context())
			if err != nil && !errors.Is(err, rpc.ErrRefused) {
				t.Fatal(err)
			}
			r.Release()
		}
	}
	stats := func() Stats {
		t.Helper()
		s, ok := StatsOf(l)
		if !ok {
			t.Fatal("there are no statistics")
		}
		return s
	}
	until := func(what string, want func(Stats) bool) Stats {
		t.Helper()
		for {
			s := stats()
			if want(s) {
				return s
			}
			if t.Context().Err() != nil {
				t.Fatalf("%s: %+v", what, s)
			}
			time.Sleep(time.Millisecond)
		}
	}
	over := dial(t, Network{Secret: &ann}, l)
	do(over, rpc.OpPull, 5)
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	until("one is over", func(s Stats) bool { return s.Connections == 0 })
	a, b := dial(t, Network{Secret: &ann}, l), dial(t, Network{Secret: &bob}, l)
	do(a, rpc.OpPull, 2)
	do(a, rpc.OpPush, 3)
	do(b, rpc.OpSave, 4)
	alone := func() { until("the stranger is gone", func(s Stats) bool { return s.Strangers == 0 }) } // or the next ones are a crowd
	alone()
	_, _ = Network{}.Dial(t.Context(), l.Addr()) // no token
	alone()
	for _, text := range []string{"noise that is long enough for a greeting", string(append(hello{}.bytes()[:8], 1, 0, 0, 0))} {
		r := connect(t, l)
		r.put([]byte(text))
		_, _ = readHello(r.Conn, "server")
		_ = r.Conn.Close()
		alone()
	}
	until("the strangers are gone", func(s Stats) bool { return s.Strangers == 0 && s.Accepted == 6 })
	for range 3 {
		nc, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	s := until("strangers", func(s Stats) bool { return s.Strangers == 2 && s.Accepted == 9 && s.Refused["crowd"] == 1 })
	pull, push, save := &s.Measures[rpc.OpPull], &s.Measures[rpc.OpPush], &s.Measures[rpc.OpSave]
	if pull.Requests() != 7 || pull.Errors != 0 || pull.Nanos == 0 || push.Requests() != 3 || push.Errors != 3 || save.Errors != 4 || s.Measures.Requests() != 14 {
		t.Errorf("pull %+v, push %+v, save %+v", pull, push, save)
	}
	if got := fmt.Sprint(s.Connections, s.Running, s.Queued, s.Tokens["ann"], s.Tokens["bob"]); got != "2 0 0 {1 10} {1 4}" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(s.Refused); got != "map[crowd:1 late:0 limit:4 magic:1 right:3 tls:0 token:1 version:1]" {
		t.Errorf("refused: %s", got)
	}
	if _, ok := StatsOf(nil); ok {
		t.Error("no listener has statistics")
	}
}
