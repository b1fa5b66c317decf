package mtx

import (
	"bytes"
	"fmt"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/wire"
)

// value is a type that text is parsed as; the others are made of these.
type value interface {
	float64 | float32 | int64 | uint64 | int8
}

// parserOf reads the longest number that text begins with, of n bytes; n is 0 if there is none that fits the type.
func parserOf[T value]() func(text []byte) (v T, n int) {
	var p any
	switch matrix.DTypeOf[T]() {
	case matrix.F64:
		p = orFortran(number.ParseFloat64)
	case matrix.F32:
		p = orFortran(number.ParseFloat32)
	case matrix.I64:
		p = parseInt64
	case matrix.U64:
		p = parseUint64
	default:
		p = func([]byte) (int8, int) { return 1, 0 } // of a pattern, which is not asked for values
	}
	return p.(func([]byte) (T, int))
}

// orFortran also reads the exponents of double precision that Fortran writes: 1.0D0.
func orFortran[T value](parse func([]byte) (T, int)) func([]byte) (T, int) {
	return func(text []byte) (T, int) {
		v, n := parse(text)
		if n == 0 || n == len(text) || text[n]|0x20 != 'd' {
			return v, n
		}
		end := n + 1
		for end < len(text) && bytes.IndexByte([]byte("+-0123456789"), text[end]) >= 0 {
			end++
		}
		word := append(bytes.Clone(text[:end]), '\n')
		word[n] = 'e'
		if v, n := parse(word); n == end {
			return v, n
		}
		return 0, 0
	}
}

func parseInt64(text []byte) (int64, int) {
	v, n, ok := number.ParseInt64(text)
	if !ok {
		return 0, 0
	}
	return v, n
}

func parseUint64(text []byte) (uint64, int) {
	v, n, ok := number.ParseUint64(text)
	if !ok {
		return 0, 0
	}
	return v, n
}

// piece is what lines of a file say.
type piece[T value] struct {
	row, col []int64 // of entries, from 0; nil in arrays
	val      []T
	off, end int64 // bytes of the file
	open     bool  // the file ends there, without a line end
	lines    int64
	entries  int // that the lines have, be they wanted or not
	sides    uint8
	err      error
	at       int64   // byte of the error, whose line is the last of lines
	seen     []int64 // lines, counted within the piece, that name the cell looked for
}

// The sides of the diagonal that entries stand on.
const (
	below uint8 = 1 << iota
	above
)

// parser reads the lines behind the head. Its methods may be called by many goroutines.
type parser[T value] struct {
	h      *head
	parse  func([]byte) (T, int)
	skim   bool    // values are passed over
	within *survey // only the entries of the band are wanted; nil: all
	band   band
	find   *[2]int64 // a cell, to say where it stands
}

// scan is a place in the text of a piece.
type scan struct {
	text []byte
	i    int
}

// blank passes over spaces and reports whether there was any.
func (s *scan) blank() bool {
	from := s.i
	for s.text[s.i] == ' ' || s.text[s.i] == '\t' || s.text[s.i] == '\r' {
		s.i++
	}
	return s.i > from
}

// word is what follows, for an error message.
func (s *scan) word() []byte {
	end := s.i
	for end < len(s.text) && end < s.i+24 && s.text[end] != '\n' {
		end++
	}
	return s.text[s.i:end]
}

// entries reads lines of a coordinate file, with the entries that follow from the symmetry.
func (p *parser[T]) entries(l format.Lines) (out piece[T]) {
	s := scan{text: l.Text}
	out.off, out.end, out.open = l.Off, l.End(), l.Open
	if p.within == nil {
		guess := len(l.Text)/16 + 1
		out.row, out.col, out.val = make([]int64, 0, guess), make([]int64, 0, guess), make([]T, 0, guess)
	}
	for s.i < len(s.text) {
		out.lines++
		s.blank()
		if s.text[s.i] == '\n' {
			s.i++
			continue
		}
		row, col, v, im, err := p.entry(&s)
		if err == nil && p.h.symmetry == skew && v < 0 && -v == v {
			err = fmt.Errorf("value %v in cell (%d,%d), whose opposite is no %s", v, row+1, col+1, p.h.field.word)
			s.i--
		}
		if err == nil && !p.h.mayStand(row, col, im != 0) {
			err = fmt.Errorf("imaginary part %v in cell (%d,%d) on the diagonal of a hermitian matrix, want 0", im, row+1, col+1)
			s.i--
		}
		if err != nil {
			out.err, out.at = err, l.Off+int64(s.i)
			return out
		}
		out.entries++
		p.keep(&out, row, col, v, im)
		if row != col && p.h.symmetry != general {
			if row > col {
				out.sides |= below
			} else {
				out.sides |= above
			}
			v, im = opposite(p.h.symmetry, v, im)
			p.keep(&out, col, row, v, im)
		}
	}
	return out
}

// mayStand reports whether a cell may have an imaginary part: on the diagonal of a hermitian matrix none can.
func (h *head) mayStand(row, col int64, imaginary bool) bool {
	return !imaginary || row != col || h.symmetry != hermitian
}

// opposite is the value on the other side of the diagonal.
func opposite[T value](symmetry string, v, im T) (T, T) {
	switch symmetry {
	case skew:
		return -v, -im
	case hermitian:
		return v, -im
	}
	return v, im
}

// keep takes the cells of an entry that are wanted.
func (p *parser[T]) keep(out *piece[T], row, col int64, v, im T) {
	if p.h.field.parts == 1 {
		p.cell(out, row, col, v)
		return
	}
	p.cell(out, row, 2*col, v)
	p.cell(out, row, 2*col+1, im)
}

func (p *parser[T]) cell(out *piece[T], row, col int64, v T) {
	if p.within != nil && !p.band.has(p.within.bucket(row, col)) {
		return
	}
	out.row, out.col, out.val = append(out.row, row), append(out.col, col), append(out.val, v)
	if p.find != nil && p.find[0] == row && p.find[1] == col {
		out.seen = append(out.seen, out.lines)
	}
}

// entry reads one line.
func (p *parser[T]) entry(s *scan) (row, col int64, v, im T, err error) {
	row, n, ok := number.ParseInt64(s.text[s.i:])
	if !ok || row < 1 || row > p.h.rows {
		return 0, 0, 0, 0, fmt.Errorf("%q, want a row from 1 to %d", s.word(), p.h.rows)
	}
	s.i += n
	if !s.blank() {
		return 0, 0, 0, 0, fmt.Errorf("%q, want a space", s.word())
	}
	col, n, ok = number.ParseInt64(s.text[s.i:])
	if !ok || col < 1 || col > p.h.cols {
		return 0, 0, 0, 0, fmt.Errorf("%q, want a column from 1 to %d", s.word(), p.h.cols)
	}
	s.i += n
	if p.skim {
		s.i += bytes.IndexByte(s.text[s.i:], '\n') + 1
		return row - 1, col - 1, 1, 0, nil
	}
	if v = 1; p.h.field.dtype != matrix.I8 {
		if !s.blank() {
			return 0, 0, 0, 0, fmt.Errorf("%q, want a space", s.word())
		}
		if v, im, err = p.value(s); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	if s.blank(); s.text[s.i] != '\n' {
		return 0, 0, 0, 0, fmt.Errorf("%q, want the end of the line", s.word())
	}
	s.i++
	if p.h.symmetry == skew && row == col {
		s.i--
		return 0, 0, 0, 0, fmt.Errorf("cell (%d,%d) of the diagonal, want none in a skew-symmetric matrix", row, col)
	}
	return row - 1, col - 1, v, im, nil
}

// value reads a value: one number, or two with a space between them.
func (p *parser[T]) value(s *scan) (v, im T, err error) {
	v, n := p.parse(s.text[s.i:])
	if s.i += n; n > 0 && p.h.field.parts == 2 {
		if !s.blank() {
			return 0, 0, fmt.Errorf("%q, want a space", s.word())
		}
		im, n = p.parse(s.text[s.i:])
		s.i += n
	}
	if n == 0 {
		return 0, 0, fmt.Errorf("%q, want a value (%s)", s.word(), p.h.field.word)
	}
	return v, im, nil
}

// cells reads lines of an array.
func (p *parser[T]) cells(l format.Lines) (out piece[T]) {
	s := scan{text: l.Text}
	out.open = l.Open
	out.val = make([]T, 0, len(l.Text)/8+1)
	for s.i < len(s.text) {
		out.lines++
		s.blank()
		if s.text[s.i] == '\n' {
			s.i++
			continue
		}
		v, im, err := p.value(&s)
		if err == nil && !s.blank() && s.text[s.i] != '\n' {
			err = fmt.Errorf("%q, want the end of the line", s.word())
		} else if err == nil && s.text[s.i] != '\n' {
			err = fmt.Errorf("%q, want one value in a line", s.word())
		}
		if err != nil {
			out.err, out.at = err, l.Off+int64(s.i)
			return out
		}
		s.i++
		out.entries++
		if out.val = append(out.val, v); p.h.field.parts == 2 {
			out.val = append(out.val, im)
		}
	}
	return out
}

// counter adds up lines and values over the pieces of a file, in their order.
type counter struct {
	h      *head
	lines  int64
	values int64
}

// add takes a piece with n values and makes its error one of the file. open tells that its last line has no end: our
// writer makes none, and what stands there may be the begin of a longer number.
func (c *counter) add(lines int64, n int, at int64, open bool, err error) error {
	if c.lines += lines; err != nil {
		return &wire.At{Off: at, Err: fmt.Errorf("line %d: %w", c.lines, err)}
	}
	if open && c.h.ours {
		return &wire.At{Off: c.h.size, Err: fmt.Errorf("line %d: the file ends within the line: %w", c.lines, wire.ErrTruncated)}
	}
	if c.values += int64(n); c.values > c.h.stored {
		return &wire.At{Off: c.h.sizes[0], Err: fmt.Errorf("line %d: %d values or more, want %d as the size says",
			c.lines, c.values, c.h.stored)}
	}
	return nil
}

// end checks that no value is missing.
func (c *counter) end() error {
	if c.values < c.h.stored {
		return &wire.At{Off: c.h.size, Err: fmt.Errorf("line %d: %d values, want %d as the size says: %w",
			c.lines, c.values, c.h.stored, wire.ErrTruncated)}
	}
	return nil
}
