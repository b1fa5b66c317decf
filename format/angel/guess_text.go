package angel

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// guessText finds the format of lines: nil if they are of none. sep is the separator if it is known.
func guessText(head []byte, sep string) (l *layout, found, why string) {
	whole := head
	if end := bytes.LastIndexAny(head, "\r\n"); end >= 0 {
		whole = head[:end+1]
	}
	if s, values, ok := guessKeyed(whole, sep); ok {
		return &embeddingText, s.sep, fmt.Sprintf("an integer, %q, and %d numbers with %q between them a line", s.sep, values, s.inner)
	}
	fields, sample := 0, newTextSample()
	for line := range bytes.SplitSeq(bytes.ReplaceAll(whole, []byte{'\r'}, lf), lf) {
		if len(line) == 0 {
			continue
		}
		if _, n := parseFloat64(line); n == len(line) && fields <= 1 && sep == "" {
			fields = 1
			continue
		}
		if sep == "" {
			var ok bool
			if sep, ok = findSeparator(line); !ok {
				return nil, "", ""
			}
		}
		parts := strings.Split(string(line), sep)
		if fields == 0 {
			fields = len(parts)
		}
		if fields != len(parts) || !sample.add(parts) {
			return nil, "", ""
		}
	}
	switch {
	case fields == 0:
		return nil, "", ""
	case fields == 1:
		return &valueText, "", "a number a line"
	case fields == 2:
		return &colIDValueText, sep, "an integer and a number a line"
	case fields == 3 && sample.secondIDs && (!sample.ascending || !sample.wholes):
		return &rowIDColIDValueText, sep, "two integers and a number a line"
	}
	return &textColumn, sep, fmt.Sprintf("an integer and %d numbers a line", fields-1)
}

// guessKeyed reports whether all lines are an integer and at least two numbers, with other separators between the numbers
// than behind the integer.
func guessKeyed(lines []byte, sep string) (s style, values int, ok bool) {
	s.sep = sep
	scan := textScan{cols: matrix.Range{Lo: math.MaxInt64, Hi: math.MinInt64}}
	for line := range bytes.SplitSeq(bytes.ReplaceAll(lines, []byte{'\r'}, lf), lf) {
		if len(line) == 0 {
			continue
		}
		if !s.complete(&embeddingText, line) || s.inner == s.sep || !scan.line(line, &embeddingText, &s) {
			return s, 0, false
		}
	}
	return s, scan.width, scan.width > 1
}

// textSample is what lines with ids look like.
type textSample struct {
	secondIDs bool // the second fields are integers
	wholes    bool // all fields are
	ascending bool // the first fields ascend
	last      int64
	lines     int
}

func newTextSample() *textSample { return &textSample{secondIDs: true, wholes: true, ascending: true} }

// add takes the fields of a line; false if they are not numbers.
func (t *textSample) add(parts []string) bool {
	id, n := parseInt([]byte(parts[0]))
	if n != len(parts[0]) || n == 0 {
		return false
	}
	t.ascending = t.ascending && (t.lines == 0 || id > t.last)
	t.last = id
	t.lines++
	for i, p := range parts[1:] {
		if _, n := parseFloat64([]byte(p)); n != len(p) || n == 0 {
			return false
		}
		if _, n := parseInt([]byte(p)); n != len(p) {
			t.wholes = false
			t.secondIDs = t.secondIDs && i > 0
		}
	}
	return true
}

// textScan is what all lines of a model say.
type textScan struct {
	wide    bool // values that no float is spelled like
	whole   bool // only integers
	large   bool // beyond int32
	longID  bool
	cols    matrix.Range
	width   int // values of a line
	rows    map[int32]int32
	records int64
}

// maxLine is how long a line of data without metadata may be.
const maxLine = 64 << 20

// guessFromText reads all lines to find out how many rows and columns there are, and which element type they have.
func guessFromText(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, a asked, s style) error {
	all := textScan{whole: true, cols: matrix.Range{Lo: math.MaxInt64, Hi: math.MinInt64}}
	rows := max(1, a.rows)
	if rows > 1 && a.layout == &colIDValueText {
		return fmt.Errorf("%s without metadata: nothing tells where a row ends, want %s=1: %w", a.layout.name, optRows, format.ErrUnknown)
	}
	from := int64(0)
	for i, f := range d.dataFiles() {
		all.rows, all.records = map[int32]int32{}, 0
		if err := all.file(ctx, b, blob.Join(d.path, f), a.layout, s); err != nil {
			return err
		}
		p := partMeta{id: int32(i), file: f, size: d.sizes[f], saved: counts{-1, -1, -1}}
		n := all.records
		switch {
		case a.layout.rowID:
			p.listRows(all.rows)
		case a.layout.column:
			p.saved.cols = int32(n)
			rows = max(rows, int64(all.width))
			p.sameRows(int64(all.width), int32(n))
		case a.layout.colID:
			p.sameRows(1, int32(n))
		case n%rows != 0:
			return fmt.Errorf("file %s: %d values in %d rows: %w", f, n, rows, format.ErrUnknown)
		default:
			p.sameRows(rows, int32(n/rows))
			p.cols = matrix.Range{Lo: from, Hi: from + n/rows}
			from += n / rows
		}
		m.rows = max(m.rows, int32(p.rows.Hi))
		m.parts = append(m.parts, p)
	}
	m.rows = max(m.rows, int32(max(0, a.rows)))
	return all.describe(m, a, from)
}

func (p *partMeta) sameRows(rows int64, n int32) {
	p.rows.Hi = rows
	for r := range rows {
		p.rowMetas.add(rowMeta{id: int32(r), off: -1, n: n})
	}
}

// describe sets row type and columns.
func (t *textScan) describe(m *matrixMeta, a asked, values int64) error {
	stored := int64(0)
	for i := range m.parts {
		stored += m.parts[i].rowMetas.span().values()
	}
	if !a.layout.colID {
		m.cols, m.blockCol = values, max(1, values)
	} else if t.cols.Lo < t.cols.Hi {
		lo := min(0, t.cols.Lo)
		if a.cols < 0 {
			m.cols = t.cols.Hi - lo
		}
		if m.cols < 0 || lo < 0 && a.cols >= 0 {
			return fmt.Errorf("column ids in %v: %w", t.cols, format.ErrLimit)
		}
		if lo < 0 {
			m.options[rangeStart], m.options[rangeEnd] = fmt.Sprint(lo), fmt.Sprint(t.cols.Hi)
		}
		if a.cols < 0 {
			m.guesses = append(m.guesses, withSet(fmt.Sprintf("%d columns: the ids lie in %v", m.cols, t.cols), optCols))
		}
	}
	if a.kind >= 0 {
		return nil
	}
	w := widths{key: 4, value: 4, floats: !t.whole}
	cells, ok := matrix.Cells(int64(m.rows), m.cols)
	if w.sparse = !ok || cells != stored; t.longID {
		w.key = 8
	}
	if t.whole && t.large || !t.whole && t.wide {
		w.value = 8
	}
	m.rowType = w.kind(m, a.key)
	why := fmt.Sprintf("%d rows of %v: %s, %d of %d cells are there", m.rows, m.rowType, t.kinds(), stored, cells)
	m.guesses = append(m.guesses, withSet(why, optRowType, optRows))
	return nil
}

// kinds says what the values are.
func (t *textScan) kinds() string {
	switch {
	case t.whole:
		return "all values are integers"
	case t.wide:
		return "values have more digits than a float"
	}
	return "all values are spelled as floats"
}

// file reads the lines of one file.
func (t *textScan) file(ctx context.Context, b blob.Bucket, file string, l *layout, s style) error {
	o, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	lines := bufio.NewScanner(io.NewSectionReader(o, 0, o.Size()))
	lines.Buffer(make([]byte, min(window, o.Size()+1)), maxLine)
	off := int64(0)
	lines.Split(func(data []byte, last bool) (int, []byte, error) {
		end := bytes.IndexAny(data, "\r\n")
		switch {
		case end < 0 && !last, end >= 0 && data[end] == '\r' && end+1 == len(data) && !last:
			return 0, nil, nil
		case end < 0 && len(data) == 0:
			return 0, nil, nil
		case end < 0:
			return len(data), data, nil
		}
		next, _ := lineEnd(data, end)
		return next, data[:end], nil
	})
	for lines.Scan() {
		if t.records&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !t.line(lines.Bytes(), l, &s) {
			return format.Corrupt(name, file, off, "line %q, want one of %s", clip(lines.Bytes()), l.name)
		}
		off += int64(len(lines.Bytes())) + 1
		t.records++
	}
	if err := lines.Err(); err != nil {
		return format.Corrupt(name, file, off, "%w, want lines of at most %d bytes", err, maxLine)
	}
	if t.records > math.MaxInt32 {
		return format.Corrupt(name, file, -1, "%d lines: %w", t.records, format.ErrLimit)
	}
	return nil
}

func clip(line []byte) []byte { return line[:min(len(line), 60)] }

// line takes one line; false if it is not of the format.
func (t *textScan) line(b []byte, l *layout, s *style) bool {
	if l.colID && !s.complete(l, b) {
		return false
	}
	in := input{style: *s}
	at := 0
	if l.rowID {
		row, next := in.field(b, 0)
		if next == 0 || row != int64(int32(row)) || row < 0 || len(t.rows) > maxGuessed {
			return false
		}
		t.rows[int32(row)]++
		at = next
	}
	if l.colID {
		col, next := in.field(b, at)
		if next == 0 || col == math.MaxInt64 {
			return false
		}
		t.cols = matrix.Range{Lo: min(t.cols.Lo, col), Hi: max(t.cols.Hi, col+1)}
		t.longID = t.longID || col != int64(int32(col))
		at = next
	}
	values := 0
	for ; at <= len(b); values++ {
		n := t.value(b[at:], s)
		if n == 0 {
			return false
		}
		if at += n; at == len(b) {
			values++
			break
		}
		if !l.column {
			return false
		}
		if at = in.between(b, at); at == 0 {
			return false
		}
	}
	if t.width == 0 {
		t.width = values
	}
	return values == t.width
}

// value takes one value and says how long it is.
func (t *textScan) value(b []byte, s *style) int {
	v, n := parseInt(b)
	if n > 0 && (n == len(b) || strings.IndexByte(".,eE", b[n]) < 0 || !s.comma && s.sep != "" && b[n] == s.sep[0]) {
		t.large = t.large || v != int64(int32(v))
		return n
	}
	x, n := reading[float64](*s)(b)
	if n == 0 {
		return 0
	}
	t.whole = false
	if f := float32(x); !t.wide && !s.comma && f-f == 0 {
		var room [longest]byte
		t.wide = string(appendFloat32(room[:0], f)) != string(b[:n])
	}
	return n
}
