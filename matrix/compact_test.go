package matrix

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCompactAgreesWithModel(t *testing.T) {
	everyType(t, properties{
		compacts[float64], compacts[float32], compacts[int64], compacts[int32], compacts[int16], compacts[int8],
		compacts[uint64], compacts[uint32], compacts[uint16], compacts[uint8],
		compacts[Float16], compacts[BFloat16], compacts[Boolean],
	})
}

// compacts holds Compact and Spread to the model: no row without a cell, and everything back in its place.
func compacts[T Stored](t *rapid.T) {
	at := Rect{drawRange(t, "rows", 4), drawRange(t, "cols", 6)}
	b, m := drawBlock[T](t, at)
	rows, c := b.Compact()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	var want []int64
	for cell := range m {
		want = append(want, cell.row)
	}
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(rows, want) {
		t.Fatalf("rows %v, want %v", rows, want)
	}
	back := c.Spread(rows, at.Rows)
	if err := back.Check(); err != nil {
		t.Fatal(err)
	}
	agree(t, "spread again", back, at, m)
}

// TestCompactFar needs no memory for rows without a cell.
func TestCompactFar(t *testing.T) {
	at := At(1, 1<<62, 0, 9)
	rows, c := Block{at, &COO[float32]{[]int64{1 << 61, 4, 1 << 61}, []int64{7, 3, 2}, []float32{7, 3, 2}}}.Compact()
	if want := []int64{5, 1<<61 + 1}; !slices.Equal(rows, want) {
		t.Fatalf("rows %v, want %v", rows, want)
	}
	got := c.Spread([]int64{2, 3}, Range{1, 4})
	if err := read[float32](t, got).same(cells[float32]{{2, 3}: 3, {3, 2}: 2, {3, 7}: 7}); err != nil {
		t.Fatal(err)
	}
}
