package ps

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
)

// lastKeys are keys at the end of every index.
var lastKeys = func() (keys []int64) {
	for k := int64(0); len(keys) < 1000; k++ {
		if kernel.Hash(uint64(k))>>56 == 0xff {
			keys = append(keys, k)
		}
	}
	return keys
}()

// TestRemainders: what a key leaves is found when it comes again, like in a map: of any keys, also of many that lie together, while the
// index grows.
func TestRemainders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 5, 8, 16}).Draw(t, "rows")
		r, model := newKeyedRest[float32](n), map[int64][]float32{}
		for range rapid.IntRange(1, 6).Draw(t, "pushes") {
			var keys []int64
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				keys = rapid.SliceOfDistinct(rapid.Int64(), rapid.ID).Draw(t, "keys")
			case 1:
				keys = slices.Clone(lastKeys[:rapid.IntRange(0, len(lastKeys)).Draw(t, "last")])
			default:
				from := rapid.Int64Range(-3, 3).Draw(t, "from")
				for i := range int64(rapid.IntRange(0, 9000).Draw(t, "many")) {
					keys = append(keys, from+i)
				}
			}
			vals := make([]float32, len(keys)*n)
			for i := range vals {
				vals[i] = float32(i%97) + 1.0/1024 // a bfloat16 loses some of it
			}
			for i, key := range keys {
				if model[key] == nil {
					model[key] = make([]float32, n)
				}
				kernel.RoundHalves[matrix.BFloat16](slices.Clone(vals[i*n:(i+1)*n]), model[key], n, []uint32{0})
			}
			if !r.round(matrix.BF16, keys, vals) {
				t.Fatal("there is no memory")
			}
		}
		if r.count != len(model) {
			t.Fatalf("%d keys are kept, want %d", r.count, len(model))
		}
		r.each(func(key int64, _ uint32, left []float32) {
			if !slices.Equal(left, model[key]) {
				t.Fatalf("of key %d %v are left, want %v", key, left, model[key])
			}
			delete(model, key)
		})
		if len(model) > 0 {
			t.Fatalf("%d keys are gone", len(model))
		}
		if keys, _ := r.take(); !slices.IsSorted(keys) {
			t.Fatalf("%v is not ascending", keys)
		}
	})
}
