package npy

import (
	"fmt"
	"io"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 16 << 20 // bytes
	alignment = 64       // bytes
)

// head is what stands before the values.
type head struct {
	magic   bool // the file begins as one of NumPy's
	version uint8
	text    []byte // the dictionary with its padding
	textOff int64
	dict
	format.Element
	order  wire.Order
	record *format.Record // of a structured array
	labels []string       // its names; nil if they stand for none
	values int64          // byte of the first value
}

// readHead reads and checks everything before the values, and that these fill the rest of the file.
func readHead(o blob.Object) (h head, err error) {
	if err := h.read(o, o.Size()); err != nil {
		return h, err
	}
	return h, h.parse(o.Size())
}

// read reads the text of the header, from a file of some bytes.
func (h *head) read(o io.ReaderAt, size int64) error {
	start := make([]byte, min(12, size))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return err
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
	if c.Err() == nil && n > size-c.Off() {
		c.Fail("header needs %d bytes, %d remain: %w", n, size-c.Off(), wire.ErrTruncated)
	}
	if c.Err() != nil {
		return c.Err()
	}
	h.textOff = c.Off()
	h.values = h.textOff + n
	h.text = make([]byte, n)
	return wire.ReadAt(o, h.text, h.textOff)
}

// parse reads the dictionary and checks it against the size of the file.
func (h *head) parse(size int64) error {
	c := wire.NewCursor(h.text, h.textOff, wire.Little)
	h.dict = parseDict(c, c.Bytes(len(h.text), "header"), h.version)
	if c.Err() != nil {
		return c.Err()
	}
	err := h.types()
	if err != nil {
		return err
	}
	if _, _, err := matrix.Shape(h.Shape(h.shape)); err != nil {
		return &wire.At{Off: h.textOff, Err: err}
	}
	slab := h.slab()
	want, ok := slab.Size()
	switch have := size - h.values; {
	case !ok || want > have:
		return &wire.At{Off: size, Err: fmt.Errorf("values of shape %v, type %v need more than the %d bytes that remain: %w",
			h.shape, h.typeName(), have, wire.ErrTruncated)}
	case want < have:
		return &wire.At{Off: h.values + want, Err: fmt.Errorf("%d bytes behind the values", have-want)}
	}
	return nil
}

// types finds the element types.
func (h *head) types() (err error) {
	if h.fields != nil {
		return h.readRecord()
	}
	if h.Element, h.order, err = parseType(h.descr); err != nil {
		return &wire.At{Off: h.textOff, Err: err}
	}
	return nil
}

// numbers are the types of NumPy that we have.
var numbers = [...]struct {
	text  string
	dtype matrix.DType
	is    string // the name of a type that is none of ours
}{
	{"f2", matrix.F16, ""}, {"f4", matrix.F32, ""}, {"f8", matrix.F64, ""}, {"b1", matrix.Bool, ""},
	{"i1", matrix.I8, ""}, {"i2", matrix.I16, ""}, {"i4", matrix.I32, ""}, {"i8", matrix.I64, ""},
	{"u1", matrix.U8, ""}, {"u2", matrix.U16, ""}, {"u4", matrix.U32, ""}, {"u8", matrix.U64, ""},
	{"c8", matrix.F32, format.Complex64}, {"c16", matrix.F64, format.Complex128},
}

// origins are the types among them that are none of ours.
var origins = []string{format.Complex64, format.Complex128}

// aliases are other names of types that NumPy reads, without those whose size depends on the system.
var aliases = map[string]string{
	"e": "f2", "f": "f4", "d": "f8", "b": "i1", "h": "i2", "i": "i4", "q": "i8", "B": "u1", "H": "u2", "I": "u4", "Q": "u8", "?": "b1",
	"F": "c8", "D": "c16", "float16": "f2", "float32": "f4", "float64": "f8", "bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4",
	"int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8", "complex64": "c8", "complex128": "c16",
}

// parseType reads a type such as "<f4". Without a byte order it has that of the machine, as in NumPy.
func parseType(descr string) (e format.Element, order wire.Order, err error) {
	mark, kind := byte('='), descr
	if descr != "" && strings.IndexByte("<>=|", descr[0]) >= 0 {
		mark, kind = descr[0], descr[1:]
	}
	if kind == "" {
		return e, nil, fmt.Errorf("type %q, want one such as '<f4'", descr)
	}
	if known, ok := aliases[kind]; ok && (len(kind) == 1 || kind == descr) {
		kind = known
	}
	for _, n := range numbers {
		if n.text == kind {
			e = format.Element{DType: n.dtype, Origin: n.is}
		}
	}
	switch {
	case e.DType == matrix.Invalid:
		return e, nil, fmt.Errorf("type %.40q%s, want a number of 1 to 8 bytes, c8, c16 or b1: %w", descr, meaning(kind), format.ErrVersion)
	case mark == '<' || e.DType.Size() == 1 && mark == '|':
		return e, wire.Little, nil
	case mark == '>':
		return e, wire.Big, nil
	case mark == '=':
		return e, wire.NativeOrder, nil
	}
	return e, nil, fmt.Errorf("type %q, want its byte order first: < or >", descr)
}

// meaning says what a type that we do not have is, by the first letter behind its byte order.
func meaning(kind string) string {
	switch kind[0] {
	case 'c':
		return " (long complex numbers)"
	case 'U', 'S', 'a', 'T':
		return " (texts)"
	case 'O':
		return " (objects of Python)"
	case 'M', 'm':
		return " (dates and times)"
	case 'V':
		return " (bytes without a type)"
	case 'f', 'g':
		return " (long floats)"
	}
	return ""
}

// typeText is parseType's inverse for what we write; "" for bf16, which has no name.
func typeText(e format.Element) string {
	for _, n := range numbers {
		if (format.Element{DType: n.dtype, Origin: n.is}) != e {
			continue
		}
		if n.dtype.Size() == 1 {
			return "|" + n.text
		}
		return "<" + n.text
	}
	return ""
}

// dialect says what the file holds in a few words.
func (h *head) dialect() string {
	order := "C order"
	if h.fortran {
		order = "Fortran order"
	}
	if h.fields != nil {
		order = fmt.Sprintf("%d bytes each", h.record.Size)
	}
	return fmt.Sprintf("version %d, %s, %s", h.version, h.typeName(), order)
}

// typeName is the type for people.
func (h *head) typeName() string {
	if h.fields == nil {
		return h.descr
	}
	return fmt.Sprintf("records of %d fields", len(h.record.Fields))
}

// slab is where the values of an array in C order are.
func (h *head) slab() format.Slab {
	rows, cols := h.size()
	return format.Slab{At: matrix.At(0, rows, 0, cols), DType: h.DType, Order: h.order, Off: h.values, Record: h.record}
}

// size is how the array is seen as a matrix. Its shape multiplies to less than 2^63.
func (h *head) size() (rows, cols int64) {
	rows, cols, _ = matrix.Shape(h.Shape(h.shape))
	if h.fields != nil {
		return rows * cols, int64(len(h.record.Fields))
	}
	return rows, cols
}

// meta describes the matrix.
func (h *head) meta(name string) matrix.Meta {
	m := matrix.Meta{Name: name, DType: h.DType, Origin: h.Origin, Labels: h.labels}
	m.Rows, m.Cols = h.size()
	if h.fields == nil {
		m.Dims = h.Shape(h.shape)
		return m
	}
	m.DType = matrix.F64
	if n := h.record.Fields; len(n) > 0 {
		m.DType = n[0].DType
	}
	for _, f := range h.record.Fields {
		if f.DType != m.DType {
			m.DType, m.ColTypes = matrix.F64, make([]matrix.DType, m.Cols)
		}
	}
	for i := range m.ColTypes {
		m.ColTypes[i] = h.record.Fields[i].DType
	}
	return m
}

// notes says what a user should know of how the array was read.
func (h *head) notes() []string {
	all := []string{h.dialect()}
	if h.fields != nil && len(h.shape) != 1 {
		all = append(all, fmt.Sprintf("shape %s of records, read as one row for each", shapeText(h.shape)))
	}
	return all
}
