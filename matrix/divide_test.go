package matrix

import (
	"slices"
	"testing"
)

func divided[T Stored](n int64, val ...T) []T {
	Block{Data: &Dense[T]{val}}.Divide(n)
	return val
}

// TestDivide: a multiple comes out as it was, which it does not if one multiplies by the reciprocal; integers are rounded toward zero,
// also where the divisor is none of the type.
func TestDivide(t *testing.T) {
	for n := int64(1); n < 200; n++ {
		if got := divided(n, float64(n), -3*float64(n)); got[0] != 1 || got[1] != -3 {
			t.Errorf("by %d: %v, want 1 and -3", n, got)
		}
	}
	if got := divided(3, float32(1)); got[0] != float32(1)/3 {
		t.Errorf("%v, want the float32 next to 1/3", got)
	}
	if got := divided(4, int32(-7), 7, 3); !slices.Equal(got, []int32{-1, 1, 0}) {
		t.Errorf("%v, want -1, 1 and 0", got)
	}
	if got := divided(300, int8(100), -128); !slices.Equal(got, []int8{0, 0}) {
		t.Errorf("%v, want zeros", got)
	}
	if got := divided(256, uint8(255)); got[0] != 0 {
		t.Errorf("%v, want 0", got)
	}
	if got := divided(2, Float16(0x3c00)); got[0] != 0x3c00 {
		t.Errorf("%v, want what cannot be divided as it was", got)
	}
	b := Block{At(0, 1, 0, 9), &CSR[float64]{[]int{0, 1}, []int64{4}, []float64{8}}}
	if b.Divide(2); b.Data.(*CSR[float64]).Val[0] != 4 {
		t.Error("a sparse block was not divided")
	}
}
