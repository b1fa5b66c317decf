package blockio

import (
	"encoding/binary"
	"fmt"

	"thole.example/wire"
)

// slack is how many bytes behind the last cell may be written to: values go out as 8 bytes each, whatever their size,
// and the next cell writes over what is too much. That makes one loop serve all sizes.
const slack = 8

// bitsOf is a value as its bits.
type bitsOf interface {
	uint8 | uint16 | uint32 | uint64
}

// cells appends the interleaved cells of the document's CSR or COO; dst has room for them and slack bytes more.
func (p parts) cells(dst []byte, h Head) ([]byte, error) {
	switch h.Type.Size() {
	case 1:
		return appendCells[uint8](dst, p, h)
	case 2:
		return appendCells[uint16](dst, p, h)
	case 4:
		return appendCells[uint32](dst, p, h)
	}
	return appendCells[uint64](dst, p, h)
}

func appendCells[U bitsOf](dst []byte, p parts, h Head) ([]byte, error) {
	val, _ := wire.Numbers[U](p.val) // memory of a []T with T as large as U
	at := len(dst)
	dst = dst[:at+int(h.Body)+slack]
	out := dst[at:]
	var err error
	switch {
	case h.Kind == CSR:
		err = putCSR(out, p, val, h)
	case h.single():
		err = putColumn(out, p, val, h)
	default:
		err = putCOO(out, p, val, h)
	}
	return dst[:at+int(h.Body)], err
}

func putCSR[U bitsOf](out []byte, p parts, val []U, h Head) error {
	le := binary.LittleEndian
	_, width := sides(h.At)
	first, step, o := uint64(h.At.Cols.Lo), int(h.cell()), 0
	for i := 1; i < len(p.ptr); i++ {
		lo, hi := p.ptr[i-1], p.ptr[i]
		if lo > hi || hi > len(val) {
			return fmt.Errorf("CSR block %v: row pointer %d after %d", h.At, hi, lo)
		}
		le.PutUint32(out[o:], uint32(hi-lo))
		o += 4
		idx := p.col[lo:hi]
		for k, v := range val[lo:hi] {
			rel := uint64(idx[k]) - first
			if rel >= width {
				return fmt.Errorf("CSR block %v: column %d outside", h.At, idx[k])
			}
			cell := out[o : o+12]
			le.PutUint32(cell, uint32(rel))
			le.PutUint64(cell[4:], uint64(v))
			o += step
		}
	}
	return nil
}

func putCOO[U bitsOf](out []byte, p parts, val []U, h Head) error {
	le := binary.LittleEndian
	height, width := sides(h.At)
	first, step, o := uint64(h.At.Cols.Lo), int(h.cell()), 0
	for k, v := range val {
		row, rel := uint64(p.row[k]), uint64(p.col[k])-first
		if row >= height || rel >= width {
			return fmt.Errorf("COO block %v: cell (%d,%d) outside", h.At, p.row[k], p.col[k])
		}
		cell := out[o : o+16]
		le.PutUint64(cell, row|rel<<32)
		le.PutUint64(cell[8:], uint64(v))
		o += step
	}
	return nil
}

func putColumn[U bitsOf](out []byte, p parts, val []U, h Head) error {
	le := binary.LittleEndian
	height, _ := sides(h.At)
	step, o := int(h.cell()), 0
	for k, v := range val {
		row := uint64(p.row[k])
		if row >= height || p.col[k] != h.At.Cols.Lo {
			return fmt.Errorf("COO block %v: cell (%d,%d) outside", h.At, p.row[k], p.col[k])
		}
		cell := out[o : o+12]
		le.PutUint32(cell, uint32(row))
		le.PutUint64(cell[4:], uint64(v))
		o += step
	}
	return nil
}

// inside checks the ids of a wide block against its place.
func (p parts) inside(h Head) error {
	for i := 1; i < len(p.ptr); i++ {
		if p.ptr[i] < p.ptr[i-1] {
			return fmt.Errorf("CSR block %v: row pointer %d after %d", h.At, p.ptr[i], p.ptr[i-1])
		}
	}
	rows := h.At.Rows.Len() // at most what an int64 counts, however far the block reaches
	for _, r := range p.row {
		if r < 0 || r >= rows {
			return fmt.Errorf("%v block %v: row %d outside", h.Kind, h.At, r)
		}
	}
	for _, c := range p.col {
		if !h.At.Cols.Has(c) {
			return fmt.Errorf("%v block %v: column %d outside", h.Kind, h.At, c)
		}
	}
	return nil
}
