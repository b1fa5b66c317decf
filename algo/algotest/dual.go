package algotest

import (
	"math"
	"math/rand/v2"
)

// ascend is weights near the least value for the loss Hinge, and a number that the least is not below. It ascends in the dual
//
//	D(a) = mean of a - L2/2*|w|^2,  w = sum of a*y*x / (L2*n),  0 <= a <= 1, one a for each example,
//
// one coordinate at a time (Hsieh et al., A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008). A bias without a
// penalty asks for a sum of a*y of 0. What the sum is moves the bias, at each step as if it were the weight of one more feature,
// and every few passes once more, which brings it to 0 (the method of multipliers).
func (p *Problem) ascend() (w []float64, bound float64) {
	const passes = 10_000
	x, label, n := p.Data.Rows(), p.Data.Label, p.Data.Len()
	scale := 1 / (p.L2 * float64(n))
	a := make([]float64, n)
	w = make([]float64, p.Data.Dim()+1)
	bias := &w[len(w)-1]
	rng := rand.New(rand.NewPCG(1, 1))
	for pass := 1; pass <= passes; pass++ {
		for _, i := range rng.Perm(n) {
			y, s, square := float64(label[i]), *bias, 1.0
			for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
				v := float64(x.Val[k])
				s, square = s+w[x.Idx[k]]*v, square+v*v
			}
			next := min(1, max(0, a[i]+(1-y*s)/(scale*square)))
			by := (next - a[i]) * y * scale
			if a[i] = next; by == 0 {
				continue
			}
			*bias += by
			for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
				w[x.Idx[k]] += by * float64(x.Val[k])
			}
		}
		if pass%5 > 0 {
			continue
		}
		value := p.Value(w)
		if bound = max(bound, p.bound(a)); value-bound <= within*value {
			break
		}
		for i, v := range a {
			*bias += v * float64(label[i]) * scale
		}
	}
	return w, bound
}

// bound is D of the coordinates, of which those of the heavier side are lowered, one after the other, until the sum of a*y is 0:
// only there no value is below D.
func (p *Problem) bound(a []float64) float64 {
	x, n := p.Data.Rows(), float64(len(a))
	heavier := 0.0
	for i, v := range a {
		heavier += v * float64(p.Data.Label[i])
	}
	w, sum := make([]float64, p.Data.Dim()), 0.0
	for i, v := range a {
		y := float64(p.Data.Label[i])
		if y*heavier > 0 {
			less := min(v, math.Abs(heavier))
			v, heavier = v-less, heavier-y*less
		}
		sum += v
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			w[x.Idx[k]] += v * y * float64(x.Val[k]) / (p.L2 * n)
		}
	}
	square := 0.0
	for _, v := range w {
		square += v * v
	}
	return sum/n - p.L2/2*square
}
