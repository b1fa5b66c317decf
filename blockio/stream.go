package blockio

import (
	"fmt"
	"runtime"
	"slices"

	"thole.example/matrix"
)

// streamBytes is about how many bytes of interleaved cells Stream makes at a time; they stay in the processor's cache
// until they are written.
const streamBytes = 1 << 20

// Stream calls emit with the bytes of b, piece by piece, and holds only a few MiB of them at once besides the slices of
// b. A piece is valid until emit returns. The first error of emit ends the walk and is returned.
func (e Encoder) Stream(b matrix.Block, emit func([]byte) error) error {
	h, p, err := e.split(b)
	if err != nil {
		return err
	}
	head, err := h.append(make([]byte, 0, MaxHead), e.Codes)
	if err != nil {
		return err
	}
	if h.interleaved() {
		if err := emit(head); err != nil {
			return err
		}
		return p.stream(h, emit)
	}
	if err := p.inside(h); err != nil {
		return err
	}
	for _, piece := range append([][]byte{head}, p.arrays(h)...) {
		if len(piece) == 0 {
			continue
		}
		if err := emit(piece); err != nil {
			return err
		}
	}
	return nil
}

// stream emits the cells of CSR or COO a MiB at a time. While a piece is emitted the next ones are made.
func (p parts) stream(h Head, emit func([]byte) error) error {
	type piece struct {
		bytes []byte
		err   error
	}
	var made []chan piece // in the order of the cells
	defer func() {
		for _, one := range made {
			<-one
		}
	}()
	var free [][]byte
	give := func() error {
		first := <-made[0]
		made = made[1:]
		if first.err != nil {
			return first.err
		}
		free = append(free, first.bytes)
		return emit(first.bytes)
	}
	for first, end := 0, p.units(h); first < end; {
		some, n, err := p.some(&h, first)
		if err != nil {
			return err
		}
		var buf []byte
		if len(free) > 0 {
			buf, free = free[0], free[1:]
		}
		one, h := make(chan piece, 1), h
		encode := func() {
			out, err := some.cells(slices.Grow(buf[:0], int(h.Body)+slack), h)
			one <- piece{out, err}
		}
		made = append(made, one)
		if first += n; first == end && len(made) == 1 {
			encode() // the only piece, most often
		} else {
			go encode()
		}
		if len(made) > runtime.GOMAXPROCS(0) {
			if err := give(); err != nil {
				return err
			}
		}
	}
	for len(made) > 0 {
		if err := give(); err != nil {
			return err
		}
	}
	return nil
}

// units is what some counts: rows of CSR, cells of COO.
func (p parts) units(h Head) int {
	if h.Kind == CSR {
		return len(p.ptr) - 1
	}
	return len(p.row)
}

// some is the part of p from a row or cell on that makes about streamBytes, and how many rows or cells it has. It sets
// the bytes in h.
func (p parts) some(h *Head, first int) (parts, int, error) {
	cell := int(h.cell())
	if h.Kind == COO {
		n := min(streamBytes/cell, len(p.row)-first)
		size := h.Type.Size()
		p.row, p.col, p.val = p.row[first:first+n], p.col[first:first+n], p.val[first*size:(first+n)*size]
		h.Body = int64(n * cell)
		return p, n, nil
	}
	last, bytes := first, 0
	for last < len(p.ptr)-1 && bytes < streamBytes {
		count := p.ptr[last+1] - p.ptr[last]
		if count < 0 || count > len(p.col) {
			return p, 0, fmt.Errorf("CSR block %v: row pointer %d after %d", h.At, p.ptr[last+1], p.ptr[last])
		}
		bytes += 4 + count*cell
		last++
	}
	p.ptr = p.ptr[first : last+1]
	h.Body = int64(bytes)
	return p, last - first, nil
}
