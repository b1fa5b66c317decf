package csv

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
)

// kind is what the cells of a column are.
type kind uint8

const (
	fraction kind = 1 << iota // a cell that is no whole number
	negative
	big     // beyond i64
	huge    // beyond u64
	inexact // a whole number that f64 does not hold
	truth   // true or false
	absent  // no value, which is nan
	whole   // a whole number
)

// column kinds and the first cells that may be in the way of a common type.
type columnKind struct {
	kind
	inexact, truth cellPlace
}

// cellPlace is a cell: its text, and where it is. line counts from 1.
type cellPlace struct {
	token     string
	off, line int64
}

// scan looks through the file, counts its rows, and finds the kinds of the columns.
func scan(ctx context.Context, o blob.Object, x *format.LineIndex, form *dialect, e empty) ([]columnKind, int64, error) {
	kinds := make([]columnKind, form.width)
	rows := int64(0)
	s := scanner{dialect: form, kinds: kinds, empty: e, line: x.First().Line}
	for l, err := range format.ReadLines(ctx, o, x.First().Off, o.Size()) {
		if err != nil {
			return nil, 0, err
		}
		n, lines := x.Count(l.Text)
		rows = x.Add(l.End(), n, lines).Row
		s.off = l.Off
		for text := l.Text; len(text) > 0; {
			n := bytes.IndexByte(text, '\n') + 1
			s.line++
			if text[0] > ' ' && text[0] != comment || !x.Blank(text[:n]) {
				s.add(text[:n])
			}
			s.off += int64(n)
			text = text[n:]
		}
	}
	return kinds, rows, nil
}

// scanner adds lines to the kinds.
type scanner struct {
	*dialect
	kinds     []columnKind
	empty     empty
	off, line int64 // of the line
}

// add adds the cells of a line to the kinds.
func (s *scanner) add(line []byte) {
	for c, i := 0, 0; c < len(s.kinds); c++ {
		k := &s.kinds[c]
		for line[i] == ' ' {
			i++
		}
		begin := i
		v, n, ok := number.ParseInt64(line[i:])
		if n > 0 && line[i+n] == '.' { // most cells, of which nothing more counts
			k.kind |= fraction
			if end := bytes.IndexByte(line[i+n:], s.sep); end >= 0 {
				i += n + end + 1
				continue
			}
			return
		}
		if ok && i+n < len(line) && (line[i+n] == s.sep || line[i+n] == '\n') {
			k.kind |= wholeKind(v)
			if i += n; k.kind&inexact != 0 {
				s.note(&k.inexact, line[begin:i], begin, !fits(v))
			}
		} else {
			token, end, err := cut(line, i, s.sep)
			if err != nil {
				return // reading says so
			}
			i = end
			one := cellKind(token, s.empty)
			k.kind |= one
			s.note(&k.inexact, token, begin, one&inexact != 0)
			s.note(&k.truth, token, begin, one&truth != 0)
		}
		if line[i] == '\n' {
			return
		}
		i++
	}
}

// note keeps the first such cell.
func (s *scanner) note(first *cellPlace, token []byte, at int, is bool) {
	if is && first.line == 0 {
		*first = cellPlace{string(token[:min(len(token), 40)]), s.off + int64(at), s.line}
	}
}

func wholeKind(v int64) (k kind) {
	if k = whole; v < 0 {
		k |= negative
	}
	if !fits(v) {
		k |= inexact
	}
	return k
}

// fits reports whether f64 holds the number: 53 bits are enough from the first to the last that is set.
func fits(v int64) bool {
	u := uint64(max(v, -v)) // of the least number too
	return bits.Len64(u)-bits.TrailingZeros64(u) <= 53
}

// isTruth reports whether a cell is true or false.
func isTruth(token []byte) bool {
	return bytes.EqualFold(token, []byte("true")) || bytes.EqualFold(token, []byte("false"))
}

func cellKind(token []byte, e empty) kind {
	if len(token) == 0 || isMissing(token) {
		if e == emptyNaN {
			return absent
		}
		return 0
	}
	v, n, ok := number.ParseInt64(token)
	switch {
	case n == 0 && isTruth(token):
		return truth
	case n != len(token):
		return fraction
	case ok:
		return wholeKind(v)
	}
	k := whole
	if token[0] == '-' {
		k |= negative | huge
	} else if _, err := strconv.ParseUint(string(bytes.TrimPrefix(token, []byte("+"))), 10, 64); err != nil {
		k |= huge
	} else {
		k |= big
	}
	f, _ := strconv.ParseFloat(string(token), 64)
	if digits := bytes.TrimLeft(token, "+-0"); string(digits) != strconv.FormatFloat(math.Abs(f), 'f', 0, 64) {
		k |= inexact
	}
	return k
}

// dtype is the smallest of the types that holds every cell; exact is false if none does.
func (k kind) dtype() (d matrix.DType, exact bool) {
	switch {
	case k == truth:
		return matrix.Bool, true
	case k&truth != 0:
		return matrix.F64, false
	case k&(fraction|absent|huge) != 0 || k&big != 0 && k&negative != 0:
		return matrix.F64, k&inexact == 0
	case k&big != 0:
		return matrix.U64, true
	}
	return matrix.I64, true
}
