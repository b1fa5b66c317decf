package ps

import (
	"context"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Pull gives the wanted pieces in the order of wants, as of the task's clock under the job's bound. It implements
// graph.Params. One message goes to each server, whatever the number of wants.
func (c *Client) Pull(ctx context.Context, wants []matrix.Want) ([]matrix.Block, error) {
	places, err := c.places(wants)
	if err != nil {
		return nil, err
	}
	return c.fetch(ctx, places, make([]*rpc.Request, len(c.conns)))
}

func (c *Client) places(wants []matrix.Want) ([]place, error) {
	places := make([]place, len(wants))
	for i, w := range wants {
		m, err := c.Matrix(w.Matrix)
		if err != nil {
			return nil, err
		}
		if places[i], err = m.place(w.Cols); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// place is all rows of the columns, or of all columns if they are nil.
func (m *Matrix) place(cols []int64) (place, error) {
	whole := m.meta.Rect()
	for i, c := range cols {
		if !whole.Cols.Has(c) || i > 0 && c <= cols[i-1] {
			return place{}, fmt.Errorf("ps: matrix %s: column %d in place %d, want ascending ones in %v", m.meta.Name, c, i, whole.Cols)
		}
	}
	return place{m, whole, cols}, nil
}

// place is what fetch gets: all of at, or only the columns cols.
type place struct {
	m    *Matrix
	at   matrix.Rect
	cols []int64
}

// Next is Clock and then Pull, in one message to each server: what a task does between two batches.
func (c *Client) Next(ctx context.Context, weight, rate float64, wants []matrix.Want) ([]matrix.Block, error) {
	places, err := c.places(wants)
	if err != nil {
		return nil, err
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	qs := c.drain(true, weight, rate)
	c.clock++
	return c.fetch(ctx, places, qs)
}

// fetch asks each server for its share of all places and puts the answers together. Requests that are there already are
// sent along: pushes that become steps.
func (c *Client) fetch(ctx context.Context, places []place, qs []*rpc.Request) ([]matrix.Block, error) {
	of := make([][]int, len(c.conns)) // of[server][k]: which place the server's k-th piece belongs to
	for i, p := range places {
		p.m.route(p.at, p.cols, len(c.conns), func(server int, piece rpc.Piece) {
			switch {
			case qs[server] == nil:
				qs[server] = c.request(rpc.OpPull, nil)
			case qs[server].Op == rpc.OpPush:
				qs[server].Op = rpc.OpStep
			}
			qs[server].Pieces = append(qs[server].Pieces, piece)
			of[server] = append(of[server], i)
		})
	}
	rs, err := c.ask(ctx, qs)
	if err != nil {
		return nil, err
	}
	got := make([][]matrix.Block, len(places))
	c.asOf = ssp.Finished
	for server, r := range rs {
		if r == nil || of[server] == nil {
			continue
		}
		c.asOf = min(c.asOf, int(r.Clock))
		if len(r.Pieces) != len(of[server]) {
			return nil, fmt.Errorf("ps: server %s answered %d pieces to %d", c.o.Servers[server], len(r.Pieces), len(of[server]))
		}
		for k, piece := range r.Pieces {
			got[of[server][k]] = append(got[of[server][k]], piece.Blocks...)
		}
	}
	out := make([]matrix.Block, len(places))
	for i, p := range places {
		if out[i], err = p.m.join(p.at, p.cols, got[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ask starts requests that may wait for this task's own pushes, and waits for the pushes first: if one was refused, the
// answers would never come.
func (c *Client) ask(ctx context.Context, qs []*rpc.Request) ([]*rpc.Response, error) {
	calls := c.start(ctx, qs)
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	return c.wait(ctx, calls)
}

// route calls ask with what to ask of each server that has some of it.
func (m *Matrix) route(at matrix.Rect, cols []int64, servers int, ask func(server int, piece rpc.Piece)) {
	if cols == nil {
		for _, s := range m.parts.Servers(at) {
			ask(s, rpc.Piece{Matrix: m.meta.Name, At: at})
		}
		return
	}
	for server, keys := range m.spread(at, cols, servers) {
		if keys != nil {
			ask(server, rpc.Piece{Matrix: m.meta.Name, At: at, Cols: keys})
		}
	}
}

// spread is the columns that each server has some of, ascending, as copies.
func (m *Matrix) spread(at matrix.Rect, cols []int64, servers int) [][]int64 {
	of := make([][]int64, servers)
	if m.parts.Hash {
		n := len(m.parts.Parts)
		for _, k := range cols {
			s := m.parts.Parts[part.Slot(k, n)].Server
			of[s] = append(of[s], k)
		}
		return of
	}
	for i, run := range m.parts.Columns(cols) {
		for ; i < len(m.parts.Parts); i += m.parts.PerRow() { // the same columns, row of blocks after row of blocks
			p := m.parts.Parts[i]
			have := of[p.Server]
			if p.At.Rows.Intersect(at.Rows).Len() > 0 && (len(have) == 0 || have[len(have)-1] < run[0]) {
				of[p.Server] = append(have, run...)
			}
		}
	}
	return of
}

// join puts the blocks of a pull together. Columns that were asked for come as *matrix.Cols in the order of cols; a whole
// place of a dense matrix comes dense, of a sparse one as the stored columns of all partitions.
func (m *Matrix) join(at matrix.Rect, cols []int64, got []matrix.Block) (matrix.Block, error) {
	if len(got) == 1 && got[0].At == at {
		return got[0], nil
	}
	if cols == nil && m.meta.Layout == matrix.RowDense {
		out := matrix.NewDense(m.meta.DType, at)
		for _, b := range got {
			if err := matrix.Put(out, b); err != nil {
				return matrix.Block{}, err
			}
		}
		return out, nil
	}
	if cols == nil {
		for _, b := range got {
			if d, ok := b.Data.(matrix.Keyed); ok {
				cols = append(cols, d.Keys()...)
			}
		}
		slices.Sort(cols)
		cols = slices.Compact(cols)
	}
	out := matrix.Block{At: at, Data: matrix.KindOf(m.meta.DType).Cols(cols, int(at.Rows.Len()))}
	for _, b := range got {
		if err := matrix.PutCols(out, b); err != nil {
			return matrix.Block{}, err
		}
	}
	return out, nil
}
