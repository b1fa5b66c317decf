package tree

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Explainer splits scores into contributions of the features: the Shapley values of each feature, where a feature that is not
// known follows both ways of a split, each as far as the rows of training did (Lundberg, Erion, Lee 2018: "path dependent"). Models
// of XGBoost (Single) count rows by their weight as XGBoost's cover does, all others by their number as LightGBM does.
//
// For a leaf of value v whose path asks for the features i, let z(i) be the part of the rows that would stay on the path at the
// splits of i, and o(i) be 1 if this row stays, else 0. The Shapley value of j is, as the weight of a set of k out of n others is an
// integral over t of t^k (1-t)^(n-k),
//
//	v (o(j) - z(j)) * integral from 0 to 1 of the product over all i but j of (1-t) z(i) + t o(i)
//
// which is a polynomial, so that a rule of Gauss with half as many points as the path has features is exact. Sums over leaves are
// taken at the points, from below, and a tree takes its nodes times the points (LightGBM and XGBoost take leaves times the
// square of the depth).
//
// It is not changed; any number of goroutines may use it.
type Explainer struct {
	e        *Ensemble
	trees    []shapTree
	expected []float64 // by class
	scratch  sync.Pool // *shapWalk
}

// shapTree is what of a tree is the same for all rows.
type shapTree struct {
	rule  *gauss
	parts [2][]float64 // of inner nodes, of the left and the right child: z of the feature up to there
	level []int32      // of inner nodes
	above []int32      // of inner nodes: the level above of the same feature, or -1
}

// pathLimit is how many splits there may be above a leaf.
const pathLimit = 1024

// ErrCounts is what explanations of trees fail with that do not say how many rows they saw.
var ErrCounts = errors.New("no counts of rows in the trees")

// NewExplainer makes an Explainer of an ensemble that [Ensemble.Check] accepts. It fails with [ErrCounts] where nodes do not say how
// many rows came there.
func NewExplainer(e *Ensemble) (*Explainer, error) {
	x := &Explainer{e: e, expected: make([]float64, e.Classes)}
	copy(x.expected, e.Start)
	rules, most, deep := map[int]*gauss{}, 0, 0
	for i, t := range e.Scoring() {
		depth := t.Depth()
		if depth > pathLimit {
			return nil, fmt.Errorf("tree %d is %d splits deep, want at most %d for contributions of features", i, depth, pathLimit)
		}
		s := shapTree{}
		points, expected, err := s.parse(&t, e.Single)
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		if rules[points] == nil {
			rules[points] = newGauss(points)
		}
		s.rule = rules[points]
		x.expected[t.Class] += expected
		x.trees, most, deep = append(x.trees, s), max(most, points), max(deep, depth)
	}
	x.mean(x.expected)
	x.scratch.New = func() any { return newShapWalk(deep, most) }
	return x, nil
}

// parse finds the parts, how many points a rule must have, and the mean of the leaves.
func (s *shapTree) parse(t *Tree, byWeight bool) (points int, expected float64, err error) {
	n := len(t.Feature)
	if n == 0 {
		return 0, t.LeafValue[0], nil
	}
	s.parts, s.level, s.above = [2][]float64{make([]float64, n), make([]float64, n)}, make([]int32, n), make([]int32, n)
	different, reach, from := make([]int32, n), make([]float64, n), make([]int32, n)
	reach[0], from[0] = 1, -1 // by node: the part of all rows; its parent
	for i := range n {
		// The nearest node above of the same feature: the part at the child of it that leads here.
		z, above, at := 1.0, int32(-1), int32(i)
		for up := from[i]; up >= 0 && above < 0; at, up = up, from[up] {
			if t.Feature[up] == t.Feature[i] {
				above, z = s.level[up], s.parts[side(t, up, at)][up]
			}
		}
		s.above[i] = above
		if above < 0 {
			different[i]++
		}
		points = max(points, int(different[i]+1)/2)
		whole := t.rows(int32(i), byWeight)
		for which, child := range [2]int32{t.Left[i], t.Right[i]} {
			part := t.rows(child, byWeight) / whole
			if !(whole > 0) || !(part >= 0) || math.IsInf(part, 0) {
				return 0, 0, fmt.Errorf("%w: %v of %v rows come to the child %d of node %d; train again, or use the importance of features",
					ErrCounts, t.rows(child, byWeight), whole, child, i)
			}
			s.parts[which][i] = z * part
			if child < 0 {
				expected += reach[i] * part * t.LeafValue[^child]
				continue
			}
			reach[child], from[child], s.level[child], different[child] = reach[i]*part, int32(i), s.level[i]+1, different[i]
		}
	}
	return points, expected, nil
}

// side is 0 if child is the left one of the node, else 1.
func side(t *Tree, node, child int32) int {
	if t.Left[node] == child {
		return 0
	}
	return 1
}

// rows is how many rows came to a node or leaf, or their weight.
func (t *Tree) rows(child int32, byWeight bool) float64 {
	switch leaf := ^child; {
	case byWeight && child < 0:
		return t.LeafWeight[leaf]
	case byWeight:
		return t.Weight[child]
	case child < 0:
		return float64(t.LeafCount[leaf])
	}
	return float64(t.Count[child])
}

// Contributions writes what each feature contributes to the score of a row into out: for each class as many numbers as the ensemble
// has features, and one more, the score that is expected where no feature is known. Their sum is the score (of Single models
// but for the rounding of their sums). Features beyond the row are 0.
func (x *Explainer) Contributions(row []float64, out []float64) {
	wide := x.e.Features.Width + 1
	clear(out)
	w := x.scratch.Get().(*shapWalk)
	trees := x.e.Scoring()
	for i := range trees {
		t := &trees[i]
		if len(t.Feature) > 0 {
			w.shapTree, w.e, w.t, w.row, w.out = &x.trees[i], x.e, t, row, out[t.Class*wide:(t.Class+1)*wide]
			w.start()
		}
	}
	w.e, w.t, w.row, w.out, w.shapTree = nil, nil, nil, nil, nil
	x.scratch.Put(w)
	for c := range x.e.Classes {
		x.mean(out[c*wide : (c+1)*wide])
		out[(c+1)*wide-1] = x.expected[c]
	}
}

// mean divides by the number of iterations where scores are means.
func (x *Explainer) mean(sums []float64) {
	n := len(x.e.Scoring()) / x.e.Group
	if !x.e.Mean || n == 0 {
		return
	}
	for i := range sums {
		sums[i] /= float64(n)
	}
}
