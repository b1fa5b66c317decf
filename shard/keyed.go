package shard

import (
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"thole.example/matrix"
)

// keyed keeps the columns that were written, found by key. Column i of the slabs has the values of all rows,
// contiguous; each slot of the rule is a slab of the same shape.
type keyed[T number] struct {
	at    matrix.Rect
	rows  int
	table table
	val   []T
	slots [][]T
	init  *fill
	work  work[T]
}

// rowLimit is how many rows a sparse partition may have: every column that is written takes memory for all of them.
const rowLimit = 1 << 24

func newKeyed[T number](m *matrix.Meta, at matrix.Rect, slots int) (*keyed[T], error) {
	if at.Rows.Len() > rowLimit {
		return nil, fmt.Errorf("matrix %s: sparse partition at %v, want at most 2^24 rows in one", m.Name, at)
	}
	return &keyed[T]{at: at, rows: int(at.Rows.Len()), slots: make([][]T, slots), init: newFill(m)}, nil
}

// initial writes the values that a column has before the first push.
func (k *keyed[T]) initial(col int64, lo int64, val []T) {
	if k.init == nil {
		clear(val)
		return
	}
	for r := range val {
		val[r] = T(k.init.cell(lo+int64(r), col))
	}
}

// find is the index of every column, made with its initial values where it is new. There are chunk columns at most.
func (k *keyed[T]) find(cols []int64, at *[chunk]int32) {
	missing := k.table.find(cols, at)
	if missing == 0 {
		return
	}
	was := len(k.table.keys)
	k.table.reserve(missing)
	for j, c := range cols {
		if at[j] == absent {
			at[j] = k.table.put(c)
		}
	}
	k.val = grown(k.val, len(k.table.keys)*k.rows)
	for s := range k.slots {
		k.slots[s] = grown(k.slots[s], len(k.val))
	}
	if k.init != nil {
		for i := was; i < len(k.table.keys); i++ {
			k.initial(k.table.keys[i], k.at.Rows.Lo, k.of(k.val, i))
		}
	}
}

// grown is the slab with zeros behind it up to the length.
func grown[T any](slab []T, n int) []T {
	was := len(slab)
	slab = slices.Grow(slab, n-was)[:n]
	clear(slab[was:])
	return slab
}

func (k *keyed[T]) of(slab []T, i int) []T { return slab[i*k.rows : (i+1)*k.rows] }

func (k *keyed[T]) read(at matrix.Rect, cols []int64) matrix.Block {
	if cols == nil {
		cols = k.table.sorted(at.Cols)
	}
	lo, n := int(at.Rows.Lo-k.at.Rows.Lo), int(at.Rows.Len())
	out := make([]T, len(cols)*n)
	if n == 0 {
		return matrix.Block{At: at, Data: &matrix.Cols[T]{Idx: cols, Val: out}} // the place may lie anywhere
	}
	var idx [chunk]int32
	into := out
	for keys := range slices.Chunk(cols, chunk) {
		k.table.find(keys, &idx)
		for j, c := range keys {
			if i := int(idx[j]); i != absent {
				copy(into[:n], k.val[i*k.rows+lo:])
			} else {
				k.initial(c, at.Rows.Lo, into[:n])
			}
			into = into[n:]
		}
	}
	return matrix.Block{At: at, Data: &matrix.Cols[T]{Idx: cols, Val: out}}
}

// columns sees any data as columns of the block's rows. Cells that sparse rows do not store read as zero.
func columns[T number](b matrix.Block) (*matrix.Cols[T], error) {
	switch d := b.Data.(type) {
	case *matrix.Cols[T]:
		return d, nil
	case matrix.Empty:
		return &matrix.Cols[T]{}, nil
	case *matrix.Dense[T], *matrix.CSR[T], *matrix.COO[T]:
		return gather(b.At, b.ToCSR().Data.(*matrix.CSR[T])), nil
	}
	return nil, fmt.Errorf("%T, want columns", b.Data)
}

func gather[T number](at matrix.Rect, d *matrix.CSR[T]) *matrix.Cols[T] {
	idx := slices.Clone(d.Idx)
	slices.Sort(idx)
	idx = slices.Compact(idx)
	rows := int(at.Rows.Len())
	out := &matrix.Cols[T]{Idx: idx, Val: make([]T, len(idx)*rows)}
	for r := range rows {
		j := 0
		for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
			for idx[j] != d.Idx[i] {
				j++
			}
			out.Val[j*rows+r] = d.Val[i]
		}
	}
	return out
}

// change calls f for every column of b with the rows of the slab that b covers.
func (k *keyed[T]) change(b matrix.Block, f func(into, from []T)) error {
	d, err := columns[T](b)
	if err != nil || b.At.Rows.Len() == 0 {
		return err
	}
	lo, n := int(b.At.Rows.Lo-k.at.Rows.Lo), int(b.At.Rows.Len())
	from := d.Val
	var idx [chunk]int32
	for keys := range slices.Chunk(d.Idx, chunk) {
		k.find(keys, &idx)
		for j := range keys {
			f(k.val[int(idx[j])*k.rows+lo:][:n], from[:n])
			from = from[n:]
		}
	}
	return nil
}

func (k *keyed[T]) add(b matrix.Block) error { return k.change(b, addTo[T]) }

func addTo[T number](into, from []T) {
	into = into[:len(from)]
	for r, v := range from {
		into[r] += v
	}
}

// set replaces whole columns, or of sparse rows the single cells that they store.
func (k *keyed[T]) set(b matrix.Block) error {
	switch b.Data.(type) {
	case *matrix.CSR[T], *matrix.COO[T]:
		d := b.ToCSR().Data.(*matrix.CSR[T])
		first := int(b.At.Rows.Lo - k.at.Rows.Lo)
		var idx [chunk]int32
		for r := range len(d.Ptr) - 1 {
			val := d.Val[d.Ptr[r]:d.Ptr[r+1]]
			for keys := range slices.Chunk(d.Idx[d.Ptr[r]:d.Ptr[r+1]], chunk) {
				k.find(keys, &idx)
				for j := range keys {
					k.val[int(idx[j])*k.rows+first+r] = val[j]
				}
				val = val[len(keys):]
			}
		}
		return nil
	}
	return k.change(b, func(into, from []T) { copy(into, from) })
}

func (k *keyed[T]) each(f func(row, col int64, val []float64)) {
	cols := k.table.sorted(k.at.Cols)
	order := make([]int32, 0, len(cols))
	var idx [chunk]int32
	for keys := range slices.Chunk(cols, chunk) {
		k.table.find(keys, &idx)
		order = append(order, idx[:len(keys)]...)
	}
	one := make([]float64, 1)
	for r := range k.rows {
		for j, c := range cols {
			cell := &k.val[int(order[j])*k.rows+r]
			one[0] = float64(*cell)
			f(k.at.Rows.Lo+int64(r), c, one)
			if one[0] != float64(*cell) {
				*cell = narrow[T](one[0])
			}
		}
	}
}

// saveCols is how many columns go into one block when saving.
const saveCols = 1 << 18

func (k *keyed[T]) blocks() iter.Seq[matrix.Block] {
	return func(yield func(matrix.Block) bool) {
		cols := k.table.sorted(k.at.Cols)
		lo := k.at.Cols.Lo
		for first := true; first || len(cols) > 0; first = false {
			n := min(saveCols, len(cols))
			at := matrix.Rect{Rows: k.at.Rows, Cols: matrix.Range{Lo: lo, Hi: k.at.Cols.Hi}}
			if n < len(cols) {
				at.Cols.Hi = cols[n]
			}
			if !yield(k.read(at, cols[:n:n])) {
				return
			}
			cols, lo = cols[n:], at.Cols.Hi
		}
	}
}

// missing counts the different keys that have no column yet.
func (k *keyed[T]) missing(keys []int64) int64 {
	var n int64
	var idx [chunk]int32
	seen := map[int64]bool{}
	for some := range slices.Chunk(keys, chunk) {
		if k.table.find(some, &idx) == 0 {
			continue
		}
		for j, key := range some {
			if idx[j] == absent && !seen[key] {
				seen[key] = true
				n++
			}
		}
	}
	return n
}

func (k *keyed[T]) bytes() int64 {
	var zero T
	values := cap(k.val)*(len(k.slots)+1) + k.work.cells()
	return int64(values)*int64(unsafe.Sizeof(zero)) + k.table.bytes()
}
