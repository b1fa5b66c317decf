package gbdt

import (
	"fmt"
	"math"

	"thole.example/tree"
)

// Config is how trees are grown.
type Config struct {
	Trees  int     // iterations: with several classes each makes a tree for each
	Rate   float64 // share of its value that a leaf adds to scores
	Depth  int     // splits above a leaf at most; 0: any number
	Leaves int     // of a tree at most; 0: as many as Depth allows
	Growth Growth
	Bins   int // of a feature, 2 to 255
	// Numbers is how values are read by the model, unless trees go before; rows of Float32 have no others.
	Numbers tree.Numbers `json:",omitempty"`
	Seed    uint64

	L1, L2    float64 // penalties of the values of leaves
	Gamma     float64 // a split makes the loss smaller by more than this
	MinWeight float64 // sum of second derivatives that both sides of a split have at least (min_child_weight)
	// Rare raises MinWeight where classes are rare or labels count events, so that trees do not memorize them (Setup.Rare).
	Rare    bool    `json:",omitempty"`
	MaxStep float64 // size of a leaf's value before the rate at most (max_delta_step); 0: any

	Rows    float64 // share of the rows that a tree learns from; 0 is 1
	Columns float64 // share of the features that a tree asks for; 0 is 1

	Drop Drop // of trees, by iterations that come after them

	Monotone []int8 // for each feature -1: scores fall with it, 1: they rise, 0; nil: all 0

	// Of categorical features.
	OneHot      int // up to so many levels are split one against the others
	Order       LevelOrder
	Smooth      float64 // added to the second derivative of a level when levels are ordered
	Level2      float64 // added to L2 for splits by sets
	MaxLevels   int     // of a set, where nodes order levels
	LevelWeight float64 // second derivatives that a level has at least to be in a set there

	Objective Objective
	Classes   int // of the labels, 2 or more, with an objective of several classes

	Patience int // iterations without a better value of the first metric of held-out rows after which training stops; 0: it does not
	Cores    int // goroutines; 0: one for each processor
}

// Growth is the order in which leaves are split.
type Growth string

// The two orders. They come to the same where leaves are not bounded.
const (
	ByDepth Growth = "depth" // all leaves of a depth before those below
	ByLeaf  Growth = "leaf"  // the leaf with the largest gain first
)

// Defaults are settings that suit many data.
func Defaults() Config {
	return Config{Trees: 100, Rate: 0.1, Depth: 6, Growth: ByLeaf, Bins: 255, L2: 1, MinWeight: 1,
		OneHot: 4, Order: ByTree, Smooth: 10, Level2: ByTree.Level2(), MaxLevels: 32, LevelWeight: 2.5}
}

// Limits of a tree.
const (
	DepthLimit = 64
	LeafLimit  = 1 << 17
	TreeLimit  = 1 << 20
)

// Check refuses settings that make no sense, and names the first by the name that users know it by.
func (c *Config) Check() error {
	for _, one := range []struct {
		name      string
		is        float64
		low, high float64
	}{
		{"trees", float64(c.Trees), 1, TreeLimit}, {"rate", c.Rate, math.SmallestNonzeroFloat64, math.MaxFloat32},
		{"depth", float64(c.Depth), 0, DepthLimit}, {"leaves", float64(c.Leaves), 0, LeafLimit}, {"bins", float64(c.Bins), 2, 255},
		{"l1", c.L1, 0, math.MaxFloat32}, {"l2", c.L2, 0, math.MaxFloat32}, {"gamma", c.Gamma, 0, math.MaxFloat32},
		{"min-child-weight", c.MinWeight, 0, math.MaxFloat32}, {"max-delta-step", c.MaxStep, 0, math.MaxFloat32},
		{"subsample", c.Rows, 0, 1}, {"colsample", c.Columns, 0, 1},
		{"drop-rate", c.Drop.Rate, 0, 1}, {"skip-drop", c.Drop.Skip, 0, 1},
		{"max-drop", float64(c.Drop.Most), 0, TreeLimit},
		{"cat-one-hot", float64(c.OneHot), 0, LevelLimit}, {"cat-levels", float64(c.MaxLevels), 1, LevelLimit},
		{"cat-smooth", c.Smooth, 0, math.MaxFloat32}, {"cat-l2", c.Level2, 0, math.MaxFloat32},
		{"cat-weight", c.LevelWeight, 0, math.MaxFloat32}, {"early-stop", float64(c.Patience), 0, TreeLimit},
		{"classes", float64(c.Classes), 0, tree.ClassLimit}, {"cores", float64(c.Cores), 0, 1 << 16},
	} {
		if !(one.is >= one.low && one.is <= one.high) {
			return fmt.Errorf("%s %.10g, want %.10g to %.10g", one.name, one.is, one.low, one.high)
		}
	}
	switch {
	case c.Depth == 0 && c.Leaves == 0:
		return fmt.Errorf("neither depth nor leaves bound a tree, want one of them")
	case c.Leaves == 1:
		return fmt.Errorf("1 leaf, want 2 and more")
	case c.Growth != ByDepth && c.Growth != ByLeaf:
		return fmt.Errorf("growth %q, want %s or %s", c.Growth, ByDepth, ByLeaf)
	case c.Order != ByTree && c.Order != ByNode:
		return fmt.Errorf("cat-order %q, want %s or %s", c.Order, ByTree, ByNode)
	case c.Objective.Grad == nil && c.Objective.Rank == nil && c.Objective.Several == nil:
		return fmt.Errorf("no objective")
	}
	return nil
}

// leaves is how many leaves a tree has at most.
func (c *Config) leaves() int {
	most := min(LeafLimit, c.full())
	if c.Leaves > 0 {
		most = min(most, c.Leaves)
	}
	return most
}

// full is how many leaves a tree of Depth has at most.
func (c *Config) full() int {
	if c.Depth == 0 {
		return math.MaxInt
	}
	return 1 << min(c.Depth, 60)
}
