package ps

import (
	"context"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// Pull gives the values of the lookups, in their order, as of the task's clock under each matrix's bound. It implements
// graph.Params. One message goes to each server, whatever the number of lookups, unless the answer has more than about a MiB.
// The blocks are the caller's.
func (c *Client) Pull(ctx context.Context, lookups []matrix.Lookup) ([]matrix.Block, error) {
	if err := c.begin(ctx, "pull", nil); err != nil {
		return nil, err
	}
	defer c.end()
	reads, err := c.readings(lookups)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, reads)
}

// Next is Clock and then Pull, in one message to each server if what is pulled is not too much for one, nor all that a sparse
// matrix has stored: what a task does between two batches. What [Client.Prefetch] asked for already is not asked for again. While the
// answers are under way Next calls meanwhile, if that is not nil: it may plan later batches ([Client.Plan]) and uses the client for
// nothing else. After an error of the pull alone the clocks have moved.
func (c *Client) Next(ctx context.Context, weight, rate float64, lookups []matrix.Lookup, meanwhile func()) ([]matrix.Block, error) {
	if err := c.begin(ctx, "clock and pull", nil); err != nil {
		return nil, err
	}
	defer c.end()
	p := c.prefetched
	reads, rest, err := c.readingsBeyond(p, lookups)
	t := ticks{c.order, true, weight, rate}
	switch {
	case err != nil:
	case len(rest) > 0 || len(lookups) == 0:
		err = c.changeAndRead(ctx, t, rest, meanwhile)
	default: // nothing has to wait for the change
		if err = c.tickSome(ctx, t); err == nil && meanwhile != nil {
			meanwhile()
		}
	}
	switch {
	case err != nil || len(rest) == len(reads):
		c.dropPrefetched()
	default:
		c.prefetched = nil
		err = p.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	return blocks(reads), nil
}

// FlushPull is Flush and then Pull, in one message to each server like Next: under ASP what comes has what was pushed.
func (c *Client) FlushPull(ctx context.Context, lookups []matrix.Lookup) ([]matrix.Block, error) {
	if err := c.begin(ctx, "flush and pull", nil); err != nil {
		return nil, err
	}
	defer c.end()
	reads, err := c.readings(lookups)
	if err != nil {
		return nil, err
	}
	if err := c.changeAndRead(ctx, ticks{}, reads, nil); err != nil {
		return nil, err
	}
	return blocks(reads), nil
}

// changeAndRead makes a change of what was pushed and reads after it. It calls meanwhile, if not nil, when it has sent the requests.
func (c *Client) changeAndRead(ctx context.Context, t ticks, reads []*reading, meanwhile func()) error {
	if meanwhile == nil {
		meanwhile = func() {}
	}
	for _, r := range reads {
		if slices.Contains(t.of, r.m) {
			r.clock++ // that is moved
		}
	}
	c.dropPushed(t)
	b := c.batch(reads)
	// What is more than one message may bring comes in others, and so does what servers may fail to read: a change and its values
	// have one answer, and an error would say that the change was not made.
	windows := b.windows()
	if len(windows) > 1 || slices.ContainsFunc(reads, (*reading).listed) {
		if err := c.tickSome(ctx, t); err != nil {
			return err
		}
		meanwhile()
		if err := c.waitAll(ctx); err != nil {
			return err
		}
		return b.takeAll(ctx, windows, 0)
	}
	r, err := c.change(ctx, t, func(qs []*rpc.Request) {
		for i := range b.asks {
			if parts := b.asks[i].q.Parts; parts != nil {
				if qs[i] == nil {
					qs[i] = &rpc.Request{Op: rpc.OpPush}
				}
				qs[i].Parts = append(qs[i].Parts, parts...)
			}
		}
	})
	if err == nil {
		meanwhile()
		err = c.waitAll(ctx)
	}
	if err == nil {
		err = b.take(r.of)
	}
	if r != nil {
		r.results = false
		if b.leaveAgain(r.of); err != nil && !r.answered() {
			b.leaveKeys()
		}
		release(r.of)
		if err == nil {
			b.complete()
		}
		if err == nil && !again(r.of) {
			b.free(windows)
		}
	}
	return err
}

// readings are what the lookups read.
func (c *Client) readings(lookups []matrix.Lookup) ([]*reading, error) {
	reads := make([]*reading, len(lookups))
	for i, l := range lookups {
		var err error
		if reads[i], err = c.reading(i, l); err != nil {
			return nil, err
		}
	}
	return reads, nil
}

// reading is what lookup i reads.
func (c *Client) reading(i int, l matrix.Lookup) (*reading, error) {
	m, err := c.Matrix(l.Matrix)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Plan != nil:
		return m.readPlan(l)
	case l.Cols != nil:
		return m.readCols(l.Cols, c.key(i))
	}
	return m.readAll(l.Into)
}

// readAll is a reading of all columns, into a dense matrix's place for it if there is one.
func (m *Matrix) readAll(into []float32) (*reading, error) {
	r := m.readRect(m.meta.Rect())
	if into == nil {
		return r, nil
	}
	if cells, ok := matrix.Cells(m.meta.Rows, m.meta.Cols); m.meta.DType != matrix.F32 || r.out == nil || !ok || cells != int64(len(into)) {
		return nil, fmt.Errorf("ps: matrix %s: a place for %d float32, want one for all of %d x %d %v, dense", m.meta.Name, len(into),
			m.meta.Rows, m.meta.Cols, m.meta.DType)
	}
	r.data, r.out = &matrix.Dense[float32]{Val: into}, wire.View(into)
	return r, nil
}

// readPlan is a reading of the unique columns of a plan.
func (m *Matrix) readPlan(l matrix.Lookup) (*reading, error) {
	k, ok := l.Plan.(*Keys)
	if !ok || l.Cols != nil {
		return nil, fmt.Errorf("ps: matrix %s: a lookup of columns %v by a %T, want a plan of this client alone", m.meta.Name, l.Cols, l.Plan)
	}
	d := k.distinct()
	into := l.Into
	if into == nil {
		into = make([]float32, len(d.unique)*int(m.meta.Rows))
	}
	if err := m.fits(d, matrix.F32, len(into)); err != nil {
		return nil, err
	}
	r := m.readKeys(d, wire.View(into))
	r.data = &matrix.Cols[float32]{Idx: d.unique, Val: into}
	return &r, nil
}

// readCols is a reading of ascending columns, planned into k.
func (m *Matrix) readCols(cols []int64, k *Keys) (*reading, error) {
	all := m.meta.Rect().Cols
	for i, col := range cols {
		if !all.Has(col) || i > 0 && col <= cols[i-1] {
			return nil, fmt.Errorf("ps: matrix %s: column %d at position %d, want ascending ones in %v", m.meta.Name, col, i, all)
		}
	}
	if err := k.plan(m.parts, all, cols); err != nil {
		return nil, fmt.Errorf("ps: matrix %s: %w", m.meta.Name, err)
	}
	data := matrix.KindOf(m.meta.DType).Cols(slices.Clone(cols), int(m.meta.Rows))
	out, _ := wire.ViewAny(data.Values())
	r := m.readKeys(k, out)
	r.data = data
	return &r, nil
}

// key is a plan that a call makes for itself.
func (c *Client) key(i int) *Keys {
	for len(c.spare) <= i {
		c.spare = append(c.spare, &Keys{})
	}
	return c.spare[i]
}

// read reads all of it. What is large comes in windows, of which some are under way, so that neither end holds more than
// these beside the values.
func (c *Client) read(ctx context.Context, reads []*reading) ([]matrix.Block, error) {
	b := c.batch(reads)
	if err := b.takeAll(ctx, b.windows(), 0); err != nil {
		return nil, err
	}
	return blocks(reads), nil
}

func blocks(reads []*reading) []matrix.Block {
	out := make([]matrix.Block, len(reads))
	for i, r := range reads {
		out[i] = r.block()
	}
	return out
}

// GetCols gives the columns keys (ascending, none twice) of all rows.
func (m *Matrix) GetCols(ctx context.Context, keys []int64) (matrix.Block, error) {
	c := m.c
	if err := c.begin(ctx, "pull", m); err != nil {
		return matrix.Block{}, err
	}
	defer c.end()
	r, err := m.readCols(keys, c.key(0))
	if err != nil {
		return matrix.Block{}, err
	}
	got, err := c.read(ctx, []*reading{r})
	if err != nil {
		return matrix.Block{}, err
	}
	return got[0], nil
}

// PullKeys gives the values of the planned keys for all rows: dst gets those of each input, input after input.
func PullKeys[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, dst []T) error {
	p, err := StartPullKeys(ctx, m, k, dst)
	if err != nil {
		return err
	}
	return p.Wait(ctx)
}

// InitAndGet is PullKeys, and makes the columns that are not there: each with its initial values, which are a function of the
// seed and the place alone (Meta.Init). They are there at once, under every bound.
func InitAndGet[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, dst []T) error {
	p, err := startPullKeys(ctx, m, k, dst, true)
	if err != nil {
		return err
	}
	return p.Wait(ctx)
}

// PushPullKeys is PushKeys, Flush and then PullKeys of the same keys, in one message to each server if the values are not too
// many for one.
func PushPullKeys[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, grads, dst []T) error {
	if err := m.fits(k, matrix.DTypeOf[T](), len(dst)); err != nil { // before anything is kept of the gradients
		return err
	}
	if err := PushKeys(m, k, grads); err != nil {
		return err
	}
	if err := m.c.begin(ctx, "push and pull", m); err != nil {
		return err
	}
	defer m.c.end()
	r := m.readKeys(k, wire.View(dst))
	return m.c.changeAndRead(ctx, ticks{}, []*reading{&r}, nil)
}
