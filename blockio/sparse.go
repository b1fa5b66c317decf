package blockio

import (
	"encoding/binary"
	"sort"

	"thole.example/matrix"
	"thole.example/wire"
)

// readCSR reads the cells of either form. raw is exactly as long as the head says, so allocations are bounded by it.
func readCSR(c *wire.Cursor, off int64, h Head, raw []byte) matrix.Data {
	rows, _ := sides(h.At)
	s := sparse{c: c, off: off, h: h, raw: raw, ptr: make([]int, rows+1), idx: make([]int64, h.N)}
	data := matrix.KindOf(h.Type).CSR(s.ptr, s.idx)
	val, size := wire.ViewAny(data.Values())
	if h.Wide {
		s.wideCSR(val)
		s.unsorted = true // not looked at yet
	} else {
		s.bySize(val, size)
	}
	if c.Err() == nil && s.unsorted {
		s.order(val, size)
	}
	return data
}

// readCOO reads the cells of either form.
func readCOO(c *wire.Cursor, off int64, h Head, raw []byte) matrix.Data {
	s := sparse{c: c, off: off, h: h, raw: raw, row: make([]int64, h.N), idx: make([]int64, h.N)}
	data := matrix.KindOf(h.Type).COO(s.row, s.idx)
	val, size := wire.ViewAny(data.Values())
	if h.Wide {
		s.wideCOO(val)
	} else {
		s.bySize(val, size)
	}
	if c.Err() == nil {
		s.unique()
	}
	return data
}

// sparse is a block of CSR or COO on its way into slices.
type sparse struct {
	c   *wire.Cursor
	off int64 // of raw
	h   Head
	raw []byte
	ptr []int // CSR
	row []int64
	idx []int64

	unsorted bool // some row of CSR
}

func (s *sparse) bySize(val []byte, size int) {
	switch size {
	case 1:
		getCells[uint8](s, val)
	case 2:
		getCells[uint16](s, val)
	case 4:
		getCells[uint32](s, val)
	default:
		getCells[uint64](s, val)
	}
}

func getCells[U bitsOf](s *sparse, raw []byte) {
	val, _ := wire.Numbers[U](raw) // memory of a []T with T as large as U
	switch {
	case s.h.Kind == CSR:
		getCSR(s, val)
	case s.h.single():
		getColumn(s, val)
	default:
		getCOO(s, val)
	}
}

func getCSR[U bitsOf](s *sparse, val []U) {
	o, n, step := 0, 0, int(s.h.cell())
	for i := 1; i < len(s.ptr); i++ {
		// The head's count has fixed the length of raw, so as long as no row takes more cells than are left, the count
		// of this row and the cells of all rows lie within it.
		count := int64(binary.LittleEndian.Uint32(s.raw[o:]))
		if count > int64(len(val)-n) {
			s.c.FailAt(s.off+int64(o), "row %d has %d non-zeros, %d remain of the block's %d", i-1, count, len(val)-n, len(val))
			return
		}
		o += 4
		end := n + int(count)
		if bad := getRow(s, o, s.idx[n:end], val[n:end]); bad >= 0 {
			s.c.FailAt(s.off+int64(o+bad*step), "column outside the block's %d", s.h.At.Cols.Len())
			return
		}
		o += int(count) * step
		n = end
		s.ptr[i] = n
	}
	if n != len(val) {
		s.c.FailAt(s.off+int64(o), "the rows have %d non-zeros, the block says %d", n, len(val))
	}
}

// getRow reads the cells of a row from o on and notes when their columns do not ascend. bad is the first cell whose
// column lies outside, -1 if none does.
func getRow[U bitsOf](s *sparse, o int, idx []int64, val []U) (bad int) {
	raw, step, first := s.raw[o:], int(s.h.cell()), s.h.At.Cols.Lo
	_, width := sides(s.h.At)
	last, o := int64(-1), 0
	var tail [12]byte
	for k := range idx {
		if len(raw) < o+12 { // the last cells of the block, if they are shorter
			copy(tail[:], raw[o:])
			raw, o = tail[:], 0
		}
		cell := raw[o : o+12]
		rel := int64(binary.LittleEndian.Uint32(cell))
		if uint64(rel) >= width {
			return k
		}
		if rel <= last {
			s.unsorted = true
		}
		last = rel
		idx[k] = first + rel
		val[k] = U(binary.LittleEndian.Uint64(cell[4:]))
		o += step
	}
	return -1
}

func getCOO[U bitsOf](s *sparse, val []U) {
	le := binary.LittleEndian
	step, o := int(s.h.cell()), 0
	height, width := sides(s.h.At)
	for k := range val {
		row, rel := le.Uint32(s.raw[o:]), le.Uint32(s.raw[o+4:])
		if uint64(row) >= height || uint64(rel) >= width {
			s.c.FailAt(s.off+int64(o), "cell (%d,%d), want one within %d x %d", row, rel, height, width)
			return
		}
		s.row[k], s.idx[k] = int64(row), s.h.At.Cols.Lo+int64(rel)
		val[k] = load[U](s.raw, o+8)
		o += step
	}
}

func getColumn[U bitsOf](s *sparse, val []U) {
	step, o := int(s.h.cell()), 0
	height, _ := sides(s.h.At)
	for k := range val {
		row := binary.LittleEndian.Uint32(s.raw[o:])
		if uint64(row) >= height {
			s.c.FailAt(s.off+int64(o), "row %d, want less than %d", row, height)
			return
		}
		s.row[k], s.idx[k] = int64(row), s.h.At.Cols.Lo
		val[k] = load[U](s.raw, o+4)
		o += step
	}
}

func (s *sparse) wideCSR(val []byte) {
	rows, n := len(s.ptr)-1, 0
	for i := range rows {
		count := binary.LittleEndian.Uint64(s.raw[8*i:])
		if count > uint64(len(s.idx)-n) {
			s.c.FailAt(s.off+8*int64(i), "row %d has %d cells, %d remain of the block's %d", i, count, len(s.idx)-n, len(s.idx))
			return
		}
		n += int(count)
		s.ptr[i+1] = n
	}
	if n != len(s.idx) {
		s.c.FailAt(s.off, "the rows have %d cells, the block says %d", n, len(s.idx))
		return
	}
	s.words(s.idx, 8*rows, val)
}

func (s *sparse) wideCOO(val []byte) {
	wire.Get(s.row, s.raw[:8*len(s.row)], wire.Little)
	rows := s.h.At.Rows.Len() // at most what an int64 counts, however far the block reaches
	for k, r := range s.row {
		if r < 0 || r >= rows {
			s.c.FailAt(s.off+8*int64(k), "row %d, want one of %d", r, rows)
			return
		}
	}
	s.words(s.idx, 8*len(s.row), val)
}

// words reads the columns at o and the values behind them.
func (s *sparse) words(idx []int64, o int, val []byte) {
	wire.Get(idx, s.raw[o:o+8*len(idx)], wire.Little)
	for k, id := range idx {
		if !s.h.At.Cols.Has(id) {
			s.c.FailAt(s.off+int64(o+8*k), "column %d, want one in %v", id, s.h.At.Cols)
			return
		}
	}
	copy(val, s.raw[o+8*len(idx):])
	wire.Swap(val, s.h.Type.Size(), wire.Little)
}

// order sorts the rows whose columns are not ascending, and finds columns that come twice.
func (s *sparse) order(val []byte, size int) {
	for i := 1; i < len(s.ptr); i++ {
		idx := s.idx[s.ptr[i-1]:s.ptr[i]]
		for k := 1; k < len(idx); k++ {
			if idx[k] <= idx[k-1] {
				s.sortRow(i-1, val, size)
				break
			}
		}
		if s.c.Err() != nil {
			return
		}
	}
}

func (s *sparse) sortRow(i int, val []byte, size int) {
	lo, hi := s.ptr[i], s.ptr[i+1]
	r := rowCells{s.idx[lo:hi], val[lo*size : hi*size], size}
	sort.Sort(r)
	for k := 1; k < len(r.idx); k++ {
		if r.idx[k] == r.idx[k-1] {
			s.c.FailAt(s.off, "row %d has column %d twice", i, r.idx[k]-s.h.At.Cols.Lo)
			return
		}
	}
}

// rowCells sorts the cells of a row by column.
type rowCells struct {
	idx  []int64
	val  []byte
	size int
}

func (r rowCells) Len() int           { return len(r.idx) }
func (r rowCells) Less(i, j int) bool { return r.idx[i] < r.idx[j] }
func (r rowCells) Swap(i, j int) {
	r.idx[i], r.idx[j] = r.idx[j], r.idx[i]
	for b := range r.size {
		r.val[i*r.size+b], r.val[j*r.size+b] = r.val[j*r.size+b], r.val[i*r.size+b]
	}
}

// unique finds a cell of COO that comes twice. Cells in row-major order, as writers leave them, need one pass.
func (s *sparse) unique() {
	less := func(a, b int) bool {
		return s.row[a] < s.row[b] || s.row[a] == s.row[b] && s.idx[a] < s.idx[b]
	}
	sorted := true
	for k := 1; k < len(s.row) && sorted; k++ {
		sorted = less(k-1, k)
	}
	if sorted {
		return
	}
	order := make([]int, len(s.row))
	for k := range order {
		order[k] = k
	}
	sort.Slice(order, func(i, j int) bool { return less(order[i], order[j]) })
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; !less(a, b) {
			s.c.FailAt(s.off, "cell (%d,%d) twice", s.row[a], s.idx[a]-s.h.At.Cols.Lo)
			return
		}
	}
}
