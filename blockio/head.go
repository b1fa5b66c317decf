package blockio

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"thole.example/matrix"
	"thole.example/wire"
)

// Kind is how the cells of a block are held. The numbers up to COO are the document's block types.
type Kind uint8

// The kinds of blocks.
const (
	Empty Kind = iota
	Dense
	CSR
	COO
	Cols
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"empty", "dense", "CSR", "COO", "columns", "unknown"}[min(k, Cols+1)]
}

const (
	wideBit  = 0x80
	plainLen = 25 // position, rows, columns, block type
	wideLen  = 56
)

// MaxHead is the most bytes that the head of a block takes.
const MaxHead = wideLen

// Head is what stands before the cells of a block.
type Head struct {
	At   matrix.Rect
	Kind Kind
	Wide bool         // the wide form
	Type matrix.DType // Invalid: an empty block in the document's form, which does not say its type
	N    int64        // stored cells of CSR and COO, columns of Cols, else 0
	Body int64        // bytes of the cells behind the head
}

// Len is the number of bytes of the head itself.
func (h Head) Len() int {
	switch {
	case h.Wide:
		return wideLen
	case h.Kind == Empty:
		return plainLen
	case h.Kind == CSR:
		return plainLen + 1 + 8
	case h.Kind == COO:
		return plainLen + 1 + 4
	}
	return plainLen + 1
}

// sides are the rows and columns, right for every range of int64.
func sides(at matrix.Rect) (rows, cols uint64) {
	return uint64(at.Rows.Hi - at.Rows.Lo), uint64(at.Cols.Hi - at.Cols.Lo)
}

// single reports whether COO cells are stored without their column.
func (h Head) single() bool { return !h.Wide && h.At.Cols.Hi-h.At.Cols.Lo == 1 }

// cell is the bytes of one stored cell of CSR and COO.
func (h Head) cell() uint64 {
	size := uint64(h.Type.Size())
	switch {
	case h.Kind == CSR && !h.Wide, h.Kind == COO && h.single():
		return 4 + size
	case h.Kind == CSR, h.Kind == COO && !h.Wide:
		return 8 + size
	}
	return 16 + size
}

// body is the bytes of the cells; ok is false if they are more than an int64 counts.
func (h Head) body() (n int64, ok bool) {
	rows, cols := sides(h.At)
	count, size := uint64(h.N), uint64(h.Type.Size())
	var fixed, each uint64 // fixed + count*each
	ok = true
	switch h.Kind {
	case Dense:
		count, ok = mul(rows, cols)
		each = size
	case CSR:
		perRow := uint64(4)
		if h.Wide {
			perRow = 8
		}
		fixed, ok = mul(rows, perRow)
		each = h.cell()
	case COO:
		each = h.cell()
	case Cols:
		each, ok = mul(rows, size)
		each += 8
	}
	total, fits := mul(count, each)
	sum, carry := bits.Add64(total, fixed, 0)
	if !ok || !fits || carry != 0 || sum > math.MaxInt64-wideLen {
		return 0, false
	}
	return int64(sum), true
}

func mul(a, b uint64) (n uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	return lo, hi == 0 && lo < 1<<63
}

// append appends the head.
func (h Head) append(dst []byte, codes Codes) ([]byte, error) {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, uint64(h.At.Rows.Lo))
	dst = le.AppendUint64(dst, uint64(h.At.Cols.Lo))
	vt, ok := codes.Code(h.Type)
	if !ok && h.Type != matrix.Invalid {
		return dst, fmt.Errorf("block of %v: the %v codes have none for it", h.Type, codes)
	}
	if h.Wide {
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, wideBit|byte(h.Kind), vt, 0, 0, 0, 0, 0, 0)
		dst = le.AppendUint64(dst, uint64(h.At.Rows.Hi))
		dst = le.AppendUint64(dst, uint64(h.At.Cols.Hi))
		return le.AppendUint64(dst, uint64(h.N)), nil
	}
	rows, cols := sides(h.At)
	dst = le.AppendUint32(dst, uint32(rows))
	dst = le.AppendUint32(dst, uint32(cols))
	dst = append(dst, byte(h.Kind))
	if h.Kind == Empty {
		return dst, nil
	}
	dst = append(dst, vt)
	switch h.Kind {
	case CSR:
		dst = le.AppendUint64(dst, uint64(h.N))
	case COO:
		dst = le.AppendUint32(dst, uint32(h.N))
	}
	return dst, nil
}

// Head reads the head of a block and leaves the cursor at the first byte of the cells. It does not look whether the
// cells are there.
func (d Decoder) Head(c *wire.Cursor) (Head, error) {
	off := c.Off()
	b := c.Bytes(plainLen, "block header")
	if b == nil {
		return Head{}, c.Err()
	}
	le := binary.LittleEndian
	h := Head{Kind: Kind(b[24] &^ wideBit), Wide: b[24]&wideBit != 0}
	row, col := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	if h.Kind > Cols || h.Kind == Cols && !h.Wide || h.Wide && d.Codes != Extended {
		want := "0..3"
		if d.Codes == Extended {
			want = "0..3, 128..132"
		}
		c.FailAt(off+24, "block type %d, want %s", b[24], want)
		return Head{}, c.Err()
	}
	if h.Wide {
		d.wideHead(c, &h, b, row, col)
	} else {
		rows, cols := int64(le.Uint32(b[16:])), int64(le.Uint32(b[20:]))
		h.At = matrix.At(row, row+rows, col, col+cols)
		if row+rows < row || col+cols < col || d.Codes != Extended && (row < 0 || col < 0) {
			c.FailAt(off, "block of %d x %d at row %d, column %d: beyond int64", rows, cols, uint64(row), uint64(col))
		}
		d.plainHead(c, &h)
	}
	if c.Err() == nil {
		var ok bool
		if h.Body, ok = h.body(); !ok {
			c.FailAt(off, "block %v of %v, %d stored: more than 2^63 bytes", h.At, h.Type, h.N)
		}
	}
	if c.Err() != nil {
		return Head{}, c.Err()
	}
	return h, nil
}

func (d Decoder) plainHead(c *wire.Cursor, h *Head) {
	if h.Kind == Empty {
		return
	}
	d.valueType(c, h, c.Off(), c.U8("block value type"))
	switch h.Kind {
	case CSR:
		if b := c.Bytes(8, "number of non-zeros"); b != nil {
			h.N = d.count(c, binary.LittleEndian.Uint64(b), h.At)
		}
	case COO:
		if b := c.Bytes(4, "number of non-zeros"); b != nil {
			h.N = d.count(c, uint64(binary.LittleEndian.Uint32(b)), h.At)
		}
	}
}

func (d Decoder) wideHead(c *wire.Cursor, h *Head, b []byte, row, col int64) {
	le := binary.LittleEndian
	off := c.Off()
	w := c.Bytes(wideLen-plainLen, "wide block header")
	if w == nil {
		return
	}
	if le.Uint64(b[16:]) != 0 || [6]byte(w[1:]) != [6]byte{} {
		c.FailAt(off, "wide block: want 0 in the unused bytes")
	}
	d.valueType(c, h, off, w[0])
	h.At = matrix.At(row, int64(le.Uint64(w[7:])), col, int64(le.Uint64(w[15:])))
	if h.At.Rows.Hi < h.At.Rows.Lo || h.At.Cols.Hi < h.At.Cols.Lo {
		c.FailAt(off, "block %v: reversed range", h.At)
		return
	}
	n := le.Uint64(w[23:])
	switch h.Kind {
	case CSR, COO:
		h.N = d.count(c, n, h.At)
	case Cols:
		if _, cols := sides(h.At); n > cols || n > math.MaxInt64 {
			c.FailAt(off+23, "%d selected columns, want at most %d", n, cols)
		}
		h.N = int64(n)
	default:
		if n != 0 {
			c.FailAt(off+23, "%d stored cells in a block of kind %v, want 0", n, h.Kind)
		}
	}
}

func (d Decoder) valueType(c *wire.Cursor, h *Head, off int64, code uint8) {
	if h.Type = d.Codes.DType(code); h.Type == matrix.Invalid {
		c.FailAt(off, "value type %d, want a code of %s", code, d.Codes.list())
	}
}

// list says which codes there are.
func (c Codes) list() string {
	return [...]string{Extended: "1..10, 16..18", Document: "1..10", Daphne: "0..7"}[c]
}

// count checks a number of stored cells against the size of the block.
func (d Decoder) count(c *wire.Cursor, n uint64, at matrix.Rect) int64 {
	rows, cols := sides(at)
	hi, cells := bits.Mul64(rows, cols)
	if n > math.MaxInt64 || hi == 0 && n > cells {
		c.Fail("%d stored cells in a block of %d x %d", n, rows, cols)
		return 0
	}
	return int64(n)
}
