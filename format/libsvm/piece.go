package libsvm

import (
	"bytes"
	"fmt"
	"math"
	"sort"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
)

// piece is what was read from some lines.
type piece struct {
	rows, lines int64
	end         int64 // the byte of the file behind them
	open        bool  // the file ends there, without a line end
	label       values
	val         values
	ptr         []int
	idx         []int64
	top         int64 // the highest column, -1 if there is none
	query       int64 // the first line with a qid, 0 if there is none
	err         *lineError
}

// lineError says which line is wrong, counted from 1 in the piece or, later, in the file.
type lineError struct {
	off, line int64
	err       error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// shape is what a piece needs to know of the file.
type shape struct {
	labelled        bool
	base, limit     int64 // columns are below limit
	label, features matrix.DType
}

// parse reads the examples of the lines, up to the first error.
func (s *shape) parse(l format.Lines) piece {
	p := piece{end: l.End(), open: l.Open, label: newValues(s.label), val: newValues(s.features), ptr: []int{0}, top: -1}
	text := l.Text[:len(l.Text)+format.LinesPad]
	for i := 0; i < len(l.Text); {
		p.lines++
		end, err := s.line(&p, text, i)
		if err != nil {
			p.err = &lineError{l.Off + int64(end), p.lines, err}
			break
		}
		i = end
	}
	return p
}

// line reads the line that begins at text[i] and answers where the next begins, or the wrong token.
func (s *shape) line(p *piece, text []byte, i int) (next int, err error) {
	if i = gap(text, i); ends(text[i]) {
		return s.nextLine(text, i)
	}
	if s.labelled {
		n := p.label.read(text[i:])
		if next := text[i+n]; n == 0 || !parts(next) {
			return i, s.wrongLabel(token(text, i))
		}
		i = gap(text, i+n)
	}
	from, last, sorted := len(p.idx), int64(-1), true
	for !ends(text[i]) {
		index, n, ok := number.ParseUint64(text[i:])
		if n == 0 || text[i+n] != ':' {
			if i, err = p.qid(text, i); err != nil {
				return i, err
			}
			i = gap(text, i)
			continue
		}
		col := int64(index) - s.base
		if !ok || index > math.MaxInt64 || uint64(col) >= uint64(s.limit) {
			return i, s.wrongIndex(text[i : i+n])
		}
		at := i + n + 1
		n = p.val.read(text[at:])
		if next := text[at+n]; n == 0 || !parts(next) {
			return at, fmt.Errorf("value %s of index %d, want a number within %v", quote(token(text, at)), index, s.features)
		}
		sorted = sorted && col > last
		last = col
		p.idx = append(p.idx, col)
		i = gap(text, at+n)
	}
	if !sorted {
		sort.Sort(&row{p.idx[from:], from, p.val})
		for k := from + 1; k < len(p.idx); k++ {
			if p.idx[k] == p.idx[k-1] {
				return i, fmt.Errorf("index %d twice, want every index once in a line", p.idx[k]+s.base)
			}
		}
	}
	if len(p.idx) > from {
		p.top = max(p.top, p.idx[len(p.idx)-1])
	}
	p.rows++
	p.ptr = append(p.ptr, len(p.idx))
	return s.nextLine(text, i)
}

// row sorts the columns of a row with their values, which begin at from.
type row struct {
	idx  []int64
	from int
	val  values
}

func (r *row) Len() int           { return len(r.idx) }
func (r *row) Less(i, k int) bool { return r.idx[i] < r.idx[k] }
func (r *row) Swap(i, k int) {
	r.idx[i], r.idx[k] = r.idx[k], r.idx[i]
	r.val.swap(r.from+i, r.from+k)
}

// gap steps over blanks, and over a carriage return that a line feed follows.
func gap(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' && text[i+1] == '\n' {
		i++
	}
	return i
}

// ends reports whether the byte ends the examples of a line, parts whether it ends a token.
func ends(b byte) bool  { return b == '\n' || b == '#' }
func parts(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || ends(b) }

func (s *shape) nextLine(text []byte, i int) (int, error) {
	if text[i] == '\n' {
		return i + 1, nil
	}
	return i + bytes.IndexByte(text[i:], '\n') + 1, nil
}

// qid reads over the group of a ranking set; anything else that is no index:value is wrong.
func (p *piece) qid(text []byte, i int) (end int, err error) {
	t := token(text, i)
	if id, ok := bytes.CutPrefix(t, []byte("qid:")); ok {
		if _, n, ok := number.ParseUint64(id); ok && n == len(id) {
			if p.query == 0 {
				p.query = p.lines
			}
			return i + len(t), nil
		}
	}
	return i, fmt.Errorf("feature %s, want index:value", quote(t))
}

func (s *shape) wrongLabel(t []byte) error {
	if bytes.IndexByte(t, ':') >= 0 {
		return fmt.Errorf("label %s, want a number, as in the first line", quote(t))
	}
	return fmt.Errorf("label %s, want one number within %v", quote(t), s.label)
}

func (s *shape) wrongIndex(t []byte) error {
	if s.base == 1 && len(bytes.TrimLeft(t, "0")) == 0 {
		return fmt.Errorf("index %s in a file that counts from 1, want 1 or more (base=0 if it counts from 0)", t)
	}
	return fmt.Errorf("index %s, want %d to %d for %d columns", quote(t), s.base, s.limit-1+s.base, s.limit)
}

// token is the text from text[i] to the next blank or the end of the line.
func token(text []byte, i int) []byte {
	end := i
	for !parts(text[end]) {
		end++
	}
	return text[i:end]
}

// quote is a short printable form of a token.
func quote(t []byte) string {
	if len(t) > 40 {
		return fmt.Sprintf("%q...", t[:40])
	}
	return fmt.Sprintf("%q", t)
}
