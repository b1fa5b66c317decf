package blockio

import (
	"encoding/binary"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// Size is the number of bytes that Append adds, known without encoding.
func (e Encoder) Size(b matrix.Block) (int, error) {
	h, _, err := e.split(b)
	if err != nil {
		return 0, err
	}
	return h.Len() + int(h.Body), nil
}

// Head is the head that Append writes for b.
func (e Encoder) Head(b matrix.Block) (Head, error) {
	h, _, err := e.split(b)
	if e.Codes != Extended && h.Kind == Empty {
		h.Type = matrix.Invalid
	}
	return h, err
}

// AppendHead appends the bytes of a head, as for a block whose cells the caller writes.
func (e Encoder) AppendHead(dst []byte, h Head) ([]byte, error) { return h.append(dst, e.Codes) }

// Append appends the bytes of b. b is checked as far as its bytes would otherwise be wrong: lengths, row pointers and
// ids outside the place are errors; order and doubles are not looked at.
func (e Encoder) Append(dst []byte, b matrix.Block) ([]byte, error) {
	h, p, err := e.split(b)
	if err != nil {
		return dst, err
	}
	was := len(dst)
	dst = slices.Grow(dst, h.Len()+int(h.Body)+slack)
	if dst, err = h.append(dst, e.Codes); err != nil {
		return dst[:was], err
	}
	if h.interleaved() {
		if dst, err = p.cells(dst, h); err != nil {
			return dst[:was], err
		}
		return dst, nil
	}
	if err := p.inside(h); err != nil {
		return dst[:was], err
	}
	for _, piece := range p.arrays(h) {
		dst = append(dst, piece...)
	}
	return dst, nil
}

// Gather appends to dst slices that are, one after the other, the bytes of b. Arrays that stand in the bytes as in
// memory (dense values, wide indices and values) are views of the slices of b, so b must not change until they are
// written.
func (e Encoder) Gather(dst [][]byte, b matrix.Block) ([][]byte, error) {
	h, p, err := e.split(b)
	if err != nil {
		return dst, err
	}
	n := h.Len()
	if h.interleaved() {
		n += int(h.Body) + slack
	}
	head, err := h.append(make([]byte, 0, n), e.Codes)
	if err != nil {
		return dst, err
	}
	if h.interleaved() {
		if head, err = p.cells(head, h); err != nil {
			return dst, err
		}
		return append(dst, head), nil
	}
	if err := p.inside(h); err != nil {
		return dst, err
	}
	dst = append(dst, head)
	for _, piece := range p.arrays(h) {
		if len(piece) > 0 {
			dst = append(dst, piece)
		}
	}
	return dst, nil
}

// interleaved reports whether indices and values alternate in the bytes.
func (h Head) interleaved() bool { return !h.Wide && (h.Kind == CSR || h.Kind == COO) }

// arrays are the arrays behind the head of a block that is not interleaved.
func (p parts) arrays(h Head) [][]byte {
	switch h.Kind {
	case Dense:
		return [][]byte{little(p.val, h.Type.Size())}
	case CSR:
		counts := make([]byte, 0, 8*(len(p.ptr)-1))
		for i := 1; i < len(p.ptr); i++ {
			counts = binary.LittleEndian.AppendUint64(counts, uint64(p.ptr[i]-p.ptr[i-1]))
		}
		return [][]byte{counts, little(wire.View(p.col), 8), little(p.val, h.Type.Size())}
	case COO:
		return [][]byte{little(wire.View(p.row), 8), little(wire.View(p.col), 8), little(p.val, h.Type.Size())}
	case Cols:
		return [][]byte{little(wire.View(p.col), 8), little(p.val, h.Type.Size())}
	}
	return nil
}

// little is memory in little-endian order: itself, or a copy on a big-endian machine.
func little(b []byte, size int) []byte {
	if wire.NativeOrder == wire.Little {
		return b
	}
	b = slices.Clone(b)
	wire.Swap(b, size, wire.Little)
	return b
}
