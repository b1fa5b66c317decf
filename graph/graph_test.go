package graph

import (
	"slices"
	"testing"
)

func TestRow(t *testing.T) {
	x := NewTensor(3, 2)
	for i := range x.Val {
		x.Val[i] = float32(i)
	}
	for i, want := range [][]float32{{0, 1}, {2, 3}, {4, 5}} {
		if got := x.Row(i); !slices.Equal(got, want) {
			t.Errorf("row %d is %v, want %v", i, got, want)
		}
	}
}
