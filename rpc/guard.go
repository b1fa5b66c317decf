package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Serve runs the handler for networks: a panic becomes ErrInternal and is logged with its stack, and an answer of
// neither response nor error becomes an empty response.
func Serve(ctx context.Context, h Handler, from *Peer, q *Request, log *slog.Logger) (r *Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("rpc: handler panicked", "op", q.Op, "job", q.Job, "from", from.Name, "panic", p,
				"stack", string(debug.Stack()))
			r, err = nil, fmt.Errorf("%w: %v", ErrInternal, p)
		}
	}()
	if r, err = h.Serve(ctx, from, q); r == nil && err == nil {
		r = &Response{}
	}
	return r, err
}
