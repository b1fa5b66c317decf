package kernel

import "math"

// Words of examples as [Unpack] reads them: bits 0 to 28 are the column; bits 29 and 30 say how much higher the field is than that of
// the value before (than -1 in the first), OtherField that it is the next word of the rest; bit 31 that the value is the next word
// of the rest, after its field, and else it is 1.
const (
	WordColumn = 1<<29 - 1
	WordField  = 29 // the shift of the field's two bits
	WordValue  = 1 << 31
	OtherField = 3
)

// Unpack unpacks the values of an example, as many as there are words: their columns, values and, if field is not nil, fields. The
// rest has one word more than the values use.
func Unpack(idx []int64, val []float32, field []int32, words, rest []uint32) {
	unpack(machine, idx, val, field, words, rest)
}

func unpack(on level, idx []int64, val []float32, field []int32, words, rest []uint32) {
	k, i := unpackOn(on, idx, val, field, words, rest)
	idx, val, words, rest = idx[k:len(words)], val[k:len(words)], words[k:], rest[i:]
	if field == nil {
		unpackColumns(idx, val, words, rest)
		return
	}
	at := int32(-1)
	if k > 0 {
		at = field[k-1]
	}
	unpackFields(idx, val, field[k:k+len(words)], at, words, rest)
}

func unpackColumns(idx []int64, val []float32, words, rest []uint32) {
	i := 0
	for k, word := range words {
		idx[k], val[k] = int64(word&WordColumn), WordOf(word, rest[i])
		i += int(word >> 31)
	}
}

func unpackFields(idx []int64, val []float32, field []int32, at int32, words, rest []uint32) {
	i := 0
	for k, word := range words {
		if step := int32(word>>WordField) & OtherField; step != OtherField {
			at += step
		} else {
			at = int32(rest[i])
			i++
		}
		idx[k], val[k], field[k] = int64(word&WordColumn), WordOf(word, rest[i]), at
		i += int(word >> 31)
	}
}

// WordOf is the value of a word whose bit 31 says whether it is the next of the rest, or 1. It does not branch, because values of 1
// come as they like.
func WordOf(word, next uint32) float32 {
	const one = 0x3f800000
	other := uint32(int32(word) >> 31)
	return math.Float32frombits(one ^ (one^next)&other)
}
