package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noise is Set.Noise by its definition: over all pairs of examples.
func noise(b *Batch, residual []float32) float64 {
	type value struct{ x, r float64 }
	by, variance, n := map[int64][]value{}, 0.0, float64(b.Len())
	rows := b.Rows()
	for i, r := range residual {
		variance += float64(r) * float64(r) / n
		for k := rows.Ptr[i]; k < rows.Ptr[i+1]; k++ {
			x := 1.0
			if len(rows.Val) > 0 {
				x = float64(rows.Val[k])
			}
			by[rows.Idx[k]] = append(by[rows.Idx[k]], value{x, float64(r)})
		}
	}
	effect, pairs := 0.0, 0.0
	for _, all := range by {
		products, squares, length := 0.0, 0.0, 0.0
		for i, a := range all {
			length += a.x * a.x
			for j, b := range all {
				if i != j {
					products += a.x * a.r * b.x * b.r
					squares += a.x * a.x * b.x * b.x
				}
			}
		}
		if length > 0 {
			effect, pairs = effect+products/length, pairs+squares/length
		}
	}
	if effect <= 0 {
		return n
	}
	return min(n, variance*pairs/effect)
}

// TestNoise: Noise is what its definition says, of columns of any size, and of data whose effects are known what they are.
func TestNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SliceOfNDistinct(rapid.Int64Range(0, 1<<40), 1, 4, rapid.ID).Draw(t, "columns")
		slices.Sort(columns)
		var residual []float32
		r := newRows(0, 0, false)
		for range rapid.IntRange(1, 40).Draw(t, "rows") {
			for _, col := range columns {
				if rapid.Bool().Draw(t, "has") {
					r.idx, r.val = append(r.idx, col), append(r.val, float32(rapid.IntRange(-2, 2).Draw(t, "value")))
				}
			}
			r.ptr, r.label = append(r.ptr, len(r.idx)), append(r.label, 0)
			residual = append(residual, float32(rapid.IntRange(-3, 3).Draw(t, "residual")))
		}
		b := r.batch(0, columns[len(columns)-1]+1, 0)
		got, want := packed(b).Noise(residual), noise(b, residual)
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v of %v: %v, want %v", residual, b, got, want)
		}
	})
	r, random := newRows(0, 0, false), rand.New(rand.NewPCG(7, 7))
	var effects [2000]float64
	for col := range effects {
		effects[col] = random.NormFloat64() / 2
	}
	var residual []float32
	for range 40_000 { // 20 of each effect, of which the variance is a fourth, with noise of variance 9
		col := random.IntN(len(effects))
		r.idx, r.val, r.ptr, r.label = append(r.idx, int64(col)), append(r.val, 1), append(r.ptr, len(r.idx)+1), append(r.label, 0)
		residual = append(residual, float32(effects[col]+3*random.NormFloat64()))
	}
	if got := packed(r.batch(0, int64(len(effects)), 0)).Noise(residual); got < 33 || got > 42 { // 37 are the variance of all over that of effects
		t.Errorf("noise %v, want 37", got)
	}
}
