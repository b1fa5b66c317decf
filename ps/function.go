package ps

import (
	"context"
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
)

// Get runs a get function beside every partition and merges the answers, in the order of partitions. It does not wait
// for clocks.
func (m *Matrix) Get(ctx context.Context, fn *psf.Get, arg []byte) ([]byte, error) {
	c := m.c
	if err := c.begin(ctx, "function "+fn.Name, m); err != nil {
		return nil, err
	}
	defer c.end()
	qs := make([]*rpc.Request, len(c.links))
	for i := range qs {
		qs[i] = m.function(rpc.OpGet, i, fn.Name, slices.Clone(arg))
	}
	xs, err := c.ask(ctx, qs)
	if err != nil {
		return nil, err
	}
	defer release(xs)
	parts := make([][]byte, len(m.parts.Owners))
	seen := make([]bool, len(parts))
	for i, x := range xs {
		for _, r := range x.resp.Results {
			p := int(r.Partition)
			if r.Matrix != m.numbers[i] || p >= len(parts) || m.parts.Owners[p] != i || seen[p] {
				return nil, x.link.lie("matrix %s: a result of partition %d of matrix %d, want one of each partition there", m.meta.Name, p, r.Matrix)
			}
			parts[p], seen[p] = slices.Clone(r.Data), true
		}
	}
	if p := slices.Index(seen, false); p >= 0 {
		return nil, c.links[m.parts.Owners[p]].lie("matrix %s: no result of partition %d", m.meta.Name, p)
	}
	return fn.Merge(parts)
}

// Update runs an update function beside every partition, once and at once, and waits until it is done everywhere.
func (m *Matrix) Update(ctx context.Context, fn *psf.Update, arg []byte) error {
	c := m.c
	if err := c.begin(ctx, "function "+fn.Name, m); err != nil {
		return err
	}
	defer c.end()
	m.cache.forget()
	return c.changeAlone(ctx, func(server int) (*rpc.Request, error) {
		return m.function(rpc.OpUpdate, server, fn.Name, slices.Clone(arg)), nil
	})
}

// function is a request to run a function beside every partition of the server.
func (m *Matrix) function(op rpc.Op, server int, name string, arg []byte) *rpc.Request {
	kind := rpc.KindDense
	if m.meta.Layout == matrix.RowSparse {
		kind = rpc.KindStored
	}
	p := m.part(kind, server, m.meta.Rect())
	p.Clock = int32(m.clock)
	return &rpc.Request{Op: op, Clock: int32(m.c.clock), Parts: []rpc.Part{p}, Func: name, Arg: arg}
}
