package gbdt

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"thole.example/data"
	"thole.example/matrix"
)

// drawBatch draws examples whose ids are up to dim, perhaps in no order, some of them twice.
func drawBatch(t *rapid.T, dim int64, fields bool) *data.Batch {
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{}
	for range rapid.IntRange(1, 5).Draw(t, "rows") {
		ids := rapid.SliceOfN(rapid.Int64Range(0, dim-1), 0, 8).Draw(t, "ids")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(ids)
			ids = slices.Compact(ids)
		}
		for _, id := range ids {
			x.Idx, x.Val = append(x.Idx, id), append(x.Val, float32(rapid.IntRange(-2, 2).Draw(t, "value")))
			if fields {
				b.Field = append(b.Field, rapid.Int32Range(0, 6).Draw(t, "field"))
			}
		}
		b.Label, x.Ptr = append(b.Label, 0), append(x.Ptr, len(x.Idx))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(len(b.Label)), 0, dim), Data: x}
	return b
}

// TestPairs holds the two ways from examples to rows to each other: all values, and those that an example mentions.
func TestPairs(t *testing.T) {
	table, err := NewView(mixedTransform(t))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom([]*View{table, NewColumns(9, 0), NewColumns(9, math.NaN())}).Draw(t, "view")
		b := drawBatch(t, 48, v == table && rapid.Bool().Draw(t, "fields"))
		n, w := b.Len(), v.Width()
		want, got := make([]float64, n*w), make([]float64, n*w)
		v.Fill(b, 0, n, want)
		var block Block
		block.Reset()
		v.Pairs(b, &block)
		if err := block.check(0, n, w); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for f := range w {
				if v.Missing(f) {
					got[i*w+f] = math.NaN()
				}
			}
			for k := block.Ptr[i]; k < block.Ptr[i+1]; k++ {
				got[i*w+int(block.Feature[k])] = block.Value[k]
			}
		}
		for i, a := range want {
			if g := got[i]; a != g && (a == a || g == g) {
				t.Fatalf("row %d, feature %d: %v by Fill, %v by Pairs", i/w, i%w, a, g)
			}
		}
	})
}

// TestFieldsTwice trains on a file whose rows have the same column in two fields: the search for bundles must come to an end.
func TestFieldsTwice(t *testing.T) {
	b := loaded(t, "1 0:1:2 0:7:1 1:1:3\n0 0:2:2 1:1:4\n1 0:3:1 0:9:1\n0 1:5:1\n1 0:6:1\n0 0:4:1\n1 0:4:2\n0 0:8:1\n",
		data.Options{Format: "libffm"})
	s, err := data.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	e := &Examples{Set: s, View: NewColumns(10, 0)}
	binned, err := Bin(ctx, e, nil, 255, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := binned.Features.At(1); got.Most != 4 {
		t.Errorf("%+v, want values up to 4", got)
	}
}
