package arrow

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	// A batch has at most cellRows rows, and about cellBytes of values.
	cellRows  = 1 << 13
	cellBytes = 32 << 20
)

// cellTable reads a table of cells.
type cellTable struct {
	cellSource
	path  string
	shown []format.TableColumn
}

// OpenTable implements format.TableOpener. The options that say what nulls and columns of text are have no use.
func (codec) OpenTable(ctx context.Context, b blob.Bucket, file string, o format.Options) (format.Table, error) {
	w, err := newSettings(&o)
	if err != nil {
		return nil, err
	}
	w.skip = true
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	s, err := readSource(obj, w)
	if err != nil {
		obj.Close()
		return nil, format.Wrap(name, file, err)
	}
	t := &cellTable{cellSource: cellSource{obj: obj, src: s}, path: file}
	for i := range s.fields {
		t.shown = append(t.shown, s.fields[i].column())
	}
	format.MarkIndex(t.shown, s.pandas)
	return t, nil
}

// Columns implements format.Table.
func (t *cellTable) Columns() []format.TableColumn { return t.shown }

// Rows implements format.Table.
func (t *cellTable) Rows() int64 { return t.src.rows }

// Close implements format.Table.
func (t *cellTable) Close() error {
	t.src.close()
	return t.obj.Close()
}

// Batches implements format.Table.
func (t *cellTable) Batches(ctx context.Context, columns []int, rows matrix.Range) iter.Seq2[*format.TableBatch, error] {
	return func(yield func(*format.TableBatch, error) bool) {
		w := cellWalk{t: t, ctx: ctx, columns: columns, yield: yield, words: words{cellSource: t.cellSource}}
		w.words.whole = wholeBytes / 4
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
	readers []cellReader
	words   words
	batch   format.TableBatch
}

func (w *cellWalk) all(rows matrix.Range) error {
	w.readers = make([]cellReader, len(w.columns))
	w.batch.Cells = make([]format.Cells, len(w.columns))
	for _, place := range w.columns {
		if place < 0 || place >= len(w.t.shown) {
			return fmt.Errorf("column %d of %d", place, len(w.t.shown))
		}
		if err := w.t.shown[place].Check(); err != nil {
			return err
		}
		w.words.need(&w.t.src.fields[place].cells)
	}
	for _, b := range w.t.src.batches {
		at := b.rows.Intersect(rows)
		if at.Len() == 0 || len(w.columns) == 0 {
			continue
		}
		n := b.words
		if !w.t.src.stream { // whose dictionaries are the same for all
			n = len(w.t.src.words)
		}
		if err := w.words.upTo(n); err != nil {
			return err
		}
		if err := w.rows(b, at); err != nil {
			return err
		}
	}
	return nil
}

// rows gives rows of a record batch.
func (w *cellWalk) rows(b *batch, at matrix.Range) error {
	width := int64(1) // bytes of a row
	buffers := int64(0)
	for _, place := range w.columns {
		buffers += int64(w.t.src.fields[place].buffers)
	}
	from := w.t.cellSource
	from.whole, from.held = wholeBytes/max(1, buffers), w.words.held
	for i, place := range w.columns {
		f := &w.t.src.fields[place]
		c, err := from.load(b, f)
		if err != nil {
			return columnError(b, f, err)
		}
		w.readers[i].cellBuffers, w.readers[i].dict = c, w.words.of[f.cells.id]
		width += c.bytes() / b.rows.Len()
	}
	step := min(cellRows, max(1, cellBytes/width))
	for lo := at.Lo; lo < at.Hi; lo += step {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n := min(step, at.Hi-lo)
		for i := range w.readers {
			if err := w.readers[i].read(lo-b.rows.Lo, n, &w.batch.Cells[i]); err != nil {
				return columnError(b, &w.t.src.fields[w.columns[i]], err)
			}
		}
		w.batch.First, w.batch.Rows = lo, int(n)
		if !w.yield(&w.batch, nil) {
			return errStop
		}
	}
	return nil
}

// bytes is about how many bytes the cells take.
func (c *cellBuffers) bytes() int64 {
	n := c.size + 16*c.count
	for _, d := range c.others {
		n += int64(len(d))
	}
	return n
}

// columnError is an error of the column, with a place.
func columnError(b *batch, f *field, err error) error {
	off := b.body
	var at *wire.At
	if errors.As(err, &at) {
		off, err = at.Off, at.Err
	}
	return &wire.At{Off: off, Err: fmt.Errorf("column %q: %w", f.name, err)}
}

// words are the dictionaries of a table, as they are at some record batch.
type words struct {
	cellSource
	ids  map[int64]bool // that are needed
	of   map[int64]*dictionary
	next int // the first dictionary batch that was not read
}

// need says that the cells of a column are needed.
func (w *words) need(c *cellField) {
	if c.index == matrix.Invalid {
		return
	}
	if w.ids == nil {
		w.ids, w.of = map[int64]bool{}, map[int64]*dictionary{}
	}
	w.ids[c.id] = true
}

// upTo reads the dictionary batches before batch n.
func (w *words) upTo(n int) error {
	for ; w.next < n && w.ids != nil; w.next++ {
		place := w.src.words[w.next]
		m, err := readMessage(w.obj, place[0], w.src.footer)
		if err == nil {
			err = w.take(&m)
		}
		var at *wire.At
		switch {
		case errors.As(err, &at):
			return err
		case err != nil:
			return &wire.At{Off: place[0], Err: err}
		}
	}
	return nil
}

// take reads a dictionary batch: a dictionary, or entries behind those that one has.
func (w *words) take(m *message) error {
	id, delta := m.head.i64(0), m.head.u8(2) != 0
	if !w.ids[id] {
		return m.flat.err
	}
	before := w.of[id]
	if before != nil && !delta && !w.src.stream {
		return fmt.Errorf("dictionary %d twice, want entries that are added to it", id)
	}
	f := w.src.entries[id]
	inner := *m
	inner.head = m.head.tab(1)
	b, _, err := newBatch(&inner, &schema{order: w.src.order, fields: []field{f}, nodes: f.nodes, buffers: f.buffers, views: f.views}, 0)
	if err != nil {
		return fmt.Errorf("dictionary %d: %w", id, err)
	}
	r := cellReader{}
	held := w.held
	if r.cellBuffers, err = w.load(b, &f); err != nil {
		return columnError(b, &f, err)
	}
	if w.held = held; b.packing != plain { // the buffers are garbage once the entries are copied
		if err := w.hold(r.bytes()); err != nil {
			return columnError(b, &f, err)
		}
	}
	to := &dictionary{}
	if delta && before != nil {
		*to = *before
		r.null = to.Null
	}
	if err := r.append(0, r.count, &to.Cells); err != nil {
		return columnError(b, &f, err)
	}
	to.n = cellCount(&to.Cells)
	w.of[id] = to
	return nil
}
