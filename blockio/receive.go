package blockio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// Receive reads one block from a stream and gives it in bands of about limit bytes, so that a block of any size needs no
// more memory than that: bands of rows, or of parts of a row where one is longer, of a dense block; bands of whole rows of
// CSR in the document's form. Other blocks are small or have to be there as a whole: they are given at once, and memory
// grows only with what arrives. The walk ends with the first error, a *wire.At with the byte of the stream from its begin.
func (d Decoder) Receive(r *bufio.Reader, limit int64) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		in := &receiver{Decoder: d, r: r, limit: max(1, limit), yield: yield}
		in.InPlace = false // the bytes are used again
		if err := in.block(); err != nil && !errors.Is(err, errEnough) {
			yield(matrix.Block{}, err)
		}
	}
}

var errEnough = errors.New("the caller has enough")

// receiver is one block on its way from a stream.
type receiver struct {
	Decoder
	r     *bufio.Reader
	off   int64 // bytes taken from the stream
	limit int64
	buf   bytes.Buffer
	yield func(matrix.Block, error) bool
}

// need appends n bytes of the stream to buf.
func (in *receiver) need(n int64, what string) error {
	got, err := io.CopyN(&in.buf, in.r, n)
	in.off += got
	if err == io.EOF {
		err = fmt.Errorf("%s needs %d bytes, %d came: %w", what, n, got, wire.ErrTruncated)
	}
	if err != nil {
		return &wire.At{Off: in.off, Err: err}
	}
	return nil
}

func (in *receiver) block() error {
	if err := in.need(plainLen, "block header"); err != nil {
		return err
	}
	bt := in.buf.Bytes()[plainLen-1]
	h := Head{Kind: Kind(bt &^ wideBit), Wide: bt&wideBit != 0}
	if err := in.need(int64(h.Len()-plainLen), "block header"); err != nil {
		return err
	}
	h, err := in.Head(wire.NewCursor(in.buf.Bytes(), 0, wire.Little))
	if err != nil {
		return err
	}
	in.buf.Reset()
	switch {
	case h.Kind == Dense && h.Body > in.limit:
		return in.dense(h)
	case h.Kind == CSR && !h.Wide && h.Body > in.limit:
		return in.rows(h)
	}
	if err := in.need(h.Body, "cells"); err != nil {
		return err
	}
	return in.give(h)
}

// give decodes what is in buf, which are the cells of the head.
func (in *receiver) give(h Head) error {
	h.Body = int64(in.buf.Len())
	b, err := in.Body(wire.NewCursor(in.buf.Bytes(), in.off-h.Body, wire.Little), h)
	if err != nil {
		return err
	}
	in.buf.Reset()
	if !in.yield(b, nil) {
		return errEnough
	}
	return nil
}

func (in *receiver) dense(h Head) error {
	size, cols := int64(h.Type.Size()), h.At.Cols.Len()
	width := min(cols, max(1, in.limit/size))
	tall := max(1, in.limit/(width*size))
	if width < cols {
		tall = 1
	}
	for row := h.At.Rows.Lo; row < h.At.Rows.Hi; {
		rows := matrix.Range{Lo: row, Hi: row + min(tall, h.At.Rows.Hi-row)}
		for col := h.At.Cols.Lo; col < h.At.Cols.Hi; {
			part := h
			part.At = matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: col, Hi: col + min(width, h.At.Cols.Hi-col)}}
			if err := in.need(rows.Len()*part.At.Cols.Len()*size, "cells"); err != nil {
				return err
			}
			if err := in.give(part); err != nil {
				return err
			}
			col = part.At.Cols.Hi
		}
		row = rows.Hi
	}
	return nil
}

func (in *receiver) rows(h Head) error {
	left, cell := h.N, int64(h.cell())
	part := h
	part.N = 0
	for row := h.At.Rows.Lo; row < h.At.Rows.Hi; row++ {
		if err := in.need(4, "row count"); err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint32(in.buf.Bytes()[in.buf.Len()-4:]))
		if n > left {
			return &wire.At{Off: in.off - 4, Err: fmt.Errorf("row %d has %d non-zeros, %d remain of the block's %d", row, n, left, h.N)}
		}
		if err := in.need(n*cell, "row"); err != nil {
			return err
		}
		left, part.N = left-n, part.N+n
		if row+1 < h.At.Rows.Hi && int64(in.buf.Len()) < in.limit {
			continue
		}
		if row+1 == h.At.Rows.Hi && left > 0 {
			return &wire.At{Off: in.off, Err: fmt.Errorf("the rows have %d non-zeros, the block says %d", h.N-left, h.N)}
		}
		part.At = matrix.Rect{Rows: matrix.Range{Lo: part.At.Rows.Lo, Hi: row + 1}, Cols: h.At.Cols}
		if err := in.give(part); err != nil {
			return err
		}
		part.At.Rows.Lo, part.N = row+1, 0
	}
	return nil
}
