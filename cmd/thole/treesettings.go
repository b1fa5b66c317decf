package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/gbdt"
	"thole.example/internal/spell"
	"thole.example/tree"
)

// treeSettings is the flags that say how trees are grown.
type treeSettings struct {
	trees, leaves, bins, treeDepth int
	growth, shared                 string
	votes                          int
	minWeight, gamma, maxStep      float64
	rowShare, columnShare          float64
	monotone                       map[string]string
	order                          string
	oneHot, setLevels              int
	smooth, levelL2, levelWeight   float64
	dropSettings
}

// What tasks share.
const (
	byRows     = "rows"
	byFeatures = "features"
	byVoting   = "voting"
)

// sharings are what tasks can share.
var sharings = []string{byRows, byFeatures, byVoting}

const defaultVotes = 20

// treesTitle is the group of these flags.
const treesTitle = "Trees (--algo gbdt)"

func (g *treeSettings) flags(c *cobra.Command) {
	f, d := c.Flags(), gbdt.Defaults()
	f.IntVar(&g.trees, "trees", d.Trees, "trees, for each class")
	f.IntVar(&g.treeDepth, "depth", d.Depth, "splits above a leaf at most; 0: any number, with --leaves")
	f.IntVar(&g.leaves, "leaves", 0, "leaves of a tree at most (default: as many as --depth has room for)")
	f.StringVar(&g.growth, "growth", string(d.Growth), "which leaf is split next where --leaves bounds a tree: leaf, that with the largest "+
		"gain, or depth, the one nearest to the root")
	f.IntVar(&g.bins, "bins", d.Bins, "bins of a number, 2 to 255")
	f.Float64Var(&g.minWeight, "min-child-weight", d.MinWeight, "sum of second derivatives that both sides of a split have at least "+
		"(default 1; up to 30 where a class is rare, and with poisson)")
	f.Float64Var(&g.gamma, "gamma", 0, "by how much a split has to make the loss smaller")
	f.Float64Var(&g.maxStep, "max-delta-step", 0, "size of a leaf's value before the rate at most (default: any; with poisson 0.7)")
	f.Float64Var(&g.rowShare, "subsample", 1, "share of the examples that a tree learns from, drawn by the seed and their numbers")
	f.Float64Var(&g.columnShare, "colsample", 1, "share of the features that a tree may ask for, drawn by the seed")
	pairsVar(f, &g.monotone, "monotone", "features with which the score only rises (1) or falls (-1), NAME=1, or NUMBER=1 of a "+
		"column")
	f.IntVar(&g.oneHot, "cat-one-hot", d.OneHot, "up to so many levels are split one against the others")
	f.StringVar(&g.order, "cat-order", string(d.Order), "whose examples put the levels of a text in order, of which a set is one end: tree, "+
		"all of the tree, or node, those that are there (LightGBM's rule)")
	f.Float64Var(&g.smooth, "cat-smooth", d.Smooth, "second derivatives that are added to a level's when levels are put in order")
	f.Float64Var(&g.levelL2, "cat-l2", d.Level2, "added to --l2 for splits by sets of levels (default 1; with --cat-order node 10)")
	f.IntVar(&g.setLevels, "cat-levels", d.MaxLevels, "levels on one side of a split by a set at most, with --cat-order node")
	f.Float64Var(&g.levelWeight, "cat-weight", d.LevelWeight, "second derivatives that a level has at least to be in a set, with "+
		"--cat-order node")
	g.dropSettings.flags(c)
	f.StringVar(&g.shared, "share", byRows, "what --tasks share: rows, whose histograms are added up on the servers; features, of which each "+
		"task has all rows; or voting: rows, and histograms of the features with the most votes alone, which is not exact")
	f.IntVar(&g.votes, "votes", defaultVotes, "features that a task votes for at each node, with --share voting; twice as many are added up")
}

// treeFlags are those that only trees have.
var treeFlags = []string{"trees", "depth", "leaves", "growth", "bins", "min-child-weight", "gamma", "max-delta-step", "subsample",
	"colsample", "boosting", "drop-rate", "skip-drop", "max-drop", "start-scores", "validate-start-scores", "monotone", "cat-one-hot",
	"cat-order", "cat-smooth", "cat-l2", "cat-levels", "cat-weight", "share", "votes"}

// networkFlags are those that trees have no use for.
var networkFlags = append(slices.Clone(keepFlags), "graph", "strict-graph", "sparse", "field-dims",
	"storage", "factors", "hidden", "dropout", "cross-layers", "rank", "epochs", "batch", "updates", "clip", "schedule", "schedule-per",
	"schedule-set", "rule", "hyper", "tolerance", "non-finite", "init", "init-scale", "in-order", "staleness", "key-cache",
	"key-cache-staleness", "prefetch", "partitioner", "pos-neg", "negatives", "l1-of", "l2-of", "load-state", "save-state", "fresh-state",
	"memory", "scratch", "shuffle-window", "early-stop-delta", "hash")

// checkKinds refuses flags that are of the other kind of algorithm.
func (p *plan) checkKinds() error {
	if p.command == nil {
		return nil
	}
	flags, other := treeFlags, "--algo gbdt"
	if p.recipe.Trees != "" {
		flags, other = networkFlags, "networks"
	}
	for _, name := range flags {
		if !p.given(name) {
			continue
		}
		if name == "epochs" {
			return errors.New("--epochs: trees have none, want --trees for how many there are")
		}
		return fmt.Errorf("--%s applies only to %s, and --algo is %s", name, other, p.recipe.Name)
	}
	return nil
}

// chooseObjective finds the recipe by --loss and --loss-set, and what trees grow by.
func (p *plan) chooseObjective() error {
	name := cmp.Or(p.loss, p.recipe.Trees)
	if p.loss == "" && p.before != nil {
		name = p.before.trees.Objective.Name
	}
	o, err := gbdt.FindObjective(name)
	if err != nil {
		var names []string
		for _, o := range gbdt.Objectives() {
			names = append(names, o.Name)
		}
		hint := spell.Hint(name, names)
		if same := objectiveOf(name); same != "" {
			hint = spell.Ask([]string{same})
		}
		return fmt.Errorf("--loss %s: trees have %s%s", name, strings.Join(names, ", "), hint)
	}
	set, err := numbers("loss-set", p.lossSet)
	if err != nil {
		return err
	}
	if o, err = o.With(set); err != nil {
		return fmt.Errorf("--loss-set: %w", err)
	}
	if m := p.before; m != nil && (m.trees.Objective.Name != o.Name || m.trees.Objective.Link != o.Link) {
		return fmt.Errorf("--load %s was grown by %s, want --loss %s to go on", p.load, m.trees.Objective.Name, m.trees.Objective.Name)
	}
	p.recipe = p.recipe.WithObjective(&o)
	p.forest = &forest{Config: gbdt.Defaults()}
	p.forest.Objective = o
	return p.compare()
}

// compare finds the loss that scores are compared with labels by, which the number of classes decides, once it is known.
func (p *plan) compare() (err error) {
	p.compares, err = algo.TreeLoss(algo.TreeObjective(&p.forest.Objective), p.scores())
	return err
}

// scores is how many scores of an example trees have.
func (p *plan) scores() int {
	if p.recipe.Task == algo.Multiclass {
		return max(2, p.conf.Classes)
	}
	return 1
}

// chooseTrees chooses the settings of trees.
func (p *plan) chooseTrees() error {
	g, c := &p.treeSettings, &p.forest.Config
	c.Trees, c.Depth, c.Leaves, c.Growth, c.Bins, c.Seed = g.trees, g.treeDepth, g.leaves, gbdt.Growth(g.growth), g.bins, p.seed
	c.MinWeight, c.Gamma, c.MaxStep, c.L1 = g.minWeight, g.gamma, g.maxStep, p.l1
	c.Rare = !p.given("min-child-weight")
	if p.given("l2") {
		c.L2 = p.l2
	}
	if p.rate > 0 {
		c.Rate = p.rate
	}
	if !p.given("max-delta-step") {
		c.MaxStep = c.Objective.Step
	}
	c.Rows, c.Columns = g.rowShare, g.columnShare
	c.OneHot, c.Order, c.MaxLevels, c.Smooth, c.LevelWeight = g.oneHot, gbdt.LevelOrder(g.order), g.setLevels, g.smooth, g.levelWeight
	if c.Level2 = c.Order.Level2(); p.given("cat-l2") {
		c.Level2 = g.levelL2
	}
	c.Patience = p.patience
	var err error
	if c.Drop, err = p.drop(); err != nil {
		return err
	}
	p.epochs, p.rate, p.batch, p.job.l2 = c.Trees, c.Rate, 1, c.L2
	return cmp.Or(p.checkSharing(), p.checkTrees(), c.Check())
}

// checkSharing refuses what tasks cannot share.
func (p *plan) checkSharing() error {
	g := &p.treeSettings
	switch {
	case !slices.Contains(sharings, g.shared):
		return fmt.Errorf("--share %s, want %s%s", g.shared, strings.Join(sharings, ", "), spell.Hint(g.shared, sharings))
	case g.votes < 1 || g.votes > tree.FeatureLimit:
		return fmt.Errorf("--votes %d, want 1 to %d", g.votes, tree.FeatureLimit)
	case g.shared != byVoting && p.given("votes") && g.votes != defaultVotes:
		return fmt.Errorf("--votes without --share %s, want both", byVoting)
	}
	return nil
}

// checkTrees refuses settings that do not go together, and those that would mean another thing to package gbdt.
func (p *plan) checkTrees() error {
	g, c, d := &p.treeSettings, &p.forest.Config, gbdt.Defaults()
	for _, one := range []struct {
		flag, is string
		names    []string
	}{
		{"growth", g.growth, []string{string(gbdt.ByDepth), string(gbdt.ByLeaf)}},
		{"cat-order", g.order, []string{string(gbdt.ByTree), string(gbdt.ByNode)}},
	} {
		if !slices.Contains(one.names, one.is) {
			return fmt.Errorf("--%s %s, want %s%s", one.flag, one.is, strings.Join(one.names, " or "), spell.Hint(one.is, one.names))
		}
	}
	if c.Order == gbdt.ByTree && (c.MaxLevels != d.MaxLevels || c.LevelWeight != d.LevelWeight) {
		return fmt.Errorf("--cat-levels or --cat-weight without --cat-order %s, want both", gbdt.ByNode)
	}
	for _, share := range []struct {
		flag string
		is   float64
	}{{"subsample", g.rowShare}, {"colsample", g.columnShare}} {
		if !(share.is > 0 && share.is <= 1) { // 0 would be all
			return fmt.Errorf("--%s %v, want a share above 0, up to 1", share.flag, share.is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.monotone)) {
		if text := g.monotone[name]; !slices.Contains([]string{"1", "-1", "0"}, text) {
			return fmt.Errorf("--monotone %s=%s, want 1, -1, or 0 for none", name, text)
		}
	}
	if len(g.monotone) > 0 && c.Objective.Quantile != nil {
		return fmt.Errorf("--monotone: leaves of %s are quantiles, which no constraint holds; want l2, huber or another loss", c.Objective.Name)
	}
	return nil
}

// constrain finds the features of --monotone.
func (p *plan) constrain(features tree.Features) error {
	if len(p.monotone) == 0 {
		return nil
	}
	p.forest.Monotone = make([]int8, features.Width)
	for _, name := range slices.Sorted(maps.Keys(p.monotone)) {
		at := features.Find(name)
		if n, err := strconv.Atoi(name); at < 0 && err == nil && n >= 0 && n < features.Width && features.At(n).Name == "" {
			at = n
		}
		switch {
		case at < 0:
			var names []string
			for i := range min(features.Width, 1000) {
				names = append(names, features.At(i).Name)
			}
			return usageError{fmt.Errorf("--monotone %s: no such feature%s", name, spell.Hint(name, names))}
		case features.At(at).Categorical:
			return usageError{fmt.Errorf("--monotone %s: its values are levels, which have no order", name)}
		}
		p.forest.Monotone[at] = map[string]int8{"1": 1, "-1": -1}[p.monotone[name]]
	}
	return nil
}
