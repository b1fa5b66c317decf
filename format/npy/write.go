package npy

import (
	"fmt"
	"strings"

	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// growDigits is the width up to which NumPy leaves room for the first size, so that an array can grow in its file.
const growDigits = 21

// plan decides how the matrix becomes an array, and asks for what is lost.
func plan(m *matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	if err := m.Check(); err != nil {
		return f, err
	}
	if err := format.LoseToDense(m, o); err != nil {
		return f, err
	}
	if len(m.LoD) > 0 {
		if err := o.Lose("matrix %q: sequences (LoD)", m.Name); err != nil {
			return f, err
		}
	}
	d := m.DType
	if d == matrix.BF16 {
		if err := o.Lose("matrix %q: element type bf16, stored as f32", m.Name); err != nil {
			return f, err
		}
		d = matrix.F32
	}
	dims := m.Dims
	if len(dims) > maxRank {
		if err := o.Lose("matrix %q: shape of %d dimensions, of which %d fit", m.Name, len(dims), maxRank); err != nil {
			return f, err
		}
		dims = nil
	}
	if dims == nil {
		dims = []int64{m.Rows, m.Cols}
	}
	start := appendHead(d, dims)
	t := format.NewTarget(m, format.Slab{DType: d, Order: wire.Little, Off: int64(len(start))})
	t.Cast = t.Cast || d != m.DType
	if f.Size, err = format.PlaceSlab(m, d, t.Off); err != nil {
		return f, err
	}
	f.Known = []format.Span{{Bytes: start}}
	f.Slabs = []format.Target{t}
	return f, nil
}

// appendHead is everything before the values.
func appendHead(d matrix.DType, dims []int64) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", typeText(d), shapeText(dims))
	if len(dims) > 0 {
		b.WriteString(strings.Repeat(" ", growDigits-len(fmt.Sprint(dims[0]))))
	}
	return frame(b.String())
}

// frame puts magic, version and length before the text, and pads it to the alignment as NumPy does: with at least one
// space and the line feed.
func frame(text string) []byte {
	const before1, before2 = len(magic) + 4, len(magic) + 6
	pad := func(before int) string {
		n := alignment - (before+len(text)+1)%alignment
		return text + strings.Repeat(" ", n) + "\n"
	}
	if body := pad(before1); len(body) <= 0xffff {
		b := wire.AppendU16(append([]byte(magic), 1, 0), wire.Little, uint16(len(body)))
		return append(b, body...)
	}
	return wire.AppendString(append([]byte(magic), 2, 0), wire.Little, pad(before2))
}

// shapeText is a Python tuple.
func shapeText(dims []int64) string {
	words := make([]string, len(dims))
	for i, n := range dims {
		words[i] = fmt.Sprint(n)
	}
	if len(words) == 1 {
		return "(" + words[0] + ",)"
	}
	return "(" + strings.Join(words, ", ") + ")"
}
