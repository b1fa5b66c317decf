package shard

import (
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"thole/matrix"
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
	mark  []uint32 // of each column: where it stands in the step under way, plus 1
}

func newKeyed[T number](m *matrix.Meta, at matrix.Rect, slots int) *keyed[T] {
	return &keyed[T]{at: at, rows: int(at.Rows.Len()), slots: make([][]T, slots), init: newFill(m)}
}

// initial writes the values that a column has before the first push.
func (k *keyed[T]) initial(col int64, val []T) {
	clear(val)
	if k.init != nil {
		for r := range val {
			val[r] = T(k.init.cell(k.at.Rows.Lo+int64(r), col))
		}
	}
}

// column is the index of the column, made with its initial values if it is new.
func (k *keyed[T]) column(col int64) int {
	i, found := k.table.put(col)
	if !found {
		k.val = append(k.val, make([]T, k.rows)...)
		k.initial(col, k.val[i*k.rows:])
		for s := range k.slots {
			k.slots[s] = append(k.slots[s], make([]T, k.rows)...)
		}
		k.mark = append(k.mark, 0)
	}
	return i
}

func (k *keyed[T]) of(slab []T, i int) []T { return slab[i*k.rows : (i+1)*k.rows] }

func (k *keyed[T]) read(at matrix.Rect, cols []int64) matrix.Block {
	if cols == nil {
		cols = k.table.sorted(at.Cols)
	}
	lo, n := int(at.Rows.Lo-k.at.Rows.Lo), int(at.Rows.Len())
	out := &matrix.Cols[T]{Idx: cols, Val: make([]T, len(cols)*n)}
	fresh := make([]T, k.rows)
	for j, c := range cols {
		from := fresh
		if i, ok := k.table.get(c); ok {
			from = k.of(k.val, i)
		} else if k.init != nil {
			k.initial(c, fresh)
		}
		copy(out.Val[j*n:(j+1)*n], from[lo:])
	}
	return matrix.Block{At: at, Data: out}
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
	if err != nil {
		return err
	}
	lo, n := int(b.At.Rows.Lo-k.at.Rows.Lo), int(b.At.Rows.Len())
	for j, c := range d.Idx {
		i := k.column(c)
		f(k.of(k.val, i)[lo:lo+n], d.Val[j*n:(j+1)*n])
	}
	return nil
}

func (k *keyed[T]) add(b matrix.Block) error {
	return k.change(b, func(into, from []T) {
		for r, v := range from {
			into[r] += v
		}
	})
}

func (k *keyed[T]) set(b matrix.Block) error {
	return k.change(b, func(into, from []T) { copy(into, from) })
}

func (k *keyed[T]) apply(grads []matrix.Block, scale float64, run stepper) error {
	touched, g, err := k.sum(grads)
	if err != nil {
		return err
	}
	w := make([]T, len(g))
	slots := make([][]T, len(k.slots))
	for j, i := range touched {
		copy(k.of(w, j), k.of(k.val, i))
	}
	for s := range slots {
		slots[s] = make([]T, len(g))
		for j, i := range touched {
			copy(k.of(slots[s], j), k.of(k.slots[s], i))
		}
	}
	runStep(run, w, g, slots, scale)
	for j, i := range touched {
		copy(k.of(k.val, i), k.of(w, j))
		for s := range slots {
			copy(k.of(k.slots[s], i), k.of(slots[s], j))
		}
	}
	return nil
}

// sum adds the gradients up in their order: the columns that they touch, and their sums one after the other.
func (k *keyed[T]) sum(grads []matrix.Block) (touched []int, g []T, err error) {
	for _, b := range grads {
		d, err := columns[T](b)
		if err != nil {
			return nil, nil, err
		}
		lo, n := int(b.At.Rows.Lo-k.at.Rows.Lo), int(b.At.Rows.Len())
		for j, c := range d.Idx {
			i := k.column(c)
			if k.mark[i] == 0 {
				touched = append(touched, i)
				g = append(g, make([]T, k.rows)...)
				k.mark[i] = uint32(len(touched))
			}
			into := k.of(g, int(k.mark[i])-1)[lo:]
			for r, v := range d.Val[j*n : (j+1)*n] {
				into[r] += v
			}
		}
	}
	for _, i := range touched {
		k.mark[i] = 0
	}
	return touched, g, nil
}

func (k *keyed[T]) each(f func(row, col int64, val []float64)) {
	cols := k.table.sorted(k.at.Cols)
	one := make([]float64, 1)
	for r := range k.rows {
		for _, c := range cols {
			i, _ := k.table.get(c)
			cell := &k.val[i*k.rows+r]
			one[0] = float64(*cell)
			f(k.at.Rows.Lo+int64(r), c, one)
			if one[0] != float64(*cell) {
				*cell = T(one[0])
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

func (k *keyed[T]) bytes() int64 {
	var zero T
	return int64(len(k.val)*(len(k.slots)+1))*int64(unsafe.Sizeof(zero)) + k.table.bytes()
}
