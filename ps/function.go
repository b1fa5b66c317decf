package ps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
)

// Get runs a get function beside the partitions that it has to do with, and merges what they answer. It does not wait for
// clocks. args is its argument: nil for none, JSON text, or anything that becomes a JSON object, such as psf.Args.
func (m *Matrix) Get(ctx context.Context, name string, args any) (psf.Answer, error) {
	c := m.c
	if err := c.begin(ctx, "function "+name, m); err != nil {
		return nil, err
	}
	defer c.end()
	f, err := m.function(rpc.OpGet, name, args)
	if err == nil && f.call.Merge == nil {
		err = fmt.Errorf("ps: matrix %s: function %s has no answer, want Update", m.meta.Name, name)
	}
	if err != nil {
		return nil, err
	}
	xs, err := c.ask(ctx, f.requests)
	if err != nil {
		return nil, err
	}
	defer release(xs)
	var parts [][]byte
	at := make([]int, len(m.parts.Owners)) // of each partition its answer, counted from 1
	for i, x := range xs {
		if x == nil {
			continue
		}
		for _, r := range x.resp.Results {
			p := int(r.Partition)
			if r.Matrix != m.numbers[i] || p >= len(at) || m.parts.Owners[p] != i || !f.touches(p) || at[p] != 0 {
				return nil, x.link.lie("matrix %s: a result of partition %d of matrix %d, want one of each partition there", m.meta.Name, p, r.Matrix)
			}
			parts = append(parts, slices.Clone(r.Data))
			at[p] = len(parts)
		}
	}
	ordered := make([][]byte, 0, len(parts))
	for p, i := range at {
		switch {
		case i > 0:
			ordered = append(ordered, parts[i-1])
		case f.touches(p):
			return nil, c.links[m.parts.Owners[p]].lie("matrix %s: no result of partition %d", m.meta.Name, p)
		}
	}
	return f.call.Merge(ordered)
}

// Update runs an update function beside the partitions that it has to do with, once and at once, and waits until it is done
// everywhere. It does not wait for clocks and stands between the changes before and after it; what was pushed and not sent
// stays where it is. args is as for Get.
func (m *Matrix) Update(ctx context.Context, name string, args any) error {
	return m.StartUpdate(ctx, name, args).Wait(ctx)
}

// StartUpdate is Update without waiting for it. It waits for the changes before it.
func (m *Matrix) StartUpdate(ctx context.Context, name string, args any) *Future {
	c := m.c
	if err := c.begin(ctx, "function "+name, m); err != nil {
		return &Future{err: err}
	}
	defer c.end()
	f, err := m.updating(name, args)
	if err != nil {
		return &Future{err: err}
	}
	if c.follows { // it has no numbers: what is lost is not sent again
		xs, err := c.ask(ctx, f.requests)
		release(xs)
		return &Future{err: err}
	}
	return c.future(c.startAlone(ctx, []*Matrix{m}, func(server int) (*rpc.Request, error) { return f.requests[server], nil }))
}

// updating binds an update function.
func (m *Matrix) updating(name string, args any) (*function, error) {
	f, err := m.function(rpc.OpUpdate, name, args)
	if err == nil && f.call.Merge != nil {
		err = fmt.Errorf("ps: matrix %s: function %s changes nothing, want Get", m.meta.Name, name)
	}
	return f, err
}

// Define makes a function of the user's own one of the job on all servers: module is its WebAssembly, and f the same function
// for this client, as package wasm makes it of the module. Every task that uses it defines it, all of them the same.
func (c *Client) Define(ctx context.Context, f psf.Func, module []byte) error {
	if err := c.begin(ctx, "definition of function "+f.Name, nil); err != nil {
		return err
	}
	defer c.end()
	table, err := c.o.Funcs.With(f)
	if err != nil {
		return err
	}
	qs := make([]*rpc.Request, len(c.links))
	for i := range qs {
		qs[i] = &rpc.Request{Op: rpc.OpDefine, Func: f.Name, Arg: slices.Clone(module)}
	}
	xs, err := c.ask(ctx, qs)
	release(xs)
	if err == nil {
		c.o.Funcs = table
	}
	return err
}

// Stage keeps an update function until the next Flush or Clock, like an increment: it takes effect with this task's clock,
// after what was pushed before it, and under BSP and SSP nobody sees it earlier or in part. (With a rule the step of the clock
// comes first, if some task tells a weight.) An error that the function has then, which depends on the values, fails the job.
// What servers refuse as malformed or unknown is told by Flush or Clock, and not sent again.
func (m *Matrix) Stage(name string, args any) error {
	c := m.c
	if err := c.begin(context.Background(), "staged function "+name, m); err != nil {
		return err
	}
	defer c.end()
	f, err := m.updating(name, args)
	if err != nil {
		return err
	}
	if err := m.barrier(); err != nil {
		return err
	}
	d := delta{m: m, fixed: true}
	for server, q := range f.requests {
		if q == nil {
			continue
		}
		text, err := json.Marshal(rpc.Staged{Func: name, Arg: q.Arg})
		if err != nil {
			return err
		}
		p := m.part(rpc.KindFunc, server, m.meta.Rect())
		p.DType, p.Values = matrix.U8, copied(text)
		d.shares = append(d.shares, share{server: server, part: p})
	}
	c.oplog = append(c.oplog, d)
	return nil
}

// function is a function on its way: what it does, and what each server is asked; nil where it has nothing to do.
type function struct {
	m        *Matrix
	call     *psf.Call
	requests []*rpc.Request
}

// touches reports whether the function has to do with a partition.
func (f *function) touches(p int) bool { return f.call.Touches(f.m.parts.At(p).Rows) }

// function binds a function.
func (m *Matrix) function(op rpc.Op, name string, args any) (*function, error) {
	arg, err := argument(args)
	if err != nil {
		return nil, fmt.Errorf("ps: matrix %s: argument of function %s: %w", m.meta.Name, name, err)
	}
	f := &function{m: m, requests: make([]*rpc.Request, len(m.c.links))}
	if _, err := m.c.o.Funcs.Func(name); err != nil {
		return nil, fmt.Errorf("ps: %w: %w", rpc.ErrNotFound, err)
	}
	if f.call, err = m.c.o.Funcs.Bind(name, arg, &m.meta); err == nil {
		err = f.call.Fits(m.parts.AllBands())
	}
	if err != nil {
		return nil, fmt.Errorf("ps: matrix %s: %w: %w", m.meta.Name, rpc.ErrMalformed, err)
	}
	for p, server := range m.parts.Owners {
		if f.requests[server] == nil && f.touches(p) {
			f.requests[server] = m.functionRequest(op, server, name, arg)
		}
	}
	return f, nil
}

// argument is the JSON of a function's argument.
func argument(args any) ([]byte, error) {
	switch a := args.(type) {
	case nil:
		return nil, nil
	case []byte:
		return slices.Clone(a), nil
	case json.RawMessage:
		return slices.Clone(a), nil
	case string:
		return []byte(a), nil
	}
	return json.Marshal(args)
}

func (m *Matrix) functionRequest(op rpc.Op, server int, name string, arg []byte) *rpc.Request {
	kind := rpc.KindDense
	if m.meta.Layout == matrix.RowSparse {
		kind = rpc.KindStored
	}
	p := m.part(kind, server, m.meta.Rect())
	p.Clock = int32(m.clock)
	return &rpc.Request{Op: op, Clock: int32(m.c.clock), Parts: []rpc.Part{p}, Func: name, Arg: arg}
}
