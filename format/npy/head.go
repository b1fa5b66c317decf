package npy

import (
	"fmt"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 20 // bytes
	alignment = 64      // bytes
)

// head is what stands before the values.
type head struct {
	magic   bool // the file begins as one of NumPy's
	version uint8
	text    []byte // the dictionary with its padding
	textOff int64
	dict
	dtype  matrix.DType
	order  wire.Order
	values int64 // byte of the first value
}

// readHead reads and checks everything before the values, and that these fill the rest of the file.
func readHead(o blob.Object) (h head, err error) {
	start := make([]byte, min(12, o.Size()))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return h, err
	}
	c := wire.NewCursor(start, 0, wire.Little)
	if got := c.Bytes(len(magic), "magic"); c.Err() == nil && string(got) != magic {
		c.FailAt(0, "% x, want % x", got, magic)
	}
	h.magic = c.Err() == nil
	h.version = c.U8("version")
	if minor := c.U8("minor version"); c.Err() == nil && (h.version < 1 || h.version > 3 || minor != 0) {
		c.FailAt(6, "version %d.%d, want 1.0, 2.0 or 3.0: %w", h.version, minor, format.ErrVersion)
	}
	var n int64
	if h.version == 1 {
		n = int64(c.U16("header length"))
	} else {
		n = int64(c.U32("header length"))
	}
	if c.Err() == nil && n > maxHeader {
		c.Fail("header of %d bytes, want at most %d: %w", n, maxHeader, format.ErrLimit)
	}
	if c.Err() == nil && n > o.Size()-c.Off() {
		c.Fail("header needs %d bytes, %d remain: %w", n, o.Size()-c.Off(), wire.ErrTruncated)
	}
	if c.Err() != nil {
		return h, c.Err()
	}
	h.textOff = c.Off()
	h.values = h.textOff + n
	h.text = make([]byte, n)
	if err := wire.ReadAt(o, h.text, h.textOff); err != nil {
		return h, err
	}
	return h, h.parse(o.Size())
}

// parse reads the dictionary and checks it against the size of the file.
func (h *head) parse(size int64) error {
	c := wire.NewCursor(h.text, h.textOff, wire.Little)
	h.dict = parseDict(c, c.Bytes(len(h.text), "header"))
	if c.Err() != nil {
		return c.Err()
	}
	var err error
	if h.dtype, h.order, err = parseType(h.descr); err != nil {
		return &wire.At{Off: h.textOff, Err: err}
	}
	rows, cols, err := matrix.Shape(h.shape)
	if err != nil {
		return &wire.At{Off: h.textOff, Err: err}
	}
	cells, _ := matrix.Cells(rows, cols) // Shape has checked it
	want, ok := matrix.Cells(cells, int64(h.dtype.Size()))
	switch have := size - h.values; {
	case !ok || want > have:
		return &wire.At{Off: size, Err: fmt.Errorf("values of shape %v, type %v need more than the %d bytes that remain: %w",
			h.shape, h.descr, have, wire.ErrTruncated)}
	case want < have:
		return &wire.At{Off: h.values + want, Err: fmt.Errorf("%d bytes behind the values", have-want)}
	}
	return nil
}

// numbers are the types of NumPy that we have.
var numbers = [...]struct {
	text  string
	dtype matrix.DType
}{
	{"f2", matrix.F16}, {"f4", matrix.F32}, {"f8", matrix.F64}, {"b1", matrix.Bool},
	{"i1", matrix.I8}, {"i2", matrix.I16}, {"i4", matrix.I32}, {"i8", matrix.I64},
	{"u1", matrix.U8}, {"u2", matrix.U16}, {"u4", matrix.U32}, {"u8", matrix.U64},
}

// parseType reads a type such as "<f4".
func parseType(descr string) (matrix.DType, wire.Order, error) {
	if len(descr) < 2 {
		return 0, nil, fmt.Errorf("type %q, want one such as '<f4'", descr)
	}
	d := matrix.Invalid
	for _, n := range numbers {
		if n.text == descr[1:] {
			d = n.dtype
		}
	}
	switch mark := descr[0]; {
	case d == matrix.Invalid:
		return 0, nil, fmt.Errorf("type %.40q, want a number of 1 to 8 bytes or b1: %w", descr, format.ErrVersion)
	case mark == '<' || mark == '|' && d.Size() == 1:
		return d, wire.Little, nil
	case mark == '>':
		return d, wire.Big, nil
	case mark == '=':
		return d, wire.NativeOrder, nil
	}
	return 0, nil, fmt.Errorf("type %q, want its byte order first: < or >", descr)
}

// typeText is parseType's inverse for what we write; "" for bf16, which has no name.
func typeText(d matrix.DType) string {
	for _, n := range numbers {
		if n.dtype == d && d.Size() == 1 {
			return "|" + n.text
		}
		if n.dtype == d {
			return "<" + n.text
		}
	}
	return ""
}

// dialect says what the file holds in a few words.
func (h *head) dialect() string {
	order := "C order"
	if h.fortran {
		order = "Fortran order"
	}
	return fmt.Sprintf("version %d, %s, %s", h.version, h.descr, order)
}

// slab is where the values of an array in C order are.
func (h *head) slab() format.Slab {
	rows, cols, _ := matrix.Shape(h.shape)
	return format.Slab{At: matrix.At(0, rows, 0, cols), DType: h.dtype, Order: h.order, Off: h.values}
}
