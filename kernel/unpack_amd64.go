package kernel

import "unsafe"

// unpackOn does the first words and tells how many, and how many words of the rest they used. It stops at the first sixteen of which
// one has its field in the rest. AVX2 cannot spread the words of the rest over values.
func unpackOn(on level, idx []int64, val []float32, field []int32, words, rest []uint32) (done, used int) {
	n := len(words)
	if on != avx512 || n == 0 {
		return 0, 0
	}
	_, _ = idx[:n], val[:n]
	if field != nil {
		_ = field[:n]
	}
	done, used = unpack512(&idx[0], &val[0], unsafe.SliceData(field), &words[0], unsafe.SliceData(rest), n, len(rest))
	if used > 0 {
		_ = rest[used-1] // it stopped where the rest ends
	}
	return done, used
}

// unpack512 does n words, at least one; field may be nil. It reads nothing beyond the rest.
//
//go:noescape
func unpack512(idx *int64, val *float32, field *int32, words, rest *uint32, n, more int) (done, used int)
