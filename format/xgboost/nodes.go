package xgboost

import (
	"fmt"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/tree"
)

// nodes is one tree as the file has it: lists over all nodes, leaves among them, 0 is the root. It is used for one tree after the other.
type nodes struct {
	left, right, feature      []int64 // children: -1 of a leaf
	parent                    []int64
	condition                 []float32
	missingLeft, kind         []int64 // 0 or 1; kind 1 is categorical
	value, gain, weight       []float32
	hessian                   []float32 // in our own files: the weights, if those of XGBoost's key are counts of rows
	count, leaves             []int64   // rows, and numbers of leaves; only our own files have them
	levels                    []int64   // of all sets, which go right
	setNode, setBegin, setLen []int64

	size, deleted, vector int
	id                    float64
	byRows                bool             // contributions weigh subtrees by rows
	at                    map[string]int64 // where the values of keys begin

	room   int     // words that sets may still take
	number []int32 // of an inner node or a leaf, by its place in the file
	seen   []bool
	inner  []int32 // places of the inner nodes by their numbers
	leaf   []int32
}

// report tells of an element of the list of a key, or if i is below 0 of the list.
type report func(key string, i int, text string, args ...any)

// The keys of a tree.
const (
	leftKey, rightKey   = "left_children", "right_children"
	featureKey          = "split_indices"
	conditionKey        = "split_conditions"
	missingKey, kindKey = "default_left", "split_type"
	valueKey, gainKey   = "base_weights", "loss_changes"
	weightKey           = "sum_hessian"
	countKey            = "thole_count" // which XGBoost passes over, as the next
	leavesKey           = "thole_leaf"
	hessianKey          = "thole_weight"
	idKey               = "id"
	parentsKey          = "parents"
	paramKey            = "tree_param"
	levelsKey           = "categories"
	setNodeKey          = "categories_nodes"
	setBeginKey         = "categories_segments"
	setLenKey           = "categories_sizes"
)

// wanted are the keys that trees of every version of XGBoost have, and those that have to be there with a kind of split.
var (
	wanted     = []string{idKey, paramKey, rightKey, featureKey, conditionKey, missingKey, parentsKey, valueKey, gainKey, weightKey}
	wantedSets = []string{levelsKey, setNodeKey, setBeginKey, setLenKey}
)

// read reads the tree that comes next.
func (n *nodes) read(v values) {
	lists := map[string]*[]int64{leftKey: &n.left, rightKey: &n.right, featureKey: &n.feature, parentsKey: &n.parent,
		countKey: &n.count, leavesKey: &n.leaves, levelsKey: &n.levels, setNodeKey: &n.setNode, setBeginKey: &n.setBegin, setLenKey: &n.setLen}
	flags := map[string]*[]int64{missingKey: &n.missingLeft, kindKey: &n.kind}
	floats := map[string]*[]float32{conditionKey: &n.condition, valueKey: &n.value, gainKey: &n.gain, weightKey: &n.weight,
		hessianKey: &n.hessian}
	of := map[string]func(){idKey: func() { n.at[idKey] = v.off(); n.id = v.number() }, paramKey: func() {
		n.at[paramKey] = v.off()
		fields(v, map[string]func(){"num_nodes": setting(v, &n.size, math.MaxInt32), "num_deleted": setting(v, &n.deleted, math.MaxInt32),
			"size_leaf_vector": setting(v, &n.vector, math.MaxInt32)})
	}}
	n.size, n.deleted, n.vector, n.at = -1, -1, 0, map[string]int64{}
	for key, list := range lists {
		*list = (*list)[:0]
		of[key] = func() { n.at[key] = v.off(); *list = v.wholes(*list) }
	}
	for key, list := range flags {
		*list = (*list)[:0]
		of[key] = func() { n.at[key] = v.off(); *list = v.flags(*list) }
	}
	for key, list := range floats {
		*list = (*list)[:0]
		of[key] = func() { n.at[key] = v.off(); *list = v.floats(*list) }
	}
	fields(v, of)
}

// complete refuses tree number i without a key that XGBoost wants, or with another number.
func (n *nodes) complete(i int, bad report) {
	keys := wanted
	if _, ok := n.at[kindKey]; ok {
		keys = append(slices.Clip(keys), wantedSets...)
	}
	for _, key := range keys {
		if _, ok := n.at[key]; !ok {
			bad(key, -1, "missing, and XGBoost writes it in every tree")
			return
		}
	}
	switch {
	case n.size < 0:
		bad(paramKey, -1, "no num_nodes, and XGBoost writes it in every tree")
	case n.id != float64(i):
		bad(idKey, -1, "tree %v, want %d: the trees are out of order", n.id, i)
	}
}

// reporting adds what is wrong with an element of a list to v.
func (n *nodes) reporting(v values) report {
	return func(key string, i int, text string, args ...any) {
		within := "." + key
		if i >= 0 {
			within += fmt.Sprintf("[%d]", i)
		}
		at, ok := n.at[key]
		if !ok {
			at = v.off()
		}
		v.fail(at, within, text, args...)
	}
}

// tree makes a tree of what was read, and adds errors to v.
func (n *nodes) tree(v values) (t tree.Tree) {
	bad := n.reporting(v)
	if n.vector > 1 {
		bad("tree_param", -1, "leaves of %d values each (multi_strategy=multi_output_tree), want one tree for each target: %w",
			n.vector, format.ErrVersion)
		return t
	}
	if n.lengths(bad); v.failed() != nil {
		return t
	}
	if n.walk(bad); v.failed() != nil {
		return t
	}
	if n.order(bad); v.failed() != nil {
		return t
	}
	t = n.fill(bad)
	n.sets(&t, bad)
	return t
}

// lengths checks that all lists are of one length.
func (n *nodes) lengths(bad report) {
	want := len(n.left)
	switch {
	case want == 0:
		bad(leftKey, -1, "no nodes, want at least one")
	case n.size >= 0 && n.size != want:
		bad(leftKey, -1, "%d nodes, want %d as num_nodes says", want, n.size)
	}
	for _, l := range []struct {
		key  string
		n    int
		must bool
	}{{rightKey, len(n.right), true}, {featureKey, len(n.feature), true}, {conditionKey, len(n.condition), true},
		{missingKey, len(n.missingLeft), true}, {parentsKey, len(n.parent), false}, {kindKey, len(n.kind), false},
		{valueKey, len(n.value), false},
		{gainKey, len(n.gain), false}, {weightKey, len(n.weight), false}, {hessianKey, len(n.hessian), false}, {countKey, len(n.count), false}} {
		if l.n != want && (l.must || l.n > 0) {
			bad(l.key, -1, "%d values, want %d", l.n, want)
		}
	}
	if len(n.setBegin) != len(n.setNode) || len(n.setLen) != len(n.setNode) {
		bad(setNodeKey, -1, "%d nodes, %d beginnings and %d sizes of sets, want as many of each", len(n.setNode), len(n.setBegin), len(n.setLen))
	}
}

// walk goes from the root to all leaves, and sees each node once.
func (n *nodes) walk(bad report) {
	all := len(n.left)
	n.seen = append(n.seen[:0], make([]bool, all)...)
	n.seen[0] = true
	todo, reached := []int64{0}, 0
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		reached++
		if n.left[at] == -1 {
			continue
		}
		for _, side := range [2]struct {
			key  string
			list []int64
		}{{leftKey, n.left}, {rightKey, n.right}} {
			child := side.list[at]
			switch {
			case child < 0 || child >= int64(all):
				bad(side.key, int(at), "node %d of %d", child, all)
				return
			case n.seen[child]:
				bad(side.key, int(at), "node %d, which is the root or has a parent already", child)
				return
			}
			n.seen[child] = true
			todo = append(todo, child)
		}
	}
	if n.deleted >= 0 && reached+n.deleted != all {
		bad(leftKey, -1, "%d nodes are reached from the root and %d are deleted, of %d", reached, n.deleted, all)
	}
}

// order numbers inner nodes by the places of their left children, which is the order in which they were split, and leaves by their
// places, or as our own files say. So the order of the file comes back when the tree is written.
func (n *nodes) order(bad report) {
	all := len(n.left)
	n.inner, n.leaf = n.inner[:0], n.leaf[:0]
	owner := make([]int32, all) // of a left child, and one more: 0 is none
	for p := range all {
		switch {
		case !n.seen[p]:
		case n.left[p] == -1:
			n.leaf = append(n.leaf, int32(p))
		default:
			owner[n.left[p]] = int32(p) + 1
		}
	}
	for _, p := range owner {
		if p > 0 {
			n.inner = append(n.inner, p-1)
		}
	}
	n.permute(bad)
	n.renumber()
	for _, p := range n.inner {
		for _, child := range [2]int64{n.left[p], n.right[p]} {
			if n.left[child] != -1 && n.number[child] <= n.number[p] {
				n.level()
				return
			}
		}
	}
}

// permute gives leaves the numbers that our own files say.
func (n *nodes) permute(bad report) {
	if len(n.leaves) == 0 {
		return
	}
	if len(n.leaves) != len(n.leaf) {
		bad(leavesKey, -1, "%d values, want %d, one for each leaf", len(n.leaves), len(n.leaf))
		return
	}
	places := make([]int32, len(n.leaf))
	for i, number := range n.leaves {
		if number < 0 || number >= int64(len(places)) || places[number] != 0 {
			bad(leavesKey, i, "leaf %d of %d, want each once", number, len(places))
			return
		}
		places[number] = n.leaf[i] // never 0, the root, if there are several
	}
	n.leaf = places
}

// level numbers inner nodes level by level: parents come before their children whatever the file does.
func (n *nodes) level() {
	n.inner = append(n.inner[:0], 0)
	for i := 0; i < len(n.inner); i++ {
		for _, child := range [2]int64{n.left[n.inner[i]], n.right[n.inner[i]]} {
			if n.left[child] != -1 {
				n.inner = append(n.inner, int32(child))
			}
		}
	}
	n.renumber()
}

// renumber sets the numbers of nodes after their order.
func (n *nodes) renumber() {
	n.number = append(n.number[:0], make([]int32, len(n.left))...)
	for i, at := range n.inner {
		n.number[at] = int32(i)
	}
	for i, at := range n.leaf {
		n.number[at] = ^int32(i)
	}
}

// item is an element of a list that may be missing.
func item[T any](list []T, i int32) (v T) {
	if int(i) < len(list) {
		v = list[i]
	}
	return v
}

// fill makes the tree without its sets.
func (n *nodes) fill(bad report) tree.Tree {
	inner, leaves := len(n.inner), len(n.leaf)
	weight := n.weight
	if len(n.hessian) > 0 {
		weight = n.hessian
	}
	t := tree.Tree{Feature: make([]int32, inner), Threshold: make([]float64, inner), Kind: make([]tree.Kind, inner),
		Left: make([]int32, inner), Right: make([]int32, inner),
		Gain: make([]float64, inner), Value: make([]float64, inner), Weight: make([]float64, inner),
		Count: make([]int64, inner), LeafValue: make([]float64, leaves), LeafWeight: make([]float64, leaves), LeafCount: make([]int64, leaves)}
	for i, p := range n.inner {
		if f := n.feature[p]; f < 0 || f >= tree.FeatureLimit {
			bad(featureKey, int(p), "feature %d, want 0 to %d", f, tree.FeatureLimit-1)
			return t
		}
		c := n.condition[p]
		if c != c && item(n.kind, p) == 0 {
			bad(conditionKey, int(p), "NaN, want a number")
			return t
		}
		t.Feature[i], t.Threshold[i] = int32(n.feature[p]), float64(math.Nextafter32(c, float32(math.Inf(-1))))
		t.Left[i], t.Right[i] = n.number[n.left[p]], n.number[n.right[p]]
		t.Kind[i] = tree.NaNMissing
		if n.missingLeft[p] != 0 {
			t.Kind[i] |= tree.DefaultLeft
		}
		t.Gain[i], t.Value[i], t.Weight[i] = float64(item(n.gain, p)), float64(item(n.value, p)), float64(item(weight, p))
		t.Count[i] = item(n.count, p)
	}
	for i, p := range n.leaf {
		v := float64(n.condition[p])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			bad(conditionKey, int(p), "the value of a leaf is %v, want a number", v)
			return t
		}
		t.LeafValue[i], t.LeafWeight[i], t.LeafCount[i] = v, float64(item(weight, p)), item(n.count, p)
	}
	return t
}

// sets gives the categorical nodes their sets, and turns their sides: in the file what is in the set goes right.
func (n *nodes) sets(t *tree.Tree, bad report) {
	of := map[int64]int{}
	for i, p := range n.setNode {
		if p < 0 || p >= int64(len(n.left)) || item(n.kind, int32(p)) == 0 {
			bad(setNodeKey, i, "node %d, want a categorical one of %d", p, len(n.left))
			return
		}
		if _, twice := of[p]; twice {
			bad(setNodeKey, i, "node %d comes a second time", p)
			return
		}
		of[p] = i
	}
	for i, p := range n.inner {
		if item(n.kind, p) == 0 {
			continue
		}
		set, ok := of[int64(p)]
		if !ok {
			bad(setNodeKey, -1, "categorical node %d has no set", p)
			return
		}
		begin, size := n.setBegin[set], n.setLen[set]
		if begin < 0 || size < 0 || begin > int64(len(n.levels)) || size > int64(len(n.levels))-begin {
			bad(setBeginKey, set, "levels %d to %d+%d of %d", begin, begin, size, len(n.levels))
			return
		}
		if len(t.Bounds) == 0 {
			t.Bounds = []int32{0}
		}
		base := len(t.Words)
		for j, level := range n.levels[begin : begin+size] {
			if level < 0 || level >= tree.LevelLimit {
				bad(levelsKey, int(begin)+j, "level %d, want 0 to %d", level, tree.LevelLimit-1)
				return
			}
			if more := int(level>>5) + 1 - (len(t.Words) - base); more > 0 {
				if n.room -= more; n.room < 0 {
					bad(levelsKey, int(begin)+j, "level %d, and the sets before it take all memory that is given them: %w", level, format.ErrLimit)
					return
				}
				t.Words = append(t.Words, make([]uint32, more)...)
			}
			t.Words[base+int(level>>5)] |= 1 << (level & 31)
		}
		t.Threshold[i] = float64(len(t.Bounds) - 1)
		t.Bounds = append(t.Bounds, int32(len(t.Words)))
		t.Left[i], t.Right[i] = t.Right[i], t.Left[i]
		t.Kind[i] = (t.Kind[i] | tree.Categorical) ^ tree.DefaultLeft
	}
}
