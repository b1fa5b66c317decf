package onnx

import (
	"context"
	"fmt"
	"io"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// bandCells is how many values of a parameter are in memory at a time.
const bandCells = 1 << 22

// part is bytes of a file, and behind them the values of a tensor, if there is one.
type part struct {
	text   message
	tensor *tensor
}

// parts are the file: what stands before each parameter, and behind the last.
func (m *Model) parts() []part {
	var all []part
	var text message
	for i := range m.nodes {
		text.sub(1, m.nodes[i].message())
	}
	text.text(2, Producer)
	off := int64(0)
	for i := range m.tensors {
		t := &m.tensors[i]
		head := t.head(m.o.Data, off)
		if m.o.Data != "" && t.stored {
			text.sub(5, head)
			off += t.size
			continue
		}
		text.begin(5, int64(len(head))+t.size)
		text = append(text, head...)
		if !t.stored {
			text = append(text, t.value...)
			continue
		}
		all, text = append(all, part{text, t}), nil
	}
	for i := range m.in {
		text.sub(11, m.in[i].message())
	}
	for i := range m.out {
		text.sub(12, m.out[i].message())
	}
	return m.around(append(all, part{text: text}))
}

// around puts the graph into the model.
func (m *Model) around(graph []part) []part {
	var head, tail message
	head.int(1, IRVersion)
	head.text(2, Producer)
	head.begin(7, size(graph))
	var own message
	own.int(2, Opset)
	tail.sub(8, own)
	for _, n := range m.nodes {
		if n.domain != "" {
			var other message
			other.text(1, n.domain)
			other.int(2, MLOpset)
			tail.sub(8, other)
			break
		}
	}
	for _, pair := range m.o.Meta {
		tail.entry(14, pair[0], pair[1])
	}
	return append(append([]part{{text: head}}, graph...), part{text: tail})
}

func size(all []part) (n int64) {
	for _, p := range all {
		n += int64(len(p.text))
		if p.tensor != nil {
			n += p.tensor.size
		}
	}
	return n
}

// Size is the number of bytes that Write writes.
func (m *Model) Size() int64 { return size(m.parts()) }

// Apart makes the values go to a file of the name, beside the model.
func (m *Model) Apart(data string) { m.o.Data = data }

// Inputs and Outputs describe what is fed and what comes out, as "ids int64[batch,features]".
func (m *Model) Inputs() []string { return texts(m.in) }

// Outputs: see Inputs.
func (m *Model) Outputs() []string { return texts(m.out) }

func texts(all []port) []string {
	var list []string
	for i := range all {
		v, err := decodePort(all[i].message())
		if err == nil { // it is as it was written
			list = append(list, v.String())
		}
	}
	return list
}

// Write writes the model, with the values of its parameters by the matrices of r of the same names unless they go to a file of
// their own. done, if it is set, is called with how many were written. A model of more than Limit bytes is refused with format.ErrLimit.
func (m *Model) Write(ctx context.Context, w io.Writer, r format.Reader, done func(values int)) error {
	parts := m.parts()
	if n := size(parts); n > Limit {
		return fmt.Errorf("%d bytes, and readers of ONNX take %d; want the values in a file of their own: %w", n, int64(Limit), format.ErrLimit)
	}
	for _, p := range parts {
		if _, err := w.Write(p.text); err != nil {
			return err
		}
		if p.tensor != nil {
			if err := p.tensor.write(ctx, w, r, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteData writes the values of the parameters, one after the other, which Apart has taken out of the model.
func (m *Model) WriteData(ctx context.Context, w io.Writer, r format.Reader, done func(values int)) error {
	for i := range m.tensors {
		if t := &m.tensors[i]; t.stored {
			if err := t.write(ctx, w, r, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the values, a band of rows at a time.
func (t *tensor) write(ctx context.Context, w io.Writer, r format.Reader, done func(values int)) error {
	m, err := format.Find(r, t.name)
	if err != nil {
		return fmt.Errorf("parameter %q: %w", t.name, err)
	}
	want := matrix.F32
	if t.elem == long {
		want = matrix.I64
	}
	if n, ok := matrix.Cells(m.Rows, m.Cols); !ok || m.DType != want || n*int64(want.Size()) != t.size {
		return fmt.Errorf("parameter %q: %d x %d values of %v, want %s in all of %v", t.name, m.Rows, m.Cols, m.DType, dimText(t.dims), want)
	}
	for at := range format.Bands(m.Rect(), bandCells) {
		band := matrix.NewDense(want, at)
		for b, err := range r.Blocks(ctx, t.name, at) {
			if err != nil {
				return err
			}
			if err := place(band, b); err != nil {
				return fmt.Errorf("parameter %q: %w", t.name, err)
			}
		}
		bytes, width := wire.ViewAny(band.Data.Values())
		wire.Swap(bytes, width, wire.Little)
		if _, err := w.Write(bytes); err != nil {
			return err
		}
		if done != nil {
			done(len(bytes) / width)
		}
	}
	return nil
}

func dimText(dims []int64) string {
	var all []string
	for _, d := range dims {
		all = append(all, fmt.Sprint(d))
	}
	return strings.Join(all, " x ")
}

// place copies a block into a band that may have more cells, of the same type.
func place(band, b matrix.Block) error {
	b = b.Cut(band.At)
	if b.At.Empty() {
		return nil
	}
	switch to := band.Data.(type) {
	case *matrix.Dense[float32]:
		return copyRows(to.Val, band.At, b)
	case *matrix.Dense[int64]:
		return copyRows(to.Val, band.At, b)
	}
	return fmt.Errorf("values of %v, want float32 or int64", band.Data.DType())
}

func copyRows[T float32 | int64](to []T, at matrix.Rect, b matrix.Block) error {
	from, ok := b.ToDense().Data.(*matrix.Dense[T])
	if !ok {
		return fmt.Errorf("a block of %v, want what the matrix says", b.Data.DType())
	}
	width, cols := at.Cols.Len(), b.At.Cols.Len()
	for r := range b.At.Rows.Len() {
		copy(to[(b.At.Rows.Lo-at.Rows.Lo+r)*width+b.At.Cols.Lo-at.Cols.Lo:], from.Val[r*cols:][:cols])
	}
	return nil
}
