package metric

import (
	"math"
)

// Ranks are the different scores of two classes from the highest one down, and what is at each score or above it, in sums of weights:
// all that curves over thresholds are made of.
type Ranks struct {
	Score       []float64
	Probability []float64 // nil if it is not known
	Positive    []float64
	Negative    []float64
	whole       bool // the sums are numbers of examples
}

// Totals are the weights of all positive and of all negative examples.
func (r *Ranks) Totals() (positive, negative float64) {
	if n := len(r.Score); n > 0 {
		return r.Positive[n-1], r.Negative[n-1]
	}
	return 0, 0
}

// Ranks are those of the examples, computed once. Examples that weigh nothing are left out.
func (in *Input) Ranks() *Ranks {
	if in.ranks != nil {
		return in.ranks
	}
	order := in.sorted()
	n := 0
	for i := range order {
		if i == 0 || order[i].key != order[i-1].key {
			n++
		}
	}
	r := &Ranks{Score: make([]float64, 0, n), Positive: make([]float64, 0, n), Negative: make([]float64, 0, n), whole: in.Weight == nil}
	var positive, negative float64
	for i := 0; i < len(order); {
		key, before := order[i].key, positive+negative
		first := order[i].example()
		for ; i < len(order) && order[i].key == key; i++ {
			w := 1.0
			if in.Weight != nil {
				w = float64(in.Weight[order[i].example()])
			}
			if order[i].positive() {
				positive += w
			} else {
				negative += w
			}
		}
		if positive+negative == before {
			continue
		}
		r.Score, r.Positive, r.Negative = append(r.Score, scoreOf(key)), append(r.Positive, positive), append(r.Negative, negative)
		if in.Probability != nil {
			r.Probability = append(r.Probability, in.Probability[first])
		}
	}
	in.ranks = r
	return r
}

// entry is a score in a form that falls where the score rises, and beside it the example, twice, plus one if it is positive.
type entry struct {
	key uint64
	at  uint32
}

func (e entry) example() int   { return int(e.at >> 1) }
func (e entry) positive() bool { return e.at&1 == 1 }

// keyOf orders numbers by their bits, the highest first. Both zeros are one.
func keyOf(score float64) uint64 {
	b := math.Float64bits(score + 0)
	if b>>63 == 0 {
		return ^b &^ (1 << 63)
	}
	return b
}

func scoreOf(key uint64) float64 {
	if key>>63 == 0 {
		return math.Float64frombits(^key &^ (1 << 63))
	}
	return math.Float64frombits(key)
}

// sorted are the examples by falling score, equal ones as they stand.
func (in *Input) sorted() []entry {
	if in.order != nil {
		return in.order
	}
	in.order = inOrder(in.Score, in.Label)
	return in.order
}

func inOrder(score, label []float64) []entry {
	all := make([]entry, len(score))
	each((len(all)+portion-1)/portion, func(k int) {
		for i := k * portion; i < min(len(all), (k+1)*portion); i++ {
			at := uint32(i) << 1
			if label[i] > 0 {
				at |= 1
			}
			all[i] = entry{keyOf(score[i]), at}
		}
	})
	return sorted(all)
}

// Order is the numbers of the values from the highest one down, those of equal ones rising. There are fewer than 2^31, none of them
// NaN.
func Order(value []float64) []int {
	order := make([]int, len(value))
	for i, e := range inOrder(value, value) {
		order[i] = e.example()
	}
	return order
}

// sorted sorts by key and keeps equal ones as they are: each half by itself, and then both together. It uses all.
func sorted(all []entry) []entry {
	const few = 1 << 12
	if len(all) < few {
		return radix(all, make([]entry, len(all)))
	}
	half, spare := len(all)/2, make([]entry, len(all))
	var part [2][]entry
	each(2, func(k int) {
		lo, hi := k*half, (k+1)*half
		if k == 1 {
			hi = len(all)
		}
		if part[k] = radix(all[lo:hi:hi], spare[lo:hi:hi]); &part[k][0] != &all[lo] {
			copy(all[lo:hi], part[k]) // the other half may have ended in the other slice
		}
	})
	return merge(spare, all[:half], all[half:])
}

// merge writes two sorted slices to a place of their length, those of a first where keys are equal.
func merge(to, a, b []entry) []entry {
	k := 0
	for len(a) > 0 && len(b) > 0 {
		if b[0].key < a[0].key {
			to[k], b = b[0], b[1:]
		} else {
			to[k], a = a[0], a[1:]
		}
		k++
	}
	copy(to[k+copy(to[k:], a):], b)
	return to
}

// Digits of keys that are sorted by, the lowest first.
const (
	digitBits = 11
	digits    = (64 + digitBits - 1) / digitBits
)

// radix sorts by key, equal ones as they stand, and uses spare, of the same length; the result is one of the two. Digits that all keys
// share cost nothing: scores that were float32 have 29 bits of zeros.
func radix(all, spare []entry) []entry {
	var count [digits][1 << digitBits]uint32
	for _, e := range all {
		for d := range digits {
			count[d][e.key>>(d*digitBits)&(1<<digitBits-1)]++
		}
	}
	for d := range digits {
		c, shift := &count[d], d*digitBits
		if len(all) == 0 || int(c[all[0].key>>shift&(1<<digitBits-1)]) == len(all) {
			continue
		}
		var from uint32
		for k, n := range c {
			c[k], from = from, from+n
		}
		for _, e := range all {
			k := e.key >> shift & (1<<digitBits - 1)
			spare[c[k]] = e
			c[k]++
		}
		all, spare = spare, all
	}
	return all
}
