package csv

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"thole/blob"
	"thole/format"
	"thole/internal/number"
	"thole/matrix"
)

// mark is the begin of a piece of the file: rows and lines before it.
type mark struct {
	off, row, line int64
}

// index finds rows in the file. It grows as far as it was asked for.
type index struct {
	obj  blob.Object
	mu   sync.Mutex
	list []mark // ascending; the last is as far as the file was looked through
}

// seek is the last mark at or before the row.
func (x *index) seek(ctx context.Context, row int64) (mark, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if last := x.list[len(x.list)-1]; last.row <= row && last.off < x.obj.Size() && row > 0 {
		for l, err := range format.ReadLines(ctx, x.obj, last.off, x.obj.Size()) {
			if err != nil {
				return last, err
			}
			rows, lines := countRows(l.Text)
			x.add(l.End(), rows, lines)
			if x.list[len(x.list)-1].row > row {
				break
			}
		}
	}
	for i := len(x.list) - 1; i > 0; i-- {
		if x.list[i].row <= row {
			return x.list[i], nil
		}
	}
	return x.list[0], nil
}

func (x *index) add(end, rows, lines int64) {
	last := x.list[len(x.list)-1]
	x.list = append(x.list, mark{end, last.row + rows, last.line + lines})
}

// countRows counts lines, and those that are not blank.
func countRows(text []byte) (rows, lines int64) {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if text[0] > ' ' || !blank(text[:n]) {
			rows++
		}
		lines++
		text = text[n:]
	}
	return rows, lines
}

// kind is what the cells of a column have been so far.
type kind uint8

const (
	fraction kind = 1 << iota // a cell that is no whole number
	negative
	big  // beyond i64
	huge // beyond u64
)

// scan looks through the file from the last mark to its end, and finds the kinds of the columns: one for all, or one
// for each of width.
func (x *index) scan(ctx context.Context, sep byte, width int, each bool, e empty) ([]kind, error) {
	kinds := make([]kind, 1)
	if each {
		kinds = make([]kind, width)
	}
	open := len(kinds) // how many have had whole numbers only
	last := x.list[len(x.list)-1]
	for l, err := range format.ReadLines(ctx, x.obj, last.off, x.obj.Size()) {
		if err != nil {
			return nil, err
		}
		rows, lines := countRows(l.Text)
		x.add(l.End(), rows, lines)
		for text := l.Text; len(text) > 0 && open > 0; {
			n := bytes.IndexByte(text, '\n') + 1
			if text[0] > ' ' || !blank(text[:n]) {
				open -= lineKinds(text[:n], sep, kinds, e)
			}
			text = text[n:]
		}
	}
	return kinds, nil
}

// lineKinds adds the cells of a line to the kinds, and tells how many columns had their first fraction.
func lineKinds(line []byte, sep byte, kinds []kind, e empty) (closed int) {
	for c, i := 0, 0; c < len(kinds) || len(kinds) == 1; c++ {
		k := &kinds[min(c, len(kinds)-1)]
		for line[i] == ' ' {
			i++
		}
		if v, n, ok := number.ParseInt64(line[i:]); ok && i+n < len(line) && (line[i+n] == sep || line[i+n] == '\n') {
			if v < 0 {
				*k |= negative
			}
			if line[i+n] == '\n' {
				return closed
			}
			i += n + 1
			continue
		}
		token, end, err := cut(line, i, sep)
		if err != nil {
			return closed // reading says so
		}
		if *k&fraction == 0 {
			if *k |= cellKind(token, e); *k&fraction != 0 {
				closed++
				if len(kinds) == 1 {
					return closed
				}
			}
		}
		if line[end] == '\n' {
			return closed
		}
		i = end + 1
	}
	return closed
}

func cellKind(token []byte, e empty) kind {
	if len(token) == 0 {
		if e == emptyNaN {
			return fraction
		}
		return 0
	}
	v, n, ok := number.ParseInt64(token)
	switch {
	case n != len(token):
		return fraction
	case ok && v < 0:
		return negative
	case ok:
		return 0
	case token[0] == '-':
		return negative | huge
	}
	if _, err := strconv.ParseUint(string(bytes.TrimPrefix(token, []byte("+"))), 10, 64); err != nil {
		return huge
	}
	return big
}

// dtype is the smallest of the three types that holds every cell; exact is false if none does.
func (k kind) dtype() (d matrix.DType, exact bool) {
	switch {
	case k&fraction != 0:
		return matrix.F64, true
	case k&huge != 0 || k&big != 0 && k&negative != 0:
		return matrix.F64, false
	case k&big != 0:
		return matrix.U64, true
	}
	return matrix.I64, true
}
