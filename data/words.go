package data

import (
	"math"

	"thole.example/kernel"
)

// one is the bits of the value that needs no word.
const one = 0x3f800000

func decodeWide(idx []int64, val []float32, field []int32, words, rest []uint32, fielded bool) {
	i := 0
	for k := range idx {
		low, high := words[2*k], words[2*k+1]
		if fielded {
			if field != nil {
				field[k] = int32(rest[i])
			}
			i++
		}
		idx[k], val[k] = int64(low)|int64(high&^kernel.WordValue)<<32, kernel.WordOf(high, rest[i])
		i += int(high >> 31)
	}
}

func encodeNarrow(words []uint32, idx []int64, val []float32, field []int32) int {
	words[0] = uint32(len(idx))
	at, n := int32(-1), 1+len(idx)
	for k, col := range idx {
		word := uint32(col)
		if field != nil {
			if step := uint32(field[k] - at); step < kernel.OtherField {
				word |= step << kernel.WordField
			} else {
				word |= kernel.OtherField << kernel.WordField
				words[n] = uint32(field[k])
				n++
			}
			at = field[k]
		}
		if bits := math.Float32bits(val[k]); bits != one {
			word |= kernel.WordValue
			words[n] = bits
			n++
		}
		words[1+k] = word
	}
	return n
}

func encodeWide(words []uint32, idx []int64, val []float32, field []int32) int {
	words[0] = uint32(len(idx))
	n := 1 + 2*len(idx)
	for k, col := range idx {
		high := uint32(col >> 32)
		if field != nil {
			words[n] = uint32(field[k])
			n++
		}
		if bits := math.Float32bits(val[k]); bits != one {
			high |= kernel.WordValue
			words[n] = bits
			n++
		}
		words[1+2*k], words[2+2*k] = uint32(col), high
	}
	return n
}
