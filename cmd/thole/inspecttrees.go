package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"thole.example/edit"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/tree"
)

// treesFinding is what inspect says of trees.
type treesFinding struct {
	Error      string               `json:"error,omitempty"` // why they were not understood
	Objective  *tree.Objective      `json:"objective,omitempty"`
	Origin     string               `json:"origin,omitempty"` // the program that wrote them
	Classes    int                  `json:"classes"`          // scores of an example
	Iterations int                  `json:"iterations"`
	Best       int                  `json:"best,omitempty"` // up to which they score
	Trees      int                  `json:"trees"`
	Leaves     int                  `json:"leaves"`     // of all of them
	MostLeaves int                  `json:"mostLeaves"` // of one
	Depth      int                  `json:"depth"`      // of the deepest
	Start      []float64            `json:"start"`
	NeedsStart bool                 `json:"needsStartScores,omitempty"` // it was grown from start scores of the examples
	Features   int                  `json:"features"`
	Used       int                  `json:"usedFeatures"`
	Levels     []categoricalFinding `json:"categorical,omitempty"`
	Importance []importanceFinding  `json:"importance,omitempty"` // those with the largest gain
}

type categoricalFinding struct {
	Name   string `json:"name"`
	Levels int    `json:"levels,omitempty"` // 0: they are numbers
}

type importanceFinding struct {
	Feature string  `json:"feature"`
	ID      int     `json:"id"`
	Gain    float64 `json:"gain"`
	Splits  int     `json:"splits"`
}

// importantShown is how many features inspect tells of.
const importantShown = 10

// findTrees looks at the trees of a model; nil if it is none of trees.
func findTrees(ctx context.Context, r format.Reader) *treesFinding {
	e, err := treesOf(ctx, r)
	if err != nil {
		return &treesFinding{Error: err.Error()}
	}
	if e == nil {
		return nil
	}
	f := &treesFinding{Objective: &e.Objective, Origin: e.Origin, Classes: e.Classes, Iterations: e.Iterations(), Best: e.Best,
		Trees: len(e.Trees), Start: e.Start, NeedsStart: e.NeedsStart, Features: e.Features.Width}
	for i := range e.Trees {
		t := &e.Trees[i]
		f.Leaves += t.Leaves()
		f.MostLeaves, f.Depth = max(f.MostLeaves, t.Leaves()), max(f.Depth, t.Depth())
	}
	for i, x := range e.Features.Listed() {
		if x.Categorical {
			f.Levels = append(f.Levels, categoricalFinding{featureName(e.Features, i), len(x.Levels)})
		}
	}
	f.important(e)
	return f
}

// important finds the features that trees gain most by; of equal ones those with more splits, then the first.
func (f *treesFinding) important(e *tree.Ensemble) {
	gain, err := e.Importance("gain")
	splits, err2 := e.Importance("split")
	if err != nil || err2 != nil {
		return
	}
	for k, by := range gain {
		f.Importance = append(f.Importance, importanceFinding{featureName(e.Features, by.Feature), by.Feature, by.Value, int(splits[k].Value)})
	}
	f.Used = len(f.Importance)
	slices.SortStableFunc(f.Importance, func(a, b importanceFinding) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(b.Splits, a.Splits))
	})
	f.Importance = f.Importance[:min(importantShown, f.Used)]
}

func (f *treesFinding) print(out io.Writer) error {
	if f.Error != "" {
		fmt.Fprintf(out, "  trees: not understood: %s\n", f.Error)
		return nil
	}
	of := ""
	if f.Origin != "" {
		of = "; written by " + clipped(f.Origin, longText)
	}
	fmt.Fprintf(out, "  trees: %s in %s, objective %s (%s)%s\n", number.Of(f.Trees, "tree"), number.Of(f.Iterations, "iteration"),
		orDash(clipped(f.Objective.Name, longText)), f.Objective.Link, of)
	if f.Best > 0 && f.Best < f.Iterations {
		fmt.Fprintf(out, "    the first %s score, up to the best one of training (best_iteration), as in XGBClassifier; --trees %d uses all\n",
			number.Of(f.Best, "iteration"), f.Iterations)
	}
	if f.NeedsStart {
		fmt.Fprintln(out, "    grown from start scores of the examples, which its scores are added to (--start-scores)")
	}
	if f.Classes > 1 {
		fmt.Fprintf(out, "    %s\n", number.Of(f.Classes, "class", "classes"))
	}
	fmt.Fprintf(out, "    %s, at most %d in a tree; depth at most %d\n", number.Of(f.Leaves, "leaf", "leaves"), f.MostLeaves, f.Depth)
	fmt.Fprintf(out, "    %s, of which trees ask for %d\n", number.Of(f.Features, "feature"), f.Used)
	if len(f.Levels) > 0 {
		var all []string
		for _, l := range f.Levels {
			text := clipped(l.Name, shortText)
			if l.Levels > 0 {
				text += fmt.Sprintf(" (%s)", number.Of(l.Levels, "level"))
			}
			all = append(all, text)
		}
		fmt.Fprintf(out, "    categorical: %s\n", shortList(all))
	}
	if len(f.Importance) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n    feature\tgain\tsplits")
	for _, x := range f.Importance {
		fmt.Fprintf(w, "    %s\t%.6g\t%d\n", strings.TrimSpace(clipped(x.Feature, longText)), x.Gain, x.Splits)
	}
	return w.Flush()
}

// diffTrees says in what two models of trees are not the same; nothing of others.
func diffTrees(ctx context.Context, a, b format.Reader, within float64) ([]edit.Difference, error) {
	one, err := treesOf(ctx, a)
	if err != nil || one == nil {
		return nil, err
	}
	two, err := treesOf(ctx, b)
	if err != nil || two == nil {
		return nil, err
	}
	if text := tree.Differ(one, two, within); text != "" {
		return []edit.Difference{{Matrix: "trees", What: text}}, nil
	}
	return nil, nil
}

// showTree prints one tree, as text or as a picture.
func (s *source) showTree(ctx context.Context, e *env, path string, number int, svg bool) error {
	r, err := s.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	trees, err := treesOf(ctx, r)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case trees == nil:
		return usageError{fmt.Errorf("%s is no model of trees, which --tree is for", path)}
	case number < 0 || number >= len(trees.Trees):
		return usageError{fmt.Errorf("--tree %d, and %s has %d trees, which count from 0", number, path, len(trees.Trees))}
	case svg:
		return trees.SVG(e.out, number, 0)
	}
	return trees.Text(e.out, number, 0)
}
