package mtx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// check asks for what the matrix loses.
func check(m *matrix.Meta, o *format.Options) error {
	if err := m.Check(); err != nil {
		return err
	}
	filled := *m
	filled.Layout = matrix.RowDense // cells that are absent stay so in a coordinate file
	if err := format.LoseToDense(&filled, o); err != nil {
		return err
	}
	if len(m.LoD) > 0 {
		if err := o.Lose(format.Sequences, m.Name, "sequences (LoD)"); err != nil {
			return err
		}
	}
	if slices.Contains(origins, m.Origin) && !paired(m) {
		err := o.Lose(format.Meanings, m.Name, "element type %s, whose form the matrix has no more; stored as %v", m.Origin, m.DType)
		if err != nil {
			return err
		}
	}
	if len(m.Dims) > rankLimit {
		return o.Lose(format.Shapes, m.Name, "shape of %d dimensions, of which %d fit", len(m.Dims), rankLimit)
	}
	return nil
}

// origins are the element types that we write and that are none of ours.
var origins = []string{format.Complex64, format.Complex128}

// paired reports whether the matrix has complex values, two columns for each.
func paired(m *matrix.Meta) bool {
	e := format.Element{DType: m.DType, Origin: m.Origin}
	_, ok := e.Of(m, m.Dims)
	return ok && e.Pair() && m.Cols%2 == 0 && m.ColLo%2 == 0
}

// typeOf is the element type that a reader will find: that of the matrix, or one that holds the types of its columns.
func typeOf(m *matrix.Meta) (d matrix.DType, mixed bool) {
	d = m.DType
	for _, c := range m.ColTypes {
		if c == d {
			continue
		}
		if d = matrix.I64; c.Float() || m.DType.Float() {
			return matrix.F64, true
		}
		mixed = true
	}
	return d, mixed
}

func fieldOf(d matrix.DType) string {
	switch {
	case d.Float():
		return "real"
	case d == matrix.U64:
		return "unsigned-integer"
	}
	return "integer"
}

// countDigits is how long a number of entries can be.
const countDigits = 19

// header is everything before the values. It is as long whatever the number of entries is.
func header(m *matrix.Meta, entries int64) []byte {
	d, _ := typeOf(m)
	kind, count := "array", ""
	if m.Layout == matrix.RowSparse {
		kind, count = "coordinate", " "+strconv.FormatInt(entries, 10)
	}
	field, cols, usual := fieldOf(d), m.Cols, len(m.Dims) == 2
	if paired(m) {
		field, cols, usual = "complex", m.Cols/2, len(m.Dims) == 3
	}
	b := fmt.Appendf(nil, "%s matrix %s %s general\n%s dtype=%v", banner, kind, field, own, d)
	if m.Dims != nil && !usual && len(m.Dims) <= rankLimit {
		b = append(b, " shape="...)
		for i, n := range m.Dims {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
	}
	if count != "" {
		b = append(b, bytes.Repeat([]byte{' '}, 1+countDigits-len(count))...)
	}
	return fmt.Appendf(b, "\n%d %d%s\n", m.Rows, cols, count)
}

// appendValue writes a number, infinity without the sign that some readers stumble over.
func appendValue(dst, value []byte) []byte {
	if value[0] == '+' {
		value = value[1:]
	}
	return append(append(dst, value...), '\n')
}

// newCoordinateWriter writes a sparse matrix row by row.
func newCoordinateWriter(b blob.Bucket, file string, m matrix.Meta, o format.Options) (format.Writer, error) {
	return format.NewRowWriter(b, file, o, format.RowFile{
		Metas: []matrix.Meta{m},
		Gaps:  true,
		Begin: func(out io.Writer) (format.RowSink, error) {
			at, ok := out.(io.WriterAt)
			if !ok {
				return nil, fmt.Errorf("the bucket of %s cannot write the number of entries before them", file)
			}
			s := &sink{m: m, out: out, head: at, pairs: paired(&m)}
			s.buf = header(&m, 0)
			return s, nil
		},
	})
}

// flushBytes is how much text is written at once.
const flushBytes = 1 << 20

// sink writes entries as lines.
type sink struct {
	m       matrix.Meta
	out     io.Writer
	head    io.WriterAt
	buf     []byte
	entries int64
	row     int64  // whose number prefix has
	prefix  []byte // number and space
	pairs   bool   // values are complex
	half    []byte // the real part that waits for the other, in row and col; nil: none does
	col     int64
}

// Rows implements format.RowSink.
func (s *sink) Rows(ctx context.Context, lanes []matrix.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(lanes) == 1 {
		return lanes[0].EachText(s.entry)
	}
	rows := lanes[0].At.Rows
	for r := rows.Lo; r < rows.Hi; r++ {
		for _, l := range lanes {
			if err := l.Cut(matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: l.At.Cols}).EachText(s.entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry takes the next cell. An absent part of a complex value is written as 0.
func (s *sink) entry(row, col int64, value []byte) error {
	if !s.pairs {
		return s.line(row, col-s.m.ColLo, value)
	}
	col -= s.m.ColLo
	re := []byte("0")
	if s.half != nil && s.row == row && s.col == col/2 {
		re, s.half = s.half, nil
	} else if err := s.lone(); err != nil {
		return err
	}
	if col%2 == 0 {
		s.half, s.row, s.col = bytes.Clone(value), row, col/2
		s.prefix = nil
		return nil
	}
	return s.line(row, col/2, fmt.Appendf(nil, "%s %s", re, value))
}

// lone writes a real part that is alone.
func (s *sink) lone() error {
	if s.half == nil {
		return nil
	}
	re := s.half
	s.half = nil
	return s.line(s.row, s.col, fmt.Appendf(nil, "%s 0", re))
}

// line writes one entry.
func (s *sink) line(row, col int64, value []byte) error {
	if row != s.row || s.prefix == nil {
		s.row = row
		s.prefix = append(strconv.AppendInt(s.prefix[:0], row+1, 10), ' ')
	}
	s.entries++
	s.buf = append(s.buf, s.prefix...)
	s.buf = append(strconv.AppendInt(s.buf, col+1, 10), ' ')
	s.buf = appendValue(s.buf, value)
	if len(s.buf) < flushBytes {
		return nil
	}
	return s.flush()
}

func (s *sink) flush() error {
	_, err := s.out.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// End implements format.RowSink.
func (s *sink) End() error {
	if err := s.lone(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	_, err := s.head.WriteAt(header(&s.m, s.entries), 0)
	return err
}
