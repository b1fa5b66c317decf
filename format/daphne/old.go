package daphne

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"thole.example/blockio"
	"thole.example/matrix"
)

// oldLen is the length of DAPHNE 0.1's header, position, block header and value type, with the holes that its compiler
// left between the fields.
const oldLen = 54

// oldHeader is the length of DAPHNE 0.1's header alone.
const oldHeader = 25

// recordGap is what stands between the header of a frame and its rows in DAPHNE's own layout: a position, always 0.
const recordGap = 16

// readOld reads the layout of DAPHNE 0.1.
func readOld(_ context.Context, w *window, size int64) (*file, error) {
	c := w.cursor(0, oldLen+8)
	c.U8("version")
	h := header{data: c.U8("data type"), size: oldHeader}
	c.Skip(6, "padding")
	rows, cols, code := c.U64("rows"), c.U64("columns"), c.U8("value type")
	rx, cx := c.U64("row index"), c.U64("column index")
	height, width, kind := c.U32("block rows"), c.U32("block columns"), c.U8("block type")
	c.Skip(3, "padding")
	inner := c.U8("block value type")
	if c.Err() != nil {
		return nil, c.Err()
	}
	t := blockio.Daphne.DType(code)
	switch {
	case h.data == frame:
		return nil, misfit(1, "a frame")
	case t == matrix.Invalid || inner != code || kind != h.data || rx != 0 || cx != 0:
		return nil, misfit(24, "value types %d and %d, block type %d at (%d,%d)", code, inner, kind, rx, cx)
	case uint64(height) != rows || uint64(width) != cols:
		return nil, misfit(41, "block of %d x %d, want %d x %d", height, width, rows, cols)
	}
	h.rows, h.cols, h.types = int64(rows), int64(cols), []matrix.DType{t}
	e := entry{Head: blockio.Head{At: h.rect(), Kind: blockio.Kind(kind), Type: t}, off: oldLen}
	body, ok := uint64(0), true
	if e.Kind == blockio.Dense {
		var hi uint64
		hi, body = bits.Mul64(rows*cols, uint64(t.Size())) // rows and columns are of 32 bits
		ok = hi == 0
	} else {
		n := c.U64("number of non-zeros")
		if c.Err() != nil {
			return nil, c.Err()
		}
		hi, cells := bits.Mul64(n, uint64(8+t.Size()))
		var carry uint64
		body, carry = bits.Add64(cells, 8*rows, 0)
		ok = hi == 0 && carry == 0 && n <= math.MaxInt64 && n <= rows*cols
		e.N, e.off, e.as = int64(n), oldLen+8, asRows
	}
	if !ok || body != uint64(size-e.off) {
		return nil, misfit(e.off, "%d bytes of cells, want %d", size-e.off, body)
	}
	e.Body = int64(body)
	return &file{header: h, blocks: []entry{e}}, nil
}

// readRecords reads frames as DAPHNE writes them: no block header, and row after row the values of all columns.
func readRecords(_ context.Context, w *window, size int64) (*file, error) {
	h, err := readHeader(w, blockio.Daphne)
	if err != nil {
		return nil, err
	}
	c := w.cursor(h.size, recordGap)
	rx, cx := c.U64("row index"), c.U64("column index")
	if c.Err() != nil {
		return nil, c.Err()
	}
	row := recordLen(h.types)
	body, ok := times(h.rows, row)
	off := h.size + recordGap
	if rx != 0 || cx != 0 || !ok || body != size-off {
		return nil, misfit(off, "%d bytes of rows at (%d,%d), want %d rows of %d", size-off, rx, cx, h.rows, row)
	}
	e := entry{Head: blockio.Head{At: h.rect(), Kind: blockio.Dense, Body: body}, off: off, as: asRecords}
	f := &file{header: h, blocks: []entry{e}}
	f.notes = append(f.notes, "a frame without block headers, row after row")
	if f.garbled = h.garbled || h.odd; f.garbled {
		f.notes = append(f.notes, fmt.Sprintf("the labels of %d columns are not text and are left out", h.cols))
	}
	f.noteLabels()
	return f, nil
}

// recordLen is the bytes of one row of all columns.
func recordLen(types []matrix.DType) (n int64) {
	for _, t := range types {
		n += int64(t.Size())
	}
	return n
}
