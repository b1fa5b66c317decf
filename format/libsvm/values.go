package libsvm

import (
	"thole.example/format"
	"thole.example/matrix"
)

// values are numbers of one type that are read one by one.
type values interface {
	// read takes the number that b begins with and gives its length; 0 if there is none that the type holds.
	read(b []byte) int
	// swap exchanges the numbers i and k.
	swap(i, k int)
	// csr makes the numbers rows, dense a block without gaps.
	csr(ptr []int, idx []int64) matrix.Data
	dense() matrix.Data
}

type list[T matrix.Stored] struct {
	val   []T
	parse func(b []byte) (T, int)
}

func (l *list[T]) read(b []byte) int {
	v, n := l.parse(b)
	if n > 0 {
		l.val = append(l.val, v)
	}
	return n
}

func (l *list[T]) swap(i, k int)      { l.val[i], l.val[k] = l.val[k], l.val[i] }
func (l *list[T]) dense() matrix.Data { return &matrix.Dense[T]{Val: l.val} }
func (l *list[T]) csr(ptr []int, idx []int64) matrix.Data {
	return &matrix.CSR[T]{Ptr: ptr, Idx: idx, Val: l.val}
}

func newList[T matrix.Stored]() values { return &list[T]{parse: format.CellReader[T]()} }

func newValues(d matrix.DType) values {
	switch d {
	case matrix.F64:
		return newList[float64]()
	case matrix.F32:
		return newList[float32]()
	case matrix.I64:
		return newList[int64]()
	case matrix.I32:
		return newList[int32]()
	case matrix.I16:
		return newList[int16]()
	case matrix.I8:
		return newList[int8]()
	case matrix.U64:
		return newList[uint64]()
	case matrix.U32:
		return newList[uint32]()
	case matrix.U16:
		return newList[uint16]()
	case matrix.U8:
		return newList[uint8]()
	case matrix.F16:
		return newList[matrix.Float16]()
	case matrix.BF16:
		return newList[matrix.BFloat16]()
	}
	return newList[matrix.Boolean]()
}
