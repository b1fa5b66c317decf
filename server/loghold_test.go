package server

import (
	"errors"
	"io"
	"testing"

	"thole.example/journal"
	"thole.example/rpc"
)

// TestHoldAfterFailure: when a log takes nothing any more, an answer that would have to wait for it says so, and does not go out as if what
// it tells were durable.
func TestHoldAfterFailure(t *testing.T) {
	dir, err := OpenLogDir(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := &Server{Logs: dir}
	l, err := s.openLog("000001", 0)
	if err != nil {
		t.Fatal(err)
	}
	l.json(recordBegin, beginning{Job: "j"})
	if err := l.log.Close(); err != nil {
		t.Fatal(err)
	}
	end := l.log.End()
	for _, c := range []struct {
		durable uint64
		err     error
		failed  bool
	}{
		{end, journal.ErrClosed, false}, {end, io.ErrShortWrite, false}, {end - 1, io.ErrShortWrite, true}, {0, io.ErrShortWrite, true},
	} {
		l.notify(c.durable, c.err)
		a := answer{x: rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(*rpc.Exchange, *rpc.Response, error) {}), r: &rpc.Response{}}
		if l.hold(&a) {
			t.Fatalf("%+v: it is held for good", c)
		}
		if failed := errors.Is(a.err, c.err) && errors.Is(a.err, rpc.ErrAborted); failed != c.failed || (a.r == nil) != c.failed {
			t.Errorf("%+v: answer %v, %v", c, a.r, a.err)
		}
	}
}
