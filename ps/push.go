package ps

import (
	"context"
	"fmt"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Push keeps a delta or gradient until the next Flush or Clock. It owns the block from then on (Increment copies).
func (c *Client) Push(name string, grad matrix.Block) error {
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	if grad.Data == nil {
		return fmt.Errorf("ps: matrix %s: delta without data", name)
	}
	if !m.meta.Rect().Contains(grad.At) {
		return fmt.Errorf("ps: matrix %s: delta at %v, want a place in %v", name, grad.At, m.meta.Rect())
	}
	if grad.Data.DType() != m.meta.DType {
		return fmt.Errorf("ps: matrix %s: delta of %v, want %v", name, grad.Data.DType(), m.meta.DType)
	}
	if err := grad.Check(); err != nil {
		return fmt.Errorf("ps: matrix %s: %w", name, err)
	}
	if c.o.Average {
		grad.Scale(1 / float64(c.o.Tasks))
	}
	log := c.oplog[name]
	if n := len(log); n > 0 && mergeable(log[n-1], grad) && matrix.Add(log[n-1], grad) == nil {
		return nil
	}
	c.oplog[name] = append(log, grad)
	return nil
}

// mergeable reports whether two dense deltas are of the same place, so that their sum can travel instead of both.
func mergeable(a, b matrix.Block) bool {
	n, ok := a.At.Cells()
	_, keyed := a.Data.(matrix.Keyed)
	_, sparse := b.Data.(matrix.Keyed)
	return a.At == b.At && ok && !keyed && !sparse && int64(a.Data.NNZ()) == n && a.Data.NNZ() == b.Data.NNZ()
}

// Flush sends what was pushed and waits until the servers have it. Under ASP it is then applied; under BSP and SSP it
// becomes visible with the rest of this task's clock.
func (c *Client) Flush(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	_, err := c.send(ctx, c.drain(false, 0, 0))
	return err
}

// Clock sends what was pushed, says that the gradients of this clock are sums over weight examples and are to be applied
// with the learning rate, and moves the task's clock on by one. It does not wait: an error is told by the next call.
func (c *Client) Clock(ctx context.Context, weight, rate float64) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	for _, call := range c.start(ctx, c.drain(true, weight, rate)) {
		if call != nil {
			c.behind = append(c.behind, call)
		}
	}
	c.clock++
	if c.o.Bound == ssp.ASP { // a task must see its own updates: nothing else orders its next pull behind them
		return c.settle(ctx)
	}
	return nil
}

// SyncClock is Clock without a rule's step, and waits until the servers have the deltas.
func (c *Client) SyncClock(ctx context.Context) error {
	if err := c.Clock(ctx, 0, 0); err != nil {
		return err
	}
	return c.settle(ctx)
}

// settle waits for the pushes under way.
func (c *Client) settle(ctx context.Context) error {
	var first error
	for _, call := range c.behind {
		if _, err := c.finish(ctx, call); err != nil && first == nil {
			first = err
		}
	}
	c.behind = c.behind[:0]
	return first
}

// drain empties the oplog into one push for each server. With tick every server gets one, for its clock; otherwise only
// those that something is for.
func (c *Client) drain(tick bool, weight, rate float64) []*rpc.Request {
	qs := make([]*rpc.Request, len(c.conns))
	for i := range qs {
		if tick {
			qs[i] = c.request(rpc.OpPush, nil)
			qs[i].Tick, qs[i].Weight, qs[i].Rate = true, weight, rate
		}
	}
	for _, name := range c.order {
		m := c.mats[name]
		for _, b := range c.oplog[name] {
			m.split(b, func(server int, piece matrix.Block) {
				if qs[server] == nil {
					qs[server] = c.request(rpc.OpPush, nil)
				}
				addBlock(qs[server], name, piece)
			})
		}
		delete(c.oplog, name)
	}
	return qs
}

func addBlock(q *rpc.Request, name string, b matrix.Block) {
	if n := len(q.Pieces); n == 0 || q.Pieces[n-1].Matrix != name {
		q.Pieces = append(q.Pieces, rpc.Piece{Matrix: name})
	}
	p := &q.Pieces[len(q.Pieces)-1]
	p.Blocks = append(p.Blocks, b)
}

// split cuts a delta along the partitions and sends each piece to its owner.
func (m *Matrix) split(b matrix.Block, send func(server int, piece matrix.Block)) {
	if m.parts.Hash {
		n := len(m.parts.Parts)
		for _, p := range m.parts.Parts {
			piece := b.Pick(func(col int64) bool { return part.Slot(col, n) == p.ID })
			if piece.Data.NNZ() > 0 {
				send(p.Server, piece)
			}
		}
		return
	}
	for p, at := range m.parts.Route(b.At) {
		piece := b
		if at != b.At {
			piece = b.Cut(at)
		}
		if _, keyed := piece.Data.(matrix.Keyed); !keyed || piece.Data.NNZ() > 0 {
			send(p.Server, piece)
		}
	}
}
