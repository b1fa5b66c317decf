package curve

import (
	"math"

	"thole.example/metric"
)

// Histogram is sums of weights of numbers in bins of one width: bin i goes from Edge[i] to Edge[i+1].
type Histogram struct {
	Edge   []float64
	Weight [][]float64 // of each kind of number, of two classes the negative and the positive one
}

// histogram has n bins from lo to hi; one where these are equal.
func histogram(lo, hi float64, n, kinds int) *Histogram {
	if !(hi-lo > 0) || math.IsInf(hi-lo, 0) {
		n = 1
	}
	h := &Histogram{Weight: make([][]float64, kinds)}
	for i := range n + 1 {
		part := float64(i) / float64(n)
		h.Edge = append(h.Edge, lo*(1-part)+hi*part)
	}
	for k := range h.Weight {
		h.Weight[k] = make([]float64, n)
	}
	return h
}

// add counts a number; those beyond the ends are in the outer bins.
func (h *Histogram) add(kind int, v, weight float64) {
	n := len(h.Weight[kind])
	lo, hi, at := h.Edge[0], h.Edge[n], 0
	if n > 1 {
		at = int(max(0, min(float64(n-1), (v-lo)/(hi-lo)*float64(n))))
	}
	h.Weight[kind][at] += weight
}

// Predictions is the histogram of what is predicted for negative and for positive examples, probabilities where they are known,
// else scores, in n bins; nil without examples.
func Predictions(r *metric.Ranks, n int) *Histogram {
	v := r.Probability
	if v == nil {
		v = r.Score
	}
	if len(v) == 0 {
		return nil
	}
	h := histogram(v[len(v)-1], v[0], n, 2)
	positive, negative := 0.0, 0.0
	for i, x := range v {
		h.add(0, x, r.Negative[i]-negative)
		h.add(1, x, r.Positive[i]-positive)
		positive, negative = r.Positive[i], r.Negative[i]
	}
	return h
}
