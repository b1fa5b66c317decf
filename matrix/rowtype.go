package matrix

import (
	"fmt"
	"strings"
)

// RowType is Angel's name for how rows are held: element type, dense or sparse, width of the column ids. The numbers are
// those of Angel 2.0 and later; IntArbitrary, which only 1.x has, stands outside of them.
type RowType int32

// IntArbitrary is T_INT_ARBITRARY of Angel 1.x: int rows, dense or sparse by what is in them.
const IntArbitrary RowType = 100 + 5

type rowTypeFacts struct {
	name   string
	dtype  DType // Invalid: Java objects
	layout Layout
	long   bool // column ids take eight bytes
	first  int  // number in Angel 1.x; 0: it had none
}

// rowTypes is the table of row types by number: four element types of seven storages each, then objects.
var rowTypes = [...]rowTypeFacts{
	{"T_DOUBLE_DENSE", F64, RowDense, false, 2},
	{"T_DOUBLE_DENSE_COMPONENT", F64, RowDense, false, 0},
	{"T_DOUBLE_DENSE_LONGKEY_COMPONENT", F64, RowDense, true, 0},
	{"T_DOUBLE_SPARSE", F64, RowSparse, false, 1},
	{"T_DOUBLE_SPARSE_COMPONENT", F64, RowSparse, false, 9},
	{"T_DOUBLE_SPARSE_LONGKEY", F64, RowSparse, true, 8},
	{"T_DOUBLE_SPARSE_LONGKEY_COMPONENT", F64, RowSparse, true, 12},
	{"T_FLOAT_DENSE", F32, RowDense, false, 6},
	{"T_FLOAT_DENSE_COMPONENT", F32, RowDense, false, 0},
	{"T_FLOAT_DENSE_LONGKEY_COMPONENT", F32, RowDense, true, 0},
	{"T_FLOAT_SPARSE", F32, RowSparse, false, 7},
	{"T_FLOAT_SPARSE_COMPONENT", F32, RowSparse, false, 10},
	{"T_FLOAT_SPARSE_LONGKEY", F32, RowSparse, true, 13},
	{"T_FLOAT_SPARSE_LONGKEY_COMPONENT", F32, RowSparse, true, 0},
	{"T_LONG_DENSE", I64, RowDense, false, 0},
	{"T_LONG_DENSE_COMPONENT", I64, RowDense, false, 0},
	{"T_LONG_DENSE_LONGKEY_COMPONENT", I64, RowDense, true, 0},
	{"T_LONG_SPARSE", I64, RowSparse, false, 0},
	{"T_LONG_SPARSE_COMPONENT", I64, RowSparse, false, 0},
	{"T_LONG_SPARSE_LONGKEY", I64, RowSparse, true, 0},
	{"T_LONG_SPARSE_LONGKEY_COMPONENT", I64, RowSparse, true, 0},
	{"T_INT_DENSE", I32, RowDense, false, 4},
	{"T_INT_DENSE_COMPONENT", I32, RowDense, false, 0},
	{"T_INT_DENSE_LONGKEY_COMPONENT", I32, RowDense, true, 0},
	{"T_INT_SPARSE", I32, RowSparse, false, 3},
	{"T_INT_SPARSE_COMPONENT", I32, RowSparse, false, 11},
	{"T_INT_SPARSE_LONGKEY", I32, RowSparse, true, 0},
	{"T_INT_SPARSE_LONGKEY_COMPONENT", I32, RowSparse, true, 0},
	{"T_ANY_INTKEY_DENSE", Invalid, RowDense, false, 0},
	{"T_ANY_INTKEY_SPARSE", Invalid, RowSparse, false, 0},
	{"T_ANY_LONGKEY_SPARSE", Invalid, RowSparse, true, 0},
	{"T_ANY_STRINGKEY_SPARSE", Invalid, RowSparse, false, 0},
	{"T_ANY_ANYKEY_SPARSE", Invalid, RowSparse, false, 0},
}

// arbitrary is what is known of IntArbitrary. Its layout is that of a matrix without content.
var arbitrary = rowTypeFacts{"T_INT_ARBITRARY", I32, RowSparse, false, 5}

// RowTypes lists every row type: those of Angel 2.0 and later in the order of their numbers, then IntArbitrary.
func RowTypes() []RowType {
	all := make([]RowType, 0, len(rowTypes)+1)
	for t := range rowTypes {
		all = append(all, RowType(t))
	}
	return append(all, IntArbitrary)
}

func (t RowType) facts() (rowTypeFacts, bool) {
	switch {
	case t >= 0 && int(t) < len(rowTypes):
		return rowTypes[t], true
	case t == IntArbitrary:
		return arbitrary, true
	}
	return rowTypeFacts{}, false
}

// String is the name, such as T_FLOAT_DENSE, or "row type 77" for a number that no type has.
func (t RowType) String() string {
	if f, ok := t.facts(); ok {
		return f.name
	}
	return fmt.Sprintf("row type %d", int32(t))
}

// Known reports whether there is such a type.
func (t RowType) Known() bool {
	_, ok := t.facts()
	return ok
}

// Object reports whether elements are Java objects, whose bytes depend on classes that only their authors have.
func (t RowType) Object() bool {
	f, ok := t.facts()
	return ok && f.dtype == Invalid
}

// DType is the element type; Invalid for objects and for a type that is not known.
func (t RowType) DType() DType {
	f, _ := t.facts()
	return f.dtype
}

// Layout is dense or sparse. That of IntArbitrary follows from content: sparse where there is none.
func (t RowType) Layout() Layout {
	f, _ := t.facts()
	return f.layout
}

// LongKeys reports whether column ids take eight bytes; else they take four.
func (t RowType) LongKeys() bool {
	f, _ := t.facts()
	return f.long
}

// ParseRowType finds the type of a name, in letters of either case.
func ParseRowType(name string) (RowType, error) {
	for _, t := range RowTypes() {
		if t.String() == strings.ToUpper(name) {
			return t, nil
		}
	}
	return -1, fmt.Errorf("matrix: row type %q, want one such as T_DOUBLE_DENSE, T_FLOAT_SPARSE or T_LONG_SPARSE_LONGKEY", name)
}

// FirstRowTypes is how many numbers of row types Angel 1.x has, which count from 1.
const FirstRowTypes = 13

// FirstRowType is the type that has the number in Angel 1.x, where the numbers are others; false if none has it.
func FirstRowType(number int) (RowType, bool) {
	for _, t := range RowTypes() {
		if f, _ := t.facts(); f.first == number && number > 0 {
			return t, true
		}
	}
	return -1, false
}
