package onnx

import (
	"context"
	"fmt"
	"io"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
	"thole.example/wire"
)

// bandCells is how many values of a parameter are in memory at a time.
const bandCells = 1 << 20

// Write writes the model's file, Size bytes. done is told how many values of parameters were written; it may be nil. A model of more
// than Limit bytes is refused with ErrSize: its parameters have to be apart.
func (m *Model) Write(ctx context.Context, w io.Writer, done func(n int)) error {
	if m.size > Limit {
		return fmt.Errorf("onnx: a file of %s, want the parameters in a file beside it: %w", format.Bytes(m.size), ErrSize)
	}
	before, behind := m.ends()
	before.length(7, m.graph)
	if _, err := w.Write(append(before, m.nodes...)); err != nil {
		return err
	}
	for i := range m.tensors {
		t := &m.tensors[i]
		if _, err := w.Write(t.head()); err != nil {
			return err
		}
		err := error(nil)
		switch {
		case t.raw != nil:
			_, err = w.Write(t.raw)
		case t.apart == "":
			err = m.values(ctx, w, t, done)
		}
		if err != nil {
			return err
		}
	}
	_, err := w.Write(append(m.tail(), behind...))
	return err
}

// WriteData writes the file with the parameters of a model that has them apart.
func (m *Model) WriteData(ctx context.Context, w io.Writer, done func(n int)) error {
	for i := range m.tensors {
		if t := &m.tensors[i]; t.apart != "" {
			if err := m.values(ctx, w, t, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// values writes those of a parameter.
func (m *Model) values(ctx context.Context, w io.Writer, t *tensor, done func(n int)) error {
	meta, err := format.Find(m.src, t.name)
	if err != nil {
		return fmt.Errorf("onnx: parameter %q: %w", t.name, err)
	}
	size := int64(program.ElemSize(t.elem))
	if cells, ok := matrix.Cells(meta.Rows, meta.Cols); !ok || cells*size != t.bytes || meta.DType != dtype(t.elem) {
		return fmt.Errorf("onnx: parameter %q is %d x %d of %v, want %v of %v", t.name, meta.Rows, meta.Cols, meta.DType, t.dims, dtype(t.elem))
	}
	for band := range format.Bands(meta.Rect(), bandCells) {
		raw := make([]byte, band.Rows.Len()*band.Cols.Len()*size)
		for b, err := range m.src.Blocks(ctx, t.name, band) {
			if err != nil {
				return err
			}
			place(raw, band, b.Cut(band).ToDense(), size)
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		if done != nil {
			done(len(raw) / int(size))
		}
	}
	return nil
}

// dtype is the type of the matrix of a parameter.
func dtype(t program.VarType_Type) matrix.DType {
	if t == program.VarType_INT64 {
		return matrix.I64
	}
	return matrix.F32
}

// place copies a block into the bytes of the band that it lies in, in little endian.
func place(raw []byte, band matrix.Rect, b matrix.Block, size int64) {
	width := b.At.Cols.Len()
	for row := range b.At.Rows.Len() {
		to := raw[((b.At.Rows.Lo+row-band.Rows.Lo)*band.Cols.Len()+b.At.Cols.Lo-band.Cols.Lo)*size:]
		switch d := b.Data.(type) {
		case *matrix.Dense[float32]:
			wire.Put(to[:width*size], d.Val[row*width:][:width], wire.Little)
		case *matrix.Dense[int64]:
			wire.Put(to[:width*size], d.Val[row*width:][:width], wire.Little)
		}
	}
}
