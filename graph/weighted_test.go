package graph

import (
	"math"
	"slices"
	"testing"
)

// A loss with weights, and its gradients, are those of the rows times their weights; and by central differences the gradient is that
// of the sum.
func TestWeighted(t *testing.T) {
	score := &Tensor{Rows: 3, Cols: 2, Val: []float32{1, 2, -3, 4, 0.5, -1}}
	label, weight := []float32{1, -2, 3}, []float32{2, 0, 0.5}
	plain, grad := NewTensor(3, 2), NewTensor(3, 2)
	if a, b := Weighted(wave{}, score, label, nil, grad), (wave{}).Loss(score, label, plain); a != b || !slices.Equal(grad.Val, plain.Val) {
		t.Errorf("without weights %v and %v, want %v and %v", a, grad.Val, b, plain.Val)
	}
	sum := func() float64 { return Weighted(wave{}, score, label, weight, grad) }
	got, want := sum(), 0.0
	for i, w := range weight {
		for k, s := range score.Row(i) {
			want += float64(w) * math.Sin(float64(s)) * float64(label[i])
			if got, own := grad.Row(i)[k], w*plain.Row(i)[k]; got != own {
				t.Errorf("gradient %d of row %d is %v, want %v", k, i, got, own)
			}
		}
	}
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("sum %v, want %v", got, want)
	}
	for k := range score.Val {
		sum()
		by, at := float64(grad.Val[k]), score.Val[k]
		const h = 1.0 / 1024
		score.Val[k] = at + h
		up := sum()
		score.Val[k] = at - h
		down := sum()
		score.Val[k] = at
		if slope := (up - down) / (2 * h); math.Abs(slope-by) > 1e-5 {
			t.Errorf("gradient %d is %v, want %v", k, by, slope)
		}
	}
	score.Val[2] = float32(math.NaN()) // of weight 0
	if got := sum(); !math.IsNaN(got) {
		t.Errorf("sum %v of a score that is no number, want none", got)
	}
}

// wave is the sum of sin(score) times the label.
type wave struct{ total }

func (wave) Loss(score *Tensor, label []float32, grad *Tensor) (sum float64) {
	for i := range label {
		for k, s := range score.Row(i) {
			sum += math.Sin(float64(s)) * float64(label[i])
			grad.Row(i)[k] = float32(math.Cos(float64(s)) * float64(label[i]))
		}
	}
	return sum
}
