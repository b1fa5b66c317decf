package angel

import (
	"bytes"
	"fmt"

	"thole.example/wire"
)

// Format is a format of a user, for New: a RowFormat or a ColumnFormat.
type Format interface{ layout() *layout }

// Style is what the bytes of a file depend on besides the format.
type Style struct {
	Separator string // between the fields of a line; "" when reading text of which nobody says
	LongKeys  bool   // the row type has column ids of eight bytes
}

// Element is a stored cell.
type Element[T Number] struct {
	Row   int32
	Col   int64
	Value T
}

// RowPair writes and reads one element. Both are called by many goroutines.
type RowPair[T Number] struct {
	// Put appends the element: of text a line without its end.
	Put func(dst []byte, e Element[T], s Style) []byte
	// Take reads the element that b begins with and says how many bytes it has: of text the whole line b, which comes
	// without its end; of binary data any number, 0 if b ends before the element does. Another number is an error.
	Take func(b []byte, e *Element[T], s Style) (n int)
}

// RowFormat is a format whose partitions are elements, row after row. A type without functions is one that it does not
// hold.
type RowFormat struct {
	Class string // full name of the Java class, as metadata have it
	Text  bool   // an element is a line
	// Rows and Cols say what an element stores besides its value. Without Cols only dense rows can be stored.
	Rows, Cols bool

	Float64 RowPair[float64]
	Float32 RowPair[float32]
	Int64   RowPair[int64]
	Int32   RowPair[int32]
}

// Column is a stored column with its values for all saved rows, ascending.
type Column[T Number] struct {
	Col    int64
	Values []T
}

// ColumnPair writes and reads one column, as RowPair does elements. Take finds Values in the right length and fills them.
type ColumnPair[T Number] struct {
	Put  func(dst []byte, c Column[T], s Style) []byte
	Take func(b []byte, c *Column[T], s Style) (n int)
}

// ColumnFormat is a format whose partitions are columns. A type without functions is one that it does not hold.
type ColumnFormat struct {
	Class string // full name of the Java class, as metadata have it
	Text  bool   // a column is a line

	Float64 ColumnPair[float64]
	Float32 ColumnPair[float32]
	Int64   ColumnPair[int64]
	Int32   ColumnPair[int32]
}

func (f RowFormat) layout() *layout {
	return &layout{
		name: f.Class, text: f.Text, rowID: f.Rows, colID: f.Cols, loose: true,
		f64: rowPair(f, f.Float64), f32: rowPair(f, f.Float32), i64: rowPair(f, f.Int64), i32: rowPair(f, f.Int32),
	}
}

func (f ColumnFormat) layout() *layout {
	return &layout{
		name: f.Class, text: f.Text, colID: true, column: true, loose: true,
		f64: columnPair(f, f.Float64), f32: columnPair(f, f.Float32), i64: columnPair(f, f.Int64), i32: columnPair(f, f.Int32),
	}
}

func (s style) public() Style { return Style{Separator: s.sep, LongKeys: s.long} }

func rowPair[T Number](f RowFormat, p RowPair[T]) pair[T] {
	if p.Put == nil || p.Take == nil {
		return pair[T]{}
	}
	return pair[T]{
		put: func(dst []byte, s style, r *records[T]) []byte {
			for i, v := range r.val {
				e := Element[T]{Value: v}
				if f.Rows {
					e.Row = r.row[i]
				}
				if f.Cols {
					e.Col = r.col[i]
				}
				dst = p.Put(dst, e, s.public())
				if f.Text {
					dst = append(dst, '\n')
				}
			}
			return dst
		},
		take: func(in input, r *records[T], n int) (int, error) {
			var e Element[T]
			return in.each(f.Text, f.Class, n, func(b []byte) int {
				e = Element[T]{}
				return p.Take(b, &e, in.public())
			}, func() {
				r.val = append(r.val, e.Value)
				if f.Rows {
					r.row = append(r.row, e.Row)
				}
				if f.Cols {
					r.col = append(r.col, e.Col)
				}
			})
		},
	}
}

func columnPair[T Number](f ColumnFormat, p ColumnPair[T]) pair[T] {
	if p.Put == nil || p.Take == nil {
		return pair[T]{}
	}
	return pair[T]{
		put: func(dst []byte, s style, r *records[T]) []byte {
			for i, col := range r.col {
				dst = p.Put(dst, Column[T]{Col: col, Values: r.val[i*r.width : (i+1)*r.width]}, s.public())
				if f.Text {
					dst = append(dst, '\n')
				}
			}
			return dst
		},
		take: func(in input, r *records[T], n int) (int, error) {
			c := Column[T]{Values: make([]T, r.width)}
			return in.each(f.Text, f.Class, n, func(b []byte) int {
				clear(c.Values)
				return p.Take(b, &c, in.public())
			}, func() {
				r.col = append(r.col, c.Col)
				r.val = append(r.val, c.Values[:r.width]...)
			})
		},
	}
}

// each calls take with up to n records of the input, and keep for each that it understood.
func (in *input) each(text bool, class string, n int, take func(b []byte) int, keep func()) (used int, err error) {
	b := in.b
	if text {
		b = in.lines()
	}
	for ; n > 0 && used < len(b); n-- {
		rest, next := b[used:], 0
		if text {
			end := bytes.IndexAny(rest, "\r\n")
			if end < 0 {
				end = len(rest)
			}
			if next, _ = lineEnd(rest, end); take(rest[:end:end]) != end {
				return used, in.bad(used, "a record of "+class)
			}
		} else if next = take(rest); next < 0 || next > len(rest) || next == 0 && in.last {
			return used, &wire.At{Off: in.base + int64(used), Err: fmt.Errorf("no record of %s in %d bytes", class, len(rest))}
		}
		if next == 0 {
			break
		}
		keep()
		used += next
	}
	return used, nil
}
