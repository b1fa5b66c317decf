package number

import (
	"encoding/binary"
	"math/bits"
)

// digits reads the decimal digits at b[i:] and answers their number, modulo 2^64, and where they end.
func digits(b []byte, i int) (v uint64, end int) {
	for i+8 <= len(b) {
		more, n := Eight(binary.LittleEndian.Uint64(b[i:]))
		v = v*whole[n] + more
		i += n
		if n < 8 {
			return v, i
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	return v, i
}

// Eight reads the decimal digits that eight bytes begin with, the first in the lowest byte, n of them.
func Eight(x uint64) (v uint64, n int) {
	const zeros, sixes, high = 0x3030303030303030, 0x0606060606060606, 0xf0f0f0f0f0f0f0f0
	// A byte is a digit if its upper half is 3 and stays 3 when 6 is added. The carry of a byte above 0xf9 runs into later
	// bytes only, which do not count any more.
	other := (x&high ^ zeros) | ((x+sixes)&high ^ zeros)
	n = bits.TrailingZeros64(other) >> 3 // 8 if other is 0
	x = (x - zeros) << uint(64-8*n)      // the digits move to the end, zeros before them; n = 0 gives 0
	x = x*10 + x>>8                      // pairs
	x = ((x&0x000000ff000000ff)*(100+1000000<<32) + (x>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
	return x & 0xffffffff, n
}
