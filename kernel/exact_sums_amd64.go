package kernel

import "math"

// addSlicesOn adds the first n values of a chunk, if that is exact, and reports whether it did. With AVX2 that is found out as
// in pure Go. With AVX-512 the machine
// itself says what was exact: each addition of which a part must not be lost leaves a mark if it rounds, and those that may
// round leave none. So there a sum is right whatever the constants are; they only make it likely that nothing is rounded.
func addSlicesOn[T Float](on level, e *Exact, a, b []T, t terms) (n int, ok bool) {
	n = len(a) &^ 31
	if on == plain || n == 0 {
		return len(a), addSlicesPlain(e, a, b, t)
	}
	s := sums{mask: math.MaxUint64, limit: gridOf(e.scale).limit}
	if t == absOf {
		s.mask = math.MaxInt64
	}
	for i := range 3 {
		s.m[i], s.m[3+i] = top(e.scale-i*sliceBits), top(e.scale-53-i*sliceBits)
	}
	switch a := any(a).(type) {
	case []float32:
		if t != productsOf {
			s.add32(on, &a[0], n)
		} else {
			s.addProducts32(on, e.heavy(), &a[0], &any(b).([]float32)[0], n)
		}
	case []float64:
		if t != productsOf {
			s.add64(on, e.heavy(), &a[0], n)
		} else {
			s.addProducts64(on, e.heavy(), &a[0], &any(b).([]float64)[0], n)
		}
	}
	return n, s.addTo(e)
}

// The functions in assembly work on n values, a multiple of 32 and at least that. They are called by name: through a table
// their arguments would go to the heap, chunk by chunk. Values of many sizes are heavy: they take a slice more.

func (s *sums) add32(on level, x *float32, n int) {
	if on == avx512 {
		sum32AVX512(x, n, s)
	} else {
		sum32AVX2(x, n, s)
	}
}

func (s *sums) add64(on level, heavy bool, x *float64, n int) {
	switch {
	case on != avx512:
		sum64AVX2(x, n, s)
	case heavy:
		sum64AVX512(x, n, s)
	default:
		light64AVX512(x, n, s)
	}
}

func (s *sums) addProducts32(on level, heavy bool, x, y *float32, n int) {
	switch {
	case on != avx512:
		products32AVX2(x, y, n, s)
	case heavy:
		products32AVX512(x, y, n, s)
	default:
		lightProducts32AVX512(x, y, n, s)
	}
}

func (s *sums) addProducts64(on level, heavy bool, x, y *float64, n int) {
	switch {
	case on != avx512:
		products64AVX2(x, y, n, s)
	case heavy:
		products64AVX512(x, y, n, s)
	default:
		lightProducts64AVX512(x, y, n, s)
	}
}

// addDeepOn adds a chunk whose values are of so many sizes that it takes more slices, if that is exact, and reports whether
// it did: products and what they lost are taken from a to b, and then each cut into five slices.
func addDeepOn[T Float](on level, e *Exact, a, b []T, t terms) bool {
	if on != avx512 {
		return addSlicesPlain(e, a, b, t)
	}
	var sum Exact // nothing is added before it is clear that all of it is exact
	var values, lost [256]float64
	for len(a) > 0 {
		n := min(len(a), len(values))
		clear(values[n:]) // zeros change nothing
		if t != productsOf {
			for i, v := range a[:n] {
				values[i] = float64(v)
			}
		} else {
			clear(lost[n:])
			if !twoProducts(values[:n], lost[:n], a, b) {
				return false
			}
			b = b[n:]
			if !deep(&sum, lost[:], e.scale-53, valuesOf) {
				return false
			}
		}
		if !deep(&sum, values[:], e.scale, t) {
			return false
		}
		a = a[n:]
	}
	e.Merge(&sum)
	return true
}

// deep adds a multiple of 32 values in five slices.
func deep(e *Exact, v []float64, scale int, t terms) bool {
	s := sums{mask: math.MaxUint64}
	if t == absOf {
		s.mask = math.MaxInt64
	}
	for i := range s.m {
		s.m[i] = top(scale - i*sliceBits)
	}
	deep64AVX512(&v[0], len(v), &s)
	return s.addTo(e)
}

// addTo adds what came out if it is exact, and reports whether it is.
func (s *sums) addTo(e *Exact) bool {
	var all float64
	for _, v := range s.out {
		all += v
	}
	if s.flags&lossy != 0 || all-all != 0 {
		return false
	}
	for _, v := range s.out {
		if v != 0 {
			e.Add(v)
		}
	}
	return true
}

// sums is what the functions in assembly take and give.
type sums struct {
	m     [6]float64 // constants: of three slices, and of three for what products lose, or of slices each below the last
	mask  uint64     // bits of a value that count
	out   [6]float64 // what adds up to the sum, if flags say that it is exact
	flags uint32     // of the machine's control word, or 1 where something was left over
	limit float64    // what values must be below, for AVX2
}

// lossy are the flags of a wrong operation, an overflow, an underflow and a result that was rounded.
const lossy = 1<<0 | 1<<3 | 1<<4 | 1<<5

//go:noescape
func sum32AVX512(x *float32, n int, s *sums)

//go:noescape
func sum64AVX512(x *float64, n int, s *sums)

//go:noescape
func deep64AVX512(x *float64, n int, s *sums)

//go:noescape
func products32AVX512(x, y *float32, n int, s *sums)

//go:noescape
func products64AVX512(x, y *float64, n int, s *sums)

//go:noescape
func sum32AVX2(x *float32, n int, s *sums)

//go:noescape
func sum64AVX2(x *float64, n int, s *sums)

//go:noescape
func products32AVX2(x, y *float32, n int, s *sums)

//go:noescape
func products64AVX2(x, y *float64, n int, s *sums)

//go:noescape
func light64AVX512(x *float64, n int, s *sums)

//go:noescape
func lightProducts32AVX512(x, y *float32, n int, s *sums)

//go:noescape
func lightProducts64AVX512(x, y *float64, n int, s *sums)
