package angel

import (
	"context"
	"fmt"
	"math"

	"thole.example/blob"
	"thole.example/matrix"
)

// spread cuts a sparse matrix of which nobody said how large its partitions are into ranges of columns, as many as its
// values need, or of rows if that would list too many rows.
func (p *plan) spread(puts []put) {
	if p.fixed || p.filled || p.meta.Cols == 0 {
		return
	}
	values := int64(0)
	for i := range puts {
		values += puts[i].part.nnz
	}
	n := min(maxCells, values*int64(8+elementOf(p.kind).Size())/partitionBytes+1)
	rows, cols := p.grid.row, p.meta.Cols
	switch saved := max(1, savedCount(&p.meta)); {
	case saved <= manyEntries/n:
		cols = (cols-1)/n + 1
	case p.oneBand():
		cols = (cols-1)/max(1, min(n, 8*manyEntries/saved)) + 1
	default:
		rows = min(rows, (p.meta.Rows-1)/n+1)
	}
	p.grid, _ = newGrid(p.grid.whole, rows, cols)
}

// rebuild reads what was put back and writes it again as the cells of the grid.
func (w *writer) rebuild(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	at := func(id int) (matrix.Rect, func(int64) bool) { return p.grid.cell(id), nil }
	return w.again(ctx, p, puts, p.grid.cells(), at)
}

// scattered writes what was put as hash partitions.
func (w *writer) scattered(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	parts, err := w.again(ctx, p, puts, p.hash, func(id int) (matrix.Rect, func(int64) bool) {
		return p.grid.whole, func(col int64) bool { return hashPart(col, p.kind.LongKeys(), p.hash) == id }
	})
	for i := range parts {
		parts[i].cols = matrix.Range{}
	}
	return parts, err
}

// again writes what was put as n partitions, of which at says the place and which columns of it they have (nil: all).
func (w *writer) again(ctx context.Context, p *plan, puts []put, n int,
	at func(id int) (matrix.Rect, func(int64) bool)) ([]partMeta, error) {
	sources, err := w.sources(ctx, p, puts)
	if err != nil {
		return nil, err
	}
	parts := make([]partMeta, n)
	for group := range groups(0, n, p.perFile) {
		if err := w.writeFile(ctx, p, sources, parts, group, at); err != nil {
			return nil, err
		}
	}
	return parts, w.discard(ctx, p, puts)
}

// writeFile writes a group of partitions into one file.
func (w *writer) writeFile(ctx context.Context, p *plan, sources []*stored, parts []partMeta, group [2]int,
	at func(id int) (matrix.Rect, func(int64) bool)) error {
	file := fmt.Sprint(group[0])
	out, err := w.bucket.Create(ctx, w.name(p, file))
	if err != nil {
		return err
	}
	defer out.Abort()
	off := int64(0)
	for id := group[0]; id < group[1]; id++ {
		place, keep := at(id)
		if parts[id], err = w.writePart(ctx, p, out, off, sources, place, keep); err != nil {
			return err
		}
		parts[id].id, parts[id].file = int32(id), file
		off += parts[id].size
	}
	return out.Commit()
}

// writePart writes the cells of a place that keep wants as a partition, band after band.
func (w *writer) writePart(ctx context.Context, p *plan, out blob.Writer, off int64, sources []*stored, at matrix.Rect,
	keep func(int64) bool) (partMeta, error) {
	e := p.begin(ctx, out, off, at, savedIn(&p.meta, at.Rows))
	for band, from := range p.bands(at, sources) {
		b, err := gather(ctx, w.bucket, p, band, from, keep)
		if err != nil {
			return e.part, err
		}
		if err := e.add(b, savedIn(&p.meta, band.Rows)); err != nil {
			return e.part, err
		}
	}
	return e.end()
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

// staged is the view of one put as a matrix of one partition.
func (w *writer) staged(p *plan, part *partMeta) (*stored, error) {
	s := &stored{
		dir:  &dir{path: w.stage.Name(p.meta.Name), sizes: map[string]int64{part.file: part.size}},
		meta: p.meta, kind: p.kind, layout: p.layout, ranged: true, sep: p.style.sep, sums: true, limit: bandBytes,
	}
	s.meta.DType = elementOf(p.kind)
	m := p.describe()
	m.parts = []partMeta{*part}
	var err error
	if s.pieces, err = checkParts(m, p.layout, true); err == nil {
		_, err = checkFiles(s.dir, p.layout, s.pieces)
	}
	return s, err
}
