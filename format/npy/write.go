package npy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// growDigits is the width up to which NumPy leaves room for the first size, so that an array can grow in its file.
const growDigits = 21

// structured is the option that decides which matrices become structured arrays.
var structured = format.Option{Writing: true, Name: "structured", Default: "auto",
	Help: "writing: true: structured arrays; false: plain ones; auto: structured for matrices with names or types of columns"}

// plan decides how the matrix becomes an array, and asks for what is lost.
func plan(m *matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	if err := m.Check(); err != nil {
		return f, err
	}
	if len(m.LoD) > 0 {
		if err := o.Lose(format.Sequences, m.Name, "sequences (LoD)"); err != nil {
			return f, err
		}
	}
	framed := m.Labels != nil || slices.ContainsFunc(m.ColTypes, func(d matrix.DType) bool { return d != m.DType })
	switch text := o.Get(codec{}.Info(), structured.Name); text {
	case "auto":
	case "true", "false":
		framed = text == "true"
	default:
		return f, fmt.Errorf("option %s is %q, want auto, true or false: %w", structured.Name, text, format.ErrOption)
	}
	if framed {
		return planRecords(m, o)
	}
	return planPlain(m, o)
}

func planPlain(m *matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	if err := format.LoseToDense(m, o); err != nil {
		return f, err
	}
	e, dims := format.Element{DType: m.DType}, m.Dims
	if m.DType == matrix.BF16 {
		if err := o.Lose(format.Types, m.Name, "element type bf16, stored as f32"); err != nil {
			return f, err
		}
		e.DType = matrix.F32
	}
	if slices.Contains(origins, m.Origin) {
		as := format.Element{DType: m.DType, Origin: m.Origin}
		if tensor, ok := as.Of(m, dims); ok && typeText(as) != "" {
			e, dims = as, tensor
		} else if err := o.Lose(format.Meanings, m.Name, "element type %s, whose form the matrix has no more; stored as %v",
			m.Origin, m.DType); err != nil {
			return f, err
		}
	}
	if len(dims) > maxRank {
		if err := o.Lose(format.Shapes, m.Name, "shape of %d dimensions, of which %d fit", len(dims), maxRank); err != nil {
			return f, err
		}
		dims = nil
	}
	if dims == nil {
		if dims = []int64{m.Rows, m.Cols}; e.Pair() {
			dims[1] /= 2
		}
	}
	t := format.NewTarget(m, format.Slab{DType: e.DType, Order: wire.Little})
	t.Cast = t.Cast || e.DType != m.DType
	return slabFile(t, appendHead("'"+typeText(e)+"'", dims))
}

// slabFile is a file of one array with everything before its values.
func slabFile(t format.Target, start []byte) (f format.SlabFile, err error) {
	t.Off = int64(len(start))
	size, ok := t.Size()
	if !ok || size > math.MaxInt64-1<<20-t.Off {
		return f, fmt.Errorf("matrix %q: %v, want a file below 2^63 bytes: %w", t.Name, t.At, format.ErrLimit)
	}
	return format.SlabFile{Size: t.Off + size, Known: []format.Span{{Bytes: start}}, Slabs: []format.Target{t}}, nil
}

// appendHead is everything before the values.
func appendHead(descr string, dims []int64) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, shapeText(dims))
	if len(dims) > 0 {
		b.WriteString(strings.Repeat(" ", growDigits-len(fmt.Sprint(dims[0]))))
	}
	return frame(b.String())
}

// frame puts magic, version and length before the text, and pads it to the alignment as NumPy does: with at least one
// space and the line feed.
func frame(text string) []byte {
	const before1, before2 = len(magic) + 4, len(magic) + 6
	version, latin := byte(2), latin1(text)
	if latin == nil {
		version, latin = 3, []byte(text)
	}
	pad := func(before int) string {
		n := alignment - (before+len(latin)+1)%alignment
		return string(latin) + strings.Repeat(" ", n) + "\n"
	}
	if body := pad(before1); version == 2 && len(body) <= 0xffff {
		b := wire.AppendU16(append([]byte(magic), 1, 0), wire.Little, uint16(len(body)))
		return append(b, body...)
	}
	return wire.AppendString(append([]byte(magic), version, 0), wire.Little, pad(before2))
}

// latin1 is the text with one byte for each character; nil if it has others.
func latin1(text string) []byte {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil
		}
		b = append(b, byte(r))
	}
	return b
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
