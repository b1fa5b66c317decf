package csv

import (
	"bytes"
	"context"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
)

// kind is what the cells of a column have been so far.
type kind uint8

const (
	fraction kind = 1 << iota // a cell that is no whole number
	negative
	big  // beyond i64
	huge // beyond u64
	wide // a whole number of more than 53 bits, which f64 may not hold
)

// scan looks through the file, counts its rows, and finds the kinds of the columns: one for all, or one for each of
// width.
func scan(ctx context.Context, o blob.Object, x *format.LineIndex, sep byte, width int, each bool, e empty) ([]kind, int64, error) {
	kinds := make([]kind, 1)
	if each {
		kinds = make([]kind, width)
	}
	open := len(kinds) // how many have had whole numbers only
	rows := int64(0)
	for l, err := range format.ReadLines(ctx, o, x.First().Off, o.Size()) {
		if err != nil {
			return nil, 0, err
		}
		n, lines := x.Count(l.Text)
		rows = x.Add(l.End(), n, lines).Row
		for text := l.Text; len(text) > 0 && open > 0; {
			n := bytes.IndexByte(text, '\n') + 1
			if text[0] > ' ' || !x.Blank(text[:n]) {
				open -= lineKinds(text[:n], sep, kinds, e)
			}
			text = text[n:]
		}
	}
	return kinds, rows, nil
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
			if v > 1<<53 || v < -1<<53 {
				*k |= wide
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

// dtype is the smallest of the three types that holds every cell; exact is false if none does. Cells below the line of the
// first fraction are not known.
func (k kind) dtype() (d matrix.DType, exact bool) {
	switch {
	case k&fraction != 0:
		return matrix.F64, k&(wide|big|huge) == 0
	case k&huge != 0 || k&big != 0 && k&negative != 0:
		return matrix.F64, false
	case k&big != 0:
		return matrix.U64, true
	}
	return matrix.I64, true
}
