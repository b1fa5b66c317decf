package daphne

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// The data types of the header.
const (
	denseMatrix = 1
	csrMatrix   = 2
	frame       = 3
)

var dataTypes = [...]string{denseMatrix: "DenseMatrix", csrMatrix: "CSRMatrix", frame: "Frame"}

const (
	version  = 1
	fixedLen = 18 // of the header, before the value types
)

// header is what stands at the begin of a file.
type header struct {
	data       uint8
	rows, cols int64
	types      []matrix.DType // one; of a frame one for each column
	labels     []string       // of a frame
	garbled    bool           // the labels are not UTF-8
	odd        bool           // the labels hold control characters
	size       int64          // bytes
}

// window reads small pieces of a file in ascending order with few calls.
type window struct {
	src  io.ReaderAt
	size int64
	off  int64
	buf  []byte
	err  error
}

const windowLen = 4096

// at gives n bytes at off, fewer at the end of the file. They are valid until the next call.
func (w *window) at(off int64, n int) []byte {
	if w.err != nil || off >= w.size {
		return nil
	}
	n = int(min(int64(n), w.size-off))
	if off < w.off || off+int64(n) > w.off+int64(len(w.buf)) {
		ahead := windowLen
		if w.buf != nil && off-w.off-int64(len(w.buf)) > windowLen {
			ahead = 0 // from head to head of large blocks
		}
		want := int(min(int64(max(n, ahead)), w.size-off))
		if cap(w.buf) < want {
			w.buf = make([]byte, want)
		}
		w.buf, w.off = w.buf[:want], off
		if w.err = wire.ReadAt(w.src, w.buf, off); w.err != nil {
			w.buf = nil
			return nil
		}
	}
	return w.buf[off-w.off:][:n]
}

// cursor reads n bytes at off, fewer at the end of the file.
func (w *window) cursor(off int64, n int) *wire.Cursor {
	return wire.NewCursor(w.at(off, n), off, wire.Little)
}

// readHeader reads the header of the document's layout with the value-type codes of a dialect.
func readHeader(w *window, codes blockio.Codes) (h header, err error) {
	c := w.cursor(0, fixedLen+1)
	v := c.U8("version")
	h.data = c.U8("data type")
	rows, cols := c.U64("rows"), c.U64("columns")
	if c.Err() == nil && v != version {
		return h, &wire.At{Off: 0, Err: fmt.Errorf("version %d, want 1: %w", v, format.ErrVersion)}
	}
	if c.Err() == nil && (h.data < denseMatrix || h.data > frame) {
		c.FailAt(1, "data type %d, want 1..3", h.data)
	}
	if rows > math.MaxInt64 || cols > math.MaxInt64 {
		c.FailAt(2, "%d x %d: more than 2^63-1 rows or columns", rows, cols)
	}
	h.rows, h.cols = int64(rows), int64(cols)
	if h.data == frame {
		if c.Err() != nil {
			return h, c.Err()
		}
		return h, h.readFrame(w, codes)
	}
	code := c.U8("value type")
	h.types, h.size = []matrix.DType{codes.DType(code)}, fixedLen+1
	if h.types[0] == matrix.Invalid {
		c.FailAt(fixedLen, "value type %d, want a code of the %v layout", code, codes)
	}
	return h, c.Err()
}

// readFrame reads the value types and labels. Every column takes three bytes at least, which bounds their number.
func (h *header) readFrame(w *window, codes blockio.Codes) error {
	if h.cols > (w.size-fixedLen)/3 {
		return &wire.At{Off: 10, Err: fmt.Errorf("a frame of %d columns in %d bytes: %w", h.cols, w.size, wire.ErrTruncated)}
	}
	h.size = fixedLen + h.cols
	h.types, h.labels = make([]matrix.DType, h.cols), make([]string, h.cols)
	for i := range h.types {
		code := w.at(fixedLen+int64(i), 1)
		if w.err != nil {
			return w.err
		}
		if h.types[i] = codes.DType(code[0]); h.types[i] == matrix.Invalid {
			return &wire.At{Off: fixedLen + int64(i), Err: fmt.Errorf("value type %d of column %d", code[0], i)}
		}
	}
	for i := range h.labels {
		c := w.cursor(h.size, 2)
		n := int(c.U16("label length"))
		c = w.cursor(h.size+2, n)
		label := c.Bytes(n, "label")
		if w.err != nil || c.Err() != nil {
			return firstError(w.err, c.Err())
		}
		h.labels[i] = string(label)
		h.garbled = h.garbled || !utf8.Valid(label)
		h.odd = h.odd || strings.ContainsFunc(h.labels[i], unicode.IsControl)
		h.size += 2 + int64(n)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// append appends the header in the document's layout.
func (h header) append(dst []byte, codes blockio.Codes) ([]byte, error) {
	le := binary.LittleEndian
	dst = append(dst, version, h.data)
	dst = le.AppendUint64(dst, uint64(h.rows))
	dst = le.AppendUint64(dst, uint64(h.cols))
	for _, t := range h.types {
		code, ok := codes.Code(t)
		if !ok {
			return dst, fmt.Errorf("values of %v: the %v layout has no code for them", t, codes)
		}
		dst = append(dst, code)
	}
	for _, l := range h.labels {
		if len(l) > math.MaxUint16 {
			return dst, fmt.Errorf("label of %d bytes, want at most %d: %w", len(l), math.MaxUint16, format.ErrLimit)
		}
		dst = append(le.AppendUint16(dst, uint16(len(l))), l...)
	}
	return dst, nil
}

// rect is the place of the whole matrix.
func (h header) rect() matrix.Rect { return matrix.At(0, h.rows, 0, h.cols) }

// colType is the value type of a column.
func (h header) colType(c int64) matrix.DType {
	switch {
	case len(h.types) == 0: // a frame without columns
		return matrix.F64
	case h.data == frame:
		return h.types[c]
	}
	return h.types[0]
}

// meta describes the matrix.
func (h header) meta(name string) matrix.Meta {
	m := matrix.Meta{Name: name, Unnamed: true, Rows: h.rows, Cols: h.cols}
	switch h.data {
	case frame:
		m.ColTypes, m.DType = h.types, common(h.types)
		if !h.garbled {
			m.Labels = h.labels
		}
	case csrMatrix:
		m.Layout = matrix.RowSparse
		fallthrough
	default:
		m.DType = h.types[0]
	}
	return m
}

// cells is how many cells the blocks store, as far as their heads tell: 0 if they cannot be.
func (f *file) cells() (n int64) {
	for _, e := range f.blocks {
		k := e.N
		if e.as == asBlock && e.Kind == blockio.Dense {
			k, _ = e.At.Cells()
		}
		if n += k; n < 0 {
			return 0
		}
	}
	return n
}

// common is the type that holds the values of all, f64 if that is not one of theirs.
func common(types []matrix.DType) matrix.DType {
	if len(types) == 0 {
		return matrix.F64
	}
	for _, t := range types[1:] {
		if t != types[0] {
			return matrix.F64
		}
	}
	return types[0]
}
