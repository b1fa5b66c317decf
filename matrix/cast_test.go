package matrix

import (
	"fmt"
	"math"
	"math/big"
	"testing"
)

// Values at the edges of all types.
var castFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 2, 0.5, -0.5, 1.5, 0.1, 254.9, 255, 255.5, 256, 127, 127.5, 128, -128, -128.5, -129,
	32767, 32768, -32768, -32769, 65504, 65519.99, 65520, 65535, 65536, 1 << 24, 1<<24 + 1, 1<<31 - 1, 1 << 31, -1 << 31,
	-1<<31 - 1, 1<<32 - 1, 1 << 32, 1 << 53, 1<<63 - 1024, 1 << 63, -1 << 63, -1<<63 - 2048, 1<<64 - 2048, 1 << 64, 1e30,
	math.MaxFloat32, math.MaxFloat32 * 1.0000001, 3.4028235677973366e38, math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat32, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14, 0x1.ffcp-15,
	1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8 + 0x1p-45, 1 + 0x1p-8 - 0x1p-45, 2049 + 0x1p-30,
	math.NaN(), math.Inf(1), math.Inf(-1),
}

var castInts = []int64{
	0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535, 65536, 2049, 2051, 1<<24 + 1,
	math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxUint32, math.MaxUint32 + 1, 1 << 53, 1<<53 + 1,
	-1<<53 - 1, 1<<62 + 1<<38 + 1, 1<<62 + 1<<38, 1<<62 + 3<<38, 1<<62 + 1<<54, 1<<62 + 1<<54 + 1, -1<<62 - 1<<54 - 1,
	math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1,
}

var castUints = []uint64{
	1 << 63, 1<<63 + 1, 1<<63 + 1024, 1<<63 + 1025, 1<<63 + 1<<39 + 1, 1<<63 + 1<<39, 1<<63 + 1<<55 + 1, 1<<64 - 1, 1<<64 - 2048,
	math.MaxInt64, 0, 7,
}

// sources are the edge values in every type that holds them unchanged.
func sources() []Data {
	var all []Data
	add := func(v any) {
		for _, d := range []Data{
			fill[float64](v), fill[float32](v), fill[int64](v), fill[int32](v), fill[int16](v), fill[int8](v),
			fill[uint64](v), fill[uint32](v), fill[uint16](v), fill[uint8](v), fill[Boolean](v),
		} {
			if d != nil {
				all = append(all, d)
			}
		}
	}
	for _, v := range castFloats {
		add(v)
	}
	for _, v := range castInts {
		add(v)
	}
	for _, v := range castUints {
		add(v)
	}
	for bits := 0; bits < 1<<16; bits += 37 {
		all = append(all, &Dense[Float16]{[]Float16{Float16(bits)}}, &Dense[BFloat16]{[]BFloat16{BFloat16(bits)}})
	}
	return all
}

// fill is the value as a T if its definition says that T holds it.
func fill[T Stored](v any) Data {
	var got T
	switch v := v.(type) {
	case float64:
		d := DTypeOf[T]()
		if whole := v == math.Trunc(v) && math.Abs(v) < 1<<53; !d.Float() && (!whole || !holds(d, big.NewInt(int64(v)))) {
			return nil
		}
		if got = T(v); float64(got) != v && v == v {
			return nil
		}
	case int64:
		if got = T(v); DTypeOf[T]().Float() || !holds(DTypeOf[T](), new(big.Int).SetInt64(v)) {
			return nil
		}
	case uint64:
		if got = T(v); DTypeOf[T]().Float() || !holds(DTypeOf[T](), new(big.Int).SetUint64(v)) {
			return nil
		}
	}
	return &Dense[T]{[]T{got}}
}

func holds(d DType, v *big.Int) bool {
	lo, hi := limits(d)
	return v.Cmp(big.NewInt(lo)) >= 0 && v.Cmp(new(big.Int).SetUint64(hi)) <= 0
}

// number is a value without a type: a big number, or what no big number is.
type number struct {
	v        *big.Float
	nan, neg bool
}

func numberOf(v any) number {
	float := func(f float64) number {
		if f != f {
			return number{nan: true}
		}
		return number{v: new(big.Float).SetPrec(100).SetFloat64(f), neg: math.Signbit(f)}
	}
	switch v := v.(type) {
	case float64:
		return float(v)
	case float32:
		return float(float64(v))
	case Float16:
		return float(float64(v.Float32()))
	case BFloat16:
		return float(float64(v.Float32()))
	case uint64:
		return number{v: new(big.Float).SetPrec(100).SetUint64(v)}
	}
	i := int64(bitsOf(v))
	return number{v: new(big.Float).SetPrec(100).SetInt64(i), neg: i < 0}
}

func (n number) same(o number) bool {
	return n.nan && o.nan || !n.nan && !o.nan && n.v.Cmp(o.v) == 0 && n.neg == o.neg
}

// nearest is what the number becomes in the type, by the rules that Cast states.
func nearest(n number, to DType) number {
	if !to.Float() {
		if n.nan {
			return number{v: new(big.Float)}
		}
		lo, hi := limits(to)
		least, greatest := new(big.Float).SetInt64(lo), new(big.Float).SetUint64(hi)
		switch {
		case n.v.Cmp(least) <= 0:
			return number{v: least, neg: lo < 0}
		case n.v.Cmp(greatest) >= 0:
			return number{v: greatest}
		}
		whole, _ := n.v.Int(nil)
		return number{v: new(big.Float).SetPrec(100).SetInt(whole), neg: whole.Sign() < 0}
	}
	switch {
	case n.nan:
		return n
	case to == F64:
		f, _ := n.v.Float64()
		return numberOf(f)
	case to == F32:
		f, _ := n.v.Float32()
		return numberOf(f)
	case to == F16:
		return halfNumber(n, 5)
	}
	return halfNumber(n, 8)
}

// halfNumber rounds to 16 bits with that many of them for the exponent: to the next of all numbers of the type, by the
// definition of the type. The number that would follow the greatest stands for infinity.
func halfNumber(n number, exponent uint) number {
	at := func(bits uint) *big.Float {
		fraction := 15 - exponent
		e, f := bits>>fraction, bits&(1<<fraction-1)
		bias := 1<<(exponent-1) - 1
		if e == 0 {
			return new(big.Float).SetPrec(100).SetMantExp(big.NewFloat(float64(f)), 1-bias-int(fraction))
		}
		return new(big.Float).SetPrec(100).SetMantExp(big.NewFloat(float64(f|1<<fraction)), int(e)-bias-int(fraction))
	}
	size := new(big.Float).Abs(n.v)
	infinity := uint(1<<exponent-1) << (15 - exponent)
	lo, hi := uint(0), infinity // at(lo) <= size
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; at(mid).Cmp(size) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	middle := new(big.Float).SetPrec(100).Add(at(lo), at(hi))
	middle.Quo(middle, big.NewFloat(2))
	if c := size.Cmp(middle); c > 0 || c == 0 && lo%2 == 1 {
		lo = hi
	}
	result := at(lo)
	if lo == infinity {
		result = new(big.Float).SetInf(false)
	}
	if n.neg {
		result.Neg(result)
	}
	return number{v: result, neg: n.neg}
}

func TestCastAgreesWithArithmetic(t *testing.T) {
	first := func(v any) any {
		switch v := v.(type) {
		case []float64:
			return v[0]
		case []float32:
			return v[0]
		case []int64:
			return v[0]
		case []int32:
			return v[0]
		case []int16:
			return v[0]
		case []int8:
			return v[0]
		case []uint64:
			return v[0]
		case []uint32:
			return v[0]
		case []uint16:
			return v[0]
		case []uint8:
			return v[0]
		case []Float16:
			return v[0]
		case []BFloat16:
			return v[0]
		case []Boolean:
			return v[0]
		}
		return nil
	}
	for _, src := range sources() {
		from := numberOf(first(src.Values()))
		for _, to := range DTypes() {
			b, exact := Block{At(0, 1, 0, 1), src}.Cast(to)
			got, want := numberOf(first(b.Data.Values())), nearest(from, to)
			if b.Data.DType() != to || !got.same(want) {
				t.Errorf("%v %v as %v: %v, want %v", src.DType(), src.Values(), to, b.Data.Values(), want)
			}
			if exact != got.same(from) {
				t.Errorf("%v %v as %v: %v, exact is %v", src.DType(), src.Values(), to, b.Data.Values(), exact)
			}
		}
	}
}

func TestCastKeepsTheWayOfHolding(t *testing.T) {
	at := At(0, 2, 0, 3)
	for _, d := range []Data{
		Empty{F64},
		&Dense[float64]{[]float64{1, 2, 3, 4, 5, 6}},
		&CSR[float64]{[]int{0, 1, 2}, []int64{2, 0}, []float64{1, 2}},
		&COO[float64]{[]int64{1, 0}, []int64{2, 0}, []float64{1, 2}},
		&Cols[float64]{[]int64{0, 2}, []float64{1, 2, 3, 4}},
		&Cols[float64]{},
	} {
		b, exact := Block{at, d}.Cast(I16)
		if err := b.Check(); err != nil || !exact {
			t.Fatalf("%T: exact %v, %v", d, exact, err)
		}
		back, exact := b.Cast(F64)
		want, got := read[float64](t, Block{at, d}), read[float64](t, back)
		if err := got.same(want); err != nil || !exact {
			t.Errorf("%T: %v, exact %v", d, err, exact)
		}
		if got, want := fmt.Sprintf("%T", back.Data), fmt.Sprintf("%T", d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if same, exact := b.Cast(I16); !exact || fmt.Sprintf("%p", same.Data) != fmt.Sprintf("%p", b.Data) {
			t.Errorf("%T: cast to its own type is a copy", d)
		}
	}
	some := Block{At(0, 1, 0, 3), &Dense[float32]{[]float32{1, 2.5, 3}}}
	if _, exact := some.Cast(I32); exact {
		t.Error("one inexact value among others: exact, want not")
	}
}

func BenchmarkCast(b *testing.B) {
	at := At(0, 64, 0, 1024)
	for _, c := range []struct{ from, to DType }{{F64, F32}, {F32, F16}, {F64, I32}, {I64, F64}} {
		b.Run(fmt.Sprintf("%v to %v", c.from, c.to), func(b *testing.B) {
			src := NewDense(c.from, at)
			b.SetBytes(64 * 1024 * int64(c.from.Size()))
			for b.Loop() {
				src.Cast(c.to)
			}
		})
	}
}
