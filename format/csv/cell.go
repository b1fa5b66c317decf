package csv

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"thole.example/internal/number"
	"thole.example/matrix"
)

// Everything here reads text that ends with a line feed and has zero bytes behind it, so that looking at the next byte
// is always allowed.

// column reads the cells of one lane of columns, row after row.
type column interface {
	// row reads n cells at text[i] and answers where the last ends: at a separator or at the end of the line. On an error,
	// end is where the cell c begins that is wrong; c is n if the line ends too early.
	row(text []byte, i, n int, sep byte) (end, c int, err error)
	// data is what was read.
	data() matrix.Data
}

// cells is a column of one type. read gives the number that b begins with and its length; 0 if there is none that the
// type holds.
type cells[T matrix.Stored] struct {
	val     []T
	read    func(b []byte) (T, int)
	dtype   matrix.DType
	empty   empty
	decimal byte
}

func (c *cells[T]) data() matrix.Data { return &matrix.Dense[T]{Val: c.val} }

func (c *cells[T]) row(text []byte, i, n int, sep byte) (int, int, error) {
	from := len(c.val)
	if n > len(text)-i { // every cell but the last takes a byte at least
		return i, 0, errShort
	}
	if cap(c.val)-from < n {
		c.val = append(make([]T, 0, max(2*cap(c.val), from+n, 256)), c.val...)
	}
	c.val = c.val[:from+n]
	row := c.val[from:]
	for k := range row {
		if k > 0 {
			if text[i] != sep {
				return i, k, errShort
			}
			i++
		}
		for text[i] == ' ' {
			i++
		}
		v, n := c.read(text[i:])
		end := i + n
		if next := text[end]; n == 0 || next != sep && next != '\n' && (next != '\r' || text[end+1] != '\n') {
			var err error
			if v, end, err = c.slow(text, i, sep); err != nil {
				return i, k, err
			}
		}
		row[k] = v
		i = end
	}
	return i, len(row), nil
}

// slow reads a cell that is more than a number with a separator or line feed right behind it.
func (c *cells[T]) slow(text []byte, i int, sep byte) (v T, end int, err error) {
	token, end, err := cut(text, i, sep)
	if err != nil {
		return v, end, err
	}
	if len(token) == 0 || isMissing(token) {
		v, err = c.blank(token)
		return v, end, err
	}
	padded := append(append(make([]byte, 0, len(token)+16), token...), '\n')
	if c.decimal == ',' {
		padded = pointed(token)
	}
	v, n := c.read(padded)
	if n == len(token) {
		return v, end, nil
	}
	return v, end, c.wrong(token)
}

// missing are the words that stand for no value, as other programs write them.
var missing = [][]byte{[]byte("na"), []byte("n/a"), []byte("<na>"), []byte("null"), []byte("none")}

// isMissing reports whether a cell is a word for no value.
func isMissing(token []byte) bool {
	if len(token) < 2 || len(token) > 4 || token[0]-'0' <= 9 {
		return false
	}
	return slices.ContainsFunc(missing, func(word []byte) bool { return bytes.EqualFold(word, token) })
}

// blank is the value of an empty cell, or of one that says that it has none.
func (c *cells[T]) blank(token []byte) (v T, err error) {
	what := "an empty cell"
	if len(token) > 0 {
		what = "cell " + quote(token)
	}
	switch {
	case c.empty == emptyZero:
		return v, nil
	case c.empty == emptyError:
		return v, fmt.Errorf("%s, want a number (the option empty says what it shall be)", what)
	case !c.dtype.Float():
		return v, fmt.Errorf("%s, which %v cannot hold as nan", what, c.dtype)
	}
	v, _ = c.read([]byte("nan\n"))
	return v, nil
}

var (
	errShort = fmt.Errorf("the line ends too early")
)

// wrong explains a cell that does not fit the type.
func (c *cells[T]) wrong(token []byte) error {
	if isTruth(token) {
		return fmt.Errorf("cell %s, want a number, as in others of the column (0 or 1, or true and false in all)", quote(token))
	}
	if c.decimal == ',' {
		token = bytes.Replace(token, []byte(","), []byte("."), 1)
	}
	if v, n := number.ParseFloat64(append(bytes.Clone(token), '\n')); n == len(token) {
		switch {
		case c.dtype.Float():
			return fmt.Errorf("cell %s, want a number within %v", quote(token), c.dtype)
		case v == math.Trunc(v) || math.IsInf(v, 0):
			return fmt.Errorf("cell %s, want a whole number within %v, without an exponent", quote(token), c.dtype)
		}
		return fmt.Errorf("cell %s, want a whole number (%v)", quote(token), c.dtype)
	}
	if _, err := strconv.ParseFloat(string(token), 64); err != nil && err.(*strconv.NumError).Err == strconv.ErrRange {
		return fmt.Errorf("cell %s, want a number within %v", quote(token), c.dtype)
	}
	return fmt.Errorf("cell %s, want a number: text is not supported", quote(token))
}

// quote is a short printable form of a cell.
func quote(token []byte) string {
	if len(token) > 40 {
		return fmt.Sprintf("%q...", token[:40])
	}
	return fmt.Sprintf("%q", token)
}

// cut finds the cell that begins at text[i], blanks already skipped: its text without blanks and quotes, and where it
// ends, at a separator or line feed.
func cut(text []byte, i int, sep byte) (token []byte, end int, err error) {
	if text[i] == '"' {
		return cutQuoted(text, i, sep, false)
	}
	end = i
	for text[end] != sep && text[end] != '\n' {
		end++
	}
	return bytes.TrimRight(text[i:end], " \t\r"), end, nil
}

// cutRecord is cut within a record alone, in whose quotes line ends may stand.
func cutRecord(record []byte, i int, sep byte) (token []byte, end int, err error) {
	if record[i] == '"' {
		return cutQuoted(record, i, sep, true)
	}
	return cut(record, i, sep)
}

func cutQuoted(text []byte, i int, sep byte, record bool) (token []byte, end int, err error) {
	for end = i + 1; text[end] != '\n' || record && end < len(text)-1; end++ {
		if text[end] != '"' {
			token = append(token, text[end])
			continue
		}
		if text[end+1] == '"' {
			token = append(token, '"')
			end++
			continue
		}
		rest := end + 1
		for text[rest] == ' ' && sep != blankSep || text[rest] == '\r' || text[rest] == '\t' && sep != '\t' {
			rest++
		}
		if text[rest] != sep && text[rest] != '\n' {
			return nil, end, fmt.Errorf("text behind the closing quote of a cell")
		}
		return token, rest, nil
	}
	return nil, end, fmt.Errorf("a quote that does not end in its line")
}
