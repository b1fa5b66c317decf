package daphne

import (
	"context"
	"fmt"
	"io"

	"thole.example/blockio"
	"thole.example/dump"
	"thole.example/matrix"
	"thole.example/wire"
)

// shownBytes is how many bytes of the cells of one block are printed; shownBlocks is how many blocks.
const (
	shownBytes  = 256
	shownBlocks = 64
)

// explain prints the header and the head of every block, with the first of its cells.
func explain(ctx context.Context, src io.ReaderAt, size int64, d *dump.Printer) error {
	f, err := parse(ctx, src, size, "")
	if f == nil || len(f.types) == 0 && err != nil {
		head := make([]byte, min(64, size))
		if wire.ReadAt(src, head, 0) == nil {
			d.Field(0, head, "not understood")
		}
		return firstError(err, d.Err())
	}
	e := &explainer{file: f, w: &window{src: src, size: size}, d: d}
	if err != nil {
		d.Head("damaged: %v", err)
	}
	d.Head("layout %s: %s", f.dialect, f.describe())
	if f.dialect == oldName {
		e.oldHeader()
	} else {
		e.header()
	}
	for i, b := range f.blocks {
		if i == shownBlocks {
			d.Head("%d more blocks", len(f.blocks)-i)
			break
		}
		if err := e.block(b); err != nil {
			return err
		}
	}
	return firstError(e.w.err, d.Err(), err)
}

type explainer struct {
	*file
	w *window
	d *dump.Printer
}

// field prints n bytes at off and gives the place behind them.
func (e *explainer) field(off int64, n int, text string, args ...any) int64 {
	e.d.Field(off, e.w.at(off, n), text, args...)
	return off + int64(n)
}

func (e *explainer) header() {
	e.field(0, 1, "version 1")
	e.field(1, 1, "data type %s", dataTypes[e.data])
	e.field(2, 8, "%d rows", e.rows)
	off := e.field(10, 8, "%d columns", e.cols)
	for i, t := range e.types {
		if e.data == frame {
			off = e.field(off, 1, "column %d: %v", i, t)
		} else {
			off = e.field(off, 1, "values of %v", t)
		}
	}
	for i, l := range e.labels {
		off = e.field(off, 2, "label of column %d: %d bytes", i, len(l))
		if l != "" {
			off = e.field(off, len(l), "%q", l)
		}
	}
}

func (e *explainer) oldHeader() {
	e.field(0, 1, "version 1")
	e.field(1, 1, "data type %s", dataTypes[e.data])
	e.field(2, 6, "padding")
	e.field(8, 8, "%d rows", e.rows)
	e.field(16, 8, "%d columns", e.cols)
	e.field(24, 1, "values of %v", e.types[0])
	e.field(25, 16, "position (0,0)")
	e.field(41, 8, "%d x %d", e.rows, e.cols)
	e.field(49, 4, "block type %v, padding", e.blocks[0].Kind)
	e.field(53, 1, "values of %v", e.types[0])
	if b := e.blocks[0]; b.as == asRows {
		e.field(oldLen, 8, "%d stored cells", b.N)
	}
}

func (e *explainer) block(b entry) error {
	if e.dialect != oldName && b.as != asRecords {
		e.blockHead(b)
	} else if b.as == asRecords {
		e.field(b.off-16, 16, "position (0,0)")
	}
	switch {
	case b.as == asRecords:
		e.cells(b.off, b.Body, "values, row after row")
	case b.as == asArrays:
		n := 8 * (b.At.Rows.Len() + 1)
		e.cells(b.off, n, "row offsets")
		e.cells(b.off+n, 8*b.N, "columns")
		e.cells(b.off+n+8*b.N, b.N*int64(b.Type.Size()), "values")
	case b.as == asRows:
		e.cells(b.off, b.Body, "rows: a count, then columns and values")
	case b.Kind == blockio.CSR:
		e.csr(b)
	case b.Kind == blockio.COO:
		e.coo(b)
	case b.Kind == blockio.Dense:
		e.dense(b)
	}
	return firstError(e.w.err, e.d.Err())
}

func (e *explainer) blockHead(b entry) {
	off := b.off - int64(b.Len())
	e.d.Head("block %v", b.At)
	raw := wire.NewCursor(append([]byte(nil), e.w.at(off, 16)...), off, wire.Little)
	off = e.field(off, 8, "row index %d", raw.U64("row index"))
	off = e.field(off, 8, "column index %d", raw.U64("column index"))
	off = e.field(off, 4, "%d rows", b.At.Rows.Len())
	off = e.field(off, 4, "%d columns", b.At.Cols.Len())
	off = e.field(off, 1, "block type %v", b.Kind)
	if b.Kind != blockio.Empty {
		off = e.field(off, 1, "values of %v", b.Type)
	}
	if off < b.off {
		e.field(off, int(b.off-off), "%d stored cells", b.N)
	}
}

// cells prints the first bytes of n.
func (e *explainer) cells(off, n int64, what string) {
	if n == 0 {
		return
	}
	shown := min(n, shownBytes)
	e.field(off, int(shown), "%s", what)
	if shown < n {
		e.d.Gap(off+shown, n-shown, "more of them")
	}
}

// text spells the value at off.
func (e *explainer) text(off int64, t matrix.DType) string {
	b := matrix.NewDense(t, matrix.At(0, 1, 0, 1))
	raw, size := wire.ViewAny(b.Data.Values())
	copy(raw, e.w.at(off, size))
	wire.Swap(raw, size, wire.Little)
	out := ""
	_ = b.EachText(func(_, _ int64, v []byte) error { // the callback has no error
		out = string(v)
		return nil
	})
	return out
}

func (e *explainer) dense(b entry) {
	size := b.Type.Size()
	off, end := b.off, b.off+b.Body
	for row := int64(0); off < end; row++ {
		for col := int64(0); col < b.At.Cols.Len(); col++ {
			if off-b.off >= shownBytes {
				e.d.Gap(off, end-off, "more values")
				return
			}
			off = e.field(off, size, "(%d,%d) %s", row, col, e.text(off, b.Type))
		}
	}
}

func (e *explainer) csr(b entry) {
	off, end := b.off, b.off+b.Body
	for row := int64(0); row < b.At.Rows.Len(); row++ {
		if off-b.off >= shownBytes {
			e.d.Gap(off, end-off, "more rows")
			return
		}
		n := e.w.cursor(off, 4).U32("count")
		off = e.field(off, 4, "row %d: %d cells", row, n)
		for range n {
			cell := int64(4 + b.Type.Size())
			if off-b.off >= shownBytes || off+cell > end {
				e.d.Gap(off, end-off, "more cells")
				return
			}
			col := e.w.cursor(off, 4).U32("column")
			off = e.field(off, int(cell), "column %d: %s", col, e.text(off+4, b.Type))
		}
	}
}

func (e *explainer) coo(b entry) {
	if b.N == 0 {
		return
	}
	cell := b.Body / b.N
	skip := cell - int64(b.Type.Size())
	for off := b.off; off < b.off+b.Body; off += cell {
		if off-b.off >= shownBytes {
			e.d.Gap(off, b.off+b.Body-off, "more cells")
			return
		}
		c := e.w.cursor(off, 8)
		place := fmt.Sprint("row ", c.U32("row"))
		if skip == 8 {
			place += fmt.Sprint(", column ", c.U32("column"))
		}
		e.field(off, int(cell), "%s: %s", place, e.text(off+skip, b.Type))
	}
}
