package data

import (
	"testing"

	"pgregory.net/rapid"
)

func TestColumnIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index, want := newColumnIndex(1), map[int64]int{}
		for _, col := range rapid.SliceOfN(rapid.Int64Range(0, 1<<62), 0, 500).Draw(t, "columns") {
			if _, has := want[col]; !has {
				want[col] = len(want)
				index.add(col, want[col])
			}
			number, has := want[col^1]
			if !has {
				number = -1
			}
			if found := index.find(col ^ 1); found != number {
				t.Fatalf("the number of %d is %d, want %d", col^1, found, number)
			}
		}
		for col, number := range want {
			if found := index.find(col); found != number {
				t.Fatalf("the number of %d is %d, want %d", col, found, number)
			}
		}
		if index.taken != len(want) || 4*index.taken > 3*len(index.slots)+4 {
			t.Fatalf("%d of %d places are taken by %d columns", index.taken, len(index.slots), len(want))
		}
	})
}
