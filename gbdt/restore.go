package gbdt

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/tree"
)

// Grown is what a training has grown so far: what it takes to go on, beside the same rows and settings (Options.Grown). Scores of rows are
// not in it: they are added up again, tree after tree, so that they have the bits that they had. It is not changed once it is made.
type Grown struct {
	// Trees are those of this training, one for each class of each iteration. With dropout they have the values that they were grown with,
	// which are no longer those of the model once a later iteration has dropped them.
	Trees []tree.Tree
	// Values are what Options.Each returned, of each iteration.
	Values []float64
	// Model is the model so far, with the trees that went before; nil in one that comes from elsewhere.
	Model *tree.Ensemble
}

// Grown is what there is after this iteration, of which Each is going to return the value. All workers call it after the same iterations,
// within Each, as they add up how many rows the nodes have.
func (p *Progress) Grown(ctx context.Context, value float64) (*Grown, error) {
	t := p.of
	if err := t.count(ctx); err != nil {
		return nil, err
	}
	e := *t.out
	e.Trees = slices.Clone(t.out.Trees)
	own := e.Trees[t.dropout.before*len(t.scores):]
	g := &Grown{Trees: slices.Clone(own), Values: append(slices.Clone(t.values), value), Model: &e}
	if e.Best = 0; t.Drop.Rate == 0 && t.Patience > 0 && value >= t.best { // else this iteration is the best, or there is none
		e.Best = t.dropout.before + t.bestAt + 1
	}
	for i := range t.dropout.leaves {
		g.Trees[i].LeafValue, g.Trees[i].Value = t.dropout.leaves[i], t.dropout.nodes[i]
		own[i].LeafValue, own[i].Value = slices.Clone(own[i].LeafValue), slices.Clone(own[i].Value) // which change where they are
	}
	return g, nil
}

// restoredAtOnce is how many iterations are added up in one go, for which their trees are ready to be walked through.
const restoredAtOnce = 64

// restore brings back what was grown: the trees and the scores of rows, by the same sums in the same order. With dropout each iteration
// drops what it dropped then.
func (t *trainer) restore(ctx context.Context) error {
	g := t.opt.Grown
	if g == nil {
		return nil
	}
	if err := t.checkGrown(g); err != nil {
		return fmt.Errorf("the trees to go on from: %w", err)
	}
	classes, step := len(t.scores), restoredAtOnce
	if t.Drop.Rate > 0 {
		step = 1
	}
	for lo := 0; lo < len(g.Values); lo += step {
		hi := min(lo+step, len(g.Values))
		if err := t.dropTrees(ctx); err != nil {
			return err
		}
		some := slices.Clone(g.Trees[lo*classes : hi*classes])
		if t.Drop.Rate > 0 {
			for i := range some { // whose values are going to be changed
				some[i].LeafValue, some[i].Value = slices.Clone(some[i].LeafValue), slices.Clone(some[i].Value)
			}
		}
		if err := t.addTrees(ctx, some); err != nil {
			return err
		}
		t.out.Trees = append(t.out.Trees, some...)
		t.restoreTrees()
		for _, value := range g.Values[lo:hi] {
			t.judge(value)
		}
	}
	t.counted = len(t.out.Trees)
	if t.opt.Back != nil {
		t.opt.Back(t.progress(len(g.Values)))
	}
	return nil
}

// addTrees adds the leaves that all rows come to to their scores.
func (t *trainer) addTrees(ctx context.Context, some []tree.Tree) error {
	classes, rows := len(t.scores), t.binned.learn+t.binned.held
	coded := make([]*codedTree, len(some))
	for i := range some {
		coded[i] = t.binned.coded(&some[i])
	}
	return each(ctx, t.Cores, spans(rows), func(_, at int) error {
		lo, hi := at*blockRows, min((at+1)*blockRows, rows)
		for i, one := range coded {
			one.add(t.binned.codes, lo, t.scores[i%classes][lo:hi])
		}
		return nil
	})
}

// checkGrown refuses trees that this training cannot have grown from these rows.
func (t *trainer) checkGrown(g *Grown) error {
	classes := len(t.scores)
	if len(g.Trees) != classes*len(g.Values) {
		return fmt.Errorf("%d trees of %d iterations, want %d of each", len(g.Trees), len(g.Values), classes)
	}
	if n := len(g.Values); n > t.Trees {
		return fmt.Errorf("%d iterations, and there are to be %d", n, t.Trees)
	}
	for i := range g.Trees {
		one := &g.Trees[i]
		err := one.Check(t.binned.Features.Width)
		if err == nil && one.Class != i%classes {
			err = fmt.Errorf("of class %d, want %d", one.Class, i%classes)
		}
		for node := 0; err == nil && node < len(one.Feature); node++ {
			err = t.binned.checkNode(one, node)
		}
		if err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return nil
}

// checkNode refuses a node that asks for what no bin of the rows tells.
func (b *Binned) checkNode(of *tree.Tree, node int) error {
	f := int(of.Feature[node])
	at, there := b.columnOf(f)
	switch {
	case !there:
		return fmt.Errorf("node %d asks for feature %d, which has one value in these rows", node, f)
	case b.columns[at].categorical != (of.Kind[node]&tree.Categorical != 0):
		return fmt.Errorf("node %d asks for feature %d by levels: %t, and in these rows it has levels: %t", node, f,
			of.Kind[node]&tree.Categorical != 0, b.columns[at].categorical)
	case b.columns[at].categorical:
		return nil
	}
	c, v := &b.columns[at], of.Threshold[node]
	if bin := c.binOf(v); v != math.MaxFloat32 && v != math.MaxFloat64 && (bin >= len(c.uppers) || c.uppers[bin] != v) {
		return fmt.Errorf("node %d asks whether feature %d is at most %v, where no bin of these rows ends", node, f, v)
	}
	return nil
}

// grownText is a Grown as JSON. A value that is no number is null.
type grownText struct {
	Trees  []tree.Tree
	Values []*float64
}

// JSON is the trees and their values for workers that have them not. All numbers are exact.
func (g *Grown) JSON() ([]byte, error) {
	return json.Marshal(grownText{g.Trees, Numbers(g.Values)})
}

// ParseGrown reads what JSON wrote. Whether the trees are of some rows is found where they are to go on.
func ParseGrown(text []byte) (*Grown, error) {
	var t grownText
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("trees to go on from: %w", err)
	}
	return &Grown{Trees: t.Trees, Values: FromNumbers(t.Values)}, nil
}

// Numbers are values as JSON can say them: nil for those that are NaN.
func Numbers(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		if v == v {
			out[i] = &v
		}
	}
	return out
}

// FromNumbers is the inverse of Numbers.
func FromNumbers(numbers []*float64) []float64 {
	out := make([]float64, len(numbers))
	for i, v := range numbers {
		if out[i] = math.NaN(); v != nil {
			out[i] = *v
		}
	}
	return out
}
