package angel

import (
	"context"
	"fmt"
	"math"

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
	sources, err := w.sources(ctx, p, puts)
	if err != nil {
		return nil, err
	}
	parts := make([]partMeta, p.grid.cells())
	for id := range parts {
		if err := w.writeCell(ctx, p, sources, id, &parts[id]); err != nil {
			return nil, err
		}
	}
	return parts, w.discard(ctx, p, puts)
}

// scattered writes what was put as hash partitions.
func (w *writer) scattered(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	sources, err := w.sources(ctx, p, puts)
	if err != nil {
		return nil, err
	}
	parts := make([]partMeta, p.hash)
	for id := range parts {
		keep := func(col int64) bool { return hashPart(col, p.kind.long(), p.hash) == id }
		if err := w.writePart(ctx, p, sources, p.grid.whole, keep, id, &parts[id]); err != nil {
			return nil, err
		}
		parts[id].cols = matrix.Range{}
	}
	return parts, w.discard(ctx, p, puts)
}

// hashPart is the partition that Angel's HashPartitioner gives a column to.
func hashPart(col int64, long bool, n int) int {
	h := int32(col)
	if h < 0 {
		h = -h
	}
	h ^= int32(uint32(h) >> 16)
	if h < 0 {
		h -= math.MinInt32
	}
	if n&(n-1) == 0 {
		return int(h) & (n - 1)
	}
	return int(h) % n
}

// sources are views of what was put; the names of partitions are free afterwards.
func (w *writer) sources(ctx context.Context, p *plan, puts []put) ([]*stored, error) {
	sources := make([]*stored, len(puts))
	for i := range puts {
		if err := w.rename(ctx, p, &puts[i].part, fmt.Sprintf("q.%d", i)); err != nil {
			return nil, err
		}
		how := p
		if puts[i].raw {
			how = p.raw()
		}
		var err error
		if sources[i], err = w.staged(how, &puts[i].part); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

func (w *writer) discard(ctx context.Context, p *plan, puts []put) error {
	for i := range puts {
		if err := w.bucket.Remove(ctx, w.name(p, puts[i].part.file)); err != nil {
			return err
		}
	}
	return nil
}

// writeCell writes a cell of the grid as its partition.
func (w *writer) writeCell(ctx context.Context, p *plan, sources []*stored, id int, part *partMeta) error {
	return w.writePart(ctx, p, sources, p.grid.cell(id), nil, id, part)
}

// writePart writes the cells of a place that keep wants (nil: all) as a partition, band after band.
func (w *writer) writePart(ctx context.Context, p *plan, sources []*stored, at matrix.Rect, keep func(int64) bool,
	id int, part *partMeta) error {
	out, err := w.bucket.Create(ctx, w.name(p, fmt.Sprint(id)))
	if err != nil {
		return err
	}
	defer out.Abort()
	rows := savedIn(&p.meta, at.Rows)
	e := p.begin(ctx, out, at, rows)
	for band, from := range p.bands(at, sources) {
		b, err := gather(ctx, w.bucket, p, band, from, keep)
		if err != nil {
			return err
		}
		if err := e.add(b, savedIn(&p.meta, band.Rows)); err != nil {
			return err
		}
	}
	if *part, err = e.end(); err != nil {
		return err
	}
	part.id, part.file, part.rows, part.cols = int32(id), fmt.Sprint(id), at.Rows, at.Cols
	return out.Commit()
}

// staged is the view of one put as a matrix of one partition.
func (w *writer) staged(p *plan, part *partMeta) (*stored, error) {
	s := &stored{
		dir:  &dir{path: w.stage.Name(p.meta.Name), sizes: map[string]int64{part.file: part.size}},
		meta: p.meta, kind: p.kind, layout: p.layout, ranged: true, sep: p.style.sep, sums: true, limit: bandBytes,
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
