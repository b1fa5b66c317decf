package shard

import (
	"iter"
	"unsafe"

	"thole.example/matrix"
)

// number is an element type that servers keep.
type number interface {
	float64 | float32 | int64 | int32
}

// cellLimit is how many cells a dense partition may have; more cannot be meant for one process.
const cellLimit = 1 << 36

// dense keeps every cell, row-major, and each slot of the rule as a slab of the same shape.
type dense[T number] struct {
	at    matrix.Rect
	val   []T
	all   matrix.Block // the view of all cells
	slots [][]T
	grad  []T // the sum of a clock's deltas; made at the first step
}

func newDense[T number](m *matrix.Meta, at matrix.Rect, slots int) (*dense[T], error) {
	if _, err := Need(m, at, nil); err != nil {
		return nil, err
	}
	n, _ := at.Cells()
	d := &dense[T]{at: at, val: make([]T, n)}
	d.all = d.block(d.val)
	for range slots {
		d.slots = append(d.slots, make([]T, n))
	}
	if init := newFill(m); init != nil {
		i := 0
		for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
			for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
				d.val[i] = T(init.cell(r, c))
				i++
			}
		}
	}
	return d, nil
}

// block is a view of values for all cells.
func (d *dense[T]) block(val []T) matrix.Block {
	return matrix.Block{At: d.at, Data: &matrix.Dense[T]{Val: val}}
}

func (d *dense[T]) read(at matrix.Rect, cols []int64) matrix.Block {
	if cols == nil {
		return d.all.Cut(at)
	}
	rows, stride := int(at.Rows.Len()), int(d.at.Cols.Len())
	out := &matrix.Cols[T]{Idx: cols, Val: make([]T, len(cols)*rows)}
	first := int(at.Rows.Lo-d.at.Rows.Lo) * stride
	for k, c := range cols {
		from := first + int(c-d.at.Cols.Lo)
		for r := range rows {
			out.Val[k*rows+r] = d.val[from+r*stride]
		}
	}
	return matrix.Block{At: at, Data: out}
}

func (d *dense[T]) add(b matrix.Block) error { return matrix.Add(d.all, b) }

func (d *dense[T]) set(b matrix.Block) error { return matrix.Put(d.all, b) }

func (d *dense[T]) apply(grads []matrix.Block, scale float64, run stepper) error {
	if d.grad == nil {
		d.grad = make([]T, len(d.val))
	}
	clear(d.grad)
	sum := d.block(d.grad)
	for _, g := range grads {
		if err := matrix.Add(sum, g); err != nil {
			return err
		}
	}
	runStep(run, d.val, d.grad, d.slots, scale)
	return nil
}

// runStep scales the sum of gradients to their mean and makes the step of the element type.
func runStep[T number](run stepper, w, g []T, slots [][]T, scale float64) {
	for i := range g {
		g[i] *= T(scale)
	}
	switch w := any(w).(type) {
	case []float32:
		run.step.F32(w, any(g).([]float32), any(slots).([][]float32), run.rate, run.t)
	case []float64:
		run.step.F64(w, any(g).([]float64), any(slots).([][]float64), run.rate, run.t)
	}
}

func (d *dense[T]) each(f func(row, col int64, val []float64)) {
	width := int(d.at.Cols.Len())
	row := make([]float64, width)
	for r := range int(d.at.Rows.Len()) {
		cells := d.val[r*width:][:width]
		for i, v := range cells {
			row[i] = float64(v)
		}
		f(d.at.Rows.Lo+int64(r), d.at.Cols.Lo, row)
		for i, v := range row {
			if v != float64(cells[i]) {
				cells[i] = narrow[T](v)
			}
		}
	}
}

func (d *dense[T]) blocks() iter.Seq[matrix.Block] {
	return func(yield func(matrix.Block) bool) { yield(d.all.Clone()) }
}

func (d *dense[T]) missing([]int64) int64 { return 0 }

func (d *dense[T]) bytes() int64 {
	var zero T
	return int64(len(d.val)*(len(d.slots)+1)+len(d.grad)) * int64(unsafe.Sizeof(zero))
}
