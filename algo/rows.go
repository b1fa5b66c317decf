package algo

import "maps"

// ForRows is the recipe with defaults for so many training examples. The penalty l2 of linear classifiers is at least 1/rows, which is
// C = 1 of other libraries: the fewer examples there are of each feature, the less their weights are to be believed. Larger data keep the
// recipe's, which is above 1/rows: there rare features want it. Networks and recipes without a penalty stay as they are.
//
// size is the mean squared length of the examples where most features are rare, else 0. The penalty is then at least half of it over rows:
// with l2 = 1/rows each weight may be about 1, so that the score of an example of many rare features is learned by heart.
func (a *Algo) ForRows(rows int, size float64) *Algo {
	l2, has := a.Defaults.Hyper["l2"]
	if a.own || a.Trees != "" || a.Network() || !has || rows < 1 {
		return a
	}
	least := max(1, size/2) / float64(rows)
	if l2 >= least {
		return a
	}
	other := *a
	other.Defaults.Hyper = maps.Clone(a.Defaults.Hyper)
	other.Defaults.Hyper["l2"] = least
	return &other
}
