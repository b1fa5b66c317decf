package lightgbm

import (
	"fmt"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/tree"
)

// fit is the ensemble as a file holds it. What is not the same then goes through o.
func fit(e *tree.Ensemble, o *format.Options) (*tree.Ensemble, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	c := *e
	c.Trees = slices.Clone(e.Scoring())
	c.Features = e.Features.Clone()
	c.Start = slices.Clone(e.Start)
	if left := len(e.Trees) - len(c.Trees); left > 0 {
		o.Drop(format.Shapes|format.Matrices, "", "%s of iterations behind the best one, scoring nothing", number.Of(left, "tree"))
	}
	for _, step := range []func(*tree.Ensemble, *format.Options) error{predictions, order, missing, start, features, counts} {
		if err := step(&c, o); err != nil {
			return nil, err
		}
	}
	return &c, c.Check()
}

// predictions is about what is made of the trees: sums and links.
func predictions(c *tree.Ensemble, o *format.Options) error {
	if c.Single { // a rounding, as those to XGBoost's float32: nobody has to allow it
		o.Drop(format.Files, "", "that scores are added up in float32: LightGBM adds in float64, scores may differ in the 7th digit")
		c.Single = false
	}
	if c.Numbers == tree.Float32 {
		o.Tell("values are compared as float32: LightGBM does so where they are rounded to it before it scores them (array.astype('float32'))")
	}
	if n := tiny(c); n > 0 && c.Numbers != tree.LightGBM {
		o.Tell("%s not 0 and at most 1e-35 in size: LightGBM reads values of that size as 0, so such values go another way there",
			number.Of(n, "threshold is", "thresholds are"))
	}
	if _, ok := objectiveLine(&c.Objective, c.Classes); ok {
		return nil
	}
	if err := o.Lose(format.Files, "", "the objective %s: LightGBM has no link %s, its predictions are the scores", c.Objective.Name,
		c.Objective.Link); err != nil {
		return err
	}
	c.Objective.Link, c.Objective.Sigmoid = tree.Identity, 0
	return nil
}

// tiny is how many thresholds lie among the values that LightGBM reads as 0.
func tiny(c *tree.Ensemble) (n int) {
	for i := range c.Trees {
		for node, v := range c.Trees[i].Threshold {
			if c.Trees[i].Kind[node]&tree.Categorical == 0 && v != 0 && math.Abs(v) <= tree.ZeroMost {
				n++
			}
		}
	}
	return n
}

// addedLimit is how many trees that say 0 order adds at most: few trees of many classes would become very many.
const addedLimit = 1 << 16

// order puts tree i where LightGBM adds it, to class i modulo the classes. The trees of one class stay in their order, so that no sum
// changes; where classes have unequal numbers of trees, those that are missing say 0.
func order(c *tree.Ensemble, o *format.Options) error {
	of, most := make([][]tree.Tree, c.Classes), 0
	for _, t := range c.Trees {
		of[t.Class] = append(of[t.Class], t)
		most = max(most, len(of[t.Class]))
	}
	if n := len(c.Trees) / c.Group; c.Mean && most != n && n > 0 {
		if err := o.Lose(format.Files, "", "the mean over %d iterations: LightGBM divides by %d, its leaves are larger", n, most); err != nil {
			return err
		}
		by := float64(most) / float64(n)
		for _, trees := range of {
			for i := range trees {
				trees[i] = scaled(trees[i], by)
			}
		}
		for i := range c.Start {
			c.Start[i] *= by
		}
	}
	if c.Group != c.Classes {
		o.Drop(format.Files, "", "that an iteration made %d trees for a class", c.Group/c.Classes)
	}
	more := most*c.Classes - len(c.Trees)
	if more > addedLimit {
		return fmt.Errorf("classes of unequal numbers of trees: %d trees that say 0 would be added, want at most %d: %w", more, addedLimit,
			format.ErrLimit)
	}
	if more > 0 {
		o.Drop(format.Shapes|format.Matrices, "", "that classes have unequal numbers of trees: those that are missing say 0")
	}
	if c.Best > 0 && c.Best != most {
		o.Drop(format.Files, "", "which iteration was the best: all that are left score")
		c.Best = most
	}
	c.Group = c.Classes
	c.Trees = c.Trees[:0]
	for i := range most {
		for class := range c.Classes {
			t := constant(class, 0)
			if i < len(of[class]) {
				t = of[class][i]
			}
			c.Trees = append(c.Trees, t)
		}
	}
	return nil
}

// scaled has the outputs of t times by.
func scaled(t tree.Tree, by float64) tree.Tree {
	t.LeafValue, t.Value = slices.Clone(t.LeafValue), slices.Clone(t.Value)
	for _, values := range [][]float64{t.LeafValue, t.Value} {
		for i := range values {
			values[i] *= by
		}
	}
	return t
}

// constant is a tree of one leaf.
func constant(class int, value float64) tree.Tree {
	return tree.Tree{Class: class, LeafValue: []float64{value}, LeafWeight: []float64{0}, LeafCount: []int64{0}}
}

// missing is about splits by levels at which NaN goes left, as trees of XGBoost may have it.
func missing(c *tree.Ensemble, o *format.Options) error {
	asked := false
	for i := range c.Trees {
		t := &c.Trees[i]
		t.Kind = slices.Clone(t.Kind)
		for node, k := range t.Kind {
			if k&tree.Categorical == 0 || k&tree.DefaultLeft == 0 {
				continue
			}
			if k&tree.NaNMissing != 0 && !asked {
				asked = true
				if err := o.Lose(format.Files, "", "splits by levels at which missing values go left: in LightGBM they go right"); err != nil {
					return err
				}
			}
			t.Kind[node] = k &^ tree.DefaultLeft
		}
	}
	return nil
}

// start puts the start scores into the first trees, as LightGBM does: the first sum is the same.
func start(c *tree.Ensemble, o *format.Options) error {
	if !slices.ContainsFunc(c.Start, func(s float64) bool { return s != 0 }) {
		clear(c.Start) // of -0
		return nil
	}
	if len(c.Trees) == 0 {
		o.Drop(format.Shapes|format.Matrices, "", "that there are no trees: some of one leaf have the start scores")
		for class := range c.Classes {
			c.Trees = append(c.Trees, constant(class, 0))
		}
	}
	for class, s := range c.Start {
		t := &c.Trees[class]
		t.LeafValue, t.Value = slices.Clone(t.LeafValue), slices.Clone(t.Value)
		for _, values := range [][]float64{t.LeafValue, t.Value} {
			for i := range values {
				values[i] += s
			}
		}
	}
	o.Tell("the start scores are in the leaves of the first trees, where LightGBM has them")
	clear(c.Start)
	return nil
}

// features is about what their lines cannot say.
func features(c *tree.Ensemble, o *format.Options) error {
	fitted := map[int]tree.Feature{}
	for i, f := range c.Features.Listed() {
		if fitInfo(&f) {
			fitted[i] = f
			o.Drop(format.Files, "", "the least and the largest value of feature %q", f.Name)
		}
		if as := word(f.Name, i); as != f.Name && f.Name != "" {
			o.Tell("feature %q is called %s for LightGBM, whose names have no blanks", f.Name, as)
		}
		if f.Monotone < -1 || f.Monotone > 1 {
			return fmt.Errorf("feature %q: monotone %d, want -1, 0 or 1: %w", f.Name, f.Monotone, tree.ErrTrees)
		}
	}
	c.Features.Change(fitted)
	if c.Features.Stem == "" && c.Features.Width > 0 && c.Features.At(0).Name == "" {
		o.Tell("features without names are called %s0 and so on for LightGBM", stem)
	}
	return nil
}

// countLimit is the largest count that LightGBM reads.
const countLimit = math.MaxInt32

// countTotal is how many rows a tree is said to have seen where only its weights are known.
const countTotal = 1 << 20

// counts makes those that LightGBM's contributions need, in which subtrees weigh by their rows: where none are known, shares of the sums
// of second derivatives, by which XGBoost weighs them.
func counts(c *tree.Ensemble, o *format.Options) error {
	made, fewer := 0, 0
	for i := range c.Trees {
		t := &c.Trees[i]
		if len(t.Feature) == 0 {
			continue
		}
		if slices.Max(t.LeafCount) == 0 {
			guess(t)
			made++
		}
		if max(slices.Max(t.LeafCount), slices.Max(t.Count)) > countLimit {
			t.LeafCount, t.Count = slices.Clone(t.LeafCount), slices.Clone(t.Count)
			for _, values := range [][]int64{t.LeafCount, t.Count} {
				for k := range values {
					values[k] = min(values[k], countLimit)
				}
			}
			fewer++
		}
	}
	if made > 0 {
		o.Tell("of %s it is not known how many rows came to their leaves: they are counted as shares of %d by their weights",
			number.Of(made, "tree"), countTotal)
	}
	if fewer > 0 {
		o.Tell("of %s counts of rows are above %d, which LightGBM does not read: they are that", number.Of(fewer, "tree"), countLimit)
	}
	return nil
}

func guess(t *tree.Tree) {
	total := 0.0
	for _, w := range t.LeafWeight {
		total += max(w, 0)
	}
	t.LeafCount, t.Count = make([]int64, len(t.LeafWeight)), make([]int64, len(t.Feature))
	for i, w := range t.LeafWeight {
		share := 1 / float64(len(t.LeafWeight))
		if total > 0 && total <= math.MaxFloat64 {
			share = max(w, 0) / total
		}
		t.LeafCount[i] = max(1, int64(math.Round(share*countTotal)))
	}
	for node := len(t.Feature) - 1; node >= 0; node-- { // children first
		for _, child := range [2]int32{t.Left[node], t.Right[node]} {
			if child < 0 {
				t.Count[node] += t.LeafCount[^child]
			} else {
				t.Count[node] += t.Count[child]
			}
		}
	}
}
