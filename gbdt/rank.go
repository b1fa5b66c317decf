package gbdt

import (
	"cmp"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/metric"
	"thole.example/tree"
)

// lambdarank puts the rows of a group in the order of their labels (C. Burges, From RankNet to LambdaRank to LambdaMART, 2010, sections
// 4 and 7): for each pair of rows of which i matters more than j, one of them among the first places (cut) by the scores as they are,
//
//	p = 1 / (1 + exp(sigmoid (s_i - s_j)))
//	g_i -= sigmoid p d,  g_j += sigmoid p d,  h of both += sigmoid^2 p (1-p) d
//
// with d = |dNDCG|, by how much NDCG would change if the two changed places. Gains are 2^label - 1, discounts 1/log2(place + 1).
//
// With norm, as in LightGBM (lambdarank_norm), d is divided by 0.01 + |s_i - s_j|, so that scores do not drift apart where the order is
// right, and what a group of the sum L of its |g| has in all becomes log2(1 + L), so that no group outweighs the others.
var lambdarank = Objective{
	Name: "lambdarank", Help: "the order of rows in groups by NDCG: labels say how much a row matters",
	Task: metric.Ranking, Link: tree.Identity, Check: grade,
	Settings: map[string]float64{"cut": 30, "sigmoid": 1, "norm": 1},
	Rank: func(o *Objective, score []float64, label []float32, g, h []float32) {
		clear(g)
		clear(h)
		r := newPairs(o, score, label)
		if r == nil {
			return
		}
		r.compare()
		scale := 1.0
		if sum := r.sum; r.norm && sum > 0 {
			scale = math.Log2(1+sum) / sum
		}
		for place, i := range r.order {
			g[i], h[i] = float32(r.g[place]*scale), float32(r.h[place]*scale)
		}
	},
}

// pairs is the rows of a group by their places, those of the highest scores first.
type pairs struct {
	cut                    int
	sigmoid                float64
	norm                   bool
	order                  []int // rows
	score, gains, discount []float64
	g, h                   []float64
	best                   float64 // gain of the best order
	sum                    float64 // of the sizes of all first derivatives
}

// newPairs puts the rows in order, those of equal scores as they stand; nil if all orders are as good.
func newPairs(o *Objective, score []float64, label []float32) *pairs {
	n := len(score)
	set := o.Settings
	r := &pairs{cut: int(min(math.Ceil(set["cut"]), float64(n))), sigmoid: set["sigmoid"], norm: set["norm"] != 0, order: make([]int, n)}
	all := make([]float64, 5*n)
	r.score, r.gains, r.discount, r.g, r.h = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:4*n], all[4*n:]
	for i := range r.order {
		r.order[i], r.gains[i], r.discount[i] = i, gain(label[i]), 1/math.Log2(float64(i)+2)
	}
	slices.SortFunc(r.gains, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, gain := range r.gains[:r.cut] {
		r.best += gain * r.discount[i]
	}
	if n == 0 || r.gains[0] == r.gains[n-1] {
		return nil
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	for place, i := range r.order {
		r.score[place], r.gains[place] = score[i], gain(label[i])
	}
	r.norm = r.norm && r.score[0] != r.score[n-1] // else there is nothing to divide by yet
	return r
}

// compare adds up the derivatives of all pairs.
func (r *pairs) compare() {
	for i := range r.cut {
		for j := i + 1; j < len(r.order); j++ {
			more := r.gains[i] - r.gains[j]
			if more == 0 {
				continue
			}
			apart, change := r.score[i]-r.score[j], math.Abs(more)*(r.discount[i]-r.discount[j])/r.best
			if r.norm {
				change /= 0.01 + apart
			}
			if more < 0 { // the one below matters more
				apart = -apart
			}
			p := 1 / (1 + kernel.Exp(r.sigmoid*apart))
			first, second := r.sigmoid*p*change, r.sigmoid*r.sigmoid*p*(1-p)*change
			r.sum += 2 * first
			if more < 0 {
				first = -first
			}
			r.g[i] -= first
			r.g[j] += first
			r.h[i] += second
			r.h[j] += second
		}
	}
}

func gain(label float32) float64 { return math.Ldexp(1, int(label)) - 1 }
