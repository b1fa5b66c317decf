package kernel

import (
	"math"
	"unsafe"

	"thole.example/matrix"
)

// What is rounded to be sent keeps what that loses: each of the functions here rounds vals, finite numbers, together with what is
// left of them from before, rest, and leaves there what was to be sent less what is. What is too large for the type becomes its
// largest number. Where a number and its rest have no finite sum the rest waits; what would be left beyond the largest finite number
// is that.

// RoundHalves rounds vals, rows of n values, to halves. Row i has row rows[i] of rest, of which none comes twice.
func RoundHalves[H Half, T Float](vals, rest []T, n int, rows []uint32) {
	roundHalves[H](machine, vals, rest, n, rows)
}

// few is how many values of short rows are gathered to be rounded together.
const few = 256

func roundHalves[H Half, T Float](on level, vals, rest []T, n int, rows []uint32) {
	checkLen(len(vals), n*len(rows), "vals")
	if roundHalvesOn[H](on, vals, rest, n, rows) {
		return
	}
	if n >= few/4 {
		for i, row := range rows {
			roundRow[H](on, vals[i*n:(i+1)*n], rest[int(row)*n:][:n])
		}
		return
	}
	var some [few]T
	for n > 0 && len(rows) > 0 {
		m := min(len(rows), few/n)
		for i, row := range rows[:m] {
			copy(some[i*n:(i+1)*n], rest[int(row)*n:])
		}
		roundRow[H](on, vals[:m*n], some[:m*n])
		for i, row := range rows[:m] {
			copy(rest[int(row)*n:][:n], some[i*n:])
		}
		vals, rows = vals[m*n:], rows[m:]
	}
}

// roundRow rounds a row of any length.
func roundRow[H Half, T Float](on level, vals, rest []T) {
	n := len(vals) &^ (eight - 1)
	if roundHalvesOn[H](on, vals[:n], rest[:n], n, []uint32{0}) {
		vals, rest = vals[n:], rest[n:]
	}
	roundHalf[H](vals, rest)
}

// roundHalf is the way in pure Go.
func roundHalf[H Half, T Float](vals, rest []T) {
	if len(vals) == 0 {
		return
	}
	largest := T(matrix.BFloat16(0x7f7f).Float32())
	if _, ok := any(H(0)).(matrix.Float16); ok {
		largest = 65504
	}
	var half [few]H
	for len(vals) > 0 {
		m := min(len(vals), few)
		takeUp(vals[:m], rest[:m])
		narrowAny(half[:m], vals[:m])
		for i, h := range half[:m] {
			settle(&vals[i], &rest[i], max(-largest, min(largest, halfAs[H, T](h))))
		}
		vals, rest = vals[m:], rest[m:]
	}
}

// halfAs is a half as a number of another type.
func halfAs[H Half, T Float](h H) T {
	if f16, ok := any(h).(matrix.Float16); ok {
		return T(f16.Float32())
	}
	return T(any(h).(matrix.BFloat16).Float32())
}

// takeUp adds what is left to the values, where that is finite.
func takeUp[T Float](vals, rest []T) {
	for i, v := range vals {
		if sum := v + rest[i]; !math.IsInf(float64(sum), 0) {
			vals[i], rest[i] = sum, 0
		}
	}
}

// settle replaces a value by the rounded one and leaves what that loses.
func settle[T Float](v, rest *T, rounded T) {
	most := greatest[T]()
	*rest = max(-most, min(most, *rest+(*v-rounded)))
	*v = rounded
}

// greatest is the largest finite number of a type.
func greatest[T Float]() T {
	most := math.MaxFloat64
	if unsafe.Sizeof(T(0)) == 4 {
		most = math.MaxFloat32
	}
	return T(most)
}
