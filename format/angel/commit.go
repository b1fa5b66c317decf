package angel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// Commit writes the metadata of every matrix and the files beside them, and publishes the whole folder.
func (w *writer) Commit(ctx context.Context, parts []format.Part) error {
	of := map[*plan][]put{}
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		u, err := decodePut(part)
		if err != nil {
			return err
		}
		p, err := w.find(u.matrix)
		if err != nil {
			return err
		}
		of[p] = append(of[p], *u)
	}
	for _, p := range w.plans {
		if err := w.finish(ctx, p, of[p]); err != nil {
			return fmt.Errorf("matrix %s: %w", p.meta.Name, err)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(w.files)) {
		if err := blob.WriteAll(ctx, w.bucket, w.stage.Name(f), w.files[f]); err != nil {
			return err
		}
	}
	return w.stage.Publish(ctx, "")
}

// errOverlap says that the places of two blocks share cells.
var errOverlap = errors.New("blocks overlap")

// finish makes partitions of what was put and writes the metadata of one matrix.
func (w *writer) finish(ctx context.Context, p *plan, puts []put) error {
	slices.SortFunc(puts, func(a, b put) int {
		if a.part.rows.Lo != b.part.rows.Lo {
			return compare(a.part.rows.Lo, b.part.rows.Lo)
		}
		return compare(a.part.cols.Lo, b.part.cols.Lo)
	})
	tiled, err := p.tiled(puts)
	apart := err == nil
	if err != nil && (p.filled || !errors.Is(err, errOverlap)) {
		return err
	}
	m := p.describe()
	loose := slices.ContainsFunc(puts, func(u put) bool { return u.cell < 0 })
	raw := slices.ContainsFunc(puts, func(u put) bool { return u.raw })
	switch {
	case p.hash > 0:
		m.parts, err = w.scattered(ctx, p, puts)
	case !loose && apart:
		m.parts, err = w.cells(ctx, p, puts)
	case !p.fixed && tiled && apart && !raw && p.adoptable(puts):
		m.parts, err = w.adopt(ctx, p, puts)
		m.blockRow, m.blockCol = int32(p.meta.Rows), widest(m.parts)
	default:
		p.spread(puts)
		m.blockRow, m.blockCol = int32(p.grid.row), p.grid.col
		m.parts, err = w.rebuild(ctx, p, puts)
	}
	if err != nil {
		return err
	}
	if err := w.bundle(ctx, p, m.parts); err != nil {
		return err
	}
	if p.unlisted() {
		listed := p.meta
		if listed.Saved = savedRows(m); !rowSet(listed.SavedRows()).contains(rowSet(p.meta.SavedRows()).merged()) {
			m.own.saved = p.meta.SavedRows()
		}
	}
	m.flat = !p.own() && !p.layout.column
	return w.writeMeta(ctx, p, m)
}

// writeMeta writes the metadata as they are made, since they may be larger than what should be in memory.
func (w *writer) writeMeta(ctx context.Context, p *plan, m *matrixMeta) error {
	out, err := w.bucket.Create(ctx, w.name(p, p.metaName()))
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := m.write(out); err != nil {
		return err
	}
	return out.Commit()
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// adoptable reports whether every put may become a partition: that does not make more metadata than need be, and Angel loads it.
func (p *plan) adoptable(puts []put) bool {
	listed, saved := int64(0), rowSet(p.meta.SavedRows()).bounds()
	for i := range puts {
		listed += int64(puts[i].part.rowMetas.n)
		if p.oneBand() && puts[i].part.rows != saved {
			return false
		}
	}
	return listed <= max(manyEntries, savedCount(&p.meta))
}

// tiled reports whether the puts hold every saved cell of the matrix. A dense matrix that they leave open, and puts whose
// places overlap, are errors; those of sparse matrices may overlap as long as no cell is in two of them.
func (p *plan) tiled(puts []put) (bool, error) {
	places := make([]matrix.Rect, len(puts))
	var have, want area
	for i, u := range puts {
		places[i] = matrix.Rect{Rows: u.part.rows, Cols: u.part.cols}
		if !p.grid.whole.Contains(places[i]) {
			return false, fmt.Errorf("part %v, want one within %v", places[i], p.grid.whole)
		}
		have.add(savedIn(&p.meta, u.part.rows).len(), u.part.cols.Len())
	}
	if i, j, twice := overlap(places); twice {
		return false, fmt.Errorf("%w: %v and %v", errOverlap, places[i], places[j])
	}
	want.add(savedCount(&p.meta), p.meta.Cols)
	if have != want && p.meta.Layout == matrix.RowDense {
		return false, fmt.Errorf("blocks do not hold every cell of the saved rows of %v", p.grid.whole)
	}
	return have == want, nil
}

// cells are the partitions where every put is a cell of the grid: cells without a put become empty partitions.
func (w *writer) cells(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	parts := make([]partMeta, p.grid.cells())
	for _, u := range puts {
		if int(u.cell) >= len(parts) {
			return nil, fmt.Errorf("part %d of %d partitions", u.cell, len(parts))
		}
		parts[u.cell] = u.part
		if err := w.rename(ctx, p, &parts[u.cell], fmt.Sprint(u.cell)); err != nil {
			return nil, err
		}
	}
	for id := range parts {
		if parts[id].file != "" {
			continue
		}
		place := func(id int) (matrix.Rect, func(int64) bool) { return p.grid.cell(id), nil }
		if err := w.writeFile(ctx, p, nil, parts, [2]int{id, id + 1}, place); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// adopt makes each put a partition, in the order of their places. Rows that are not saved go to the partitions before
// them, so that the partitions cover the matrix.
func (w *writer) adopt(ctx context.Context, p *plan, puts []put) ([]partMeta, error) {
	for i := range puts { // names that are numbers could be those of others
		if puts[i].cell >= 0 {
			if err := w.rename(ctx, p, &puts[i].part, fmt.Sprintf("q.%d", i)); err != nil {
				return nil, err
			}
		}
	}
	saved := p.meta.SavedRows()
	parts := make([]partMeta, len(puts))
	for i := range puts {
		part := &parts[i]
		*part = puts[i].part
		part.id = int32(i)
		if err := w.rename(ctx, p, part, fmt.Sprint(i)); err != nil {
			return nil, err
		}
		if part.rows.Lo == saved[0].Lo {
			part.rows.Lo = 0
		}
		for k, s := range saved {
			if part.rows.Hi == s.Hi {
				part.rows.Hi = p.meta.Rows
				if k+1 < len(saved) {
					part.rows.Hi = saved[k+1].Lo
				}
				break
			}
		}
	}
	return parts, nil
}

func (w *writer) rename(ctx context.Context, p *plan, part *partMeta, file string) error {
	if part.file == file {
		return nil
	}
	err := w.bucket.Publish(ctx, w.name(p, part.file), w.name(p, file), blob.Anything)
	part.file = file
	return err
}

func widest(parts []partMeta) int64 {
	n := int64(1)
	for i := range parts {
		n = max(n, parts[i].cols.Len())
	}
	return n
}
