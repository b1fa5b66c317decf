package main

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"thole.example/data"
	"thole.example/gbdt"
	"thole.example/matrix"
)

// TestTreeScorer scores batches of all sizes with few and many processors, as the definition does row by row.
func TestTreeScorer(t *testing.T) {
	trees, _ := treeModels()["classes"]()
	s, err := newTreeScorer(gbdt.NewColumns(trees.Features.Width, 0), trees, byTrees{leaves: true})
	if err != nil {
		t.Fatal(err)
	}
	if names := s.names(&head{width: 3, classes: data.Numbered(3)}); len(names) != 6 || names[5] != "leaf_5" {
		t.Errorf("names %v", names)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 255, 256, 257, 3000} {
		x := &matrix.CSR[float32]{Ptr: []int{0}}
		for range n {
			for c := range int64(5) { // one column more than the trees have
				if r.IntN(3) > 0 {
					x.Idx, x.Val = append(x.Idx, c), append(x.Val, float32(r.IntN(8)))
				}
			}
			x.Ptr = append(x.Ptr, len(x.Idx))
		}
		b := &data.Batch{Label: make([]float32, n), X: matrix.Block{At: matrix.At(0, int64(n), 0, 5), Data: x}}
		for _, processors := range []int{1, 4} {
			runtime.GOMAXPROCS(processors)
			got, err := s.score(b)
			if err != nil || len(got.score) != 3*n || len(got.more) != 6*n {
				t.Fatalf("%d rows: %d scores, %d leaves, %v", n, len(got.score), len(got.more), err)
			}
			row, want := make([]float64, 4), make([]float64, 3)
			for i := range n {
				clear(row)
				for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
					if x.Idx[k] < 4 {
						row[x.Idx[k]] = float64(x.Val[k])
					}
				}
				trees.Score(row, want)
				for c, w := range want {
					if got.score[3*i+c] != w {
						t.Fatalf("%d rows, %d processors: row %d has %v, want %v", n, processors, i, got.score[3*i:3*i+3], want)
					}
				}
				for k := range trees.Trees {
					leaf := trees.Trees[k].Leaf(func(f int32) float64 { return row[f] })
					if got.more[6*i+k] != float64(leaf) {
						t.Fatalf("row %d, tree %d: leaf %v, want %d", i, k, got.more[6*i+k], leaf)
					}
				}
			}
		}
	}
}
