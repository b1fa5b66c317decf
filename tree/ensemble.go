// Package tree holds what boosted trees are once they are trained: the trees, the features that they ask for, and what their
// sum means. An [Ensemble] is what gbdt makes, what the files of LightGBM and XGBoost say, and what is scored, explained
// and drawn.
//
// It is kept as matrices, in any format, and the text trees.json beside them (docs/trees.md):
//
//	gbdt.start           f64  1 x C   score before the first tree, of each class
//	gbdt.tree            i32  2 x T   leaves; class that it adds to
//	gbdt.split.feature   i32  1 x N   of the inner nodes of all trees, one tree after the other
//	gbdt.split.value     f64  1 x N   threshold; of a categorical split the number of its set in the tree
//	gbdt.split.kind      i32  1 x N   bits of Kind
//	gbdt.split.children  i32  2 x N   left, right: inner nodes from 0 on, leaf i as -(i+1), both counted in the tree
//	gbdt.split.stats     f64  4 x N   gain, value, weight (sum of second derivatives), count of rows
//	gbdt.leaf.value      f64  1 x L   of the leaves of all trees
//	gbdt.leaf.stats      f64  2 x L   weight, count
//	gbdt.set.words       i32  1 x S   words of each set in order
//	gbdt.set.levels      i64  1 x W   32 levels each, the lowest in bit 0
//
// Where N or S is 0 their matrices are missing. All values are exact in every format that has their type.
//
// The text has the features in order, or, where there is nothing to say of most, width, which is how many there are, and those of which
// there is, each with its number as "at"; stem is what others are called, with their numbers. Only those that are listed take memory.
package tree

import (
	"errors"
	"fmt"
	"math"
)

// Ensemble is trees that score together. It is not changed while it is used; any number of goroutines may do that.
type Ensemble struct {
	Objective Objective
	Classes   int // scores of a row; 1 but for several classes
	Features  Features
	Start     []float64 // of each score, before the first tree
	Trees     []Tree
	// Group is how many trees an iteration made: Classes, or in a forest of several trees for each a multiple of it.
	Group int
	// Best is how many iterations score; 0: all. Early stopping keeps those after it so that training can go on.
	Best int
	// Mean says that a score is the mean over the iterations (a random forest), and not the sum.
	Mean bool
	// Single says that scores are added up in float32, as XGBoost does, and not in float64.
	Single bool
	// Numbers is how values of rows are read.
	Numbers Numbers
	// NeedsStart says that the trees were grown from start scores of the rows, which are not part of the ensemble: its scores are added to
	// them.
	NeedsStart bool
	// Labels are what the classes were called in training, that of negative examples first; nil: 0, 1 and so on.
	Labels []float32
	// Origin is the program and version that wrote the trees; "": this one.
	Origin string
}

// Numbers is how values of rows are read before nodes compare them.
type Numbers uint8

// The ways to read values.
const (
	Float64  Numbers = iota // as they are, but infinity as the largest number, up to which all numbers are
	Float32                 // rounded to float32: as XGBoost does, and as this program once did
	LightGBM                // as they are, but those of at most ZeroMost in size as 0
)

// Value is what nodes compare of a value of a row.
func (n Numbers) Value(v float64) float64 {
	switch {
	case n == Float32:
		return float64(float32(v))
	case n == LightGBM && math.Abs(v) <= ZeroMost:
		return 0
	case n == Float64 && v > math.MaxFloat64:
		return math.MaxFloat64
	}
	return v
}

// Iterations is how many there are.
func (e *Ensemble) Iterations() int { return len(e.Trees) / max(1, e.Group) }

// Scoring are the trees that score: those of the iterations up to Best.
func (e *Ensemble) Scoring() []Tree {
	if e.Best > 0 && e.Best < e.Iterations() {
		return e.Trees[:e.Best*e.Group]
	}
	return e.Trees
}

// ErrTrees is what trees that contradict themselves fail with.
var ErrTrees = errors.New("not a model of trees")

// Limits of what is read.
const (
	FeatureLimit = 1 << 24
	ClassLimit   = 1 << 16
	LevelLimit   = 1 << 24 // of a categorical feature, whose sets are bits
)

// Check reports what contradicts itself: a child outside, a node that has no parent or two, numbers that are none.
func (e *Ensemble) Check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrTrees}, a...)...)
	}
	switch {
	case e.Classes < 1 || e.Classes > ClassLimit:
		return bad("%d scores of a row, want 1 to %d", e.Classes, ClassLimit)
	case len(e.Start) != e.Classes:
		return bad("%d start scores, want %d", len(e.Start), e.Classes)
	case e.Group < e.Classes || e.Group%e.Classes != 0:
		return bad("%d trees in an iteration, want a multiple of %d classes", e.Group, e.Classes)
	case len(e.Trees)%e.Group != 0:
		return bad("%d trees, want a multiple of %d", len(e.Trees), e.Group)
	case e.Features.Width < 0 || e.Features.Width > FeatureLimit:
		return bad("%d features, want at most %d", e.Features.Width, FeatureLimit)
	case e.Best < 0 || e.Best > e.Iterations():
		return bad("the best iteration is %d of %d", e.Best, e.Iterations())
	}
	for i, s := range e.Start {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return bad("start score %d is %v", i, s)
		}
	}
	if err := e.Objective.Check(e.Classes); err != nil {
		return bad("%w", err)
	}
	var seen []bool
	for i := range e.Trees {
		if err := e.Trees[i].check(e.Features.Width, e.Classes, &seen); err != nil {
			return bad("tree %d: %w", i, err)
		}
	}
	return nil
}

func (t *Tree) check(features, classes int, seen *[]bool) error {
	n, leaves := len(t.Feature), len(t.LeafValue)
	if leaves != n+1 {
		return fmt.Errorf("%d leaves and %d splits, want one leaf more than splits", leaves, n)
	}
	for _, of := range [...]struct {
		what string
		has  int
	}{
		{"thresholds", len(t.Threshold)}, {"kinds", len(t.Kind)}, {"left children", len(t.Left)}, {"right children", len(t.Right)},
		{"gains", len(t.Gain)}, {"values", len(t.Value)}, {"weights", len(t.Weight)}, {"counts", len(t.Count)},
	} {
		if of.has != n {
			return fmt.Errorf("%d %s, want %d", of.has, of.what, n)
		}
	}
	if len(t.LeafWeight) != leaves || len(t.LeafCount) != leaves {
		return fmt.Errorf("%d weights and %d counts of leaves, want %d", len(t.LeafWeight), len(t.LeafCount), leaves)
	}
	if t.Class < 0 || t.Class >= classes {
		return fmt.Errorf("class %d of %d", t.Class, classes)
	}
	for i, v := range t.LeafValue {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("leaf %d has the value %v", i, v)
		}
	}
	if err := t.checkSets(); err != nil {
		return err
	}
	if cap(*seen) < 2*n+1 {
		*seen = make([]bool, 2*n+1)
	}
	had := (*seen)[:2*n+1]
	clear(had)
	for i := range n {
		if f := t.Feature[i]; f < 0 || int(f) >= features {
			return fmt.Errorf("node %d asks for feature %d of %d", i, f, features)
		}
		if err := t.checkSplit(i); err != nil {
			return err
		}
		for _, child := range [2]int32{t.Left[i], t.Right[i]} {
			at := int(child)
			switch {
			case child >= 0 && (at <= i || at >= n):
				return fmt.Errorf("node %d has the child %d, want one of %d to %d, or a leaf", i, child, i+1, n-1)
			case child < 0 && int(^child) >= leaves:
				return fmt.Errorf("node %d has the leaf %d of %d", i, ^child, leaves)
			case child < 0:
				at = n + int(^child)
			}
			if had[at] {
				return fmt.Errorf("node %d has the child %d, which another node has too", i, child)
			}
			had[at] = true
		}
	}
	return nil // 2n places for 2n children, none twice: each but the root has its parent
}

func (t *Tree) checkSplit(i int) error {
	v, k := t.Threshold[i], t.Kind[i]
	switch {
	case k&Categorical != 0 && (v != math.Trunc(v) || v < 0 || v >= float64(len(t.Bounds)-1)):
		return fmt.Errorf("node %d asks for set %v of %d", i, v, max(0, len(t.Bounds)-1))
	case v != v:
		return fmt.Errorf("node %d has the threshold NaN", i)
	case k >= 1<<4 || k&ZeroMissing != 0 && k&NaNMissing != 0:
		return fmt.Errorf("node %d is of kind %d, which is none", i, k)
	}
	return nil
}

func (t *Tree) checkSets() error {
	if len(t.Bounds) == 0 && len(t.Words) == 0 {
		return nil
	}
	if len(t.Bounds) == 0 || t.Bounds[0] != 0 || int(t.Bounds[len(t.Bounds)-1]) != len(t.Words) {
		return fmt.Errorf("bounds of sets do not cover %d words", len(t.Words))
	}
	for i, b := range t.Bounds[1:] {
		if b < t.Bounds[i] || b-t.Bounds[i] > LevelLimit/32 {
			return fmt.Errorf("set %d has the words %d to %d, want at most %d", i, t.Bounds[i], b, LevelLimit/32)
		}
	}
	return nil
}
