package mtx

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/wire"
)

// banner begins every file, and own the comment of our writer.
const (
	banner = "%%MatrixMarket"
	own    = "%thole"
)

// rankLimit is the largest number of dimensions that our comment keeps.
const rankLimit = 255

// field is what the values of a file are.
type field struct {
	word  string
	dtype matrix.DType
	parts int64 // numbers of a value
}

var fields = [...]field{
	{"real", matrix.F64, 1}, {"double", matrix.F64, 1}, {"complex", matrix.F64, 2},
	{"integer", matrix.I64, 1}, {"unsigned-integer", matrix.U64, 1}, {"pattern", matrix.I8, 1},
}

// The symmetries that we have.
const (
	general   = "general"
	symmetric = "symmetric"
	skew      = "skew-symmetric"
	hermitian = "hermitian"
)

// head is what stands before the values.
type head struct {
	looks    bool // the file begins like one of the format
	array    bool
	field    field
	symmetry string
	rows     int64
	cols     int64 // of the file; the matrix has width
	stored   int64 // entries, or values of an array, that the file has
	dtype    matrix.DType
	dims     []int64
	ours     bool   // our writer's comment is there
	note     string // of our comment, if it does not fit

	lines  int64 // before the first value
	values int64 // byte behind them
	size   int64 // of the file
	sizes  [2]int64
}

// readHead reads everything before the values, and checks that so many can follow.
func readHead(ctx context.Context, o blob.Object) (h head, err error) {
	h.size = o.Size()
	start := make([]byte, min(int64(len(banner)), h.size))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return h, err
	}
	if !strings.EqualFold(string(start), banner) {
		return h, &wire.At{Off: 0, Err: fmt.Errorf("%q, want %s", start, banner)}
	}
	h.looks = true
	for l, err := range format.ReadLines(ctx, o, 0, h.size) {
		if err != nil {
			return h, err
		}
		off := l.Off
		for line := range bytes.Lines(l.Text) {
			done, err := h.line(off, line)
			if err != nil {
				return h, &wire.At{Off: off, Err: fmt.Errorf("line %d: %w", h.lines+1, err)}
			}
			h.lines++
			if off = min(off+int64(len(line)), h.size); done {
				h.values = off
				return h, h.room()
			}
		}
	}
	return h, &wire.At{Off: h.size, Err: fmt.Errorf("no line with the size: %w", wire.ErrTruncated)}
}

// line reads one line of the head; done says that it was the last.
func (h *head) line(off int64, line []byte) (done bool, err error) {
	text := strings.TrimRight(string(line[:min(len(line), 1<<16)]), " \t\r\n")
	switch {
	case h.lines == 0:
		return false, h.kind(text)
	case h.lines == 1 && (text == own || strings.HasPrefix(text, own+" ")):
		h.note, h.ours = text, true
		return false, nil
	case text == "" || text[0] == '%':
		return false, nil
	}
	h.sizes = [2]int64{off, off + int64(len(text))}
	if err := h.shape(text); err != nil {
		return false, err
	}
	h.own()
	return true, nil
}

// kind reads the first line.
func (h *head) kind(text string) error {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != 5 || words[0] != strings.ToLower(banner) {
		return fmt.Errorf("%.80q, want %s and four words", text, banner)
	}
	if words[1] != "matrix" {
		return fmt.Errorf("object %.20q, want matrix: %w", words[1], format.ErrVersion)
	}
	if h.array = words[2] == "array"; !h.array && words[2] != "coordinate" {
		return fmt.Errorf("kind %.20q, want coordinate or array: %w", words[2], format.ErrVersion)
	}
	for _, f := range fields {
		if f.word == words[3] {
			h.field = f
		}
	}
	switch h.symmetry = words[4]; {
	case h.field.word == "":
		return fmt.Errorf("field %.20q, want real, complex, integer or pattern: %w", words[3], format.ErrVersion)
	case h.symmetry != general && h.symmetry != symmetric && h.symmetry != skew && h.symmetry != hermitian:
		return fmt.Errorf("symmetry %.20q, want general, symmetric, skew-symmetric or hermitian: %w", words[4], format.ErrVersion)
	case h.array && h.field.word == "pattern":
		return fmt.Errorf("an array of a pattern, want values")
	case h.symmetry == skew && (h.field.word == "pattern" || h.field.dtype == matrix.U64):
		return fmt.Errorf("skew-symmetric %s, want values with a sign", h.field.word)
	}
	return nil
}

// shape reads the line of the size.
func (h *head) shape(text string) error {
	into, b := []*int64{&h.rows, &h.cols, &h.stored}, []byte(text)
	if h.array {
		into = into[:2]
	}
	for _, v := range into {
		b = bytes.TrimLeft(b, " \t")
		u, n, ok := number.ParseUint64(b)
		if !ok || u > 1<<63-1 || n < len(b) && b[n] != ' ' && b[n] != '\t' {
			return fmt.Errorf("%.80q, want %d sizes from 0 to 2^63-1", text, len(into))
		}
		*v, b = int64(u), b[n:]
	}
	if len(bytes.Trim(b, " \t")) > 0 {
		return fmt.Errorf("%.80q, want %d sizes", text, len(into))
	}
	if h.symmetry != general && h.rows != h.cols {
		return fmt.Errorf("%d x %d and %s, want as many columns as rows", h.rows, h.cols, h.symmetry)
	}
	if h.cols > math.MaxInt64/h.field.parts {
		return fmt.Errorf("%d columns of %s values, want fewer: %w", h.cols, h.field.word, format.ErrLimit)
	}
	if !h.array {
		return nil
	}
	_, fits := matrix.Cells(h.rows, h.width())
	cells, ok := matrix.Cells(h.rows, h.cols)
	if !ok || !fits {
		return fmt.Errorf("array of %d x %d, want below 2^63 cells: %w", h.rows, h.cols, format.ErrLimit)
	}
	switch h.stored = cells; h.symmetry {
	case symmetric, hermitian:
		h.stored = cells - (cells-h.rows)/2
	case skew:
		h.stored = (cells - h.rows) / 2
	}
	return nil
}

// width is how many columns the matrix has: two for each of complex values.
func (h *head) width() int64 { return h.cols * h.field.parts }

// room checks that the file is long enough for what follows.
func (h *head) room() error {
	least := h.field.parts * int64(len("1\n"))
	switch {
	case h.array:
	case h.field.word == "pattern":
		least = int64(len("1 1\n"))
	default:
		least += int64(len("1 1 "))
	}
	if left := h.size - h.values + 1; h.stored > left/least { // the last line feed may be missing
		return &wire.At{Off: h.sizes[0], Err: fmt.Errorf("line %d: %d values, but %d bytes remain: %w",
			h.lines, h.stored, left-1, wire.ErrTruncated)}
	}
	return nil
}

// own takes element type and shape from our comment, if it has one that fits the rest.
func (h *head) own() {
	h.dtype = h.field.dtype
	if h.field.parts == 2 {
		h.dims = []int64{h.rows, h.cols, 2}
	}
	text := h.note
	h.note = ""
	if text == "" {
		return
	}
	for _, word := range strings.Fields(text)[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "dtype":
			d, err := matrix.ParseDType(value)
			if err != nil || d.Float() != h.field.dtype.Float() || h.field.word == "pattern" || d == matrix.U64 != (h.field.dtype == matrix.U64) ||
				h.field.parts == 2 && d != matrix.F64 && d != matrix.F32 {
				h.note = fmt.Sprintf("comment on line 2 not heeded: %q of %s values", word, h.field.word)
				continue
			}
			h.dtype = d
		case "shape":
			dims, err := parseShape(value)
			if rows, cols, bad := matrix.Shape(dims); err != nil || bad != nil || rows != h.rows || cols != h.width() ||
				h.field.parts == 2 && (len(dims) == 0 || dims[len(dims)-1] != 2) {
				h.note = fmt.Sprintf("comment on line 2 not heeded: %.80q of %d x %d", word, h.rows, h.cols)
				continue
			}
			h.dims = dims
		}
	}
}

// element is the type of the values.
func (h *head) element() format.Element {
	e := format.Element{DType: h.dtype}
	if h.field.parts == 2 {
		if e.Origin = format.Complex128; h.dtype == matrix.F32 {
			e.Origin = format.Complex64
		}
	}
	return e
}

func parseShape(text string) ([]int64, error) {
	dims := []int64{}
	if text == "" {
		return dims, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || len(dims) == rankLimit {
			return nil, fmt.Errorf("size %q", word)
		}
		dims = append(dims, n)
	}
	return dims, nil
}

// dialect says what the file holds in a few words.
func (h *head) dialect() string {
	kind := "coordinate"
	if h.array {
		kind = "array"
	}
	return fmt.Sprintf("%s %s %s", kind, h.field.word, h.symmetry)
}
