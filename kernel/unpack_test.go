package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// packed is n values at random as words: of fields, of which one in others is in the rest, if others is not 0.
func packed(rng *rand.Rand, n, others int) (idx []int64, val []float32, field []int32, words, rest []uint32) {
	at := int32(-1)
	for range n {
		word := rng.Uint32() & WordColumn
		idx = append(idx, int64(word))
		if others > 0 {
			if rng.IntN(others) == 0 {
				word |= OtherField << WordField
				at = rng.Int32N(1000)
				rest = append(rest, uint32(at))
			} else {
				step := rng.Int32N(OtherField)
				word |= uint32(step) << WordField
				at += step
			}
		}
		field = append(field, at)
		v := float32(1)
		if rng.IntN(3) == 0 {
			word |= WordValue
			v = rng.Float32()
			rest = append(rest, math.Float32bits(v))
		}
		val = append(val, v)
		words = append(words, word)
	}
	return idx, val, field, words, append(rest, 77)
}

// Every implementation unpacks what was packed, and writes nothing else.
func TestUnpack(t *testing.T) {
	for on := plain; on <= machine; on++ {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range 70 {
			for _, others := range []int{0, 1 << 30, 40, 2} {
				idx, val, field, words, rest := packed(rng, n, others)
				gotIdx, gotVal, gotField := make([]int64, n+1), make([]float32, n+1), make([]int32, n+1)
				gotIdx[n], gotVal[n], gotField[n] = -9, -9, -9
				to := gotField
				if others == 0 {
					to = nil
				}
				unpack(on, gotIdx, gotVal, to, words, rest)
				what := fmt.Sprintf("level %d, %d values, others %d", on, n, others)
				if !slices.Equal(gotIdx, append(idx, -9)) {
					t.Fatalf("%s: columns %v, want %v", what, gotIdx, idx)
				}
				sameBits(t, what, gotVal, append(val, -9))
				if others > 0 && !slices.Equal(gotField, append(field, -9)) {
					t.Fatalf("%s: fields %v, want %v", what, gotField, field)
				}
			}
		}
	}
}

// A rest that is too short is a panic at every level: nothing beyond it is read.
func TestUnpackShort(t *testing.T) {
	for on := plain; on <= machine; on++ {
		for _, rest := range [][]uint32{nil, {1}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("level %d: a rest of %d words was enough for two values", on, len(rest))
					}
				}()
				unpack(on, make([]int64, 2), make([]float32, 2), nil, []uint32{WordValue, WordValue}, rest)
			}()
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{14, 39} {
		for _, fields := range []bool{false, true} {
			others := 0
			if fields {
				others = 1 << 30
			}
			idx, val, field, words, rest := packed(rng, n, others)
			if !fields {
				field = nil
			}
			for on := plain; on <= machine; on++ {
				b.Run(fmt.Sprintf("n=%d/fields=%v/%d", n, fields, on), func(b *testing.B) {
					for b.Loop() {
						unpack(on, idx, val, field, words, rest)
					}
				})
			}
		}
	}
}
