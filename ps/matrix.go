package ps

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Matrix is a matrix on the servers, used by the task of its client.
type Matrix struct {
	c     *Client
	meta  matrix.Meta
	parts *part.Map
	cache cache
}

// Meta describes the matrix; it must not be changed.
func (m *Matrix) Meta() *matrix.Meta { return &m.meta }

func (m *Matrix) row(r int64) (matrix.Rect, error) {
	if r < 0 || r >= m.meta.Rows {
		return matrix.Rect{}, fmt.Errorf("ps: matrix %s: row %d, want one in [0,%d)", m.meta.Name, r, m.meta.Rows)
	}
	return matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: m.meta.Rect().Cols}, nil
}

// GetRow gives a row: dense, or the stored columns of a sparse matrix. Under BSP and SSP it comes from the cache if it is
// fresh enough there, and otherwise waits until the servers' clocks are; under ASP it is always asked for. The block is
// a copy and belongs to the caller.
func (m *Matrix) GetRow(ctx context.Context, row int64) (matrix.Block, error) {
	rows, err := m.GetRows(ctx, []int64{row})
	if err != nil {
		return matrix.Block{}, err
	}
	return rows[0], nil
}

// GetRows gives several rows, in the order of rows, like GetRow.
func (m *Matrix) GetRows(ctx context.Context, rows []int64) ([]matrix.Block, error) {
	out := make([]matrix.Block, len(rows))
	var ask []place
	var to []int
	for i, r := range rows {
		at, err := m.row(r)
		if err != nil {
			return nil, err
		}
		if row, ok := m.cache.get(r, m.c.o.Bound, m.c.clock); ok {
			out[i] = row
			continue
		}
		ask, to = append(ask, place{m, at, nil}), append(to, i)
	}
	if len(ask) == 0 {
		return out, nil
	}
	got, err := m.c.fetch(ctx, ask, make([]*rpc.Request, len(m.c.conns)))
	if err != nil {
		return nil, err
	}
	for k, b := range got {
		out[to[k]] = b
		if m.c.o.Bound != ssp.ASP {
			m.cache.put(rows[to[k]], b, m.c.asOf)
		}
	}
	return out, nil
}

// GetRowsFlow gives rows one after the other while the next ones are under way. batch is how many rows one request asks
// for; with -1 it is chosen. It returns at once; memory holds two batches at most, however slow the consumer is.
func (m *Matrix) GetRowsFlow(ctx context.Context, rows []int64, batch int) iter.Seq2[matrix.Block, error] {
	if batch <= 0 {
		batch = int(max(1, 1<<17/max(1, min(m.meta.Cols, 1<<17))))
	}
	return func(yield func(matrix.Block, error) bool) {
		var next func() ([]matrix.Block, error)
		for chunk := range slices.Chunk(rows, batch) {
			ready := next
			if next = m.ahead(ctx, chunk); ready != nil && !deliver(ready, yield) {
				return
			}
		}
		if next != nil {
			deliver(next, yield)
		}
	}
}

func deliver(ready func() ([]matrix.Block, error), yield func(matrix.Block, error) bool) bool {
	got, err := ready()
	if err != nil {
		yield(matrix.Block{}, err)
		return false
	}
	for _, b := range got {
		if !yield(b, nil) {
			return false
		}
	}
	return true
}

// ahead starts pulling rows and returns the function that waits for them.
func (m *Matrix) ahead(ctx context.Context, rows []int64) func() ([]matrix.Block, error) {
	qs := make([]*rpc.Request, len(m.c.conns))
	for _, r := range rows {
		at, err := m.row(r)
		if err != nil {
			return func() ([]matrix.Block, error) { return nil, err }
		}
		m.route(at, nil, len(qs), func(server int, piece rpc.Piece) {
			if qs[server] == nil {
				qs[server] = m.c.request(rpc.OpPull, nil)
			}
			qs[server].Pieces = append(qs[server].Pieces, piece)
		})
	}
	calls := m.c.start(ctx, qs)
	return func() ([]matrix.Block, error) { return m.gather(ctx, rows, calls) }
}

func (m *Matrix) gather(ctx context.Context, rows []int64, calls []*pending) ([]matrix.Block, error) {
	if err := m.c.settle(ctx); err != nil { // as in ask
		return nil, err
	}
	rs, err := m.c.wait(ctx, calls)
	if err != nil {
		return nil, err
	}
	of := map[int64][]matrix.Block{}
	for _, r := range rs {
		if r == nil {
			continue
		}
		for _, p := range r.Pieces {
			of[p.At.Rows.Lo] = append(of[p.At.Rows.Lo], p.Blocks...)
		}
	}
	out := make([]matrix.Block, len(rows))
	for i, r := range rows {
		at, err := m.row(r)
		if err != nil {
			return nil, err
		}
		if out[i], err = m.join(at, nil, of[r]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// GetCols gives the columns keys (ascending, none twice) of all rows.
func (m *Matrix) GetCols(ctx context.Context, keys []int64) (matrix.Block, error) {
	if keys == nil {
		keys = []int64{}
	}
	at, err := m.place(keys)
	if err != nil {
		return matrix.Block{}, err
	}
	got, err := m.c.fetch(ctx, []place{at}, make([]*rpc.Request, len(m.c.conns)))
	if err != nil {
		return matrix.Block{}, err
	}
	return got[0], nil
}

// Increment adds to the matrix: the delta is copied now and sent by Flush or Clock.
func (m *Matrix) Increment(delta matrix.Block) error { return m.c.Push(m.meta.Name, delta.Clone()) }

// Get runs a get function beside every partition and merges the answers, in the order of partitions. It does not wait
// for clocks.
func (m *Matrix) Get(ctx context.Context, fn *psf.Get, arg []byte) ([]byte, error) {
	results, err := m.beside(ctx, rpc.OpGet, fn.Name, arg)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(results, func(a, b rpc.Result) int { return int(a.Part - b.Part) })
	parts := make([][]byte, len(results))
	for i, r := range results {
		parts[i] = r.Data
	}
	return fn.Merge(parts)
}

// Update runs an update function beside every partition, at once, and waits until it is done everywhere.
func (m *Matrix) Update(ctx context.Context, fn *psf.Update, arg []byte) error {
	_, err := m.beside(ctx, rpc.OpUpdate, fn.Name, arg)
	m.cache.forget()
	return err
}

func (m *Matrix) beside(ctx context.Context, op rpc.Op, fn string, arg []byte) ([]rpc.Result, error) {
	if err := m.c.settle(ctx); err != nil {
		return nil, err
	}
	qs := make([]*rpc.Request, len(m.c.conns))
	for i := range qs {
		qs[i] = m.c.request(op, []rpc.Piece{{Matrix: m.meta.Name}})
		qs[i].Func, qs[i].Arg = fn, slices.Clone(arg)
	}
	rs, err := m.c.send(ctx, qs)
	if err != nil {
		return nil, err
	}
	var results []rpc.Result
	for _, r := range rs {
		results = append(results, r.Results...)
	}
	return results, nil
}
