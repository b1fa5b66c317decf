package blockio

import (
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"thole.example/matrix"
	"thole.example/wire"
)

// Smallest holds b in the way that takes the fewest bytes in the document's form, the densest of equals, and CSR rather than
// COO if their cells take the same. Cells of a dense matrix (layout RowDense) whose bits are all 0 need not be stored, so
// -0 and every NaN stay; stored cells of a sparse matrix all stay, even zeros. The result may share slices with b. Sparse
// results are in row-major order. b must be one that Check accepts.
func Smallest(b matrix.Block, layout matrix.Layout) matrix.Block {
	if b.Data.DType().Size() == 0 {
		return b
	}
	p := types[b.Data.DType()].parts(b.Data)
	if p.kind == Empty {
		return b
	}
	n := int64(b.Data.NNZ())
	if layout == matrix.RowDense {
		n = nonZeros(p.val, b.Data.DType().Size(), enough(b))
	}
	switch best := cheapest(b, n, layout); best {
	case Empty:
		return matrix.Block{At: b.At, Data: matrix.Empty{D: b.Data.DType()}}
	case Dense:
		return b.ToDense()
	default:
		return thin(b, best, layout)
	}
}

// Sorted holds COO cells in row-major order, as files want them; other data are returned as they are.
func Sorted(b matrix.Block) matrix.Block {
	if b.Data.DType().Size() == 0 || b.Check() != nil {
		return b
	}
	p := types[b.Data.DType()].parts(b.Data)
	for k := 1; p.kind == COO && k < len(p.row); k++ {
		if !before(p, k-1, k) {
			return matrix.Block{At: b.At, Data: p.sorted(b.Data.DType())}
		}
	}
	return b
}

// CutRows is the part of b in the rows, like b.Cut, but shares slices with b. It is quick for CSR, and for COO cells in
// row-major order.
func CutRows(b matrix.Block, rows matrix.Range) matrix.Block {
	at := matrix.Rect{Rows: b.At.Rows.Intersect(rows), Cols: b.At.Cols}
	p := types[b.Data.DType()].parts(b.Data)
	if at == b.At {
		return b
	}
	down := at.Rows.Lo - b.At.Rows.Lo
	if p.kind == CSR {
		ptr := slices.Clone(p.ptr[down : at.Rows.Hi-b.At.Rows.Lo+1])
		lo, hi := ptr[0], ptr[len(ptr)-1]
		for i := range ptr {
			ptr[i] -= lo
		}
		return matrix.Block{At: at, Data: types[b.Data.DType()].csrOver(b.Data, ptr, lo, hi)}
	}
	if p.kind != COO {
		return b.Cut(at)
	}
	lo, _ := slices.BinarySearch(p.row, down)
	n, _ := slices.BinarySearch(p.row[lo:], at.Rows.Hi-b.At.Rows.Lo)
	row := slices.Clone(p.row[lo : lo+n])
	for i := range row {
		row[i] -= down
	}
	out := matrix.KindOf(b.Data.DType()).COO(row, slices.Clone(p.col[lo:lo+n]))
	val, size := wire.ViewAny(out.Values())
	copy(val, p.val[lo*size:])
	return matrix.Block{At: at, Data: out}
}

// Join puts blocks of one type that lie within a place, without overlap, together as the sorted COO cells of a block.
func Join(at matrix.Rect, d matrix.DType, side []matrix.Block) matrix.Block {
	n := 0
	for _, b := range side {
		n += b.Data.NNZ()
	}
	row, col := make([]int64, 0, n), make([]int64, 0, n)
	out := matrix.KindOf(d).COO(row[:n], col[:n])
	val, _ := wire.ViewAny(out.Values())
	for _, b := range side {
		p := types[d].parts(b.Data)
		down := b.At.Rows.Lo - at.Rows.Lo
		switch p.kind {
		case Dense:
			for r := range b.At.Rows.Len() {
				for c := b.At.Cols.Lo; c < b.At.Cols.Hi; c++ {
					row, col = append(row, down+r), append(col, c)
				}
			}
		case CSR:
			for r := range len(p.ptr) - 1 {
				for range p.ptr[r+1] - p.ptr[r] {
					row = append(row, down+int64(r))
				}
			}
			col = append(col, p.col...)
		case COO:
			for _, r := range p.row {
				row = append(row, down+r)
			}
			col = append(col, p.col...)
		}
		val = val[copy(val, p.val):]
	}
	return Sorted(matrix.Block{At: at, Data: out})
}

// before reports whether COO cell i stands before cell k in row-major order.
func before(p parts, i, k int) bool {
	return p.row[i] < p.row[k] || p.row[i] == p.row[k] && p.col[i] < p.col[k]
}

// sorted copies COO cells in row-major order.
func (p parts) sorted(d matrix.DType) matrix.Data {
	order := make([]int, len(p.row))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, k int) bool { return before(p, order[i], order[k]) })
	row, col := make([]int64, len(order)), make([]int64, len(order))
	out := matrix.KindOf(d).COO(row, col)
	val, size := wire.ViewAny(out.Values())
	for k, i := range order {
		row[k], col[k] = p.row[i], p.col[i]
		copy(val[k*size:(k+1)*size], p.val[i*size:])
	}
	return out
}

// cheapest compares the exact sizes for n stored cells.
func cheapest(b matrix.Block, n int64, layout matrix.Layout) Kind {
	if n == 0 && (layout == matrix.RowSparse || !b.At.Empty()) {
		return Empty
	}
	best, least, rows := CSR, int64(math.MaxInt64), int64(-1)
	cells, countable := b.At.Cells()
	for _, k := range []Kind{Dense, CSR, COO} {
		if k == Dense && layout == matrix.RowSparse && (!countable || n != cells) || k == COO && n > math.MaxUint32 {
			continue
		}
		h := Head{At: b.At, Kind: k, Type: b.Data.DType(), N: n}
		size, ok := h.body()
		if k == CSR {
			rows = size
		} else if k == COO && size == rows {
			continue // not worth to turn rows into cells: only the head would be shorter
		}
		if size += int64(h.Len()); ok && size < least {
			best, least = k, size
		}
	}
	return best
}

// enough is the number of stored cells from which on a dense block is the smallest, or more.
func enough(b matrix.Block) int64 {
	h := Head{At: b.At, Kind: Dense, Type: b.Data.DType()}
	dense, ok := h.body()
	if !ok {
		return math.MaxInt64
	}
	h.Kind = COO
	least := int64(h.cell())
	h.Kind = CSR
	return dense/min(least, int64(h.cell())) + 1
}

// countBytes is how many bytes of values are counted before a look at whether that is enough.
const countBytes = 1 << 20

// nonZeros counts the values whose bits are not all 0, with all processors, and may stop at limit.
func nonZeros(val []byte, size int, limit int64) int64 {
	var next, n atomic.Int64
	work := func() {
		for n.Load() < limit {
			at := int(next.Add(countBytes) - countBytes)
			if at >= len(val) {
				return
			}
			n.Add(countBits(val[at:min(at+countBytes, len(val))], size))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(val)/countBytes) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return n.Load()
}

func countBits(val []byte, size int) int64 {
	switch size {
	case 1:
		return count[uint8](val)
	case 2:
		return count[uint16](val)
	case 4:
		return count[uint32](val)
	}
	return count[uint64](val)
}

func count[U bitsOf](raw []byte) int64 {
	val, _ := wire.Numbers[U](raw)
	var a, b, c, d int64
	for len(val) >= 4 {
		a, b, c, d = a+one(val[0]), b+one(val[1]), c+one(val[2]), d+one(val[3])
		val = val[4:]
	}
	for _, v := range val {
		a += one(v)
	}
	return a + b + c + d
}

func one[U bitsOf](v U) int64 {
	if v != 0 {
		return 1
	}
	return 0
}

// thin holds the stored cells, of a dense matrix only those that are not zero, as CSR or COO.
func thin(b matrix.Block, k Kind, layout matrix.Layout) matrix.Block {
	return matrix.Block{At: b.At, Data: types[b.Data.DType()].thin(b, k, layout == matrix.RowSparse)}
}

func (typedAs[T]) thin(b matrix.Block, k Kind, zeros bool) matrix.Data {
	if d, ok := b.Data.(*matrix.CSR[T]); ok && k == CSR && (zeros || !anyZero(d.Val)) {
		return d
	}
	if d, ok := b.Data.(*matrix.CSR[T]); ok && k == COO && (zeros || !anyZero(d.Val)) {
		row := make([]int64, len(d.Idx))
		for r := range len(d.Ptr) - 1 {
			for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
				row[i] = int64(r)
			}
		}
		return &matrix.COO[T]{Row: row, Col: d.Idx, Val: d.Val}
	}
	w := &thinner[T]{coo: k == COO, zeros: zeros}
	if k == CSR {
		w.csr.Ptr = make([]int, 1, b.At.Rows.Len()+1)
	}
	b = Sorted(b)
	switch d := b.Data.(type) {
	case *matrix.COO[T]:
		w.cells(d)
	case *matrix.Dense[T]:
		w.dense(b.At, d)
	case *matrix.CSR[T]:
		w.rows(d)
	default:
		w.rows(b.ToCSR().Data.(*matrix.CSR[T]))
	}
	if k == COO {
		return &w.out
	}
	return &w.csr
}

func (typedAs[T]) csrOver(d matrix.Data, ptr []int, lo, hi int) matrix.Data {
	c := d.(*matrix.CSR[T]) // its parts said so
	return &matrix.CSR[T]{Ptr: ptr, Idx: c.Idx[lo:hi:hi], Val: c.Val[lo:hi:hi]}
}

func anyZero[T matrix.Stored](val []T) bool {
	raw, size := wire.ViewAny(val)
	return nonZeros(raw, size, math.MaxInt64) != int64(len(val))
}

// thinner collects cells, row after row.
type thinner[T matrix.Stored] struct {
	coo, zeros bool
	row        int64
	csr        matrix.CSR[T]
	out        matrix.COO[T]
}

func (w *thinner[T]) put(col int64, v T) {
	if w.coo {
		w.out.Row = append(w.out.Row, w.row)
		w.out.Col = append(w.out.Col, col)
		w.out.Val = append(w.out.Val, v)
		return
	}
	w.csr.Idx = append(w.csr.Idx, col)
	w.csr.Val = append(w.csr.Val, v)
}

func (w *thinner[T]) end() {
	w.row++
	if !w.coo {
		w.csr.Ptr = append(w.csr.Ptr, len(w.csr.Val))
	}
}

func (w *thinner[T]) dense(at matrix.Rect, d *matrix.Dense[T]) {
	cols := int(at.Cols.Len())
	for r := range int(at.Rows.Len()) {
		for k, v := range d.Val[r*cols : (r+1)*cols] {
			if w.zeros || !zeroBits(v) {
				w.put(at.Cols.Lo+int64(k), v)
			}
		}
		w.end()
	}
}

func (w *thinner[T]) cells(d *matrix.COO[T]) {
	for k, v := range d.Val {
		for w.row < d.Row[k] {
			if w.coo {
				w.row = d.Row[k]
				break
			}
			w.end()
		}
		if w.zeros || !zeroBits(v) {
			w.put(d.Col[k], v)
		}
	}
	for !w.coo && len(w.csr.Ptr) < cap(w.csr.Ptr) {
		w.end()
	}
}

func (w *thinner[T]) rows(d *matrix.CSR[T]) {
	for r := range len(d.Ptr) - 1 {
		for k := d.Ptr[r]; k < d.Ptr[r+1]; k++ {
			if w.zeros || !zeroBits(d.Val[k]) {
				w.put(d.Idx[k], d.Val[k])
			}
		}
		w.end()
	}
}

// zeroBits reports whether all bits of v are 0; 1/v tells +0 from -0.
func zeroBits[T matrix.Stored](v T) bool {
	return v == 0 && (!matrix.DTypeOf[T]().Float() || 1/float64(v) > 0)
}
