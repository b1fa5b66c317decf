package tree

import (
	"fmt"
	"math"
	"slices"
)

// Differ says in words the first thing in which two ensembles decide or add otherwise: what they are of, or a node or leaf of a tree.
// Numbers that are apart by no more than within are the same. "": there is nothing. What training saw of nodes does not count.
func Differ(a, b *Ensemble, within float64) string {
	if text := differAll(a, b, within); text != "" {
		return text
	}
	for i := range min(len(a.Trees), len(b.Trees)) {
		if text := differTree(a, b, i, within); text != "" {
			return fmt.Sprintf("tree %d: %s", i, text)
		}
	}
	if n, m := len(a.Trees), len(b.Trees); n != m {
		return fmt.Sprintf("%d and %d trees, of which the first %d are the same", n, m, min(n, m))
	}
	return ""
}

// differAll compares what is not of one tree.
func differAll(a, b *Ensemble, within float64) string {
	if a.Classes != b.Classes || len(a.Start) != len(b.Start) {
		return fmt.Sprintf("%d and %d scores of a row", a.Classes, b.Classes)
	}
	for _, x := range []struct {
		what string
		a, b any
	}{
		{"link", a.Objective.Link, b.Objective.Link}, {"sigmoid", max(a.Objective.Sigmoid, 0), max(b.Objective.Sigmoid, 0)},
		{"features", a.Features.Width, b.Features.Width}, {"trees of an iteration", a.Group, b.Group},
		{"iterations that score", len(a.Scoring()) / a.Group, len(b.Scoring()) / b.Group}, {"mean of the trees", a.Mean, b.Mean},
		{"sums in float32", a.Single, b.Single}, {"values of rows", a.Numbers.name(), b.Numbers.name()},
		{"start scores of rows", a.NeedsStart, b.NeedsStart},
	} {
		if x.what == "iterations that score" && a.Best == 0 && b.Best == 0 {
			continue // the trees tell
		}
		if x.a != x.b {
			return fmt.Sprintf("%s: %v and %v", x.what, x.a, x.b)
		}
	}
	for c := range a.Start {
		if apart(a.Start[c], b.Start[c], within) {
			return fmt.Sprintf("start score %d: %v and %v", c, a.Start[c], b.Start[c])
		}
	}
	return ""
}

// apart reports whether two numbers are not the same.
func apart(x, y, within float64) bool { return x != y && !(math.Abs(x-y) <= within) }

// differTree compares tree i.
func differTree(a, b *Ensemble, i int, within float64) string {
	t, u := &a.Trees[i], &b.Trees[i]
	if t.Class != u.Class {
		return fmt.Sprintf("of class %d and %d", t.Class, u.Class)
	}
	for node := range min(len(t.Feature), len(u.Feature)) {
		if text := differNode(a, b, t, u, node, within); text != "" {
			return fmt.Sprintf("node %d: %s", node, text)
		}
	}
	if n, m := t.Leaves(), u.Leaves(); n != m {
		return fmt.Sprintf("%d and %d leaves", n, m)
	}
	for leaf, v := range t.LeafValue {
		if apart(v, u.LeafValue[leaf], within) {
			return fmt.Sprintf("leaf %d: %v and %v", leaf, v, u.LeafValue[leaf])
		}
	}
	return ""
}

// differNode compares an inner node.
func differNode(a, b *Ensemble, t, u *Tree, node int, within float64) string {
	if f, g := t.Feature[node], u.Feature[node]; f != g {
		return fmt.Sprintf("feature %s and %s", a.name(int(f)), b.name(int(g)))
	}
	name := a.name(int(t.Feature[node]))
	if k, l := t.Kind[node], u.Kind[node]; k != l {
		return fmt.Sprintf("%s: %s and %s", name, k.decides(), l.decides())
	}
	if t.Kind[node]&Categorical != 0 {
		if !slices.Equal(trimmed(t.Set(node)), trimmed(u.Set(node))) {
			return fmt.Sprintf("%s: another set of levels", name)
		}
	} else if v, w := t.Threshold[node], u.Threshold[node]; apart(v, w, within) {
		return fmt.Sprintf("%s: threshold %v and %v", name, v, w)
	}
	if t.Left[node] != u.Left[node] || t.Right[node] != u.Right[node] {
		return fmt.Sprintf("%s: children %d, %d and %d, %d", name, t.Left[node], t.Right[node], u.Left[node], u.Right[node])
	}
	return ""
}

// decides is how nodes of the kind decide.
func (k Kind) decides() string {
	by, missing, side := "by a threshold", "NaN is 0", "right"
	if k&Categorical != 0 {
		by = "by levels"
	}
	if k&DefaultLeft != 0 {
		side = "left"
	}
	switch {
	case k&NaNMissing != 0:
		missing = "missing goes " + side
	case k&ZeroMissing != 0:
		missing = "zero and missing go " + side
	}
	return by + ", " + missing
}

// trimmed is a set without zeros at its end.
func trimmed(words []uint32) []uint32 {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return words
}
