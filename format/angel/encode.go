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
	next    int    // rows behind which nothing was added yet, of row formats
	present bitmap // of column formats: which cells of sparse rows are there
}

// begin writes a partition whose saved rows are given, behind the off bytes that the writer has. What is added must come in
// the order of the data.
func (p *plan) begin(ctx context.Context, w blob.Writer, off int64, at matrix.Rect, rows []int64) *encoding {
	e := &encoding{ctx: ctx, p: p, w: w}
	e.part = partMeta{rows: at.Rows, cols: at.Cols, off: off, version: p.version, hasSum: p.sums}
	if p.layout.column {
		e.part.saved.elems = int32(len(rows))
	} else {
		e.part.saved.rows = int32(len(rows))
	}
	for _, row := range rows {
		e.part.rowMetas = append(e.part.rowMetas, rowMeta{id: int32(row), off: -1, kind: p.saveType()})
	}
	return e
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
func (e *encoding) add(b matrix.Block, rows []int64) error {
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

func add[T Number](e *encoding, b matrix.Block, rows []int64) error {
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
	n := records * l.each(e.p.style, int(max(1, e.part.saved.elems))*e.p.kind.dtype().Size())
	if n < window {
		return nil
	}
	_, err := e.w.WriteAt([]byte{0}, e.part.off+e.part.size+n-1)
	return err
}

// end completes the description.
func (e *encoding) end() (partMeta, error) {
	p := &e.part
	for i := range p.rowMetas {
		r := &p.rowMetas[i]
		if p.saved.elems > 0 {
			r.n = p.saved.cols
		} else if r.off < 0 && !e.p.layout.column {
			r.off = p.off + p.size
		}
		p.nnz += int64(r.n)
	}
	if !e.present.full() {
		if !e.p.own() {
			if err := e.p.lossy.Lose(format.Absence, e.p.meta.Name, "absent cells of stored columns become zeros"); err != nil {
				return *p, err
			}
		} else {
			p.present = e.present.bytes
		}
	}
	return *p, nil
}
