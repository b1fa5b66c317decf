package csv

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// maxCols bounds the columns of a table that we write, so that every line can be read.
const maxCols = 1 << 21

// plan decides how the matrix becomes a table, and asks for what is lost.
func plan(b blob.Bucket, file string, m *matrix.Meta, o *format.Options) (f format.RowFile, err error) {
	w, err := newSettings(o)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return f, err
	}
	if m.Cols > maxCols {
		return f, fmt.Errorf("matrix %q: %d columns, want at most %d: %w", m.Name, m.Cols, maxCols, format.ErrLimit)
	}
	if err := losses(m, o, &w); err != nil {
		return f, err
	}
	t := &table{sep: w.sep}
	if t.sep == 0 {
		t.sep = ','
		if strings.EqualFold(blob.Ext(file), ".tsv") {
			t.sep = '\t'
		}
	}
	if header := w.header; header != nil && *header || header == nil && !w.meta && m.Labels != nil {
		if err := t.header(m, o, w.meta); err != nil {
			return f, err
		}
	}
	plain := plainMeta(m)
	side := format.NewSidecar(&plain)
	side.Thole.Header, side.Thole.Made = t.labels != nil, m.Labels == nil && (t.labels != nil || m.ColTypes != nil)
	f.Metas = []matrix.Meta{plain}
	f.Begin = t.begin
	f.Before = func(ctx context.Context) error { return b.Remove(ctx, file+format.SidecarExt) } // it describes the old file
	if w.meta {
		f.After = func(ctx context.Context) error { return side.Write(ctx, b, file) }
	}
	return f, nil
}

// plainMeta is what is stored of the description. Absent cells become zeros, so that no row of a sparse matrix has to
// be put.
func plainMeta(m *matrix.Meta) matrix.Meta {
	plain := matrix.Meta{Name: m.Name, Rows: m.Rows, Cols: m.Cols, ColLo: m.ColLo, DType: m.DType, Labels: m.Labels,
		ColTypes: m.ColTypes, Dims: m.Dims, Saved: m.Saved}
	if m.Layout == matrix.RowSparse {
		plain.Saved = []matrix.Range{}
	}
	return plain
}

func losses(m *matrix.Meta, o *format.Options, w *settings) error {
	if err := format.LoseAbsent(m, o); err != nil {
		return err
	}
	for _, l := range []struct {
		is   bool
		of   format.Aspect
		what string
	}{
		{m.ColLo != 0, format.Places, "columns are counted from 0"},
		{len(m.LoD) > 0, format.Sequences, "sequences (LoD)"},
		{slices.ContainsFunc(m.Labels, func(l string) bool { return strings.ContainsAny(l, "\r\n") }) && w.header != nil && *w.header,
			format.Labels, "line ends within labels"},
		{slices.ContainsFunc(m.Labels, func(l string) bool { return !utf8.ValidString(l) }) && w.meta,
			format.Labels, "labels that are not UTF-8"},
	} {
		if l.is {
			if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
				return err
			}
		}
	}
	if !w.meta {
		o.Drop(format.Types|format.Labels|format.Shapes, m.Name, "%s, without a %s", unsaid(m, w), format.SidecarExt)
	}
	return format.LoseFiles(o)
}

// unsaid is what the lines alone do not tell.
func unsaid(m *matrix.Meta, w *settings) string {
	what := "element types"
	if m.Labels != nil && w.header != nil && !*w.header {
		what += ", names of columns"
	}
	if len(m.Dims) > 2 {
		what += fmt.Sprintf(", the shape %v", m.Dims)
	}
	if m.Rows == 0 || m.Cols == 0 {
		what += fmt.Sprintf(", the size %d x %d", m.Rows, m.Cols)
	}
	return what
}

// table writes rows as lines.
type table struct {
	sep    byte
	labels []string // nil: no header
	out    io.Writer
	pen    pen
}

// header takes the labels for the first line. Readers that do not know of it must see that it is not a row.
func (t *table) header(m *matrix.Meta, o *format.Options, meta bool) error {
	t.labels = m.Labels
	if t.labels == nil {
		t.labels = make([]string, m.Cols)
		for i := range t.labels {
			t.labels[i] = fmt.Sprintf("col_%d", i)
		}
	}
	texts, numbers := 0, 0
	for _, l := range t.labels {
		switch {
		case l == "":
		case isNumber([]byte(l)):
			numbers++
		default:
			texts++
		}
	}
	if meta || texts > 0 && numbers == 0 {
		return nil // the sidecar says it, or the line
	}
	return o.Lose(format.Labels|format.Shapes, m.Name, "that the header is one: labels read as numbers")
}

func (t *table) begin(out io.Writer) (format.RowSink, error) {
	t.out = out
	if t.labels == nil {
		return t, nil
	}
	var line []byte
	for i, l := range t.labels {
		if i > 0 {
			line = append(line, t.sep)
		}
		line = t.label(line, l)
	}
	_, err := out.Write(append(line, '\n'))
	return t, err
}

// label appends a label, in quotes where it needs them.
func (t *table) label(line []byte, l string) []byte {
	l = strings.NewReplacer("\r", " ", "\n", " ").Replace(l)
	odd := l == "" || strings.TrimSpace(l) != l || l[0] == comment || strings.HasPrefix(l, "\ufeff")
	if !odd && !strings.ContainsAny(l, "\",;\t|"+string(t.sep)) {
		return append(line, l...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(l, `"`, `""`)...)
	return append(line, '"')
}

// Rows implements format.RowSink.
func (t *table) Rows(ctx context.Context, lanes []matrix.Block) error {
	return t.pen.write(ctx, t.out, lanes, t.sep)
}

// End implements format.RowSink.
func (t *table) End() error { return nil }
