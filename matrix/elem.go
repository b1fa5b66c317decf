package matrix

import "math"

// Elem is an element type that arithmetic works on.
type Elem interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// Stored is an element type that a block can hold: every Elem, and the storage-only types.
type Stored interface {
	Elem | Float16 | BFloat16 | Boolean
}

// Float16 holds the bits of an IEEE 754 binary16 number. Storage only.
type Float16 uint16

// BFloat16 holds the upper half of the bits of a float32. Storage only.
type BFloat16 uint16

// Boolean is one byte, 0 or 1. Storage only.
type Boolean uint8

// DTypeOf tells the element type that T stands for.
func DTypeOf[T Stored]() DType {
	var v T
	switch any(v).(type) {
	case float64:
		return F64
	case float32:
		return F32
	case int64:
		return I64
	case int32:
		return I32
	case int16:
		return I16
	case int8:
		return I8
	case uint64:
		return U64
	case uint32:
		return U32
	case uint16:
		return U16
	case uint8:
		return U8
	case Float16:
		return F16
	case BFloat16:
		return BF16
	default:
		return Bool
	}
}

// Float32 widens the number exactly.
func (h Float16) Float32() float32 {
	sign := uint32(h>>15) << 31
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h) & 0x3ff
	switch {
	case exp == 0x1f: // infinity, NaN: the payload moves up
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	case frac == 0:
		return math.Float32frombits(sign)
	}
	v := float32(frac) * (1.0 / (1 << 24)) // subnormal: frac * 2^-24, exact in float32
	return math.Float32frombits(sign | math.Float32bits(v))
}

// ToFloat16 rounds to nearest, ties to even; too large values become infinities.
func ToFloat16(v float32) Float16 {
	bits := math.Float32bits(v)
	sign := Float16(bits>>16) & 0x8000
	abs := bits & 0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN stays NaN even if its payload lies in the dropped bits
		return sign | 0x7c00 | Float16(abs>>13)&0x3ff | 0x200
	case abs >= 0x47800000: // 65536 and more, infinity
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14: subnormal; adding 0.5 lets the hardware round at 2^-24
		sum := math.Float32frombits(abs) + 0.5
		return sign | Float16(math.Float32bits(sum)-0x3f000000)
	}
	odd := abs >> 13 & 1
	return sign | Float16((abs-(112<<23)+0xfff+odd)>>13)
}

// Float32 widens the number exactly.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBFloat16 rounds to nearest, ties to even.
func ToBFloat16(v float32) BFloat16 {
	bits := math.Float32bits(v)
	if bits&0x7fffffff > 0x7f800000 {
		return BFloat16(bits>>16) | 0x40
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}
