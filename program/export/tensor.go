package export

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// tensor is a parameter of the program and where its values come from: the first row of a matrix, or with turned the
// first rows, which become columns, or with square the whole matrix, or a list that was made up.
type tensor struct {
	name   string
	dims   []int64
	from   matrix.Meta
	turned bool
	square bool
	keys   []int64 // with turned: the column of each row, in place of the row's number; the rows behind are zero
	list   []int64
}

// find is a saved matrix; the error lists those there are.
func (b *builder) find(name string) (matrix.Meta, error) {
	m, err := format.Find(b.src, name)
	if err == nil {
		return m, nil
	}
	var all []string
	for _, m := range b.src.Matrices() {
		all = append(all, m.Name)
	}
	const shown = 12
	more := ""
	if len(all) > shown {
		all, more = all[:shown], " and others"
	}
	return m, fmt.Errorf("matrix %q: %w, the model has %s%s", name, format.ErrMatrix, strings.Join(all, " "), more)
}

// param declares a parameter and checks that its matrix can be one; the result is the name of its variable.
func (b *builder) param(t tensor) (string, error) {
	cells, ok := matrix.Cells(t.rows(), t.cols())
	if !ok || cells > featureLimit || t.cols() > bandCells {
		return "", fmt.Errorf("parameter %q of %v: more than %d values, or %d in a row: %w",
			t.name, t.dims, int64(featureLimit), bandCells, format.ErrLimit)
	}
	if err := t.fits(); err != nil {
		return "", err
	}
	t.name = b.free(t.name)
	b.tensors = append(b.tensors, t)
	v := tensorVar(t.name, program.VarType_FP32, t.dims)
	v.Persistable, v.Parameter, v.StopGradient = true, true, true
	return b.declare(v), nil
}

// used are the first rows of its matrix that it is made of.
func (t *tensor) used() matrix.Range {
	switch {
	case t.turned:
		return matrix.Range{Hi: t.cols()}
	case t.square:
		return matrix.Range{Hi: t.rows()}
	}
	return matrix.Range{Hi: 1}
}

// slots refuses matrices with rows of which the network knows nothing.
func (b *builder) slots() error {
	var all []format.Used
	for i := range b.tensors {
		t := &b.tensors[i]
		rows := t.used().Hi
		if t.list == nil && (len(t.dims) > 1 || t.from.Rows != rows) { // else it is a bias as it should be
			all = append(all, format.Used{Meta: t.from, Rows: rows})
		}
	}
	return format.CheckSlots(all)
}

// fits checks that the matrix has the rows and columns that are wanted of it.
func (t *tensor) fits() error {
	m, rows := &t.from, t.used()
	if m.Rows < rows.Hi {
		return fmt.Errorf("matrix %q has %d rows, want at least %d", m.Name, m.Rows, rows.Hi)
	}
	if !slices.ContainsFunc(m.SavedRows(), func(r matrix.Range) bool { return r.Contains(rows) }) {
		return fmt.Errorf("matrix %q holds rows %v, want %v among them", m.Name, m.Saved, rows)
	}
	if t.turned || t.square {
		return nil
	}
	if n := t.rows() * t.cols(); m.Cols < n || m.Cols > n && m.Layout != matrix.RowSparse {
		return fmt.Errorf("matrix %q has rows of %d values, want %d for %v", m.Name, m.Cols, n, t.dims)
	}
	return nil
}

func (t *tensor) rows() int64 {
	if len(t.dims) == 1 {
		return 1
	}
	return t.dims[0]
}

func (t *tensor) cols() int64 { return t.dims[len(t.dims)-1] }

// meta describes the parameter as a stored matrix.
func (t *tensor) meta() matrix.Meta {
	m := matrix.Meta{Name: t.name, Rows: t.rows(), Cols: t.cols(), DType: matrix.F32, Dims: t.dims}
	if t.list != nil {
		m.DType = matrix.I64
	}
	return m
}

// origin is where in the matrix the values of rows of the parameter are.
func (t *tensor) origin(rows matrix.Range) matrix.Rect {
	switch {
	case t.turned:
		return matrix.At(0, t.cols(), rows.Lo, rows.Hi)
	case t.square:
		return matrix.At(rows.Lo, rows.Hi, 0, t.cols())
	}
	return matrix.At(0, 1, rows.Lo*t.cols(), rows.Hi*t.cols())
}

// put copies a block of the matrix into values, the rows of the parameter from rows.Lo on.
func (t *tensor) put(values []float32, rows matrix.Range, at matrix.Rect, from []float32) {
	width, cols := int(t.cols()), int(at.Cols.Len())
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		line := from[int(r-at.Rows.Lo)*cols:][:cols]
		switch {
		case t.turned:
			to := values[int(at.Cols.Lo-rows.Lo)*width+int(r):]
			for i, v := range line {
				to[i*width] = v
			}
		case t.square:
			copy(values[int(r-rows.Lo)*width+int(at.Cols.Lo):], line)
		default:
			copy(values[at.Cols.Lo-rows.Lo*int64(width):], line)
		}
	}
}
