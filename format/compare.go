package format

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/matrix"
)

// A Difference is an aspect in which two descriptions of one matrix disagree, and how they say so.
type Difference struct {
	Of   Aspect
	A, B string
}

// String is "shape (3) and (1, 3)".
func (d Difference) String() string {
	for _, one := range aspects {
		if one.of == d.Of {
			return fmt.Sprintf("%s %s and %s", one.what, d.A, d.B)
		}
	}
	return d.A + " and " + d.B
}

// aspects is the table of what descriptions are compared in: whether they agree, and how each says it.
var aspects = []struct {
	of   Aspect
	what string
	same func(a, b *matrix.Meta) bool
	says func(m *matrix.Meta) string
}{
	{Shapes, "shape", func(a, b *matrix.Meta) bool { return slices.Equal(shape(a), shape(b)) },
		func(m *matrix.Meta) string { return fmt.Sprint(shape(m)) }},
	{Types, "element types", sameTypes, types},
	{Meanings, "meaning", func(a, b *matrix.Meta) bool {
		return a.Origin == b.Origin && slices.Equal(said(a.ColOrigins), said(b.ColOrigins))
	},
		func(m *matrix.Meta) string { return m.Origin + fmt.Sprintf("%q", said(m.ColOrigins)) }},
	{Labels, "names of columns", func(a, b *matrix.Meta) bool { return slices.Equal(said(a.Labels), said(b.Labels)) },
		func(m *matrix.Meta) string { return fmt.Sprintf("%q", m.Labels) }},
	{Places, "first column", func(a, b *matrix.Meta) bool { return a.ColLo == b.ColLo },
		func(m *matrix.Meta) string { return fmt.Sprint(m.ColLo) }},
	{Absence, "stored cells", func(a, b *matrix.Meta) bool {
		if a.Rows == 0 || a.Cols == 0 || whole(a) && whole(b) {
			return true
		}
		return a.Layout == b.Layout && slices.Equal(a.SavedRows(), b.SavedRows())
	},
		func(m *matrix.Meta) string { return fmt.Sprint(m.Layout, ", rows ", m.SavedRows()) }},
	{Sequences, "sequences", func(a, b *matrix.Meta) bool { return slices.EqualFunc(a.LoD, b.LoD, slices.Equal) },
		func(m *matrix.Meta) string { return fmt.Sprint(m.LoD) }},
}

// whole reports whether it is known that no cell is absent.
func whole(m *matrix.Meta) bool { return m.Layout == matrix.RowDense && m.Saved == nil || m.Full() }

// said are the texts of the columns; nil if none says anything.
func said(texts []string) []string {
	if slices.ContainsFunc(texts, func(t string) bool { return t != "" }) {
		return texts
	}
	return nil
}

// shape is the tensor shape, which is Rows x Cols unless Dims say otherwise.
func shape(m *matrix.Meta) []int64 {
	if m.Dims == nil {
		return []int64{m.Rows, m.Cols}
	}
	return m.Dims
}

func sameTypes(a, b *matrix.Meta) bool {
	if a.ColTypes == nil && b.ColTypes == nil {
		return a.DType == b.DType
	}
	for c := range min(a.Cols, b.Cols) {
		if a.ColType(a.ColLo+c) != b.ColType(b.ColLo+c) {
			return false
		}
	}
	return a.Cols > 0 || a.DType == b.DType
}

// types are the element types of the columns, one for all if they have one.
func types(m *matrix.Meta) string {
	if m.ColTypes == nil {
		return m.DType.String()
	}
	return fmt.Sprint(m.ColTypes)
}

// shown is how many characters of a description an error holds.
const shown = 80

// Differences are the aspects in which the descriptions disagree; names are not compared.
func Differences(a, b *matrix.Meta) (found []Difference) {
	for _, one := range aspects {
		if !one.same(a, b) {
			found = append(found, Difference{one.of, cut(one.says(a)), cut(one.says(b))})
		}
	}
	return found
}

// cut is the beginning of a long text.
func cut(text string) string {
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "…"
}
