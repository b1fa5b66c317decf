package matrix

import "math"

// convert fills dst, a slice of some Stored type as long as src.
func convert[S Stored](dst any, src []S) (exact bool) {
	switch out := dst.(type) {
	case []float64:
		return convertTo(out, src, func(v float64) float64 { return v }, func(size uint64) float64 { return float64(size) })
	case []float32:
		return convertTo(out, src, func(v float64) float32 { return float32(v) }, oddFloat64)
	case []Float16:
		return convertTo(out, src, func(v float64) Float16 { return ToFloat16(oddFloat32(v)) }, oddFloat64)
	case []BFloat16:
		return convertTo(out, src, func(v float64) BFloat16 { return ToBFloat16(oddFloat32(v)) }, oddFloat64)
	case []Boolean:
		return toInteger(out, src)
	case []int64:
		return toInteger(out, src)
	case []int32:
		return toInteger(out, src)
	case []int16:
		return toInteger(out, src)
	case []int8:
		return toInteger(out, src)
	case []uint64:
		return toInteger(out, src)
	case []uint32:
		return toInteger(out, src)
	case []uint16:
		return toInteger(out, src)
	case []uint8:
		return toInteger(out, src)
	}
	return false
}

// convertTo fills floats. It goes through float64, which holds every type but 64-bit integers exactly; those whole turns
// into what narrow rounds as it would round them.
func convertTo[D, S Stored](dst []D, src []S, narrow func(float64) D, whole func(size uint64) float64) bool {
	exact := true
	wide, back := widen[S](), widen[D]()
	integer := !DTypeOf[S]().Float()
	for i, v := range src {
		if integer {
			negative, size := magnitude(v)
			f := whole(size)
			if negative {
				f = -f
			}
			dst[i] = narrow(f)
			f = math.Abs(back(dst[i]))
			exact = exact && f < 1<<64 && uint64(f) == size
			continue
		}
		f := wide(v)
		dst[i] = narrow(f)
		exact = exact && same(back(dst[i]), f)
	}
	return exact
}

// toInteger fills integers and booleans.
func toInteger[D, S Stored](dst []D, src []S) bool {
	exact := true
	lo, hi := bounds[D]()
	wide := widen[S]()
	integer := !DTypeOf[S]().Float()
	for i, v := range src {
		if !integer {
			f := wide(v)
			dst[i] = clamp[D](f, lo, hi)
			// The largest 64-bit integers read back as the float above them, which is out of range.
			exact = exact && same(float64(dst[i]), f) && f < float64(hi)+1
			continue
		}
		negative, size := magnitude(v)
		switch {
		case negative && size > uint64(-lo):
			dst[i], exact = D(lo), false
		case !negative && size > hi:
			dst[i], exact = D(hi), false
		default:
			dst[i] = D(v)
		}
	}
	return exact
}

// bounds are the least and the greatest value of an integer type.
func bounds[D Stored]() (lo int64, hi uint64) {
	d := DTypeOf[D]()
	bits := 8 * d.Size()
	switch {
	case d == Bool:
		return 0, 1
	case d.Signed():
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
	return 0, math.MaxUint64 >> (64 - bits)
}

// clamp cuts the fraction and holds the value at the bounds; NaN is 0.
func clamp[D Stored](v float64, lo int64, hi uint64) D {
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return D(lo)
	case v >= float64(hi):
		return D(hi)
	}
	return D(v)
}

// magnitude is the sign and the size of an integer.
func magnitude[S Stored](v S) (negative bool, size uint64) {
	if v < 0 {
		return true, -uint64(v)
	}
	return false, uint64(v)
}

// oddFloat64 is the integer if it has 53 bits or less. Of a longer one it keeps the first 42 bits and more, the last set to
// 1 if any bit is lost, so that rounding the result to a float32 or less gives what rounding the integer once gives.
func oddFloat64(size uint64) float64 {
	if size < 1<<53 {
		return float64(size)
	}
	odd := size >> 11
	if odd<<11 != size {
		odd |= 1
	}
	return float64(odd) * (1 << 11)
}

// oddFloat32 is the number if a float32 holds it, else the neighbour whose last bit is 1: a half float rounded from it
// is the one rounded from v.
func oddFloat32(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
}

// widen is how a value is read as a float64.
func widen[T Stored]() func(T) float64 {
	switch DTypeOf[T]() {
	case F16:
		return func(v T) float64 { return float64(Float16(v).Float32()) }
	case BF16:
		return func(v T) float64 { return float64(BFloat16(v).Float32()) }
	}
	return func(v T) float64 { return float64(v) }
}
