package data

import (
	"slices"
	"testing"

	"thole.example/matrix"
)

var three = []row{
	{1, []int64{0, 2}, []float32{1, 2}},
	{-1, nil, nil},
	{3, []int64{1, 5, 6}, []float32{3, 4, 5}},
}

func TestSlice(t *testing.T) {
	b := batchOf(three)
	for lo := range 4 {
		for hi := lo; hi <= 3; hi++ {
			got := b.Slice(lo, hi)
			if err := got.X.Check(); err != nil {
				t.Fatal(err)
			}
			if !same(got, batchOf(three[lo:hi])) || got.Dim() != 7 || got.Len() != hi-lo {
				t.Errorf("[%d,%d): %v", lo, hi, got)
			}
			if want := (matrix.Range{Lo: int64(lo), Hi: int64(hi)}); got.X.At.Rows != want {
				t.Errorf("rows %v, want %v", got.X.At.Rows, want)
			}
		}
	}
	if inner := b.Slice(1, 3).Slice(1, 2); !same(inner, batchOf(three[2:])) || inner.X.At.Rows.Lo != 2 {
		t.Errorf("slice of a slice: %v", inner)
	}
}

func TestGather(t *testing.T) {
	b := batchOf(three)
	got := b.Gather([]int{2, 0, 2})
	if err := got.X.Check(); err != nil {
		t.Fatal(err)
	}
	if !same(got, batchOf([]row{three[2], three[0], three[2]})) || got.Dim() != 7 {
		t.Errorf("%v", got)
	}
	got.Rows().Val[0] = 99
	if b.Rows().Val[2] != 3 {
		t.Error("Gather shares memory")
	}
	if none := b.Gather(nil); none.Len() != 0 || none.X.Check() != nil {
		t.Errorf("of nothing: %v", none)
	}
}

// A Gatherer gives what Gather gives, batch after batch, from the same memory.
func TestGatherer(t *testing.T) {
	b, err := Load(t.Context(), input([]byte("1 1:1 3:2\n-1 2:5\n1\n-1 1:7 2:8 9:9\n")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var g Gatherer
	for _, rows := range [][]int{{3, 0}, {2}, {1, 1, 3, 0}, {}} {
		got, want := g.Gather(b, rows), b.Gather(rows)
		if !slices.Equal(got.Label, want.Label) || got.X.At != want.X.At ||
			!slices.Equal(got.Rows().Ptr, want.Rows().Ptr) || !slices.Equal(got.Rows().Idx, want.Rows().Idx) ||
			!slices.Equal(got.Rows().Val, want.Rows().Val) {
			t.Errorf("rows %v: got %v, want %v", rows, got, want)
		}
	}
}
