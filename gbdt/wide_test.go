package gbdt

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
	"thole.example/tree"
)

// sparse is examples of some columns of very many.
func sparse(n int, columns []int64, dim int64) *data.Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	x, b := &matrix.CSR[float32]{Ptr: []int{0}}, &data.Batch{}
	for range n {
		y := float32(0)
		for i, c := range columns {
			if rng.IntN(4) == 0 {
				x.Idx, x.Val = append(x.Idx, c), append(x.Val, 1)
				y += float32(i%3) - 1
			}
		}
		b.Label, x.Ptr = append(b.Label, y+float32(rng.NormFloat64())), append(x.Ptr, len(x.Idx))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), 0, dim), Data: x}
	return b
}

// batchRows are the examples of a batch as a view has them.
type batchRows struct {
	*data.Batch
	view *View
}

func (r batchRows) Features() tree.Features  { return r.view.Features() }
func (r batchRows) Missing(feature int) bool { return r.view.Missing(feature) }
func (r batchRows) Read(lo, hi int, into *Block) {
	some := &data.Batch{Label: r.Label[lo:hi]}
	x := *r.Rows()
	x.Ptr = x.Ptr[lo : hi+1]
	some.X = matrix.Block{At: matrix.At(0, int64(hi-lo), 0, r.Dim()), Data: &x}
	r.view.Pairs(some, into)
}

// TestFewOfMany: of 2^24 columns of which 100 occur only these take memory, and the trees are those of examples that have no others.
func TestFewOfMany(t *testing.T) {
	const dim, few = tree.FeatureLimit, 100
	var far, near []int64
	for i := range int64(few) {
		far, near = append(far, i*(dim/few)+i%7), append(near, i)
	}
	grow := func(columns []int64, dim int64) *tree.Ensemble {
		b := sparse(2000, columns, dim)
		rows := batchRows{b, NewColumns(int(dim), 0)}
		binned, err := Bin(context.Background(), rows, nil, 255, 2)
		if err != nil {
			t.Fatal(err)
		}
		c := settings(t, "l2", 3)
		return trained(t, binned, &Labels{Label: b.Label}, c, Options{})
	}
	want := grow(near, few)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := grow(far, dim)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*dim {
		t.Errorf("%d bytes were taken, want at most 2 for each of %d columns", used, dim)
	}
	if got.Features.Width != dim {
		t.Errorf("%d features, want %d", got.Features.Width, dim)
	}
	for i := range want.Trees {
		for n, f := range want.Trees[i].Feature {
			if g := int64(got.Trees[i].Feature[n]); g != far[f] {
				t.Fatalf("tree %d, node %d: feature %d, want %d", i, n, g, far[f])
			}
		}
		if !slices.Equal(want.Trees[i].LeafValue, got.Trees[i].LeafValue) {
			t.Errorf("tree %d: leaves %v, want %v", i, got.Trees[i].LeafValue, want.Trees[i].LeafValue)
		}
	}
}
