package ps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"thole.example/ps"
	"thole.example/rpc"
)

// TestRecoverable: whoever lost somebody else can try again, and nobody else.
func TestRecoverable(t *testing.T) {
	fault := func(kind error) error { return rpc.NewFault("s", fmt.Errorf("because: %w", kind)) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("%w; not reached again", rpc.ErrLost), true},
		{rpc.ErrUnreachable, true},
		{rpc.ErrClosed, true},
		{fault(rpc.ErrAborted), true},
		{fault(rpc.ErrTimeout), true},
		{fmt.Errorf("dial: %w", &ps.LaterAttempt{Job: "j", Attempt: 2}), true},
		{fmt.Errorf("dial: %w", &ps.Moved{Job: "j"}), true},
		{fmt.Errorf("%w; then: %w", rpc.ErrLost, fault(rpc.ErrNotFound)), true}, // a server that was started anew
		{fmt.Errorf("%w; then: %w", rpc.ErrLost, fault(rpc.ErrRefused)), false},
		{fmt.Errorf("%w; then: %w", rpc.ErrLost, fault(rpc.ErrOver)), false},
		{fault(rpc.ErrOver), false},
		{fault(rpc.ErrRefused), false},
		{fault(rpc.ErrMalformed), false},
		{fault(rpc.ErrNotFound), false}, // a checkpoint
		{fault(rpc.ErrInternal), false},
		{fault(rpc.ErrPassed), false},
		{ps.ErrAnswer, false},
		{context.Canceled, false},
		{fmt.Errorf("%w: %w", rpc.ErrLost, context.DeadlineExceeded), false},
		{errors.New("no such file"), false},
		{nil, false},
	} {
		if got := ps.Recoverable(c.err); got != c.want {
			t.Errorf("%v: recoverable is %v, want %v", c.err, got, c.want)
		}
	}
}

// TestLaterAttempt: a task that has to come in a later attempt has not joined; servers that tell of none that is later lie.
func TestLaterAttempt(t *testing.T) {
	for _, c := range []struct{ own, told int }{{1, 2}, {3, 9}, {3, 3}, {3, 1}, {0, 1}, {2, -1}} {
		f := newCluster(2)
		f.handlers[1] = handler(func(x *rpc.Exchange) { control(x, rpc.Joined{Attempt: c.told}) })
		_, err := ps.Dial(t.Context(), ps.Options{Network: f.fake, Servers: f.addrs(), Job: "j", Tasks: 1, Attempt: c.own})
		later, ok := errors.AsType[*ps.LaterAttempt](err)
		switch {
		case c.own > 0 && c.told > c.own:
			if !ok || later.Attempt != c.told {
				t.Errorf("attempt %d, told %d: %v", c.own, c.told, err)
			}
		case !errors.Is(err, ps.ErrAnswer):
			t.Errorf("attempt %d, told %d: %v, want that this cannot be", c.own, c.told, err)
		}
	}
}
