package xgboost

import (
	"fmt"
	"math"
	"math/bits"

	"thole.example/format"
	"thole.example/tree"
)

// encode makes nodes of a tree, whose leaves are to be divided by a number first, and then have one added. Values that the file has no
// float32 for are rounded.
func (n *nodes) encode(t *tree.Tree, by, add float64) error {
	all := 2*len(t.Feature) + 1
	places := n.place(t)
	zeros := func(list *[]int64) { *list = append((*list)[:0], make([]int64, all)...) }
	for _, list := range []*[]int64{&n.left, &n.right, &n.feature, &n.missingLeft, &n.kind, &n.count} {
		zeros(list)
	}
	for _, list := range []*[]float32{&n.condition, &n.value, &n.gain, &n.weight} {
		*list = append((*list)[:0], make([]float32, all)...)
	}
	n.levels, n.setNode, n.setBegin, n.setLen = n.levels[:0], n.setNode[:0], n.setBegin[:0], n.setLen[:0]
	for i := range t.Feature {
		p := places[i]
		left, right := places[end(t, t.Left[i])], places[end(t, t.Right[i])]
		threshold, missingLeft, err := decision(t, i)
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		if t.Kind[i]&tree.Categorical != 0 {
			left, right, missingLeft = right, left, !missingLeft
			n.kind[p] = 1
		} else {
			n.condition[p] = condition(threshold)
		}
		if missingLeft {
			n.missingLeft[p] = 1
		}
		n.left[p], n.right[p], n.feature[p] = int64(left), int64(right), int64(t.Feature[i])
		n.gain[p], n.value[p], n.weight[p], n.count[p] = float32(t.Gain[i]), float32(t.Value[i]), float32(t.Weight[i]), t.Count[i]
	}
	for i, v := range t.LeafValue {
		p := places[len(t.Feature)+i]
		n.left[p], n.right[p] = -1, -1
		n.condition[p] = float32(v/by + add)
		n.value[p], n.weight[p], n.count[p] = n.condition[p], float32(t.LeafWeight[i]), t.LeafCount[i]
		if math.IsInf(float64(n.condition[p]), 0) {
			return fmt.Errorf("leaf %d: the value %v, beyond float32, in which XGBoost keeps it: %w", i, v, format.ErrVersion)
		}
	}
	n.weigh(t, places)
	n.weighByRows(t)
	return n.writeSets(t, places)
}

// weighByRows makes the counts of rows the sums of second derivatives, by which XGBoost weighs subtrees for contributions, if the model
// weighs them by rows. The sums themselves are in a list that XGBoost passes over.
func (n *nodes) weighByRows(t *tree.Tree) {
	n.hessian = n.hessian[:0]
	if !n.byRows || len(t.Feature) == 0 {
		return
	}
	for _, count := range t.Count {
		if count <= 0 {
			return
		}
	}
	same := true
	for p, count := range n.count {
		same = same && n.weight[p] == float32(count)
	}
	if same {
		return
	}
	n.hessian = append(n.hessian, n.weight...)
	for p, count := range n.count {
		n.weight[p] = float32(count)
	}
}

// end is the place of a child in the list of all nodes, leaves behind inner nodes.
func end(t *tree.Tree, child int32) int {
	if child < 0 {
		return len(t.Feature) + int(^child)
	}
	return int(child)
}

// place gives every node its place in the file, as XGBoost makes them: two children, one behind the other, whenever a node is split.
// XGBoost takes the right child for the one behind the left.
func (n *nodes) place(t *tree.Tree) []int32 {
	inner := len(t.Feature)
	places := make([]int32, 2*inner+1)
	leaf := make([]int32, 2*inner+1) // by place, and one more
	for i := range inner {
		left, right := end(t, t.Left[i]), end(t, t.Right[i])
		if t.Kind[i]&tree.Categorical != 0 {
			left, right = right, left
		}
		places[left], places[right] = int32(2*i+1), int32(2*i+2)
	}
	for i := inner; i < len(places); i++ {
		leaf[places[i]] = int32(i-inner) + 1
	}
	n.leaves = n.leaves[:0]
	plain := true
	for _, number := range leaf {
		if number > 0 {
			plain = plain && int(number) == len(n.leaves)+1
			n.leaves = append(n.leaves, int64(number)-1)
		}
	}
	if plain {
		n.leaves = n.leaves[:0]
	}
	return places
}

// decision is the threshold by which XGBoost sends numbers as the node does, and whether NaN goes left; err says why it cannot do that.
func decision(t *tree.Tree, i int) (threshold float64, missingLeft bool, err error) {
	v, left := t.Threshold[i], t.GoesLeft(i, math.NaN())
	if t.Kind[i]&(tree.Categorical|tree.ZeroMissing) != tree.ZeroMissing {
		return v, left, nil
	}
	// All numbers that count as zero go one way: a threshold among them moves to their other end, and zero is as any number.
	switch {
	case left && v >= -tree.ZeroMost:
		return max(v, tree.ZeroMost), left, nil
	case !left && v <= tree.ZeroMost:
		return min(v, math.Nextafter(-tree.ZeroMost, math.Inf(-1))), left, nil
	}
	return v, left, fmt.Errorf("zero is missing and goes another way than its threshold %v says (zero_as_missing of LightGBM), which XGBoost "+
		"cannot say: %w", v, format.ErrVersion)
}

// condition is the smallest float32 that is above the threshold: v <= threshold is v < condition for each float32 v.
func condition(threshold float64) float32 {
	return math.Nextafter32(tree.Floor32(threshold), float32(math.Inf(1))) + 0 // no -0
}

// weigh makes sums of second derivatives where the tree does not have them, of those of leaves, of counts, or of ones: contributions are
// divided by them.
func (n *nodes) weigh(t *tree.Tree, places []int32) {
	good := len(t.Feature) == 0 || n.weight[0] > 0
	for _, w := range n.weight {
		good = good && w >= 0 && w <= math.MaxFloat32
	}
	if good {
		return
	}
	inner := len(t.Feature)
	weighed, counted := true, true
	for i, w := range t.LeafWeight {
		weighed, counted = weighed && w > 0 && float32(w) <= math.MaxFloat32, counted && t.LeafCount[i] > 0
	}
	for i, w := range t.LeafWeight {
		switch leaf := &n.weight[places[inner+i]]; {
		case weighed:
			*leaf = float32(w)
		case counted:
			*leaf = float32(t.LeafCount[i])
		default:
			*leaf = 1
		}
	}
	for i := inner - 1; i >= 0; i-- { // children before their parents
		p := places[i]
		n.weight[p] = n.weight[n.left[p]] + n.weight[n.right[p]]
	}
}

// writeSets lists the sets in the order of the places of their nodes, as XGBoost reads them.
func (n *nodes) writeSets(t *tree.Tree, places []int32) error {
	node := make([]int32, len(places)) // by place, and one more
	for i := range t.Feature {
		node[places[i]] = int32(i) + 1
	}
	for p, i := range node {
		if i == 0 || t.Kind[i-1]&tree.Categorical == 0 {
			continue
		}
		n.setNode, n.setBegin = append(n.setNode, int64(p)), append(n.setBegin, int64(len(n.levels)))
		begin := len(n.levels)
		for w, word := range t.Set(int(i - 1)) {
			for ; word != 0; word &= word - 1 {
				n.levels = append(n.levels, int64(w*32+bits.TrailingZeros32(word)))
			}
		}
		if len(n.levels) == begin {
			return fmt.Errorf("node %d: a set of no levels, which XGBoost cannot say: %w", i-1, format.ErrVersion)
		}
		n.setLen = append(n.setLen, int64(len(n.levels)-begin))
	}
	return nil
}

// counted is the rows of all nodes; nil if none is known.
func (n *nodes) counted() []int64 {
	for _, c := range n.count {
		if c != 0 {
			return n.count
		}
	}
	return nil
}
