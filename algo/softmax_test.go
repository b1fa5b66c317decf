package algo

import (
	"math"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
)

// TestSoftmaxTruth wants the defaults to end, by every rule, near the least regularised loss of a multinomial law. How near follows
// from the slope where they end: a function that curves by at least l2 is within |slope|^2/(2*l2) of its least, once the biases,
// which have no penalty, are in their best place. The truth itself is not better on other examples by more than so many weights
// cost.
func TestSoftmaxTruth(t *testing.T) {
	laws, b := kindred(clickRows, 1)
	_, held := kindred(clickRows, 2)
	const l2 = 0.1
	m, err := softmax.Build(Conf{Dim: b.Dim(), Classes: len(laws), Hyper: map[string]float64{"l2": l2}})
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, m)
	j.fit(b, softmax.For(nil, ""))
	w := j.laws(len(laws))
	value, slope := multinomial(b, w, l2)
	start := value
	for range 50 {
		for k := range w {
			w[k][len(w[k])-1] -= 2 * slope[k][len(w[k])-1] // curves by half at most
		}
		value, slope = multinomial(b, w, l2)
	}
	square := 0.0
	for _, row := range slope {
		for _, v := range row {
			square += v * v
		}
	}
	between(t, "percent above the least", 100*(start-value+square/(2*l2))/value, 0, 0.5)

	if m, err = softmax.Build(Conf{Dim: b.Dim(), Classes: len(laws)}); err != nil {
		t.Fatal(err)
	}
	j = begin(t, m)
	j.fit(b, softmax.For(nil, ""))
	w = j.laws(len(laws))
	got, _ := multinomial(held, w, 0)
	truth, _ := multinomial(held, laws, 0)
	between(t, "held-out loss above the truth", got-truth, 0, 0.01) // 192 weights: 192/(2*rows) = 0.0047 on average
}

// laws are the weights of the classes, and behind those of each its bias.
func (j *job) laws(classes int) (all []law) {
	weights, bias := wide(j.weights("input_weight")), wide(j.weights("input_bias"))
	n := len(weights) / classes
	for k := range classes {
		all = append(all, append(law(weights[k*n:(k+1)*n:(k+1)*n]), bias[k]))
	}
	return all
}

// multinomial is the mean log loss of the classes with the penalty l2, in float64 and in its own words, and the slope of it.
func multinomial(b *data.Batch, w []law, l2 float64) (value float64, slope []law) {
	n, last, x := float64(b.Len()), len(w[0])-1, b.Rows()
	scores := make([][]float64, len(w))
	for k := range w {
		scores[k], slope = algotest.Scores(b, w[k]), append(slope, make(law, last+1))
		for c, v := range w[k][:last] {
			value += l2 / 2 * v * v
			slope[k][c] = l2 * v
		}
	}
	for i, y := range b.Label {
		all := 0.0
		for k := range w {
			all += math.Exp(scores[k][i])
		}
		value += (math.Log(all) - scores[int(y)][i]) / n
		for k := range w {
			by := math.Exp(scores[k][i]) / all / n
			if k == int(y) {
				by -= 1 / n
			}
			slope[k][last] += by
			for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
				slope[k][x.Idx[p]] += by * float64(x.Val[p])
			}
		}
	}
	return value, slope
}
