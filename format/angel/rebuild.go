package angel

import (
	"context"
	"fmt"
	"path"

	"thole/matrix"
)

// spread cuts a sparse matrix of which nobody said how large its partitions are into column ranges, as many as its
// values need.
func (p *plan) spread(puts []put) {
	if p.fixed || p.filled || p.meta.Cols == 0 {
		return
	}
	values := int64(0)
	for i := range puts {
		values += puts[i].part.nnz
	}
	n := min(maxCells, values*int64(8+p.kind.dtype().Size())/partitionBytes+1)
	p.grid, _ = newGrid(p.grid.whole, p.meta.Rows, (p.meta.Cols-1)/n+1)
}

// rebuild reads what was put back and writes it again as the cells of the grid.
func (w *writer) rebuild(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	for i := range puts { // the names of cells are taken by the new files
		if err := w.rename(ctx, p, &puts[i].part, fmt.Sprintf("q.%d", i)); err != nil {
			return nil, err
		}
	}
	parts := make([]partMeta, p.grid.cells())
	for id := range parts {
		cell := p.grid.cell(id)
		var blocks []matrix.Block
		for i := range puts {
			if (matrix.Rect{Rows: puts[i].part.rows, Cols: puts[i].part.cols}).Intersect(cell).Empty() {
				continue
			}
			s, err := w.staged(p, &puts[i].part)
			if err != nil {
				return nil, err
			}
			err = s.blocks(ctx, w.bucket, cell, func(b matrix.Block) bool {
				blocks = append(blocks, b)
				return true
			})
			if err != nil {
				return nil, err
			}
		}
		b, err := gather(p, cell, blocks)
		if err != nil {
			return nil, err
		}
		if err := w.writeCell(ctx, p, id, b, &parts[id]); err != nil {
			return nil, err
		}
	}
	for i := range puts {
		if err := w.bucket.Remove(ctx, w.name(p, puts[i].part.file)); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// staged is the view of one put as a matrix of one partition.
func (w *writer) staged(p *plan, part *partMeta) (*stored, error) {
	s := &stored{
		dir:  &dir{path: w.stage.Name(p.meta.Name), sizes: map[string]int64{part.file: part.size}},
		meta: p.meta, kind: p.kind, layout: p.layout, ranged: true, sep: p.style.sep, sums: true, limit: maxBlock,
	}
	s.meta.DType = p.kind.dtype()
	m := p.describe()
	m.parts = []partMeta{*part}
	var err error
	if s.pieces, err = checkParts(m, p.layout, true); err == nil {
		_, err = checkFiles(s.dir, p.layout, s.pieces)
	}
	return s, err
}

// gather puts blocks that lie in a cell together.
func gather(p *plan, cell matrix.Rect, blocks []matrix.Block) (matrix.Block, error) {
	if n, ok := cell.Cells(); p.filled && (!ok || n > maxFill) {
		return matrix.Block{}, fmt.Errorf("partition %v has more than %d cells", path.Join(p.meta.Name, cell.String()), int64(maxFill))
	}
	switch p.kind.dtype() {
	case matrix.F64:
		return gatherOf[float64](p.filled, cell, blocks)
	case matrix.F32:
		return gatherOf[float32](p.filled, cell, blocks)
	case matrix.I64:
		return gatherOf[int64](p.filled, cell, blocks)
	}
	return gatherOf[int32](p.filled, cell, blocks)
}

func gatherOf[T Number](filled bool, cell matrix.Rect, blocks []matrix.Block) (matrix.Block, error) {
	if filled {
		out := matrix.Block{At: cell, Data: matrix.KindOf(matrix.DTypeOf[T]()).Dense(int(cell.Rows.Len() * cell.Cols.Len()))}
		for _, b := range blocks {
			copyInto(out.Data.(*matrix.Dense[T]), cell, b.ToDense())
		}
		return out, nil
	}
	rows := make([]cells[T], cell.Rows.Len())
	for _, b := range blocks {
		d := b.ToCSR().Data.(*matrix.CSR[T])
		for i := range len(d.Ptr) - 1 {
			row := &rows[b.At.Rows.Lo-cell.Rows.Lo+int64(i)]
			row.col = append(row.col, d.Idx[d.Ptr[i]:d.Ptr[i+1]]...)
			row.val = append(row.val, d.Val[d.Ptr[i]:d.Ptr[i+1]]...)
		}
	}
	out := &matrix.CSR[T]{Ptr: make([]int, 1, len(rows)+1)}
	for i := range rows {
		if c, twice := rows[i].sort(); twice {
			return matrix.Block{}, fmt.Errorf("%w: cell (%d,%d) is in two of them", errOverlap, cell.Rows.Lo+int64(i), c)
		}
		out.Idx = append(out.Idx, rows[i].col...)
		out.Val = append(out.Val, rows[i].val...)
		out.Ptr = append(out.Ptr, len(out.Idx))
	}
	return matrix.Block{At: cell, Data: out}, nil
}

// copyInto copies the values of a dense block that lies in the cell.
func copyInto[T Number](dst *matrix.Dense[T], cell matrix.Rect, b matrix.Block) {
	src := b.Data.(*matrix.Dense[T]).Val
	n := b.At.Cols.Len()
	for i := range b.At.Rows.Len() {
		to := (b.At.Rows.Lo-cell.Rows.Lo+i)*cell.Cols.Len() + b.At.Cols.Lo - cell.Cols.Lo
		copy(dst.Val[to:to+n], src[i*n:(i+1)*n])
	}
}
