package kernel

import "unsafe"

// The passes in assembly, by operation; nil where pure Go does.
var (
	combineF32 = [ops]func(dst, x, y unsafe.Pointer, n int){plusF32, minusF32, timesF32, overF32, leastF32, mostF32}
	combineF64 = [ops]func(dst, x, y unsafe.Pointer, n int){plusF64, minusF64, timesF64, overF64, leastF64, mostF64}
	combineI32 = [ops]func(dst, x, y unsafe.Pointer, n int){plusI32, minusI32, timesI32, nil, leastI32, mostI32}
	combineI64 = [ops]func(dst, x, y unsafe.Pointer, n int){plusI64, minusI64}

	applyF32 = [changes]func(dst, x unsafe.Pointer, n int){absF32, negF32, sqrtF32}
	applyF64 = [changes]func(dst, x unsafe.Pointer, n int){absF64, negF64, sqrtF64}
	applyI32 = [changes]func(dst, x unsafe.Pointer, n int){absI32, negI32}
	applyI64 = [changes]func(dst, x unsafe.Pointer, n int){nil, negI64}
)

// passBytes is how many bytes passes in assembly go on by.
const passBytes = 128

// whole is how many of n values of a type the passes in assembly take, and how many bytes these are.
func whole[T Number](on level, n int) (values, bytes int) {
	if on == plain {
		return 0, 0
	}
	var v T
	size := int(unsafe.Sizeof(v))
	bytes = n * size &^ (passBytes - 1)
	return bytes / size, bytes
}

// combineOn does the first values and tells how many.
func combineOn[T Number](on level, op Op, dst, x, y []T) int {
	var pass func(dst, x, y unsafe.Pointer, n int)
	switch any(dst).(type) {
	case []float32:
		pass = combineF32[op]
	case []float64:
		pass = combineF64[op]
	case []int32:
		pass = combineI32[op]
	case []int64:
		pass = combineI64[op]
	}
	n, bytes := whole[T](on, len(dst))
	if pass == nil || n == 0 {
		return 0
	}
	pass(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), bytes)
	return n
}

// applyOn does the first values and tells how many.
func applyOn[T Number](on level, c change, dst, x []T) int {
	var pass func(dst, x unsafe.Pointer, n int)
	switch any(dst).(type) {
	case []float32:
		pass = applyF32[c]
	case []float64:
		pass = applyF64[c]
	case []int32:
		pass = applyI32[c]
	case []int64:
		pass = applyI64[c]
	}
	n, bytes := whole[T](on, len(dst))
	if pass == nil || n == 0 {
		return 0
	}
	pass(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), bytes)
	return n
}

// affineOn does the first values and tells how many.
func affineOn[T Number](on level, dst, x []T, a, b T) int {
	n, bytes := whole[T](on, len(dst))
	if n == 0 {
		return 0
	}
	switch any(a).(type) {
	case float32:
		affineF32(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), bytes, float32(a), float32(b))
	case float64:
		affineF64(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), bytes, float64(a), float64(b))
	default:
		return 0
	}
	return n
}

// pastCache is from how many bytes on Fill writes past the caches, which would not keep what it wrote.
const pastCache = 4 << 20

// fillOn fills the middle of dst and returns its bounds.
func fillOn[T Number](on level, dst []T, v T) (lo, hi int) {
	size := int(unsafe.Sizeof(v))
	past := len(dst)*size >= pastCache
	if past { // such stores want vectors at multiples of their size
		lo = int(-uintptr(unsafe.Pointer(&dst[0]))&31) / size
	}
	n, bytes := whole[T](on, len(dst)-lo)
	if n == 0 {
		return 0, 0
	}
	var pattern [32]byte
	for i := range 32 / size {
		*(*T)(unsafe.Pointer(&pattern[i*size])) = v
	}
	fillAVX2(unsafe.Pointer(&dst[lo]), bytes, &pattern, past)
	return lo, lo + n
}

// fillAVX2 stores the pattern over n bytes, past the caches if told so; dst is then at a multiple of 32.
//
//go:noescape
func fillAVX2(dst unsafe.Pointer, n int, pattern *[32]byte, past bool)

//go:noescape
func affineF32(dst, x unsafe.Pointer, n int, a, b float32)

//go:noescape
func affineF64(dst, x unsafe.Pointer, n int, a, b float64)

// The passes of the tables.

//go:noescape
func plusF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minusF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func timesF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func overF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func leastF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mostF32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func plusF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minusF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func timesF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func overF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func leastF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mostF64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func plusI32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func plusI64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minusI32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minusI64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func timesI32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func leastI32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mostI32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func absF32(dst, x unsafe.Pointer, n int)

//go:noescape
func absF64(dst, x unsafe.Pointer, n int)

//go:noescape
func negF32(dst, x unsafe.Pointer, n int)

//go:noescape
func negF64(dst, x unsafe.Pointer, n int)

//go:noescape
func sqrtF32(dst, x unsafe.Pointer, n int)

//go:noescape
func sqrtF64(dst, x unsafe.Pointer, n int)

//go:noescape
func absI32(dst, x unsafe.Pointer, n int)

//go:noescape
func negI32(dst, x unsafe.Pointer, n int)

//go:noescape
func negI64(dst, x unsafe.Pointer, n int)
