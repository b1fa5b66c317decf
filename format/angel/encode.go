package angel

import (
	"context"
	"fmt"
	"hash/crc32"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// slab is how many values are turned into bytes at a time, and batch how many of them at once, so that they stay near
// the processor.
const (
	slab  = 1 << 14
	batch = 1 << 9
)

// encoding is a partition that is being written: its bytes so far, and their description.
type encoding struct {
	ctx     context.Context
	p       *plan
	w       blob.Writer
	part    partMeta
	rows    rowSet  // the saved rows
	last    rowMeta // of row formats: the row that was added last, which may go on, and is not listed yet
	begun   bool    // there is one
	present bitmap  // of column formats: which cells of sparse rows are there
}

// begin writes a partition whose saved rows are given, behind the off bytes that the writer has. What is added must come in
// the order of the data.
func (p *plan) begin(ctx context.Context, w blob.Writer, off int64, at matrix.Rect, rows rowSet) *encoding {
	e := &encoding{ctx: ctx, p: p, w: w, rows: rows}
	e.part = partMeta{rows: at.Rows, cols: at.Cols, off: off, version: p.version, hasSum: p.sums}
	if p.layout.column {
		e.part.saved.elems = int32(rows.len())
	}
	return e
}

// unlisted reports whether the metadata leave out rows without cells, as they leave out rows that are not saved: our key
// says which rows are there.
func (p *plan) unlisted() bool {
	return p.own() && !p.filled && !p.layout.column && p.meta.Rows >= manyRows
}

// list adds a row to the description.
func (e *encoding) list(r rowMeta) {
	if r.n > 0 || !e.p.unlisted() {
		r.kind = e.p.saveType()
		e.part.rowMetas.add(r)
		e.part.nnz += int64(r.n)
	}
}

// saveType is what snapshots say of a row: 0 dense, 1 with column ids. Other formats say 0.
func (p *plan) saveType() int32 {
	if p.layout.snapshot && p.layout.colID {
		return 1
	}
	return 0
}

// add writes saved rows of a block, whose data are *Dense, *CSR or, for column formats, *Cols. Column formats take all
// saved rows at once; row formats take rows from rows[0] of the partition on, the last of which may be added to later.
func (e *encoding) add(b matrix.Block, rows rowSet) error {
	switch b.Data.DType() {
	case matrix.F64:
		return add[float64](e, b, rows)
	case matrix.F32:
		return add[float32](e, b, rows)
	case matrix.I64:
		return add[int64](e, b, rows)
	case matrix.I32:
		return add[int32](e, b, rows)
	}
	return fmt.Errorf("element type %v: %w", b.Data.DType(), format.ErrLossy)
}

func add[T Number](e *encoding, b matrix.Block, rows rowSet) error {
	if e.p.layout.column {
		return addColumns[T](e, b, rows)
	}
	return addRows[T](e, b, rows)
}

// write appends bytes to the partition.
func (e *encoding) write(b []byte) error {
	e.part.sum = crc32.Update(e.part.sum, castagnoli, b)
	e.part.size += int64(len(b))
	_, err := e.w.Write(b)
	return err
}

// reserve makes the object as long as it will be, where that is known, so that it need not grow.
func (e *encoding) reserve(records int64) error {
	l := e.p.layout
	n := records * l.each(e.p.style, int(max(1, e.part.saved.elems))*elementOf(e.p.kind).Size())
	if n < window {
		return nil
	}
	_, err := e.w.WriteAt([]byte{0}, e.part.off+e.part.size+n-1)
	return err
}

// end completes the description.
func (e *encoding) end() (partMeta, error) {
	p := &e.part
	switch {
	case e.begun:
		e.list(e.last)
	case e.p.layout.column:
		for row := range e.rows.all() {
			e.list(rowMeta{id: int32(row), off: -1, n: p.saved.cols})
		}
	default:
		for row := range e.rows.all() {
			e.list(rowMeta{id: int32(row), off: p.off})
		}
	}
	if !e.p.layout.column {
		p.saved.rows = int32(p.rowMetas.n)
	}
	if !e.present.full() && e.p.own() {
		p.present = e.present.bytes
	}
	return *p, nil
}
