package paddle

import (
	"context"
	"fmt"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// rowsName is what the profile is called in dialects.
const rowsName = "selectedrows"

// Create implements profile: some rows of one matrix, in a file that has its name.
func (rowsProfile) Create(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if len(ms) != 1 {
		return nil, fmt.Errorf("%d matrices, want one: a file of rows holds no more (layout=separate writes a folder): %w",
			len(ms), format.ErrOption)
	}
	if err := loseNames(to, ms, &o); err != nil {
		return nil, err
	}
	if err := format.LoseFiles(&o); err != nil {
		return nil, err
	}
	w, _, err := createRows(ctx, b, to, &ms[0], o)
	return w, err
}

// maxSavedRows is how many rows of a matrix are written as such: their numbers are held in memory.
const maxSavedRows = 1 << 27

// createRows begins a file of the saved rows of the matrix. whole describes the matrix with its other rows.
func createRows(ctx context.Context, b blob.Bucket, to string, m *matrix.Meta, o format.Options) (
	w format.Writer, whole record, err error) {
	saved := m.SavedRows()
	compact := m.Clone()
	compact.Rows, compact.Saved = 0, nil
	for _, r := range saved {
		compact.Rows += r.Len()
	}
	if compact.Rows > maxSavedRows {
		return nil, whole, fmt.Errorf("matrix %q: %d rows with their numbers, want at most %d: %w",
			m.Name, compact.Rows, maxSavedRows, format.ErrLimit)
	}
	if len(m.LoD) > 0 {
		if err := o.Lose(format.Sequences, m.Name, "LoD, which rows do not have"); err != nil {
			return nil, whole, err
		}
		compact.LoD = nil
	}
	compact.Dims = []int64{compact.Rows, m.Cols}
	if len(m.Dims) > 1 {
		compact.Dims = append([]int64{compact.Rows}, m.Dims[1:]...)
	}
	if err := m.Check(); err != nil {
		return nil, whole, err
	}
	head := wire.AppendU64(wire.AppendU32(nil, wire.Little, 0), wire.Little, uint64(compact.Rows))
	head = slices.Grow(head, int(8*compact.Rows)+8)
	for _, r := range saved {
		for i := r.Lo; i < r.Hi; i++ {
			head = wire.AppendU64(head, wire.Little, uint64(i))
		}
	}
	head = wire.AppendU64(head, wire.Little, uint64(m.Rows))
	r, err := plan(&compact, &o, settings{order: wire.Little})
	if err != nil {
		return nil, whole, err
	}
	head = appendBare(head, &r)
	r.values = int64(len(head))
	if r.end, err = format.PlaceSlab(&compact, r.dtype, r.values); err != nil {
		return nil, whole, err
	}
	whole = r
	whole.dims = append([]int64{m.Rows}, r.dims[1:]...)
	f := format.SlabFile{Size: r.end, Known: []format.Span{{Bytes: head}}, Slabs: []format.Target{r.target(&compact, wire.Little)}}
	inner, err := newWriter(ctx, b, to, o, f, []record{r})
	return rowsWriter{inner, saved}, whole, err
}

// rowsWriter stores the rows of a matrix behind each other that are saved.
type rowsWriter struct {
	format.Writer
	saved []matrix.Range
}

// Put implements format.Writer. A Part is those of the runs of rows in the block, each with its length before it.
func (w rowsWriter) Put(ctx context.Context, matrixName string, b matrix.Block) (format.Part, error) {
	if err := b.Check(); err != nil {
		return nil, fmt.Errorf("matrix %q: %w", matrixName, err)
	}
	var all format.Part
	base, stored := int64(0), 0
	for _, r := range w.saved {
		at := b.At
		if at.Rows = at.Rows.Intersect(r); at.Rows.Len() > 0 {
			piece := b
			if at != b.At {
				piece = b.Cut(at)
			}
			stored += piece.Data.NNZ()
			p, err := w.Writer.Put(ctx, matrixName, piece.Shift(base-r.Lo, 0))
			if err != nil {
				return nil, err
			}
			all = append(wire.AppendU32(all, wire.Little, uint32(len(p))), p...)
		}
		base += r.Len()
	}
	if n := b.Data.NNZ(); n > stored {
		return nil, fmt.Errorf("matrix %q: block %v has %d values in rows that are not saved", matrixName, b.At, n-stored)
	}
	return all, nil
}

// Commit implements format.Writer.
func (w rowsWriter) Commit(ctx context.Context, parts []format.Part) error {
	var inner []format.Part
	for _, p := range parts {
		for len(p) > 0 {
			c := wire.NewCursor(p, 0, wire.Little)
			n := int(c.U32("length of a part"))
			if c.Err() != nil || n > len(p)-4 {
				return fmt.Errorf("part of %d bytes, want runs of rows: %w", len(p), format.ErrCorrupt)
			}
			inner = append(inner, p[4:4+n])
			p = p[4+n:]
		}
	}
	return w.Writer.Commit(ctx, inner)
}
