package tree

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPermuted: rows are scored as if they had the values of others, whatever the blocks and goroutines, and stay what they are.
func TestPermuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 8, trees: 6, leaves: 20, sets: rapid.Bool().Draw(t, "sets"), levels: 70}.ensemble(t)
		width := e.Features.Width
		few := drawRows(t, rapid.IntRange(0, 50).Draw(t, "n"), width)
		rows := slices.Repeat(few, rapid.SampledFrom([]int{1, 90}).Draw(t, "times")) // of several blocks
		n, f := len(rows)/width, rapid.IntRange(0, width-1).Draw(t, "feature")
		order, before := Permutation(rapid.Uint64().Draw(t, "seed"), f, 1, n), slices.Clone(rows)
		out, want := make([]float64, n*e.Classes), make([]float64, n*e.Classes)
		Compile(e).Permuted(rows, width, f, order, out, rapid.IntRange(1, 3).Draw(t, "cores"))
		for i := range n {
			row := slices.Clone(rows[i*width : (i+1)*width])
			row[f] = rows[int(order[i])*width+f]
			e.Score(row, want[i*e.Classes:(i+1)*e.Classes])
		}
		if !same(out, want) {
			t.Fatalf("%v, want %v", out, want)
		}
		if !slices.EqualFunc(rows, before, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Fatal("rows were changed")
		}
	})
}

// TestPermutation: an order has each row once, and is another one for another seed, feature or repetition, and the same for the same.
func TestPermutation(t *testing.T) {
	const n = 50
	seen := map[string]bool{}
	for _, x := range [][3]int{{1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}} {
		order := Permutation(uint64(x[0]), x[1], x[2], n)
		if !slices.Equal(order, Permutation(uint64(x[0]), x[1], x[2], n)) {
			t.Errorf("%v: two orders", x)
		}
		text := fmt.Sprint(order)
		if seen[text] {
			t.Errorf("%v: the order of another", x)
		}
		seen[text] = true
		if slices.Sort(order); order[0] != 0 || order[n-1] != n-1 || len(slices.Compact(order)) != n {
			t.Errorf("%v: not each row once: %v", x, order)
		}
	}
}
