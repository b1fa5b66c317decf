package shard

import (
	"errors"
	"fmt"
	"slices"

	"thole.example/matrix"
)

// denseMark is a dense partition as it was: a chunk of cells that changes later is copied before, unless it has been read.
// The values come first, then the slots.
type denseMark[T number] struct {
	d     *dense[T]
	since *period // nil: all cells are read
	kept  []keptCells[T]
}

// keptCells is the values, or a slot, of all cells as they were.
type keptCells[T number] struct {
	copies [][]T // by chunk; nil where nothing has changed
	passed int   // cells before this one have been read in order
}

func (d *dense[T]) mark(since *period) mark {
	m := &denseMark[T]{d: d, since: since, kept: make([]keptCells[T], 1+d.slots)}
	for i := range m.kept {
		m.kept[i].copies = make([][]T, (d.cells+chunk-1)/chunk)
	}
	d.marks = append(d.marks, m)
	return m
}

// of is the cells of a slot, counted from 1, or the values themselves.
func (d *dense[T]) of(slot int) []T {
	if d.packed != nil {
		slot-- // the first in val is slot 1
	}
	return d.val[slot*d.next:][:d.cells]
}

// keep remembers that some cells are about to change, and has the marks copy their chunks.
func (d *dense[T]) keep(slot, lo, hi int) {
	for b := lo / blockCells; d.now != nil && b*blockCells < hi; b++ {
		d.now.changed.set(uint32(b))
	}
	for _, m := range d.marks {
		k := &m.kept[slot]
		for c := lo / chunk; c*chunk < hi; c++ {
			if end := min((c+1)*chunk, d.cells); k.copies[c] == nil && end > k.passed && m.wants(c) {
				k.copies[c] = make([]T, end-c*chunk)
				d.load(k.copies[c], slot, c*chunk)
			}
		}
	}
}

// wants reports whether some of the chunk's cells are read.
func (m *denseMark[T]) wants(c int) bool {
	const blocks = chunk / blockCells // a part of a word
	return m.since == nil || m.since.changed[c*blocks/64]>>(c*blocks%64)&(1<<blocks-1) != 0
}

func (m *denseMark[T]) readRect(dst []byte, at matrix.Rect, slot int) error {
	d := m.d
	if slot < 0 || slot >= len(m.kept) {
		return fmt.Errorf("slot %d, want one from 0 to %d", slot, len(m.kept)-1)
	}
	n, ok := at.Cells()
	if !ok || !d.at.Contains(at) {
		return fmt.Errorf("read of %v from the partition at %v", at, d.at)
	}
	out, err := values[T](dst, int(n))
	if err != nil || n == 0 {
		return err
	}
	k, first := &m.kept[slot], d.cell(at.Rows.Lo, at.Cols.Lo)
	if first < k.passed {
		return fmt.Errorf("read of %v, which lies before what was read in order", at)
	}
	width := int(at.Cols.Len())
	if width == d.width || at.Rows.Len() == 1 {
		m.cells(out, slot, first)
		if first == k.passed || m.since != nil { // what lies between has not changed
			k.pass(first-k.passed+int(n), d.cells)
		}
		return nil
	}
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		m.cells(out[:width], slot, d.cell(r, at.Cols.Lo))
		out = out[width:]
	}
	return nil
}

// cells copies cells from one on.
func (m *denseMark[T]) cells(out []T, slot, at int) {
	for len(out) > 0 {
		n := min(len(out), chunk-at%chunk)
		if from := m.kept[slot].copies[at/chunk]; from != nil {
			copy(out[:n], from[at%chunk:])
		} else {
			m.d.load(out[:n], slot, at)
		}
		out, at = out[n:], at+n
	}
}

// pass says that n cells more have been read in order.
func (k *keptCells[T]) pass(n, cells int) {
	first := k.passed / chunk
	k.passed += n
	for c := first; c < len(k.copies) && min((c+1)*chunk, cells) <= k.passed; c++ {
		k.copies[c] = nil
	}
}

func (m *denseMark[T]) list(int) []int64 { return nil }

func (m *denseMark[T]) read([]byte, ofColumns, []int64, bool) error {
	return errors.New("columns of a dense partition, want cells by place")
}

func (m *denseMark[T]) before() *Past { return nil }

func (m *denseMark[T]) bytes() (n int64) {
	for _, k := range m.kept {
		n += int64(24 * len(k.copies))
		for _, c := range k.copies {
			n += int64(cap(c) * sizeOf[T]())
		}
	}
	return n
}

func (m *denseMark[T]) close() {
	m.d.marks = slices.DeleteFunc(m.d.marks, func(o *denseMark[T]) bool { return o == m })
	m.kept = make([]keptCells[T], len(m.kept))
}
