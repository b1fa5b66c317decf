package data

import (
	"math/rand/v2"
	"slices"
)

// Folds deals examples out to k folds, as equal in number as can be: the fold of each example, from 0 on, is a function of (labels, k,
// seed). Stratified, examples of each label are dealt out by themselves, so that every fold has its share of each.
func Folds(label []float32, k int, seed uint64, stratified bool) []int {
	order := rand.New(rand.NewPCG(seed, uint64(k))).Perm(len(label))
	if stratified {
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case label[a] < label[b]:
				return -1
			case label[a] > label[b]:
				return 1
			}
			return 0
		})
	}
	fold := make([]int, len(label))
	for place, i := range order {
		fold[i] = place % k
	}
	return fold
}
