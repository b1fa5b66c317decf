package kernel

import (
	"math"
	"unsafe"

	"thole.example/matrix"
)

// Float32s are rounded to fewer bits here, at random: a number between two that the narrow type has becomes
// the upper one with the probability that makes its expectation the number itself. So sums of many small changes are right
// in the mean, where rounding to nearest would lose each of them. A number goes away from zero if its noise, from 0 to 1, is
// less than how far on the way it is; the noise of number i is a function of seed and first+i alone. What the type holds
// exactly stays as it is; finite numbers beyond its range become its largest ones.

// noise is the random bits of place i.
func noise(seed, i uint32) uint32 {
	x := seed + i*0x9e3779b9
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

const (
	infinity     = 0x7f800000 // bits of a float32
	quietNaN     = 0x7fc00000
	largest16    = 0x477fe000 // bits of 65504
	leastNormal  = 0x38800000 // bits of 2^-14, below which float16s are multiples of 2^-24
	largestInt8  = 127
	greatestInt8 = 121 // exponent of the largest scale
	leastInt8    = -126
)

// noInt8 stands for what is no number or infinite.
const noInt8 = -128

// NarrowType is a type of numbers of fewer bits than those of float32.
type NarrowType uint8

// The narrow types. An Int8 counts multiples of a power of two, from 2^-126 to 2^121, that is chosen for a row: the least with which
// 127 is enough for all its finite numbers. One that is not finite is no number afterwards.
const (
	Float16 NarrowType = iota
	BFloat16
	Int8
)

// NarrowRows is a slab of rows of narrow numbers.
type NarrowRows struct {
	As   NarrowType
	Slab []byte // row i begins at i*Step, which is a multiple of the type's size
	Step int    // bytes
	N    int    // numbers of a row; after those of Int8 there is a byte with the exponent of their power of two
}

// NarrowBytes is how many bytes a row of n numbers takes.
func NarrowBytes(as NarrowType, n int) int {
	if as == Int8 {
		return n + 1
	}
	return 2 * n
}

// Widen copies numbers of rows to dst, row after row: of each n, from one on.
func (r *NarrowRows) Widen(dst []float32, rows []uint32, from, n int) {
	r.widenOn(machine, dst, rows, from, n)
}

func (r *NarrowRows) widenOn(on level, dst []float32, rows []uint32, from, n int) {
	checkLen(len(dst), n*len(rows), "dst")
	if n == 0 || len(rows) == 0 {
		return
	}
	done := widenRowsOn(on, r, dst, rows, from, n)
	for i, row := range rows {
		if done < n {
			r.widen(dst[i*n+done:(i+1)*n], row, from+done)
		}
	}
}

// Dither rounds numbers, row after row, into the rows. Each has a seed; first is the place of the first number of a row.
func (r *NarrowRows) Dither(src []float32, rows, seeds []uint32, first uint32) {
	r.ditherOn(machine, src, rows, seeds, first)
}

func (r *NarrowRows) ditherOn(on level, src []float32, rows, seeds []uint32, first uint32) {
	checkLen(len(src), r.N*len(rows), "src")
	checkLen(len(seeds), len(rows), "seeds")
	if r.N == 0 || len(rows) == 0 {
		return
	}
	done := ditherRowsOn(on, r, src, rows, seeds, first)
	for i, row := range rows {
		if done < r.N {
			r.dither(src[i*r.N:(i+1)*r.N], row, done, seeds[i], first)
		}
	}
}

// halves is the numbers of a row of a type of 16 bits.
func (r *NarrowRows) halves(row uint32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(&r.Slab[int(row)*r.Step])), r.N)
}

// int8s is the numbers of a row of Int8, and the exponent of their power of two.
func (r *NarrowRows) int8s(row uint32) (val []int8, exponent *int8) {
	val = unsafe.Slice((*int8)(unsafe.Pointer(&r.Slab[int(row)*r.Step])), r.N+1)
	return val[:r.N], &val[r.N]
}

// widen copies numbers of a row, from one on.
func (r *NarrowRows) widen(dst []float32, row uint32, from int) {
	switch r.As {
	case Float16:
		for i, h := range r.halves(row)[from:][:len(dst)] {
			dst[i] = matrix.Float16(h).Float32()
		}
	case BFloat16:
		for i, h := range r.halves(row)[from:][:len(dst)] {
			dst[i] = math.Float32frombits(uint32(h) << 16)
		}
	case Int8:
		val, exponent := r.int8s(row)
		widenInt8(dst, val[from:], powerOfTwo(max(leastInt8, min(greatestInt8, int(*exponent)))))
	}
}

// dither rounds the numbers of a row, from one on; those of Int8 all.
func (r *NarrowRows) dither(src []float32, row uint32, from int, seed, first uint32) {
	switch r.As {
	case Float16:
		ditherFloat16(r.halves(row)[from:], src[from:], seed, first+uint32(from))
	case BFloat16:
		ditherBFloat16(r.halves(row)[from:], src[from:], seed, first+uint32(from))
	case Int8:
		val, exponent := r.int8s(row)
		e := exponentOf(src)
		*exponent = int8(e)
		ditherInt8(val, src, powerOfTwo(-e), seed, first)
	}
}

// Nearest rounds numbers to nearest, ties to even, into a row.
func (r *NarrowRows) Nearest(src []float32, row uint32) {
	checkLen(len(src), r.N, "src")
	if r.N == 0 {
		return
	}
	switch r.As {
	case Float16:
		for i, into := 0, r.halves(row); i < len(src); i++ {
			into[i] = finiteHalf(uint16(matrix.ToFloat16(src[i])), 0x7bff, src[i])
		}
	case BFloat16:
		for i, into := 0, r.halves(row); i < len(src); i++ {
			into[i] = finiteHalf(uint16(matrix.ToBFloat16(src[i])), 0x7f7f, src[i])
		}
	case Int8:
		val, exponent := r.int8s(row)
		e := exponentOf(src)
		*exponent = int8(e)
		nearestInt8(val, src, powerOfTwo(-e))
	}
}

// finiteHalf is what a number was rounded to, at most the largest of a finite one.
func finiteHalf(h, largest uint16, v float32) uint16 {
	if h&^(1<<15) > largest && v-v == 0 {
		return h&(1<<15) | largest
	}
	return h
}

func ditherFloat16(dst []uint16, src []float32, seed, first uint32) {
	dst = dst[:len(src)]
	for i, v := range src {
		bits := math.Float32bits(v)
		sign, abs := uint16(bits>>16)&0x8000, bits&^(1<<31)
		switch {
		case abs > infinity:
			dst[i] = sign | 0x7e00
		case abs == infinity:
			dst[i] = sign | 0x7c00
		case abs >= largest16:
			dst[i] = sign | 0x7bff
		case abs < leastNormal:
			dst[i] = sign | uint16(ditherWhole(math.Float32frombits(abs)*(1<<24), noise(seed, first+uint32(i))))
		default:
			dst[i] = sign | uint16((abs-112<<23+^noise(seed, first+uint32(i))>>19)>>13)
		}
	}
}

func ditherBFloat16(dst []uint16, src []float32, seed, first uint32) {
	dst = dst[:len(src)]
	for i, v := range src {
		bits := math.Float32bits(v)
		switch abs := bits &^ (1 << 31); {
		case abs > infinity:
			dst[i] = uint16(bits>>16)&0x8000 | 0x7fc0
		case abs == infinity:
			dst[i] = uint16(bits >> 16)
		default:
			dst[i] = uint16(min(abs+^noise(seed, first+uint32(i))>>16, infinity-1)>>16 | bits>>31<<15)
		}
	}
}

func ditherInt8(dst []int8, src []float32, by float32, seed, first uint32) {
	dst = dst[:len(src)]
	for i, v := range src {
		bits := math.Float32bits(v)
		if bits&^(1<<31) >= infinity {
			dst[i] = noInt8
			continue
		}
		k := int32(ditherWhole(min(math.Float32frombits(bits&^(1<<31))*by, largestInt8), noise(seed, first+uint32(i))))
		if v < 0 {
			k = -k
		}
		dst[i] = int8(k)
	}
}

func nearestInt8(dst []int8, src []float32, by float32) {
	for i, v := range src {
		switch {
		case v-v != 0:
			dst[i] = noInt8
		default:
			dst[i] = int8(max(-largestInt8, min(largestInt8, math.RoundToEven(float64(v*by)))))
		}
	}
}

func widenInt8(dst []float32, src []int8, scale float32) {
	src = src[:len(dst)]
	for i, k := range src {
		if dst[i] = float32(k) * scale; k == noInt8 {
			dst[i] = math.Float32frombits(quietNaN)
		}
	}
}

// ditherWhole rounds a number from 0 on to a whole one.
func ditherWhole(v float32, noise uint32) uint32 {
	whole := uint32(v)
	if float32(noise>>8)*(1.0/(1<<24)) < v-float32(whole) {
		whole++
	}
	return whole
}

// exponentOf is the exponent of the power of two for numbers.
func exponentOf(src []float32) int {
	most := uint32(0)
	for _, v := range src {
		if abs := math.Float32bits(v) &^ (1 << 31); abs < infinity {
			most = max(most, abs)
		}
	}
	if most == 0 {
		return 0
	}
	exponent := int(most>>23) - 127 - 6
	if most&(1<<23-1) > 0x7e0000 { // more than 127 times 2^exponent
		exponent++
	}
	return max(leastInt8, min(greatestInt8, exponent))
}

// powerOfTwo is 2^n, for exponents of float32s that are not subnormal.
func powerOfTwo(n int) float32 { return math.Float32frombits(uint32(n+127) << 23) }
