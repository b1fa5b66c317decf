package gbdt

import (
	"context"
	"math"
	"slices"
)

// A quantile of numbers that workers share is found digit by digit, the highest first: all of them add up how much the numbers with each
// next digit weigh. Keys have the order of numbers, and weights are whole numbers, as derivatives are, so that it is the same number
// whoever has which row.
const (
	digitBits = 4
	digits    = 1 << digitBits
)

// residual is the key of a number, and how much it counts.
type residual struct {
	key    uint64
	weight int64
}

// keyOf has the order of numbers; valueOf is its inverse.
func keyOf(v float64) uint64 {
	if v == 0 {
		v = 0 // there is one zero
	}
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

func valueOf(key uint64) float64 {
	return math.Float64frombits(key ^ (uint64(int64(^key)>>63) | 1<<63))
}

// seek looks for a quantile: the least numbers up to which the weights come to a share of all, and to more than that. They are two where
// it is exactly the share.
type seek struct {
	rows  []residual // of this worker, those that have the digits of one of them so far
	all   int64      // weight of all workers' rows, after the first digit
	key   [2]uint64  // the digits so far
	below [2]int64   // weight of all workers' rows below them
}

// count adds up how much rows with each next digit weigh.
func (s *seek) count(shift int, to []int64) {
	for j, key := range s.key {
		counts := to[j*digits : (j+1)*digits]
		if j > 0 && key == s.key[0] { // as at first, where all rows still are
			copy(counts, to)
			continue
		}
		for _, r := range s.rows {
			if (r.key^key)>>shift < digits {
				counts[r.key>>shift%digits] += r.weight
			}
		}
	}
}

// choose takes the next digits.
func (s *seek) choose(share float64, shift int, counts []int64) {
	if shift == 64-digitBits {
		for _, n := range counts[:digits] {
			s.all += n
		}
	}
	at := share * float64(s.all)
	for j := range s.key {
		digit, sum := 0, s.below[j]
		for d, n := range counts[j*digits : (j+1)*digits] {
			if n == 0 {
				continue
			}
			digit, s.below[j] = d, sum // the last one, if a share of nearly all is rounded up
			if sum += n; float64(sum) > at || j == 0 && float64(sum) == at {
				break
			}
		}
		s.key[j] |= uint64(digit) << shift
	}
	s.rows = slices.DeleteFunc(s.rows, func(r residual) bool { return r.key>>shift != s.key[0]>>shift && r.key>>shift != s.key[1]>>shift })
}

// value is the quantile; 0 of rows without weight.
func (s *seek) value() float64 {
	switch least, more := valueOf(s.key[0]), valueOf(s.key[1]); {
	case s.all == 0:
		return 0
	case least == more:
		return least
	default:
		return least/2 + more/2
	}
}

// quantiles finds those of all seeks together. sum makes numbers of this worker those of all.
func quantiles(ctx context.Context, cores int, all []seek, share float64, sum func(context.Context, []int64) error) error {
	counts := make([]int64, 2*digits*len(all))
	for shift := 64 - digitBits; shift >= 0; shift -= digitBits {
		clear(counts)
		of := func(i int) []int64 { return counts[2*digits*i:][:2*digits] }
		if err := each(ctx, cores, len(all), func(_, i int) error { all[i].count(shift, of(i)); return nil }); err != nil {
			return err
		}
		if err := sum(ctx, counts); err != nil {
			return err
		}
		if err := each(ctx, cores, len(all), func(_, i int) error { all[i].choose(share, shift, of(i)); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// leafQuantiles makes the values of leaves quantiles of what the scores leave over of the labels of their rows.
func (t *trainer) leafQuantiles(ctx context.Context, scores []float64, share float64) error {
	if t.rest == nil {
		t.rest = make([]residual, t.learn)
	}
	all := make([]seek, len(t.leaves))
	err := each(ctx, t.Cores, len(all), func(_, i int) error {
		l := &t.leaves[i]
		rest := t.rest[l.lo:l.lo]
		for _, r := range t.rows[l.lo:l.hi] {
			if w := wholeWeight(t.labels.weight(int(r)), t.weightScale); w > 0 {
				rest = append(rest, residual{keyOf(float64(t.labels.Label[r]) - scores[r]), w})
			}
		}
		all[i].rows = rest
		return nil
	})
	if err == nil {
		err = quantiles(ctx, t.Cores, all, share, t.sumAll)
	}
	for i := range all {
		t.tree.LeafValue[i] = all[i].value()
	}
	return err
}

// scaleWeights finds how weights become whole numbers, by the largest one of all workers.
func (t *trainer) scaleWeights(ctx context.Context) error {
	if t.Objective.Quantile == nil {
		return nil
	}
	most := []float32{0}
	for i := range t.learn {
		most[0] = max(most[0], t.labels.weight(i))
	}
	if t.workers != nil {
		if err := t.workers.Most(ctx, most); err != nil {
			return err
		}
	}
	t.weightScale = weightScale(most[0])
	return nil
}

// weightScale is what weights are multiplied by, of which that is the largest, to be as large as derivatives.
func weightScale(heaviest float32) float64 {
	return math.Ldexp(1, wholeBits-exponent(float64(heaviest)))
}

func wholeWeight(w float32, scale float64) int64 { return int64(math.RoundToEven(float64(w) * scale)) }

// quantileOf is a quantile of the labels by their weights.
func quantileOf(y *Labels, share float64) float64 {
	heaviest := float32(1)
	if len(y.Weight) > 0 {
		heaviest = slices.Max(y.Weight)
	}
	scale := weightScale(heaviest)
	one := []seek{{rows: make([]residual, 0, len(y.Label))}}
	for i, l := range y.Label {
		if n := wholeWeight(y.weight(i), scale); n > 0 {
			one[0].rows = append(one[0].rows, residual{keyOf(float64(l)), n})
		}
	}
	alone := func(context.Context, []int64) error { return nil }
	_ = quantiles(context.Background(), 1, one, share, alone) // nothing can end it
	return one[0].value()
}
