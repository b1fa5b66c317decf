package ps

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/wire"
)

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

// PullRow gives a row of a dense matrix in dst, which has room for all its columns. It is always asked for.
func PullRow[T matrix.Elem](ctx context.Context, m *Matrix, row int64, dst []T) error {
	if err := m.c.begin(ctx, "pull of a row", m); err != nil {
		return err
	}
	defer m.c.end()
	at, err := m.row(row)
	switch {
	case err != nil:
		return err
	case m.meta.Layout == matrix.RowSparse:
		return fmt.Errorf("ps: matrix %s is sparse, want a dense one to pull whole rows of", m.meta.Name)
	case matrix.DTypeOf[T]() != m.meta.DType || int64(len(dst)) != m.meta.Cols:
		return fmt.Errorf("ps: matrix %s: room for %d values of %v, want %d of %v",
			m.meta.Name, len(dst), matrix.DTypeOf[T](), m.meta.Cols, m.meta.DType)
	}
	out := wire.View(dst)
	_, err = m.c.read(ctx, []*reading{{m: m, at: at, clock: m.clock, asOf: ssp.Finished, out: out, data: &matrix.Dense[T]{Val: dst}}})
	return err
}

// GetRows gives several rows, in the order of rows, like GetRow. One message goes to each server.
func (m *Matrix) GetRows(ctx context.Context, rows []int64) ([]matrix.Block, error) {
	if err := m.c.begin(ctx, "pull of rows", m); err != nil {
		return nil, err
	}
	defer m.c.end()
	out := make([]matrix.Block, len(rows))
	var reads []*reading
	var to []int
	asOf, age := ssp.Finished, m.cache.age()
	for i, r := range rows {
		at, err := m.row(r)
		if err != nil {
			return nil, err
		}
		if row, clock, ok := m.cache.get(r, m.bound, m.clock); ok && !m.own {
			out[i], asOf = row, min(asOf, clock)
			continue
		}
		reads, to = append(reads, m.readRect(at)), append(to, i)
	}
	if len(reads) > 0 {
		got, err := m.c.read(ctx, reads)
		if err != nil {
			return nil, err
		}
		for k, b := range got {
			out[to[k]], asOf = b, min(asOf, reads[k].asOf)
			if m.bound != ssp.ASP && !m.own {
				m.cache.put(rows[to[k]], b, reads[k].asOf, age)
			}
		}
	}
	m.asOf = asOf
	return out, nil
}

// GetRects gives rectangles of a dense matrix, in one message to each server. They are always asked for.
func (m *Matrix) GetRects(ctx context.Context, at []matrix.Rect) ([]matrix.Block, error) {
	if err := m.c.begin(ctx, "pull of rectangles", m); err != nil {
		return nil, err
	}
	defer m.c.end()
	reads, err := m.readRects(at)
	if err != nil {
		return nil, err
	}
	return m.c.read(ctx, reads)
}

// NextRects is Clock of this matrix alone and then GetRects, in one message to each server if what is pulled is not too much for one.
func (m *Matrix) NextRects(ctx context.Context, weight, rate float64, at []matrix.Rect) ([]matrix.Block, error) {
	if err := m.c.begin(ctx, "clock and pull of rectangles", m); err != nil {
		return nil, err
	}
	defer m.c.end()
	reads, err := m.readRects(at)
	if err == nil {
		err = m.c.changeAndRead(ctx, ticks{[]*Matrix{m}, false, weight, rate}, reads, nil)
	}
	if err != nil {
		return nil, err
	}
	return blocks(reads), nil
}

// readRects are readings of rectangles.
func (m *Matrix) readRects(at []matrix.Rect) ([]*reading, error) {
	reads := make([]*reading, len(at))
	for i, r := range at {
		switch whole := m.meta.Rect(); {
		case m.meta.Layout == matrix.RowSparse:
			return nil, fmt.Errorf("ps: matrix %s is sparse, want a dense one to pull rectangles of", m.meta.Name)
		case !whole.Contains(r):
			return nil, fmt.Errorf("ps: matrix %s: rectangle %v at position %d, want one within %v", m.meta.Name, r, i, whole)
		}
		reads[i] = m.readRect(r)
	}
	return reads, nil
}

// GetRowsFlow gives rows one after the other while the next ones are under way. batch is how many rows one request asks
// for; with -1 it is chosen. It returns at once; memory holds two batches at most, however slow the consumer is. AsOf
// tells the clock of the row that came last.
func (m *Matrix) GetRowsFlow(ctx context.Context, rows []int64, batch int) iter.Seq2[matrix.Block, error] {
	if batch <= 0 {
		batch = int(max(1, 1<<17/max(1, min(m.meta.Cols, 1<<17))))
	}
	return func(yield func(matrix.Block, error) bool) {
		var ready *flow
		for chunk := range slices.Chunk(rows, batch) {
			next := m.ahead(ctx, chunk)
			if ready != nil && !ready.deliver(ctx, yield) {
				next.leave()
				return
			}
			ready = next
		}
		if ready != nil {
			ready.deliver(ctx, yield)
		}
	}
}

// flow is some rows under way.
type flow struct {
	m       *Matrix
	reads   []*reading
	windows windows
	err     error
}

// ahead starts pulling rows.
func (m *Matrix) ahead(ctx context.Context, rows []int64) *flow {
	f := &flow{m: m}
	if f.err = m.c.begin(ctx, "flow of rows", m); f.err != nil {
		return f
	}
	defer m.c.end()
	for _, r := range rows {
		at, err := m.row(r)
		if err != nil {
			f.err = err
			return f
		}
		f.reads = append(f.reads, m.readRect(at))
	}
	b := m.c.batch(f.reads)
	ws := b.windows()
	if f.err = ws.start(ctx); f.err == nil {
		f.windows = ws
	}
	return f
}

// deliver waits for the rows and yields them; false if no more are wanted, or there are no more.
func (f *flow) deliver(ctx context.Context, yield func(matrix.Block, error) bool) bool {
	if f.err == nil {
		f.err = f.wait(ctx)
	}
	if f.err != nil {
		yield(matrix.Block{}, f.err)
		return false
	}
	for _, r := range f.reads {
		f.m.asOf = r.asOf
		if !yield(r.block(), nil) {
			return false
		}
	}
	return true
}

func (f *flow) wait(ctx context.Context) error {
	if err := f.m.c.begin(ctx, "flow of rows", f.m); err != nil {
		f.leave()
		return err
	}
	defer f.m.c.end()
	return f.windows.finish(ctx)
}

// leave gives the rows up.
func (f *flow) leave() { f.windows.leave() }
