package algo

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
	"thole.example/metric"
)

// The tests of truth draw their examples once. What their limits were chosen by is said by more draws:
// go test ./algo -run Truth -seeds 100 -v
var seeds = flag.Uint64("seeds", 1, "how often the tests of truth draw their examples, each time with another seed")

// A law is what labels are drawn by: weights of the columns, and behind them the bias. It has dense columns, every second one
// with values around 1 and the others around 0, and one-hot fields. Value k of a field, counted from 1, has a frequency of about
// 1/(k+1), and value 0 has no column, so that every weight can be told from the bias. The columns of the last field have no
// effect.
type law []float64

const denseCols = 4

var oneHot = []int64{2, 7, 30, 20}

// newLaw has weights of both signs around scale, the same for all seeds: what is hard about the examples is the same as well.
func newLaw(scale, bias float64) law {
	n := int64(denseCols)
	for _, values := range oneHot {
		n += values
	}
	w := make(law, n+1)
	for c := range n - oneHot[len(oneHot)-1] {
		w[c] = scale * math.Sqrt2 * math.Sin(float64(c*c)+1)
	}
	w[n] = bias
	return w
}

// draw is n examples, others for each seed, with labels by their scores.
func (w law) draw(n int, seed uint64, label func(rng *rand.Rand, score float64) float64) *data.Batch {
	last := int64(len(w) - 1)
	return algotest.Draw(n, last, seed, func(rng *rand.Rand, set func(int64, float32)) float32 {
		score := w[last]
		put := func(c int64, v float64) {
			set(c, float32(v))
			score += w[c] * v
		}
		for c := range int64(denseCols) {
			put(c, float64(c%2)+rng.NormFloat64()/float64(1+c%2))
		}
		first := int64(denseCols)
		for _, values := range oneHot {
			if k := int64(math.Pow(float64(values)+2, rng.Float64())) - 1; k > 0 {
				put(first+min(k, values)-1, 1)
			}
			first += values
		}
		return float32(label(rng, score))
	})
}

// clicks are examples of the logistic model, 39 of 100 of them positive. The rows are whole batches of the defaults, because a
// last batch of few moves the weights as far as any other.
func clicks(rows int, seed uint64) (w law, b *data.Batch) {
	w = newLaw(0.7, -1)
	return w, w.draw(rows, seed, func(rng *rand.Rand, score float64) float64 {
		return side(rng.Float64() < algotest.Sigmoid(score))
	})
}

func side(positive bool) float64 {
	if positive {
		return 1
	}
	return -1
}

// noise is the standard deviation of labels around their scores in values.
const noise = 2

// values are examples of the linear model, with labels around 10.
func values(rows int, seed uint64) (w law, b *data.Batch) {
	w = newLaw(1, 10)
	return w, w.draw(rows, seed, func(rng *rand.Rand, score float64) float64 { return score + noise*rng.NormFloat64() })
}

// counts are examples of the Poisson model, with labels around 2.
func counts(rows int, seed uint64) (w law, b *data.Batch) {
	w = newLaw(0.3, 0.5)
	return w, w.draw(rows, seed, func(rng *rand.Rand, score float64) (k float64) {
		for p := rng.Float64(); p > math.Exp(-math.Exp(score)); p *= rng.Float64() {
			k++
		}
		return k
	})
}

// drawn are examples for the recipe of that name.
func drawn(name string, clickRows int, seed uint64) *data.Batch {
	draw, n := clicks, clickRows
	switch name {
	case "linreg", "robust":
		draw, n = values, valueRows
	case "poisson":
		draw, n = counts, valueRows
	}
	_, b := draw(n, seed)
	return b
}

// farthest is the largest distance of a weight from the truth, in standard errors, for labels that deviate from their scores by
// so much, among those of columns that are in at least 100 examples.
func (w law) farthest(p *algotest.Problem, deviation float64, got []float64) (largest float64) {
	in := make([]int, len(w))
	for _, c := range p.Data.Rows().Idx {
		in[c]++
	}
	in[len(w)-1] = p.Data.Len()
	for c, e := range p.Errors(w) {
		if in[c] >= 100 {
			largest = max(largest, math.Abs(got[c]-w[c])/(deviation*e))
		}
	}
	return largest
}

// weight is the weights of the trained model, and behind them the bias.
func (j *job) weight() []float64 {
	return append(wide(j.weights("input_weight")), wide(j.weights("input_bias"))...)
}

func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// measure is a metric of the scores of weights.
func measure(t *testing.T, of func(score, label []float64) (float64, error), b *data.Batch, w []float64) float64 {
	t.Helper()
	v, err := of(algotest.Scores(b, w), wide(b.Label))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// lacks is how much less the metric of weights is than that of the truth.
func lacks(t *testing.T, of func(score, label []float64) (float64, error), b *data.Batch, truth, got []float64) float64 {
	t.Helper()
	return measure(t, of, b, truth) - measure(t, of, b, got)
}

// accuracy is that of margins.
func accuracy(score, label []float64) (float64, error) { return metric.Accuracy(score, label, 0) }

// surplus is how much the mean probability of the positive label is above its share.
func surplus(score, label []float64) (float64, error) {
	sum := 0.0
	for i, s := range score {
		sum += algotest.Sigmoid(s) - (label[i]+1)/2
	}
	return sum / float64(len(score)), nil
}

// between wants a number within limits, and logs it, so that limits can be chosen.
func between(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	t.Logf("%s: %.6f, want %.4g to %.4g", what, got, lo, hi)
	if !(lo <= got && got <= hi) {
		t.Fail()
	}
}
