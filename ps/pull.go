package ps

import (
	"context"
	"fmt"
	"slices"

	"thole/matrix"
	"thole/part"
	"thole/rpc"
	"thole/ssp"
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
		places[i] = place{m, m.meta.Rect(), w.Cols}
	}
	return places, nil
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
		for server, piece := range p.m.route(p.at, p.cols) {
			if qs[server] == nil {
				qs[server] = c.request(rpc.OpPull, nil)
			}
			if qs[server].Op == rpc.OpPush {
				qs[server].Op = rpc.OpStep
			}
			qs[server].Pieces = append(qs[server].Pieces, piece)
			of[server] = append(of[server], i)
		}
	}
	rs, err := c.send(ctx, qs)
	if serr := c.settle(ctx); serr != nil { // the pushes went first: their error is the cause
		return nil, serr
	}
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

// route is what to ask of each server.
func (m *Matrix) route(at matrix.Rect, cols []int64) map[int]rpc.Piece {
	out := map[int]rpc.Piece{}
	if cols == nil {
		for _, s := range m.parts.Servers(at) {
			out[s] = rpc.Piece{Matrix: m.meta.Name, At: at}
		}
		return out
	}
	ask := func(server int, keys []int64) {
		p := out[server]
		p.Matrix, p.At, p.Cols = m.meta.Name, at, append(p.Cols, keys...)
		out[server] = p
	}
	if m.parts.Hash {
		n := len(m.parts.Parts)
		for _, k := range cols {
			ask(m.parts.Parts[part.Slot(k, n)].Server, []int64{k})
		}
		return out
	}
	for i, run := range m.parts.Columns(cols) {
		for ; i < len(m.parts.Parts); i += m.parts.PerRow() { // the same columns, row of blocks after row of blocks
			p := m.parts.Parts[i]
			asked := out[p.Server].Cols
			if p.At.Rows.Intersect(at.Rows).Len() > 0 && (len(asked) == 0 || asked[len(asked)-1] < run[0]) {
				ask(p.Server, run)
			}
		}
	}
	return out
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
