package kernel

import (
	"math"
	"unsafe"
)

// scan is what the scans in assembly take and give; the assembly knows where its fields stand.
type scan struct {
	mask  uint64 // bits of a value that count, of floats; what integers must not be below
	limit [8]byte
	out   [3][32]byte // vectors: the smallest, the largest, ones for what is no number; or counts
}

// scanOf is a scan with the bits of floats that count.
func scanOf[T Number](abs bool) scan {
	s := scan{mask: math.MaxUint64}
	if abs {
		s.mask = math.MaxInt64
		var v T
		if unsafe.Sizeof(v) == 4 {
			s.mask = math.MaxInt32
		}
	}
	return s
}

// lanes is a vector of the scan as values.
func lanes[T any](v *[32]byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(v)), 32/unsafe.Sizeof(zero))
}

// count is the sum of two vectors of counts in lanes as wide as T.
func count[T Number](s *scan) (n int) {
	for i := range 2 {
		var v T
		if unsafe.Sizeof(v) == 4 {
			for _, c := range lanes[uint32](&s.out[i]) {
				n += int(c)
			}
			continue
		}
		for _, c := range lanes[uint64](&s.out[i]) {
			n += int(c)
		}
	}
	return n
}

// extremesOn widens r by the first values and tells how many.
func extremesOn[T Number](on level, r *extremes[T], v []T, abs bool) int {
	n, bytes := whole[T](on, len(v))
	if n == 0 {
		return 0
	}
	s := scanOf[T](abs)
	first := unsafe.Pointer(&v[0])
	switch any(v).(type) {
	case []float32:
		extremesF32(first, bytes, &s)
	case []float64:
		extremesF64(first, bytes, &s)
	case []int32:
		if abs {
			return 0
		}
		extremesI32(first, bytes, &s)
	case []int64:
		if abs {
			return 0
		}
		extremesI64(first, bytes, &s)
	}
	for i, lo := range lanes[T](&s.out[0]) {
		r.lo, r.hi = min(r.lo, lo), max(r.hi, lanes[T](&s.out[1])[i])
	}
	r.nan = r.nan || s.out[2] != [32]byte{}
	return n
}

// zerosOn counts zeros among the first n values.
func zerosOn[T Number](on level, v []T) (zeros, n int) {
	n, bytes := whole[T](on, len(v))
	if n == 0 {
		return 0, 0
	}
	var s scan
	first := unsafe.Pointer(&v[0])
	switch any(v).(type) {
	case []float32:
		zerosF32(first, bytes, &s)
	case []float64:
		zerosF64(first, bytes, &s)
	case []int32:
		zerosI32(first, bytes, &s)
	case []int64:
		zerosI64(first, bytes, &s)
	}
	return count[T](&s), n
}

// notAboveOn is how many values come before the first passBytes with one that is above the limit, and how many values these
// have; 0 and all if it does not know.
func notAboveOn[T Number](on level, v []T, limit T, abs bool) (n, block int) {
	n, bytes := whole[T](on, len(v))
	if n == 0 || abs && limit < 0 {
		return 0, len(v)
	}
	s := scanOf[T](abs)
	*(*T)(unsafe.Pointer(&s.limit)) = limit
	first := unsafe.Pointer(&v[0])
	size := len(s.out[0]) / len(lanes[T](&s.out[0]))
	switch any(v).(type) {
	case []float32:
		bytes = findF32(first, bytes, &s)
	case []float64:
		bytes = findF64(first, bytes, &s)
	case []int32:
		*(*int32)(unsafe.Pointer(&s.mask)) = math.MinInt32
		if abs {
			*(*int32)(unsafe.Pointer(&s.mask)) = int32(-limit)
		}
		bytes = findI32(first, bytes, &s)
	case []int64:
		s.mask = 1 << 63
		if abs {
			s.mask = uint64(-limit)
		}
		bytes = findI64(first, bytes, &s)
	}
	return bytes / size, passBytes / size
}

// differentOn counts differences among the first n values.
func differentOn[T Number](on level, a, b []T, tolerance T) (differ, n int) {
	n, bytes := whole[T](on, len(a))
	if n == 0 {
		return 0, 0
	}
	s := scanOf[T](true)
	*(*T)(unsafe.Pointer(&s.limit)) = tolerance
	switch any(a).(type) {
	case []float32:
		differF32(unsafe.Pointer(&a[0]), bytes, &s, unsafe.Pointer(&b[0]))
	case []float64:
		differF64(unsafe.Pointer(&a[0]), bytes, &s, unsafe.Pointer(&b[0]))
	default:
		return 0, 0
	}
	return count[T](&s), n
}

// addIntsOn adds the first values and tells how many.
func addIntsOn[T int64 | int32](on level, e *Exact, v []T) (n int) {
	for len(v) > 0 {
		some, bytes := whole[T](on, min(len(v), 1<<30)) // of so many, sums of halves fit
		if some == 0 {
			break
		}
		var s scan
		switch any(v).(type) {
		case []int64:
			sumI64(unsafe.Pointer(&v[0]), bytes, &s)
			e.add(uint64(some), -1, 63) // what the assembly added to each
		case []int32:
			sumI32(unsafe.Pointer(&v[0]), bytes, &s)
		}
		for i, low := range lanes[int64](&s.out[0]) {
			e.add(magnitude(low), low>>63, 0)
			e.add(lanes[uint64](&s.out[1])[i], 0, 32)
		}
		n += some
		v = v[some:]
	}
	return n
}

//go:noescape
func sumI64(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func sumI32(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func extremesF32(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func extremesF64(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func extremesI32(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func extremesI64(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func zerosF32(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func zerosF64(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func zerosI32(x unsafe.Pointer, n int, arg *scan)

//go:noescape
func zerosI64(x unsafe.Pointer, n int, arg *scan)

// The functions that find answer with the bytes before the first 128 that have a value above the limit.

//go:noescape
func findF32(x unsafe.Pointer, n int, arg *scan) int

//go:noescape
func findF64(x unsafe.Pointer, n int, arg *scan) int

//go:noescape
func findI32(x unsafe.Pointer, n int, arg *scan) int

//go:noescape
func findI64(x unsafe.Pointer, n int, arg *scan) int

//go:noescape
func differF32(x unsafe.Pointer, n int, arg *scan, y unsafe.Pointer)

//go:noescape
func differF64(x unsafe.Pointer, n int, arg *scan, y unsafe.Pointer)
