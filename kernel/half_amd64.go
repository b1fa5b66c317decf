package kernel

import (
	"slices"
	"unsafe"

	"thole.example/matrix"
)

// eight is how many numbers of 32 bits the vectors have.
const eight = 8

// halfPasses are the ways of vectors for a type of halves: n is a multiple of eight, and at least that.
type halfPasses struct {
	narrow func(dst, src unsafe.Pointer, n int) (done int) // ends before eight of which one becomes an infinity
	widen  func(dst, src unsafe.Pointer, n int)
	inputs func(dst, src unsafe.Pointer, n int, inputs *Input, count int, first uint32, rows, places int) (done int)
	round  func(vals, rest unsafe.Pointer, n int, rows *uint32, count int)
}

var (
	passesF16  = halfPasses{narrowF16, widenF16, widenInputsF16, roundF16}
	passesBF16 = halfPasses{narrowBF16, widenBF16, widenInputsBF16, roundBF16}
)

func halfPassesOf[H Half]() *halfPasses {
	if _, ok := any(H(0)).(matrix.Float16); ok {
		return &passesF16
	}
	return &passesBF16
}

// narrowOn does the first numbers and tells how many.
func narrowOn[H Half, T Float](on level, dst []H, src []T) int {
	if n := len(src) &^ (eight - 1); byVectors[T](on, n) {
		return halfPassesOf[H]().narrow(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n)
	}
	return 0
}

// widenOn does the first numbers and tells how many.
func widenOn[H Half, T Float](on level, dst []T, src []H) int {
	n := len(src) &^ (eight - 1)
	if !byVectors[T](on, n) {
		return 0
	}
	halfPassesOf[H]().widen(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n)
	return n
}

// widenInputsOn does the first inputs and tells how many.
func widenInputsOn[H Half, T Float](on level, dst []T, src []H, n int, inputs []Input, first uint32) int {
	if !byVectors[T](on, n) || n%eight != 0 || len(inputs) == 0 || len(dst) < n || len(src) < n {
		return 0
	}
	rows, places := len(dst)/n, len(src)/n
	return halfPassesOf[H]().inputs(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n, &inputs[0], len(inputs), first, rows, places)
}

// byVectors reports whether there are vectors for n numbers of the type.
func byVectors[T Float](on level, n int) bool {
	return on != plain && unsafe.Sizeof(T(0)) == 4 && n >= eight
}

// roundable reports whether rows of n values can be rounded by vectors, and panics if they are not all in rest.
func roundable[T Float](on level, rest []T, n int, rows []uint32) bool {
	if !byVectors[T](on, n) || n%eight != 0 || len(rows) == 0 {
		return false
	}
	_ = rest[int(slices.Max(rows))*n+n-1]
	return true
}

// roundHalvesOn reports whether it rounded the rows.
func roundHalvesOn[H Half, T Float](on level, vals, rest []T, n int, rows []uint32) bool {
	if !roundable(on, rest, n, rows) {
		return false
	}
	halfPassesOf[H]().round(unsafe.Pointer(&vals[0]), unsafe.Pointer(&rest[0]), n, &rows[0], len(rows))
	return true
}

// roundRunsOn reports whether it rounded the rows.
func roundRunsOn[T Float](on level, vals, rest []T, n int, rows []uint32) bool {
	if !roundable(on, rest, n, rows) {
		return false
	}
	roundRunsAVX2(unsafe.Pointer(&vals[0]), unsafe.Pointer(&rest[0]), n, &rows[0], len(rows))
	return true
}

// narrowRunsOn reports whether it wrote the runs.
func narrowRunsOn[T Float](on level, dst []byte, vals []T, n int) bool {
	if !byVectors[T](on, n) || n%eight != 0 || len(vals) == 0 {
		return false
	}
	narrowRunsAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&vals[0]), n, len(vals)/n)
	return true
}

// widenRunsOn does the first runs and tells how many.
func widenRunsOn[T Float](on level, dst []T, runs []byte, n int) int {
	if !byVectors[T](on, n) || n%eight != 0 || len(dst) == 0 {
		return 0
	}
	return widenRunsAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&runs[0]), n, len(dst)/n)
}

//go:noescape
func narrowF16(dst, src unsafe.Pointer, n int) (done int)

//go:noescape
func narrowBF16(dst, src unsafe.Pointer, n int) (done int)

//go:noescape
func widenF16(dst, src unsafe.Pointer, n int)

//go:noescape
func widenBF16(dst, src unsafe.Pointer, n int)

//go:noescape
func widenInputsF16(dst, src unsafe.Pointer, n int, inputs *Input, count int, first uint32, rows, places int) (done int)

//go:noescape
func widenInputsBF16(dst, src unsafe.Pointer, n int, inputs *Input, count int, first uint32, rows, places int) (done int)

//go:noescape
func roundF16(vals, rest unsafe.Pointer, n int, rows *uint32, count int)

//go:noescape
func roundBF16(vals, rest unsafe.Pointer, n int, rows *uint32, count int)

//go:noescape
func roundRunsAVX2(vals, rest unsafe.Pointer, n int, rows *uint32, count int)

//go:noescape
func narrowRunsAVX2(dst, vals unsafe.Pointer, n, count int)

// widenRunsAVX2 ends before a run whose scale is none, or -0.
//
//go:noescape
func widenRunsAVX2(dst, runs unsafe.Pointer, n, count int) (done int)
