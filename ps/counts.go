package ps

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// PushCounts keeps shows and clicks of the unique columns of a plan until the next Flush or Clock, for a float32 matrix whose columns are
// counted (matrix.Keep.Counts): two values for each column, its shows and then its clicks, which are the caller's again when it returns.
// The servers add them after the step of the clock, to columns that are there then. [graph.Run.Push] calls it.
func (c *Client) PushCounts(name string, plan matrix.Plan, counts []float32) error {
	if err := c.begin(context.Background(), "push", nil); err != nil {
		return err
	}
	defer c.end()
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	k, ok := plan.(*Keys)
	switch {
	case !ok:
		return fmt.Errorf("ps: matrix %s: a %T, want a plan of this client", name, plan)
	case !m.meta.Keep.Counts():
		return fmt.Errorf("ps: matrix %s: counts of columns that are not counted, want Keep.ShowWeight or Keep.ClickWeight", name)
	case m.meta.DType != matrix.F32:
		return fmt.Errorf("ps: matrix %s: counts of float32 for a matrix of %v", name, m.meta.DType)
	case k.parts == nil || k.parts != m.parts && !k.parts.SameColumns(m.parts):
		return fmt.Errorf("ps: matrix %s: keys were planned for other partitions", name)
	case len(counts) != 2*len(k.unique):
		return fmt.Errorf("ps: matrix %s: %d counts, want %d for %d keys", name, len(counts), 2*len(k.unique), len(k.unique))
	}
	at := matrix.Rect{Rows: m.meta.CountRows(), Cols: m.meta.Rect().Cols}
	d := delta{m: m, at: at, exact: true, fixed: true}
	for r := range k.runs(m.parts, 0, math.MaxInt) {
		s := share{server: r.server, part: m.part(rpc.KindKeys, r.server, at)}
		s.part.Groups = slices.Clone(r.groups)
		a := c.arenas[r.server]
		s.keys, s.values = a.reserve(8*(r.hi-r.lo)), a.reserve(8*(r.hi-r.lo))
		copy(a.in(s.keys), wire.View(k.unique[r.lo:r.hi]))
		copy(a.in(s.values), wire.View(counts[2*r.lo:2*r.hi]))
		d.shares = append(d.shares, s)
	}
	if d.shares != nil {
		c.oplog = append(c.oplog, d)
	}
	return nil
}
