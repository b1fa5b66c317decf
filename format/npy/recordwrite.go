package npy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/matrix"
)

// planRecords makes a structured array of a frame.
func planRecords(m *matrix.Meta, o *format.Options) (f format.SlabFile, err error) {
	plain := *m
	plain.Labels, plain.ColTypes = nil, nil // records have both
	if err := format.LoseToDense(&plain, o); err != nil {
		return f, err
	}
	if slices.Contains(origins, m.Origin) {
		if err := o.Lose(format.Meanings, m.Name, "element type %s, stored as %v in a structured array", m.Origin, m.DType); err != nil {
			return f, err
		}
	}
	if len(m.Dims) > 0 && !slices.Equal(m.Dims, []int64{m.Rows, m.Cols}) {
		if err := o.Lose(format.Shapes, m.Name, "shape %s, of a structured array", shapeText(m.Dims)); err != nil {
			return f, err
		}
	}
	if m.Cols > maxHeader/16 {
		return f, fmt.Errorf("matrix %q: %d columns of a structured array, want at most %d: %w", m.Name, m.Cols, maxHeader/16, format.ErrLimit)
	}
	names, err := fieldNames(m, o)
	if err != nil {
		return f, err
	}
	types, err := fieldTypes(m, o)
	if err != nil {
		return f, err
	}
	var descr strings.Builder
	for i, name := range names {
		fmt.Fprintf(&descr, ", (%s, '%s')", quote(name), typeText(format.Element{DType: types[i]}))
	}
	text := "[" + strings.TrimPrefix(descr.String(), ", ") + "]"
	t := format.NewTarget(m, format.Slab{DType: m.DType, Record: format.NewRecord(types)})
	start := appendHead(text, []int64{m.Rows})
	if len(start) > maxHeader {
		return f, fmt.Errorf("matrix %q: header of %d bytes, want at most %d: %w", m.Name, len(start), maxHeader, format.ErrLimit)
	}
	return slabFile(t, start)
}

// fieldNames are the labels, if they can be names of fields, else those that NumPy gives.
func fieldNames(m *matrix.Meta, o *format.Options) ([]string, error) {
	names, made := make([]string, m.Cols), true
	for i := range names {
		names[i] = madeName(i)
		made = made && m.Labels != nil && m.Labels[i] == names[i]
	}
	if m.Labels == nil {
		return names, nil
	}
	seen, what := map[string]bool{}, ""
	for _, l := range m.Labels {
		switch {
		case l == "":
			what = "empty"
		case !utf8.ValidString(l):
			what = "not UTF-8"
		case seen[l]:
			what = fmt.Sprintf("%.40q twice", l)
		}
		seen[l] = true
	}
	if made {
		what = "f0, f1, … as where there are none"
	}
	if what == "" {
		return m.Labels, nil
	}
	return names, o.Lose(format.Labels, m.Name, "names of columns: %s", what)
}

// fieldTypes are the types of the columns as NumPy has them.
func fieldTypes(m *matrix.Meta, o *format.Options) ([]matrix.DType, error) {
	types := make([]matrix.DType, m.Cols)
	asked := false
	for i := range types {
		types[i] = m.ColType(m.ColLo + int64(i))
		if types[i] != matrix.BF16 {
			continue
		}
		types[i] = matrix.F32
		if asked {
			continue
		}
		asked = true
		if err := o.Lose(format.Types, m.Name, "element type bf16, stored as f32"); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// quote is the text as a literal of Python.
func quote(text string) string {
	mark := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		mark = '"'
	}
	b := []byte{mark}
	for _, r := range text {
		switch {
		case r == rune(mark) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xff:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(append(b, mark))
}
