package angel

import (
	"fmt"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
)

// builtIn is the table of Angel's formats. A new one is a file with a value like colIDValueText, and a line here; those of
// users are given to New.
var builtIn = []*layout{
	&valueBinary,
	&colIDValueBinary,
	&rowIDColIDValueBinary,
	&valueText,
	&colIDValueText,
	&rowIDColIDValueText,
	&binaryColumn,
	&textColumn,
	&snapshot,
	&binaryCSR,
	&embeddingText,
}

// classPath is the Java package of Angel's own formats; metadata name a format by its full class name.
const classPath = "com.tencent.angel.model.output.format."

// layout is one of Angel's formats: the bytes of a partition as a sequence of records without any frame. The records
// of row formats are values, row after row; those of column formats are columns with a value for each saved row.
type layout struct {
	name         string // the short class name
	text         bool   // records are lines; else big-endian numbers
	rowID, colID bool   // what a record says besides its values
	column       bool
	snapshot     bool // rows with and without column ids, as saveType says
	framed       bool // partitions are not records alone; their runs are found when they are opened
	csr          bool
	loose        bool // of a user: records of any size, any separator
	keyed        bool // another separator stands behind the id than between values

	f64 pair[float64]
	f32 pair[float32]
	i64 pair[int64]
	i32 pair[int32]
}

// pair writes and reads the records of one element type, a whole slab at a time.
type pair[T Number] struct {
	// put appends the bytes of all records.
	put func(dst []byte, s style, r *records[T]) []byte
	// take reads up to n whole records from the beginning of the input, appends them to r, and says how many bytes they
	// took. Its error is a *wire.At with the place within the file.
	take func(in input, r *records[T], n int) (used int, err error)
}

// style is what the bytes of a file depend on besides the format.
type style struct {
	sep   string // between the fields of a line
	inner string // between the values of a line, of keyed formats
	long  bool   // column ids of binary records have eight bytes, not four
	comma bool   // numbers have a comma before the fraction
}

// records are the fields of consecutive records, each field in a slice of its own. row and col stay empty where the
// format does not store them. A record has width values.
type records[T Number] struct {
	row   []int32
	col   []int64
	val   []T
	width int
	ids   []int64 // room for col, when that is counted
}

// first is the row of the first record, 0 if there is none.
func (r *records[T]) first() int32 {
	if len(r.row) == 0 {
		return 0
	}
	return r.row[0]
}

// input is a piece of a data file that begins with a record.
type input struct {
	style
	b    []byte
	base int64 // place of b[0] in the file
	last bool  // nothing follows b, so that a line may end with it
}

// pairOf picks the functions of element type T.
func pairOf[T Number](l *layout) pair[T] {
	var p any
	var v T
	switch any(v).(type) {
	case float64:
		p = l.f64
	case float32:
		p = l.f32
	case int64:
		p = l.i64
	default:
		p = l.i32
	}
	return p.(pair[T])
}

// fixed is the size of a binary record with width values of size bytes.
func (l *layout) fixed(s style, width int64, size int) int64 {
	n := width * int64(size)
	if l.rowID {
		n += 4
	}
	if l.colID && s.long {
		n += 8
	} else if l.colID {
		n += 4
	}
	return n
}

// each is the size of a binary record whose values have so many bytes; 0 if records differ.
func (l *layout) each(s style, values int) int64 {
	if l.text || l.loose {
		return 0
	}
	return l.fixed(s, 1, values)
}

// least is the size of the smallest line: a digit and a separator or line end for each field, but no end of the last.
func (l *layout) least(width int64) int64 {
	if l.loose {
		return 1
	}
	fields := width
	if l.rowID {
		fields++
	}
	if l.colID {
		fields++
	}
	return 2 * fields
}

// holds reports whether the format stores an element type.
func (l *layout) holds(d matrix.DType) bool {
	switch d {
	case matrix.F64:
		return l.f64.take != nil
	case matrix.F32:
		return l.f32.take != nil
	case matrix.I64:
		return l.i64.take != nil
	}
	return l.i32.take != nil
}

// readOnly reports whether matrices of the format are not written.
func (l *layout) readOnly() bool { return l.csr || l.keyed }

// className is the name to write into metadata.
func (l *layout) className() string {
	if strings.Contains(l.name, ".") {
		return l.name
	}
	return classPath + l.name
}

// find finds a format by its short or full class name.
func (c codec) find(class string) (*layout, error) {
	short := strings.TrimPrefix(class, classPath)
	var known []string
	for _, l := range c.layouts {
		if l.name == short || l.name == class || l.keyed && isEmbedding(class) {
			return l, nil
		}
		known = append(known, l.name)
	}
	what := "format"
	if short != class || !strings.Contains(class, ".") {
		what = "format of Angel"
	}
	return nil, fmt.Errorf("%s %q, want one of %s, or a reader for it (a %s of package angel, given to angel.New; docs/format/custom.md): %w",
		what, class, strings.Join(known, ", "), "RowFormat or ColumnFormat", format.ErrVersion)
}
