package gbdt

import (
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/metric"
	"thole.example/tree"
)

// lambdarank puts the rows of a group in the order of their labels (C. Burges, From RankNet to LambdaRank to LambdaMART, 2010, section
// 4 and 7): for each pair of rows of which i matters more than j
//
//	l = -1 / (1 + exp(s_i - s_j)) |dNDCG|,  g_i += l, g_j -= l, h of both += p (1-p) |dNDCG|
//
// with dNDCG by how much NDCG would change if the two changed places. Gains are 2^label - 1, discounts 1/log2(place + 1).
var lambdarank = Objective{
	Name: "lambdarank", Help: "the order of rows in groups by NDCG: labels say how much a row matters",
	Task: metric.Regression, Link: tree.Identity, Check: grade,
	Settings: map[string]float64{"cut": 30},
	Rank: func(o *Objective, score []float64, label []float32, g, h []float32) {
		clear(g)
		clear(h)
		order := make([]int, len(score))
		for i := range order {
			order[i] = i
		}
		ideal := slices.Clone(label)
		slices.SortFunc(ideal, func(a, b float32) int { return int(b) - int(a) })
		cut, best := int(o.Settings["cut"]), 0.0
		for i, l := range ideal[:min(cut, len(ideal))] {
			best += gain(l) * discount(i)
		}
		if best == 0 {
			return
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case score[a] > score[b]:
				return -1
			case score[a] < score[b]:
				return 1
			}
			return 0
		})
		gs, hs := make([]float64, len(score)), make([]float64, len(score))
		for i := range min(cut, len(order)) { // one of the pair is among the first
			for j := i + 1; j < len(order); j++ {
				high, low := order[i], order[j]
				if label[high] == label[low] {
					continue
				}
				change := math.Abs((gain(label[high])-gain(label[low]))*(discount(i)-discount(j))) / best
				if label[high] < label[low] {
					high, low = low, high
				}
				p := 1 / (1 + kernel.Exp(score[high]-score[low]))
				gs[high] -= p * change
				gs[low] += p * change
				second := p * (1 - p) * change
				hs[high] += second
				hs[low] += second
			}
		}
		for i := range gs {
			g[i], h[i] = float32(gs[i]), float32(hs[i])
		}
	},
}

func gain(label float32) float64 { return math.Ldexp(1, int(label)) - 1 }

func discount(place int) float64 { return 1 / math.Log2(float64(place)+2) }
