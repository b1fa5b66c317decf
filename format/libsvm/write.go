package libsvm

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
)

// maxRows bounds the lines of a file that we write.
const maxRows = 1 << 40

func pathName(file string) string { return blob.Stem(file) }

// plan decides which matrix is the labels and which the features, and asks for what is lost.
func plan(b blob.Bucket, file string, ms []matrix.Meta, o *format.Options) (f format.RowFile, err error) {
	w, err := newSettings(o)
	if err != nil {
		return f, err
	}
	for i := range ms {
		if err := ms[i].Check(); err != nil {
			return f, err
		}
	}
	labels, features, err := roles(ms)
	if err != nil {
		return f, err
	}
	if err := losses(labels, features, o, &w, file); err != nil {
		return f, err
	}
	lines := &lines{base: 1}
	if w.base == 0 {
		lines.base = 0
	}
	plain := matrix.Meta{Name: features.Name, Rows: features.Rows, Cols: features.Cols, ColLo: features.ColLo, DType: features.DType,
		Layout: features.Layout, Saved: features.Saved}
	all := plain
	all.Cols, all.ColLo, all.Saved = features.ColLo+features.Cols, 0, nil
	side := format.NewSidecar(&all)
	side.NumNonZeros, side.Thole.Zero = &lines.cells, lines.base == 0
	f.Metas, f.Round = []matrix.Meta{plain}, features.ColTypes != nil // which is a loss that was asked for
	if labels != nil {
		lines.labelled = true
		side.Thole.Labels, side.Thole.Names = labels.DType.String(), []string{labels.Name, features.Name}
		y := matrix.Meta{Name: labels.Name, Rows: labels.Rows, Cols: 1, ColLo: labels.ColLo, DType: labels.DType, Saved: labels.Saved}
		f.Metas = []matrix.Meta{y, plain}
	}
	f.Begin = func(out io.Writer) (format.RowSink, error) {
		lines.out = out
		return lines, nil
	}
	f.Before = func(ctx context.Context) error { return b.Remove(ctx, file+format.SidecarExt) } // it describes the old file
	if w.meta {
		f.After = func(ctx context.Context) error { return side.Write(ctx, b, file) }
	}
	return f, nil
}

// roles finds the labels, nil if there are none, and the features.
func roles(ms []matrix.Meta) (labels, features *matrix.Meta, err error) {
	isLabels := func(m *matrix.Meta) bool { return m.Cols == 1 && m.Layout == matrix.RowDense }
	switch {
	case len(ms) == 1:
		return nil, &ms[0], nil
	case len(ms) != 2:
		return nil, nil, fmt.Errorf("%d matrices, want features alone, or labels and features: %w", len(ms), format.ErrLimit)
	case isLabels(&ms[0]) && ms[1].Name != labelsName:
		return &ms[0], &ms[1], nil
	case isLabels(&ms[1]):
		return &ms[1], &ms[0], nil
	}
	return nil, nil, fmt.Errorf("matrices %q and %q, want one of them dense with one column, the labels: %w",
		ms[0].Name, ms[1].Name, format.ErrLimit)
}

func losses(labels, m *matrix.Meta, o *format.Options, w *settings, file string) error {
	switch {
	case m.Rows > maxRows:
		return fmt.Errorf("matrix %q: %d rows, want at most %d: %w", m.Name, m.Rows, int64(maxRows), format.ErrLimit)
	case m.ColLo < 0:
		return fmt.Errorf("matrix %q: columns from %d on, want none below 0: %w", m.Name, m.ColLo, format.ErrLimit)
	}
	if m.Layout == matrix.RowSparse {
		if err := format.LimitEmpty(m, int64(len("0\n")), o); err != nil {
			return err
		}
	}
	list := []struct {
		is   bool
		of   format.Aspect
		what string
	}{
		{m.Layout == matrix.RowDense, format.Absence, "that it is dense"},
		{m.Saved != nil, format.Absence, "which rows are absent"},
		{m.ColLo != 0, format.Places | format.Shapes, "the first column"},
		{m.Labels != nil, format.Labels, "names of columns"},
		{m.ColTypes != nil, format.Types, "element types of single columns"},
		{m.Shaped(), format.Shapes, "the shape of the tensor"},
		{len(m.LoD) > 0, format.Sequences, "sequences (LoD)"},
		{labels != nil && (labels.Saved != nil || labels.ColLo != 0 || labels.Labels != nil || labels.ColTypes != nil || len(labels.Dims) > 0),
			format.Absence | format.Places | format.Labels | format.Types | format.Shapes, "what the labels say beside their values"},
	}
	for _, l := range list {
		if l.is {
			if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
				return err
			}
		}
	}
	if !w.meta {
		o.Drop(format.Types|format.Names|format.Shapes, "", "element types, names and the number of columns, without a %s", format.SidecarExt)
	}
	return format.LoseFiles(o)
}

// lines writes rows.
type lines struct {
	out      io.Writer
	labelled bool
	base     int64
	cells    int64
	text     []byte
}

// flushLen is how much text is written at once.
const flushLen = 1 << 18

// Rows implements format.RowSink.
func (l *lines) Rows(ctx context.Context, lanes []matrix.Block) error {
	features := lanes[len(lanes)-1].ToCSR()
	rowed := features.Data.(matrix.Rowed)
	ends := rowed.Ends()
	l.cells += int64(rowed.NNZ())
	cell := spell(features.Data)
	label := func(text []byte, _ int) []byte { return append(text, '0') }
	if l.labelled {
		label = spell(lanes[0].Data)
	}
	idx := rowed.Keys()
	for r := range len(ends) - 1 {
		l.text = label(l.text, r)
		for i := ends[r]; i < ends[r+1]; i++ {
			l.text = number.AppendInt64(append(l.text, ' '), idx[i]+l.base)
			l.text = cell(append(l.text, ':'), i)
		}
		l.text = append(l.text, '\n')
		if len(l.text) >= flushLen {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lines) flush() error {
	_, err := l.out.Write(l.text)
	l.text = l.text[:0]
	return err
}

// End implements format.RowSink.
func (l *lines) End() error { return l.flush() }

// spell appends the i-th value.
func spell(d matrix.Data) func(text []byte, i int) []byte {
	switch v := d.Values().(type) {
	case []float64:
		return func(text []byte, i int) []byte { return number.AppendFloat64(text, v[i]) }
	case []float32:
		return func(text []byte, i int) []byte { return number.AppendFloat32(text, v[i]) }
	case []matrix.Float16:
		return func(text []byte, i int) []byte { return number.AppendFloat32(text, v[i].Float32()) }
	case []matrix.BFloat16:
		return func(text []byte, i int) []byte { return number.AppendFloat32(text, v[i].Float32()) }
	case []uint64:
		return func(text []byte, i int) []byte { return strconv.AppendUint(text, v[i], 10) }
	case []int64:
		return whole(v)
	case []int32:
		return whole(v)
	case []int16:
		return whole(v)
	case []int8:
		return whole(v)
	case []uint32:
		return whole(v)
	case []uint16:
		return whole(v)
	case []uint8:
		return whole(v)
	case []matrix.Boolean:
		return whole(v)
	}
	return func(text []byte, _ int) []byte { return text } // no value at all
}

func whole[T int64 | int32 | int16 | int8 | uint32 | uint16 | uint8 | matrix.Boolean](v []T) func([]byte, int) []byte {
	return func(text []byte, i int) []byte { return number.AppendInt64(text, int64(v[i])) }
}
