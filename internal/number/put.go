package number

import (
	"encoding/binary"
	"math/bits"
)

// whole are the powers of ten that a uint64 holds.
var whole = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// Power10 is the power of ten of an exponent from 0 to 19.
func Power10(exp int) uint64 { return whole[exp] }

// Width is the number of decimal digits, 1 for zero.
func Width(v uint64) int {
	n := bits.Len64(v|1) * 1233 >> 12 // log10 of the next power of two, rounded down
	if v|1 >= whole[n] {
		n++
	}
	return n
}

// PutDigits writes v, which has n digits, to the beginning of dst. The eight bytes behind them must be there, and may
// change too.
func PutDigits(dst []byte, v uint64, n int) {
	if v < 1e8 {
		binary.LittleEndian.PutUint64(dst, eightDigits(uint32(v))>>uint(64-8*n))
		return
	}
	q := v / 1e8
	PutDigits(dst, q, n-8)
	binary.LittleEndian.PutUint64(dst[n-8:], eightDigits(uint32(v-q*1e8)))
}

// eightZeros are the digits of zero.
const eightZeros = 0x3030303030303030

// eightDigits are the digits of v, with zeros before them, the first in the lowest byte.
func eightDigits(v uint32) uint64 {
	hi := v / 10000
	x := uint64(hi) | uint64(v-hi*10000)<<32                // two numbers of four digits
	q := x * 10486 >> 20 & (0x7f | 0x7f<<32)                // their upper two
	x = q | (x-q*100)<<16                                   // four of two
	q = x * 103 >> 10 & (0xf | 0xf<<16 | 0xf<<32 | 0xf<<48) // their upper one
	return (q | (x-q*10)<<8) | eightZeros
}
