package metric

import (
	"iter"
	"math"
)

var gauc = Metric{Name: "gauc",
	Help:  "AUC within each group, its mean weighted by the examples of the group; groups of one class are left out",
	Tasks: []Task{Classification, Ranking}, Better: Larger, Groups: true, Of: groupAUC}

// groupAUC is the mean of the AUC of each group (a user, a request), weighted by the examples of the group, as Zhu et al. define it
// (Deep Interest Network for Click-Through Rate Prediction, 2017): how well a model orders what competes with one another. Groups of
// one class have no AUC and are left out. It is NaN without any.
func groupAUC(in *Input) float64 {
	if in.Group == nil {
		return math.NaN()
	}
	var total weighted
	for group := range in.grouped() {
		if area, weight := in.areaOf(group); weight > 0 {
			total.sum += weight * area
			total.weight += weight
		}
	}
	return total.mean()
}

// grouped are the examples of one group after the other, each in the order of its scores.
func (in *Input) grouped() iter.Seq[[]entry] {
	if in.groups == nil {
		byScore := in.sorted()
		all := make([]entry, len(byScore))
		each((len(all)+portion-1)/portion, func(k int) {
			for i := k * portion; i < min(len(all), (k+1)*portion); i++ {
				all[i] = entry{uint64(in.Group[byScore[i].example()]), byScore[i].at}
			}
		})
		in.groups = sorted(all) // equal ones stay as they are: each group is in the order of its scores
	}
	return func(yield func([]entry) bool) {
		for all := in.groups; len(all) > 0; {
			n := 1
			for n < len(all) && all[n].key == all[0].key {
				n++
			}
			if !yield(all[:n:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// areaOf is the AUC of a group in the order of its scores, and its weight; 0 of one class.
func (in *Input) areaOf(group []entry) (area, weight float64) {
	var wins, positive, negative float64 // above and at the score
	for i := 0; i < len(group); {
		score, p, n := in.Score[group[i].example()], 0.0, 0.0
		for ; i < len(group) && in.Score[group[i].example()] == score; i++ {
			if w := in.weight(group[i].example()); group[i].positive() {
				p += w
			} else {
				n += w
			}
		}
		wins += n * (positive + p/2) // half of whole numbers is exact
		positive, negative = positive+p, negative+n
	}
	if positive == 0 || negative == 0 {
		return 0, 0
	}
	return wins / (positive * negative), positive + negative
}
