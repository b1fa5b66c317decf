package graph

import (
	"fmt"
	"math"
	"runtime"

	"thole.example/data"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// Table is the weights of a finished model in the memory of this process, for scoring: each value of an example finds its
// column in place, and nothing is copied. A column that the model does not have counts as zero in all matrices, whatever
// columns begin with in training. Once it is filled any number of goroutines may read it.
type Table struct {
	places places
	params []Param
	values [][]float32 // of features: zeros, then column after column, each with all rows; of other matrices row-major
	memory tableMemory // that values are in
}

// tableMemory is given back when nobody has the table any more. Large matrices are in huge pages: examples meet columns all over
// them, and with ordinary pages most of the time goes into finding the pages.
type tableMemory []kernel.Memory

func (m tableMemory) free() {
	for i := range m {
		m[i].Free()
	}
}

// NewTable is a table of zeros for the model's matrices, with the columns for features that a stored model has.
func NewTable(m *Model, columns *data.Columns) (*Table, error) {
	t := &Table{places: placesOf(columns), params: m.Params()}
	t.memory = make(tableMemory, len(t.params))
	runtime.AddCleanup(t, tableMemory.free, t.memory)
	if t.places.n < 0 || t.places.n >= math.MaxUint32 {
		return nil, fmt.Errorf("model %q: %d columns, want below %d to have them in memory", m.Name, t.places.n, uint32(math.MaxUint32))
	}
	for i := range t.params {
		p := &t.params[i]
		cols := p.Cols
		if p.Features {
			cols = t.places.n + 1
		}
		n, ok := matrix.Cells(p.Rows, cols)
		if !ok || n > math.MaxInt/8 {
			return nil, fmt.Errorf("model %q: matrix %s of %d x %d weights does not fit in memory", m.Name, p.Name, p.Rows, cols)
		}
		if err := t.memory[i].Fit(int(4 * n)); err != nil {
			return nil, fmt.Errorf("model %q: matrix %s of %d x %d weights: %w", m.Name, p.Name, p.Rows, cols, err)
		}
		val, _ := wire.Numbers[float32](t.memory[i].Data()[:4*n])
		t.values = append(t.values, val)
	}
	return t, nil
}

// fetched is up to how many bytes of a column are fetched before they are read.
const fetched = 128

// find writes the place of each column to at, and has the processor fetch the weights there: of long columns where they begin,
// as it goes on by itself, and more would drive out what is not yet read.
func (t *Table) find(cols []int64, at []uint32) {
	t.places.find(cols, at)
	for i := range t.params {
		if p := &t.params[i]; p.Features {
			size := 4 * int(p.Rows)
			kernel.Fetch(wire.View(t.values[i]), size, min(size, fetched), at)
		}
	}
}

// Bytes is the memory of the table.
func (t *Table) Bytes() int64 {
	n := 64 * int64(len(t.places.lines))
	for _, v := range t.values {
		n += 4 * int64(len(v))
	}
	return n
}

// Set puts a block of a matrix of the name into the table, rounded to float32. Rows and columns that the table does not have are
// left out. It is for one goroutine.
func (t *Table) Set(name string, b matrix.Block) error {
	for i := range t.params {
		if p := &t.params[i]; p.Name == name {
			b, _ = b.Cast(matrix.F32)
			if !p.Features {
				return matrix.Put(matrix.Block{At: p.Rect(), Data: &matrix.Dense[float32]{Val: t.values[i]}}, b)
			}
			return t.setColumns(t.values[i], int(p.Rows), b)
		}
	}
	return fmt.Errorf("matrix %s: the model has none of the name", name)
}

// setColumns puts the cells of the first rows into to.
func (t *Table) setColumns(to []float32, rows int, b matrix.Block) error {
	var one [1]int64
	var at [1]uint32
	set := func(row int64, col int64, v float32) {
		if one[0] = col; row < int64(rows) {
			if t.places.find(one[:], at[:]); at[0] > 0 {
				to[int(at[0])*rows+int(row)] = v
			}
		}
	}
	first := b.At.Rows.Lo
	switch d := b.Data.(type) {
	case matrix.Empty:
	case *matrix.Dense[float32]:
		width := b.At.Cols.Len()
		for i, v := range d.Val {
			set(first+int64(i)/width, b.At.Cols.Lo+int64(i)%width, v)
		}
	case *matrix.CSR[float32]:
		for row := range len(d.Ptr) - 1 {
			for i := d.Ptr[row]; i < d.Ptr[row+1]; i++ {
				set(first+int64(row), d.Idx[i], d.Val[i])
			}
		}
	case *matrix.COO[float32]:
		for i, v := range d.Val {
			set(first+d.Row[i], d.Col[i], v)
		}
	case *matrix.Cols[float32]:
		height := b.At.Rows.Len()
		for i, v := range d.Val {
			set(first+int64(i)%height, d.Idx[int64(i)/height], v)
		}
	default:
		return fmt.Errorf("block of %T, want float32", b.Data)
	}
	return nil
}
