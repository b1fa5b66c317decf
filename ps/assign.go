package ps

import (
	"context"
	"fmt"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// Assign keeps values that cells of the matrix become with the next Flush or Clock, like an increment: it takes effect with this
// task's clock, after what was pushed before it, and of tasks that assign the same cell in the same clock the one with the higher
// number counts. With a rule the step of the clock comes first. The values are copied; cells that the block does not store stay
// as they are. Columns that are not there are made, whatever matrix.Keep says. Values are not divided (SetAverage), filtered or
// rounded (SetFilter, SetWire); what these kept back of earlier increments is sent later all the same.
func (m *Matrix) Assign(values matrix.Block) error { return m.assignBlock(values, false) }

// Assign is that of the matrix, but it owns the block from then on.
func (c *Client) Assign(name string, values matrix.Block) error {
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	return m.assignBlock(values, true)
}

func (m *Matrix) assignBlock(values matrix.Block, owned bool) error {
	if err := m.c.begin(context.Background(), "assign", m); err != nil {
		return err
	}
	defer m.c.end()
	if err := m.checkPlace(values); err != nil {
		return err
	}
	if !owned {
		values = values.Clone()
	}
	return m.assign(func() error { return m.layOut(values) })
}

// AssignKeys is Assign by key: values has those of each planned key for all rows, key after key. Of a key that comes several times
// the last counts. values and k are the caller's again when it returns.
func AssignKeys[T matrix.Elem](m *Matrix, k *Keys, values []T) error {
	if err := m.c.begin(context.Background(), "assign", m); err != nil {
		return err
	}
	defer m.c.end()
	if err := m.fits(k, matrix.DTypeOf[T](), len(values)); err != nil || len(values) == 0 {
		return err
	}
	return m.assign(func() error {
		m.keep(k, m.meta.Rect().Rows, m.meta.DType.Size(), func(l *lumps, dst []byte) { l.gather(dst, wire.View(values)) })
		return nil
	})
}

// assign makes assignments of what lay puts into the oplog; nothing before or after is added to it.
func (m *Matrix) assign(lay func() error) error {
	if err := m.barrier(); err != nil {
		return err
	}
	c := m.c
	n := len(c.oplog)
	if err := lay(); err != nil {
		c.oplog = c.oplog[:n]
		return err
	}
	for i := n; i < len(c.oplog); i++ {
		d := &c.oplog[i]
		d.fixed, d.exact, d.assign = true, true, true
	}
	return nil
}

// layOut puts a block, which is the client's, into the oplog as it is.
func (m *Matrix) layOut(b matrix.Block) error {
	_, keyed := b.Data.(matrix.Keyed)
	switch {
	case b.At.Empty() || b.Data.NNZ() == 0:
	case keyed || m.meta.Layout == matrix.RowSparse:
		return m.eachKeyed(b, m.keepSorted)
	default:
		m.append(b)
	}
	return nil
}

// PushNow adds to the matrix at once under every protocol: it waits for no clock, and no rule makes a step with it. It waits for
// the changes before it, and not for itself; what was pushed and not sent stays where it is. Of what tasks push and assign so the
// order is that in which servers get it.
func (m *Matrix) PushNow(ctx context.Context, delta matrix.Block) *Future {
	return m.now(ctx, "push", delta, false)
}

// AssignNow is Assign at once, as PushNow is a push.
func (m *Matrix) AssignNow(ctx context.Context, values matrix.Block) *Future {
	return m.now(ctx, "assign", values, true)
}

func (m *Matrix) now(ctx context.Context, what string, b matrix.Block, assign bool) *Future {
	c := m.c
	if err := c.begin(ctx, what, m); err != nil {
		return &Future{err: err}
	}
	defer c.end()
	if err := m.checkPlace(b); err != nil {
		return &Future{err: err}
	}
	b = b.Clone()
	if m.divisor > 1 && !assign {
		b.Divide(m.divisor)
	}
	qs, err := c.apart(rpc.OpDirect, func() error {
		err := m.layOut(b)
		for i := range c.oplog {
			c.oplog[i].exact, c.oplog[i].assign = true, assign
		}
		return err
	})
	if err != nil {
		return &Future{err: err}
	}
	return c.future(c.startAlone(ctx, []*Matrix{m}, func(server int) (*rpc.Request, error) { return qs[server], nil }))
}

// apart is the requests of what f puts into the oplog, which has nothing else meanwhile.
func (c *Client) apart(op rpc.Op, f func() error) ([]*rpc.Request, error) {
	oplog, arenas := c.oplog, c.arenas
	defer func() { c.oplog, c.arenas = oplog, arenas }()
	c.oplog, c.arenas = nil, newArenas(len(c.links))
	if err := f(); err != nil {
		return nil, err
	}
	return c.requests(op), nil
}

// checkPlace tells why a block does not lie in the matrix, or is no block of it.
func (m *Matrix) checkPlace(b matrix.Block) error {
	whole := m.meta.Rect()
	if !whole.Contains(b.At) {
		return fmt.Errorf("ps: matrix %s: values at %v, want some within %v", m.meta.Name, b.At, whole)
	}
	return m.check(b, whole.Cols)
}
