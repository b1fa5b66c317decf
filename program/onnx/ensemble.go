package onnx

import (
	"fmt"
	"math"

	"thole.example/format"
	"thole.example/program"
	"thole.example/tree"
	"thole.example/wire"
)

// modeMost is the mode of nodes where v <= split goes to the true branch.
const modeMost = 0

// fit refuses trees that are too deep or, before anything is made of them, too large.
func fit(trees []tree.Tree, v *views, elem program.VarType_Type) error {
	least, size := int64(0), int64(program.ElemSize(elem))
	for i := range trees {
		t := &trees[i]
		if n := t.Depth(); n > depthLimit {
			return fmt.Errorf("onnx: tree %d is %d splits deep, want at most %d: the stack of ONNX Runtime ends on deeper ones; "+
				"train with a limit of depth", i, n, depthLimit)
		}
		least += int64(len(t.Feature))*(size+7) + int64(len(t.LeafValue))*(size+1) // a list of integers has a byte or more for each
	}
	for _, l := range v.levels {
		least += l.bytes()
		if least > Limit {
			break // before it is too large for the type
		}
	}
	if least > Limit {
		return tooLarge(least)
	}
	return nil
}

func tooLarge(n int64) error {
	return fmt.Errorf("onnx: trees of at least %s, which are one node that cannot lie beside the model: train fewer or smaller trees: %w",
		format.Bytes(n), ErrSize)
}

// nodes are the trees as a TreeEnsemble has them: nodes and leaves of all trees, one tree after the other.
type nodes struct {
	elem                   program.VarType_Type // of splits and weights
	views                  *views
	numbers                tree.Numbers
	splits, weights, modes []byte
	column, missing        []int64
	roots, targets         []int64
	branch, leaf           [2][]int64 // true, false: number of a node or a leaf, and which of both
}

// ensemble is the attributes, by name, of a TreeEnsemble of the trees, which are those of e that score.
func ensemble(trees []tree.Tree, e *tree.Ensemble, elem program.VarType_Type, v *views) []attr {
	n := &nodes{elem: elem, views: v, numbers: e.Numbers}
	for i := range trees {
		n.tree(&trees[i])
	}
	if len(trees) == 0 { // the operator has no form for none
		n.tree(&tree.Tree{LeafValue: []float64{0}})
	}
	numbers := func(name string, elem program.VarType_Type, raw []byte) attr {
		count := int64(len(raw) / program.ElemSize(elem))
		return attr{name: name, tensor: &tensor{elem: elem, dims: []int64{count}, bytes: int64(len(raw)), raw: raw}}
	}
	return []attr{
		{name: "aggregate_function", i: 1}, // sum
		{name: "leaf_targetids", list: n.targets},
		numbers("leaf_weights", elem, n.weights),
		{name: "n_targets", i: int64(e.Classes)},
		{name: "nodes_falseleafs", list: n.leaf[1]},
		{name: "nodes_falsenodeids", list: n.branch[1]},
		{name: "nodes_featureids", list: n.column},
		{name: "nodes_missing_value_tracks_true", list: n.missing},
		numbers("nodes_modes", program.VarType_UINT8, n.modes),
		numbers("nodes_splits", elem, n.splits),
		{name: "nodes_trueleafs", list: n.leaf[0]},
		{name: "nodes_truenodeids", list: n.branch[0]},
		{name: "post_transform", i: 0}, // none
		{name: "tree_roots", list: n.roots},
	}
}

// tree adds a tree; one that is a leaf is a node with two that are equal: of one
// on both sides ONNX Runtime 1.24 to 1.27 make wrong scores.
func (n *nodes) tree(t *tree.Tree) {
	first, leaves := int64(len(n.column)), int64(len(n.targets))
	n.roots = append(n.roots, first)
	for i := range t.Feature {
		n.split(t, i)
		n.column = append(n.column, n.views.column(t, i))
		for side, child := range [2]int32{t.Left[i], t.Right[i]} {
			if child >= 0 {
				n.link(side, first+int64(child), 0)
			} else {
				n.link(side, leaves+int64(^child), 1)
			}
		}
	}
	if len(t.Feature) == 0 {
		n.node(0, false)
		n.column = append(n.column, 0)
		n.link(0, leaves, 1)
		n.link(1, leaves+1, 1)
		n.leaves(t, t.LeafValue)
	}
	n.leaves(t, t.LeafValue)
}

func (n *nodes) leaves(t *tree.Tree, weights []float64) {
	for _, w := range weights {
		n.weights = reals(n.weights, n.elem, w)
		n.targets = append(n.targets, int64(t.Class))
	}
}

func (n *nodes) link(side int, to, leaf int64) {
	n.branch[side], n.leaf[side] = append(n.branch[side], to), append(n.leaf[side], leaf)
}

func (n *nodes) node(split float64, missing bool) {
	n.modes, n.splits = append(n.modes, modeMost), reals(n.splits, n.elem, split)
	tracks := int64(0)
	if missing {
		tracks = 1
	}
	n.missing = append(n.missing, tracks)
}

// split adds how an inner node decides.
func (n *nodes) split(t *tree.Tree, node int) {
	k := t.Kind[node]
	if k&tree.Categorical != 0 { // 0: in the set
		n.node(0, false)
		return
	}
	v := t.Threshold[node]
	if n.numbers == tree.Float64 && v == math.MaxFloat64 { // which infinite values are read as
		v = math.Inf(1)
	}
	n.node(floor(v, n.elem), k&tree.DefaultLeft != 0 && k&(tree.NaNMissing|tree.ZeroMissing) != 0)
}

// floor is the largest number of the type that is at most v: of numbers of the type the same ones are at most that.
func floor(v float64, elem program.VarType_Type) float64 {
	if elem != program.VarType_FP32 {
		return v
	}
	return float64(tree.Floor32(v))
}

// reals appends numbers in a type of floating point.
func reals(to []byte, elem program.VarType_Type, values ...float64) []byte {
	for _, v := range values {
		if elem == program.VarType_FP32 {
			to = wire.AppendU32(to, wire.Little, math.Float32bits(float32(v)))
		} else {
			to = wire.AppendU64(to, wire.Little, math.Float64bits(v))
		}
	}
	return to
}
