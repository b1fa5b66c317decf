package gbdt

import (
	"cmp"
	"encoding/binary"
	"slices"

	"thole.example/kernel"
	"thole.example/tree"
)

// codedTree is a tree of the training as rows of codes come through it: its inner nodes, then its leaves, at which rows stay.
type codedTree struct {
	*tree.Tree
	nodes []codedNode
	inner int // nodes that are no leaves
	depth int // splits on the longest way
}

// codedNode is a node. Of a group of several columns only the codes of its own are told apart.
type codedNode struct {
	next   [2]int32    // nodes on the right and on the left
	narrow *[256]uint8 // by the code of the group, 1 for those that go left; nil: the group is wide
	at     int         // of the code in a row
	wide   *wideNode
}

// wideNode decides by codes of two bytes.
type wideNode struct {
	first int     // code of the node's column
	left  []uint8 // 1 for those of its codes that go left
	other uint8   // the same for all other codes of the group
}

// stays is the codes of a leaf, at which it does not matter where a row goes.
var stays [256]uint8

// columnOf is the column of a feature, if there is one.
func (b *Binned) columnOf(feature int) (at int, there bool) {
	return slices.BinarySearchFunc(b.columns, feature, func(c column, f int) int { return cmp.Compare(c.feature, f) })
}

// coded finds the bins that a tree asks for, which was grown from them.
func (b *Binned) coded(of *tree.Tree) *codedTree {
	n := len(of.Feature)
	t := &codedTree{Tree: of, nodes: make([]codedNode, n+len(of.LeafValue)), inner: n, depth: of.Depth()}
	tables := make([][256]uint8, n)
	at := func(child int32) int32 {
		if child < 0 {
			return int32(n) + ^child
		}
		return child
	}
	for i := range of.Feature {
		t.nodes[i] = b.codedNode(of, i, &tables[i])
		t.nodes[i].next = [2]int32{at(of.Right[i]), at(of.Left[i])}
	}
	for i := n; i < len(t.nodes); i++ {
		t.nodes[i] = codedNode{next: [2]int32{int32(i), int32(i)}, narrow: &stays}
	}
	return t
}

// codedNode is an inner node, without what comes next; the table is for it to have.
func (b *Binned) codedNode(of *tree.Tree, node int, table *[256]uint8) codedNode {
	at, _ := b.columnOf(int(of.Feature[node]))
	s, c := split{column: at, missing: of.Kind[node]&tree.DefaultLeft != 0}, &b.columns[at]
	if !c.categorical {
		s.bin = min(c.binOf(of.Threshold[node]), c.bins-1)
	}
	for bin, level := range c.levels {
		if tree.Has(of.Set(node), int(level)) {
			s.set = append(s.set, int32(bin))
		}
	}
	w := wideNode{other: s.goesLeft(c, c.usual)}
	for bin := range c.all() {
		if c.alone || bin != c.usual {
			w.left = append(w.left, s.goesLeft(c, bin))
		}
	}
	if !c.alone {
		w.first = c.first
	}
	g := &b.groups[c.group]
	if g.wide {
		return codedNode{at: g.at, wide: &w}
	}
	for code := range table {
		table[code] = w.goes(code)
	}
	return codedNode{at: g.at, narrow: table}
}

// goes is 1 for a code that goes left.
func (w *wideNode) goes(code int) uint8 {
	if own := uint(code - w.first); own < uint(len(w.left)) {
		return w.left[own]
	}
	return w.other
}

// goes is 1 for a row that goes left.
func (n *codedNode) goes(row []byte) uint8 {
	if n.narrow != nil {
		return n.narrow[row[n.at]]
	}
	return n.wide.goes(int(binary.LittleEndian.Uint16(row[n.at:])))
}

// walked is how many rows come through a tree side by side: each waits for its own bytes, and not for those of the others.
const walked = 8

// add adds the leaves that rows come to, the first of which is row lo, to their margins.
func (t *codedTree) add(codes kernel.Codes, lo int, margins []float64) {
	for len(margins) > 0 {
		var rows [walked][]byte
		var at [walked]int32
		n := min(walked, len(margins))
		for i := range rows {
			rows[i] = codes.Row(lo + min(i, n-1))
		}
		for depth := 0; depth < t.depth; depth++ {
			for i := range at {
				node := &t.nodes[at[i]]
				at[i] = node.next[node.goes(rows[i])&1]
			}
			if depth%4 == 3 && slices.Min(at[:]) >= int32(t.inner) { // which is worth to know of deep trees
				break
			}
		}
		for i := range n {
			margins[i] += t.LeafValue[int(at[i])-t.inner]
		}
		lo, margins = lo+n, margins[n:]
	}
}
