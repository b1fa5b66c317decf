package algo

import "maps"

// ForRows is the recipe with defaults for so many training examples. The penalty l2 of linear classifiers is at least 1/rows, which is C = 1
// of other libraries: the fewer examples there are of each feature, the less their weights are to be believed. Larger data keep the
// recipe's, which is above 1/rows: there rare features want it. Networks and recipes without a penalty stay as they are.
func (a *Algo) ForRows(rows int) *Algo {
	l2, has := a.Defaults.Hyper["l2"]
	if a.own || a.Trees != "" || a.Network() || !has || rows < 1 || l2*float64(rows) >= 1 {
		return a
	}
	other := *a
	other.Defaults.Hyper = maps.Clone(a.Defaults.Hyper)
	other.Defaults.Hyper["l2"] = 1 / float64(rows)
	return &other
}
