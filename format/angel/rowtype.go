package angel

import (
	"fmt"
	"math"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
)

// rowType is Angel's number for the element type, storage and key width of a matrix, as metadata of 2.0.0 and later
// have it: four element types of seven storages each.
type rowType int32

// storages are the seven ways to hold a row, in the order of their numbers within an element type.
var storages = [...]struct {
	name         string
	sparse, long bool
}{
	{"DENSE", false, false},
	{"DENSE_COMPONENT", false, false},
	{"DENSE_LONGKEY_COMPONENT", false, true},
	{"SPARSE", true, false},
	{"SPARSE_COMPONENT", true, false},
	{"SPARSE_LONGKEY", true, true},
	{"SPARSE_LONGKEY_COMPONENT", true, true},
}

// elements are the four element types, in the order of their numbers.
var elements = [...]struct {
	name string
	d    matrix.DType
}{{"DOUBLE", matrix.F64}, {"FLOAT", matrix.F32}, {"LONG", matrix.I64}, {"INT", matrix.I32}}

// complexTypes hold values that are Java objects; their bytes depend on classes that only their authors have.
var complexTypes = [...]string{
	"T_ANY_INTKEY_DENSE", "T_ANY_INTKEY_SPARSE", "T_ANY_LONGKEY_SPARSE", "T_ANY_STRINGKEY_SPARSE", "T_ANY_ANYKEY_SPARSE",
}

const firstComplex = rowType(len(elements) * len(storages))

func (t rowType) String() string {
	switch {
	case t >= 0 && t < firstComplex:
		return "T_" + elements[int(t)/len(storages)].name + "_" + storages[int(t)%len(storages)].name
	case t.complex():
		return complexTypes[t-firstComplex]
	}
	return fmt.Sprintf("row type %d", int32(t))
}

func (t rowType) check() error {
	if t >= 0 && (t < firstComplex || t.complex()) {
		return nil
	}
	return fmt.Errorf("%v, want 0..%d (double, float, long, int): %w", t, firstComplex-1, format.ErrVersion)
}

// complex reports whether elements are Java objects.
func (t rowType) complex() bool {
	return t >= firstComplex && int(t-firstComplex) < len(complexTypes)
}

// The facts below hold for types that check accepts; those of objects only name what cannot be read.

func (t rowType) dtype() matrix.DType {
	if t.complex() {
		return matrix.U8
	}
	return elements[int(t)/len(storages)].d
}

func (t rowType) sparse() bool {
	return t > firstComplex || !t.complex() && storages[int(t)%len(storages)].sparse
}

// long reports whether column ids take eight bytes in binary files; else they take four.
func (t rowType) long() bool { return !t.complex() && storages[int(t)%len(storages)].long }

func (t rowType) layout() matrix.Layout {
	if t.sparse() {
		return matrix.RowSparse
	}
	return matrix.RowDense
}

// parseRowType finds the type of a name such as T_FLOAT_DENSE.
func parseRowType(name string) (rowType, bool) {
	for t := rowType(0); t < firstComplex; t++ {
		if t.String() == strings.ToUpper(name) {
			return t, true
		}
	}
	return 0, false
}

// chooseRowType is the type to write a matrix as: the one it was read with if that still fits, else the plain one.
func chooseRowType(m *matrix.Meta, d matrix.DType) rowType {
	long := m.ColLo < math.MinInt32 || m.ColLo+m.Cols > math.MaxInt32+1
	if t, ok := parseRowType(m.Attrs[attrRowType]); ok && t.dtype() == d && t.layout() == m.Layout && (t.long() || !long) {
		return t
	}
	storage := 0
	switch {
	case m.Layout == matrix.RowSparse && long:
		storage = 5
	case m.Layout == matrix.RowSparse:
		storage = 3
	case long:
		storage = 2
	}
	for i, e := range elements {
		if e.d == d {
			return rowType(i*len(storages) + storage)
		}
	}
	return -1
}

// heldAs is the element type that a matrix is written in: its own, or the narrowest of Angel's four that holds it.
func heldAs(d matrix.DType) matrix.DType {
	switch d {
	case matrix.F64, matrix.F32, matrix.I64, matrix.I32:
		return d
	case matrix.F16, matrix.BF16:
		return matrix.F32
	case matrix.U32, matrix.U64:
		return matrix.I64
	}
	return matrix.I32
}
