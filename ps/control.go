package ps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"thole.example/rpc"
)

// ErrAnswer is found in the error when a server's answer is not one to what it was asked.
var ErrAnswer = errors.New("answer does not fit the request")

// lie is the error that says what is wrong with an answer of the server.
func (l *link) lie(format string, args ...any) error {
	return fmt.Errorf("ps: server %s: %s: %w", l.addr, fmt.Sprintf(format, args...), ErrAnswer)
}

// control is a control operation with its settings, if it has any.
func control(op rpc.Op, settings any) (*rpc.Request, error) {
	q := &rpc.Request{Op: op}
	if settings == nil {
		return q, nil
	}
	var err error
	if q.Arg, err = json.Marshal(settings); err != nil {
		return nil, fmt.Errorf("ps: %v: %w", op, err)
	}
	return q, nil
}

// read takes the answer to a control operation, and releases it.
func (l *link) read(r *rpc.Response, into any) error {
	defer r.Release()
	if len(r.Results) != 1 {
		return l.lie("%d results, want 1", len(r.Results))
	}
	if err := json.Unmarshal(r.Results[0].Data, into); err != nil {
		return l.lie("%v", err)
	}
	return nil
}

// ask sends a request to every server that has one, and waits for all answers; that of a nil request is nil.
// It waits for the changes under way, too: if one was refused, the answers may never come. The caller releases what it
// gets. The error is that of the first server that has one.
func (c *Client) ask(ctx context.Context, qs []*rpc.Request) ([]*exchange, error) {
	xs := make([]*exchange, len(qs))
	for i, q := range qs {
		if q != nil {
			xs[i] = &exchange{link: c.links[i], q: q, once: q.Op == rpc.OpSave || q.Op == rpc.OpCommit || q.Op == rpc.OpUpdate}
		}
	}
	err := c.start(ctx, xs)
	if err == nil {
		err = c.wait(ctx, xs, math.MaxInt)
	}
	if err == nil {
		for _, x := range xs {
			if x != nil && x.err != nil && err == nil {
				err = x.err
			}
		}
	}
	if err != nil {
		abandon(xs)
		return nil, err
	}
	return xs, nil
}

// askAll is ask with the same operation to every server, with settings of its own.
func (c *Client) askAll(ctx context.Context, op rpc.Op, settings func(server int) any) ([]*exchange, error) {
	qs := make([]*rpc.Request, len(c.links))
	for i := range qs {
		var own any
		if settings != nil {
			own = settings(i)
		}
		var err error
		if qs[i], err = control(op, own); err != nil {
			return nil, err
		}
		qs[i].Clock = int32(c.clock)
	}
	return c.ask(ctx, qs)
}

// start brings the exchanges on their way, of which some may be nil.
func (c *Client) start(ctx context.Context, xs []*exchange) error {
	for _, x := range xs {
		if x != nil {
			if err := x.link.send(ctx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait waits until the changes up to the number through and the exchanges are answered.
func (c *Client) wait(ctx context.Context, xs []*exchange, through int) error {
	for len(c.rounds) > 0 && c.rounds[0].number <= through {
		if err := c.waitFirst(ctx); err != nil {
			return err
		}
	}
	if c.failed != nil {
		return c.failed
	}
	for _, x := range xs {
		if x != nil {
			if err := x.link.finish(ctx, x, xs); err != nil {
				return err
			}
		}
	}
	return c.failed
}

// abandon ends exchanges whose answers nobody waits for any more, and releases those that are there. It reports whether
// all were answered.
func abandon(xs []*exchange) (answered bool) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	answered = true
	for _, x := range xs {
		if x == nil {
			continue
		}
		if !x.done && x.call != nil {
			x.resp, x.err = x.call.Wait(over)
			x.done = x.call.Ready()
		}
		answered = answered && x.done && x.err == nil
		x.release()
	}
	return answered
}

// release releases the answers.
func release(xs []*exchange) {
	for _, x := range xs {
		if x != nil {
			x.release()
		}
	}
}
