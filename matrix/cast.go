package matrix

import "math"

// Cast converts every value to the element type. exact is false if some value changed (a fraction cut, a range left, a
// digit lost; -0 and the NaN-ness of a number count, the payload of a NaN does not). Values out of an integer's range
// become its nearest bound, NaN becomes 0. Data of the type already are returned as they are.
func (b Block) Cast(to DType) (c Block, exact bool) {
	if b.Data.DType() == to {
		return b, true
	}
	d, exact := b.Data.cast(to)
	return Block{b.At, d}, exact
}

func (e Empty) cast(to DType) (Data, bool) { return Empty{to}, true }

func (d *Dense[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).Dense(len(d.Val))
	return out, convert(out.Values(), d.Val)
}

func (d *CSR[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).CSR(d.Ptr, d.Idx)
	return out, convert(out.Values(), d.Val)
}

func (d *COO[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).COO(d.Row, d.Col)
	return out, convert(out.Values(), d.Val)
}

func (d *Cols[T]) cast(to DType) (Data, bool) {
	rows := 1
	if len(d.Idx) > 0 {
		rows = len(d.Val) / len(d.Idx)
	}
	out := KindOf(to).Cols(d.Idx, rows)
	return out, convert(out.Values(), d.Val)
}

// convert fills dst, a slice of some Stored type as long as src.
func convert[S Stored](dst any, src []S) (exact bool) {
	switch out := dst.(type) {
	case []float64:
		return convertTo(out, src, func(v float64) float64 { return v }, func(i int64) float64 { return float64(i) })
	case []float32:
		return convertTo(out, src, func(v float64) float32 { return float32(v) }, func(i int64) float32 { return float32(i) })
	case []Float16:
		return convertTo(out, src, func(v float64) Float16 { return ToFloat16(float32(v)) }, nil)
	case []BFloat16:
		return convertTo(out, src, func(v float64) BFloat16 { return ToBFloat16(float32(v)) }, nil)
	case []Boolean:
		return convertTo(out, src, clamp[Boolean](0, 1), nil)
	case []int64:
		return convertTo(out, src, clamp[int64](math.MinInt64, math.MaxInt64), func(i int64) int64 { return i })
	case []int32:
		return convertTo(out, src, clamp[int32](math.MinInt32, math.MaxInt32), nil)
	case []int16:
		return convertTo(out, src, clamp[int16](math.MinInt16, math.MaxInt16), nil)
	case []int8:
		return convertTo(out, src, clamp[int8](math.MinInt8, math.MaxInt8), nil)
	case []uint64:
		return convertTo(out, src, clamp[uint64](0, math.MaxUint64), func(i int64) uint64 { return uint64(max(i, 0)) })
	case []uint32:
		return convertTo(out, src, clamp[uint32](0, math.MaxUint32), nil)
	case []uint16:
		return convertTo(out, src, clamp[uint16](0, math.MaxUint16), nil)
	case []uint8:
		return convertTo(out, src, clamp[uint8](0, math.MaxUint8), nil)
	}
	return false
}

// convertTo goes through float64, which is exact for all types but 64-bit integers; those take the way of whole, if
// given, for values that fit an int64. A value is exact if going back gives it again.
func convertTo[D, S Stored](dst []D, src []S, narrow func(float64) D, whole func(int64) D) bool {
	exact := true
	back := widen[D]()
	wide := widen[S]()
	integer := !DTypeOf[S]().Float() && DTypeOf[S]().Size() == 8
	for i, v := range src {
		if integer && whole != nil {
			if s := int64(v); DTypeOf[S]().Signed() || s >= 0 {
				dst[i] = whole(s)
				exact = exact && sameInteger(dst[i], s)
				continue
			}
		}
		f := wide(v)
		dst[i] = narrow(f)
		exact = exact && same(back(dst[i]), f) && (!integer || sameInteger(dst[i], int64(v)))
	}
	return exact
}

// sameInteger tells whether d is exactly the integer i; a float beyond int64 is not.
func sameInteger[D Stored](d D, i int64) bool {
	if !DTypeOf[D]().Float() {
		return int64(d) == i && (DTypeOf[D]().Signed() || i >= 0 || DTypeOf[D]() == U64)
	}
	f := widen[D]()(d)
	return f >= -1<<63 && f < 1<<63 && int64(f) == i
}

func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
}

func clamp[D Stored](lo, hi float64) func(float64) D {
	return func(v float64) D {
		switch {
		case v != v:
			return 0
		case v <= lo:
			return least[D](lo)
		case v >= hi:
			return greatest[D](hi)
		}
		return D(v)
	}
}

// least and greatest avoid the overflow of converting float64(MaxInt64), which is 2^63.
func least[D Stored](lo float64) D { return D(int64(lo)) }

func greatest[D Stored](hi float64) D {
	switch DTypeOf[D]() {
	case I64:
		i := int64(math.MaxInt64)
		return D(i)
	case U64:
		u := uint64(math.MaxUint64)
		return D(u)
	}
	return D(int64(hi))
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
