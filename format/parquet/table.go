package parquet

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/parquet-go/parquet-go/compress/zstd"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	// A batch has at most batchRows rows, and by what the footer says about batchBytes of values.
	batchRows  = 1 << 13
	batchBytes = 32 << 20
)

// cellTable reads a table of cells.
type cellTable struct {
	obj     blob.Object
	path    string
	footer  *footer
	columns []cellColumn
	shown   []format.TableColumn
}

// OpenTable implements format.TableOpener. The options that say what nulls and columns of text are have no use.
func (codec) OpenTable(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Table, error) {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	t := &cellTable{obj: obj, path: file}
	if t.footer, err = readFooter(obj, true); err == nil {
		t.columns, err = newCells(t.footer.Schema)
	}
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	for i := range t.columns {
		t.columns[i].says(t.footer.times)
		t.shown = append(t.shown, t.columns[i].TableColumn)
	}
	for _, kv := range t.footer.KeyValueMetadata {
		if kv.Key == format.PandasKey {
			format.MarkIndex(t.shown, kv.Value)
		}
	}
	return t, nil
}

// says takes from the types of time that a schema of Arrow gives the columns what that of Parquet cannot say.
func (c *cellColumn) says(times []format.TimeType) {
	if c.index >= len(times) || c.Kind != format.Time && c.Kind != format.Whole {
		return
	}
	when := times[c.index]
	switch {
	case when.Kind == "timestamp" && c.Kind == format.Time && !c.Days:
		c.Zone = when.Zone
	case when.Kind == "date64" && c.Kind == format.Time:
		c.Days = true
	case when.Kind == "duration" && c.Kind == format.Whole && !c.OfDay && c.raw == matrix.I64:
		c.Tells(when)
	}
}

// Columns implements format.Table.
func (t *cellTable) Columns() []format.TableColumn { return t.shown }

// Rows implements format.Table.
func (t *cellTable) Rows() int64 { return t.footer.NumRows }

// Close implements format.Table.
func (t *cellTable) Close() error { return t.obj.Close() }

// Batches implements format.Table.
func (t *cellTable) Batches(ctx context.Context, columns []int, rows matrix.Range) iter.Seq2[*format.TableBatch, error] {
	return func(yield func(*format.TableBatch, error) bool) {
		w := cellWalk{t: t, ctx: ctx, columns: columns, yield: yield}
		if err := w.all(rows); err != nil && err != errStop {
			yield(nil, format.Wrap(name, t.path, err))
		}
	}
}

// cellWalk is one walk over the rows.
type cellWalk struct {
	t       *cellTable
	ctx     context.Context
	columns []int
	yield   func(*format.TableBatch, error) bool
	cursors []cellCursor
	zstd    zstd.Codec
	open    int64 // bytes of open pages
	batch   format.TableBatch
}

func (w *cellWalk) all(rows matrix.Range) error {
	w.cursors = make([]cellCursor, len(w.columns))
	w.batch.Cells = make([]format.Cells, len(w.columns))
	for i, place := range w.columns {
		if place < 0 || place >= len(w.t.columns) {
			return fmt.Errorf("column %d of %d", place, len(w.t.columns))
		}
		if err := w.t.shown[place].Check(); err != nil {
			return err
		}
		w.cursors[i].r, w.cursors[i].zstd, w.cursors[i].open = w.t.obj, &w.zstd, &w.open
	}
	for i := range w.t.footer.groups {
		g := w.t.footer.groups[i].rows
		if at := g.Intersect(rows); at.Len() > 0 && len(w.columns) > 0 {
			if err := w.group(&w.t.footer.RowGroups[i], g, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// group gives the rows of a row group.
func (w *cellWalk) group(g *pf.RowGroup, has, at matrix.Range) error {
	width := int64(1) // bytes of values in a row
	for i := range w.cursors {
		c := &w.cursors[i]
		of := &w.t.columns[w.columns[i]]
		c.of = of
		chunk := &g.Columns[of.leaf]
		if err := w.t.footer.checkChunk(chunk, &of.column, has.Len()); err != nil {
			return c.failed(&wire.At{Off: w.t.footer.start, Err: err})
		}
		c.start(of, &chunk.MetaData)
		if err := c.skip(int(at.Lo-has.Lo), &w.batch.Cells[i]); err != nil {
			return c.failed(err)
		}
		width += max(0, min(chunk.MetaData.TotalUncompressedSize, 1<<40))/has.Len() + 8*(chunk.MetaData.NumValues/has.Len())
	}
	step := min(batchRows, max(1, batchBytes/width))
	for lo := at.Lo; lo < at.Hi; lo += step {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n := int(min(step, at.Hi-lo))
		for i := range w.cursors {
			c := &w.cursors[i]
			err := c.read(n, &w.batch.Cells[i])
			if err == nil && lo+int64(n) == has.Hi {
				err = c.end()
			}
			if err != nil {
				return c.failed(err)
			}
		}
		w.batch.First, w.batch.Rows = lo, n
		if !w.yield(&w.batch, nil) {
			return errStop
		}
	}
	return nil
}

// end checks that no row is left behind the last.
func (c *cellCursor) end() error {
	if c.pos < c.slots || c.row < c.rows {
		return fmt.Errorf("more rows than the row group has")
	}
	return nil
}

// failed is an error of the column, with its place.
func (c *cellCursor) failed(err error) error {
	off := c.off
	var at *wire.At
	if errors.As(err, &at) {
		off, err = at.Off, at.Err
	}
	return &wire.At{Off: off, Err: fmt.Errorf("column %q: %w", c.of.Name, err)}
}
