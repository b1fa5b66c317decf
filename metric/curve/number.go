package curve

import (
	"math"

	"thole.example/metric"
)

// Values is what is predicted for examples of about equal weight together, the highest predictions first.
type Values struct {
	High, Low         float64 // the predictions at the ends
	Weight            float64
	Predicted, Actual float64 // means
}

// weightOf is how many examples number i stands for.
func weightOf(in *metric.Input, i int) float64 {
	if in.Weight == nil {
		return 1
	}
	return float64(in.Weight[i])
}

func total(in *metric.Input) (sum float64) {
	for i := range in.Label {
		sum += weightOf(in, i)
	}
	return sum
}

// ByPrediction cuts the examples into n parts by the predicted value, as [metric.Ranks.Bins] does: those with equal predictions are in
// one part, the one of their middle. Parts that stay empty are left out.
func ByPrediction(in *metric.Input, n int) []Values {
	order, all := metric.Order(in.Score), total(in)
	var parts []Values
	last, before := -1, 0.0
	for i := 0; i < len(order); {
		v := in.Score[order[i]]
		weight, labels := 0.0, 0.0
		for ; i < len(order) && in.Score[order[i]] == v; i++ {
			if w := weightOf(in, order[i]); w > 0 {
				weight, labels = weight+w, labels+w*in.Label[order[i]]
			}
		}
		if weight == 0 {
			continue
		}
		at := min(int((before+weight/2)/all*float64(n)), n-1)
		if at != last {
			parts, last = append(parts, Values{High: v}), at
		}
		p := &parts[len(parts)-1]
		p.Low, p.Weight, p.Predicted, p.Actual = v, p.Weight+weight, p.Predicted+weight*v, p.Actual+labels
		before += weight
	}
	for i := range parts {
		parts[i].Predicted /= parts[i].Weight
		parts[i].Actual /= parts[i].Weight
	}
	return parts
}

// Errors are the differences of labels and predictions, in order.
type Errors struct {
	value, upTo []float64 // rising, and the weight of each and those before
}

// ErrorsOf are the label less the prediction of each example that weighs something, or of each the size of that.
func ErrorsOf(in *metric.Input, size bool) *Errors {
	diff := make([]float64, len(in.Label))
	for i, y := range in.Label {
		if diff[i] = y - in.Score[i]; size {
			diff[i] = math.Abs(diff[i])
		}
	}
	e, sum, order := &Errors{}, 0.0, metric.Order(diff)
	for k := len(order) - 1; k >= 0; k-- {
		if w := weightOf(in, order[k]); w > 0 {
			sum += w
			e.value, e.upTo = append(e.value, diff[order[k]]), append(e.upTo, sum)
		}
	}
	return e
}

// Quantile is the smallest error that the share of the examples, from 0 to 1, does not exceed; NaN without examples.
func (e *Errors) Quantile(share float64) float64 {
	if len(e.value) == 0 {
		return math.NaN()
	}
	lo, hi := 0, len(e.value)-1
	for want := share * e.upTo[hi]; lo < hi; {
		if mid := (lo + hi) / 2; e.upTo[mid] >= want {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return e.value[lo]
}

// Histogram is that of the errors in n bins, which go from the quantile tail to 1-tail; what lies beyond is in the outer bins. It
// is nil without errors.
func (e *Errors) Histogram(n int, tail float64) *Histogram {
	if len(e.value) == 0 {
		return nil
	}
	h, before := histogram(e.Quantile(tail), e.Quantile(1-tail), n, 1), 0.0
	for i, v := range e.value {
		h.add(0, v, e.upTo[i]-before)
		before = e.upTo[i]
	}
	return h
}
