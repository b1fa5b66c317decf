package blockio

import (
	"fmt"

	"thole.example/matrix"
	"thole.example/wire"
)

// parts are the slices of a block's data without their element type.
type parts struct {
	kind Kind
	ptr  []int
	row  []int64
	col  []int64
	val  []byte // in the machine's byte order
}

// typed does what needs the element type at compile time.
type typed interface {
	parts(d matrix.Data) parts
	// dense and cols make data over the bytes of values: over the bytes themselves if asked for and possible.
	dense(raw []byte, inPlace bool) matrix.Data
	cols(idx []int64, raw []byte, inPlace bool) matrix.Data
	// thin holds cells as CSR or COO, with or without zeros.
	thin(b matrix.Block, k Kind, zeros bool) matrix.Data
	// csrOver is CSR of the cells from lo to hi of CSR data.
	csrOver(d matrix.Data, ptr []int, lo, hi int) matrix.Data
	// survey looks at the values for Narrow.
	survey(d matrix.Data) survey
}

type typedAs[T matrix.Stored] struct{}

func (typedAs[T]) parts(d matrix.Data) parts {
	switch d := d.(type) {
	case *matrix.Dense[T]:
		return parts{kind: Dense, val: wire.View(d.Val)}
	case *matrix.CSR[T]:
		return parts{kind: CSR, ptr: d.Ptr, col: d.Idx, val: wire.View(d.Val)}
	case *matrix.COO[T]:
		return parts{kind: COO, row: d.Row, col: d.Col, val: wire.View(d.Val)}
	case *matrix.Cols[T]:
		return parts{kind: Cols, col: d.Idx, val: wire.View(d.Val)}
	}
	return parts{kind: Empty}
}

func (typedAs[T]) dense(raw []byte, inPlace bool) matrix.Data {
	return &matrix.Dense[T]{Val: numbers[T](raw, inPlace)}
}

func (typedAs[T]) cols(idx []int64, raw []byte, inPlace bool) matrix.Data {
	return &matrix.Cols[T]{Idx: idx, Val: numbers[T](raw, inPlace)}
}

var types = [...]typed{
	matrix.F64: typedAs[float64]{}, matrix.F32: typedAs[float32]{},
	matrix.I64: typedAs[int64]{}, matrix.I32: typedAs[int32]{},
	matrix.I16: typedAs[int16]{}, matrix.I8: typedAs[int8]{},
	matrix.U64: typedAs[uint64]{}, matrix.U32: typedAs[uint32]{},
	matrix.U16: typedAs[uint16]{}, matrix.U8: typedAs[uint8]{},
	matrix.F16: typedAs[matrix.Float16]{}, matrix.BF16: typedAs[matrix.BFloat16]{}, matrix.Bool: typedAs[matrix.Boolean]{},
}

// numbers are the little-endian numbers of raw, whose length is a whole number of them.
func numbers[T wire.Number](raw []byte, inPlace bool) []T {
	if inPlace && wire.NativeOrder == wire.Little {
		if v, ok := wire.Numbers[T](raw); ok {
			return v
		}
	}
	var zero [1]T
	v := make([]T, len(raw)/len(wire.View(zero[:])))
	wire.Get(v, raw, wire.Little)
	return v
}

// split checks the lengths of a block's slices and tells how it will be written.
func (e Encoder) split(b matrix.Block) (h Head, p parts, err error) {
	if b.Data == nil || b.Data.DType().Size() == 0 {
		return h, p, fmt.Errorf("block %v: no data of a known type", b.At)
	}
	if b.At.Rows.Hi < b.At.Rows.Lo || b.At.Cols.Hi < b.At.Cols.Lo {
		return h, p, fmt.Errorf("block %v: reversed range", b.At)
	}
	h = Head{At: b.At, Type: b.Data.DType()}
	p = types[h.Type].parts(b.Data)
	h.Kind = p.kind
	switch p.kind {
	case CSR, COO, Cols:
		h.N = int64(len(p.col))
	}
	if err := e.form(&h); err != nil {
		return h, p, err
	}
	return h, p, p.check(h)
}

// form chooses between the document's form and the wide one.
func (e Encoder) form(h *Head) error {
	rows, cols := sides(h.At)
	const most = 1<<32 - 1
	fits := rows <= most && cols <= most && h.Kind != Cols && (h.Kind != COO || h.N <= most)
	_, coded := Document.Code(h.Type)
	if e.Codes == Extended {
		h.Wide = !fits || !coded || h.Kind == Empty
	} else {
		if !fits {
			return fmt.Errorf("%v block %v, %d stored: the document's form cannot hold it", h.Kind, h.At, h.N)
		}
		if h.At.Rows.Lo < 0 || h.At.Cols.Lo < 0 {
			return fmt.Errorf("block %v: want no place below 0", h.At)
		}
		if _, ok := e.Codes.Code(h.Type); !ok {
			return fmt.Errorf("block of %v: the %v codes have none for it", h.Type, e.Codes)
		}
	}
	var ok bool
	if h.Body, ok = h.body(); !ok {
		return fmt.Errorf("%v block %v: more than 2^63 bytes", h.Kind, h.At)
	}
	return nil
}

// check compares the lengths of the slices with the place.
func (p parts) check(h Head) error {
	rows, _ := sides(h.At)
	size := h.Type.Size()
	values := len(p.val) / size
	switch p.kind {
	case Dense:
		if int64(len(p.val)) != h.Body {
			return fmt.Errorf("dense block %v: %d values", h.At, values)
		}
	case CSR:
		n := len(p.ptr) - 1
		if n < 0 || uint64(n) != rows || p.ptr[0] != 0 || p.ptr[n] != values || len(p.col) != values {
			return fmt.Errorf("CSR block %v: %d row pointers, %d columns, %d values", h.At, n+1, len(p.col), values)
		}
	case COO:
		if len(p.row) != values || len(p.col) != values {
			return fmt.Errorf("COO block %v: %d rows, %d columns, %d values", h.At, len(p.row), len(p.col), values)
		}
	case Cols:
		if int64(len(p.val)+8*len(p.col)) != h.Body {
			return fmt.Errorf("columns block %v: %d columns, %d values", h.At, len(p.col), values)
		}
	}
	return nil
}
