package tree

import "sync"

// Scorer scores rows as [Ensemble.Score] does, bit for bit, and faster. It keeps what it needs of the ensemble in few bytes: thresholds
// are keys of 32 bits, to which values are compared by keys of theirs (cuts), and all missing values are decided before the trees are
// walked (rule). It is not changed; any number of goroutines may score with it.
//
// A tree is kept in one of two ways. One whose leaves are about equally deep is filled up to a complete tree: inner nodes 1 to
// 1<<depth - 1 with the children 2i and 2i+1, so that a step needs no addresses of children. Of others each node has the place of its
// left child, with the right one behind it, and a leaf is a node whose child it is itself. Steps of both kinds do not branch, so that
// the processor walks for several rows and trees at a time; only at nodes with sets of levels it has to. Where the machine has
// AVX-512 and trees have up to 256 leaves, batches are not walked: all nodes are compared with blocks of rows (wide).
type Scorer struct {
	e            *Ensemble // classes, and what is done with sums
	start        []float64 // of each class; nil: rows come with their own
	columns      []column
	cuts         []cuts     // of each column
	plainColumns []bool     // of each column
	features     *Numbering // those that trees ask for
	first        []int32    // of each of them its first column, and how many columns there are
	trees        []walk
	full         []uint64  // of complete trees: threshold's key << 32 | column
	nodes        []node    // of the others
	values       []float64 // of leaves
	bounds       []int32   // of all sets: set i has the words bounds[i] to bounds[i+1]
	words        []uint32
	block        int       // rows whose keys are kept at a time
	scratch      sync.Pool // *[]int32: keys of rows that are dense
	sparseRows   sync.Pool // *sparseKeys: row by row
	sparseBlocks sync.Pool // *sparseKeys: of blocks
	wides        []wide    // the trees of blocks; nil if rows are walked
	sets         int       // columns of their sets
	blocks       sync.Pool // *block
}

// walk is a tree: where its nodes and leaves begin.
type walk struct {
	node, leaf int
	class      int32
	depth      int32
	how        way
}

type way uint8

const (
	complete way = iota // full
	linked              // nodes
	withSets            // nodes, and of some the column says a set
)

// node is one of a tree that is not complete.
type node struct {
	key    int32 // of the threshold; of a set its number; keyRight of a leaf, which goes left always, to itself
	column int32 // ^column of a set
	child  int32 // the left one in the tree, before the right one
	leaf   int32 // of a leaf, its number in the tree
}

// Limits of what is filled up to complete trees: levels, and inner nodes for each of the tree.
const (
	fullDepth = 8
	fullTimes = 3
)

// blockBytes is how much memory the keys of the rows that are walked together take.
const blockBytes = 32 << 10

// Compile makes a Scorer of an ensemble that [Ensemble.Check] accepts. The ensemble must not be changed while it is used.
func Compile(e *Ensemble) *Scorer {
	trees := e.Scoring()
	s := &Scorer{e: e, columns: columnsOf(trees), bounds: []int32{0}}
	s.block = min(max(blockBytes/4/max(len(s.columns), 1), 1), 64)
	for _, v := range e.Start {
		s.start = append(s.start, s.rounded(v))
	}
	at := make(map[column]int32, len(s.columns))
	for i, c := range s.columns {
		at[c] = int32(i)
	}
	s.cuts = cutsOf(trees, at)
	for i := range s.columns {
		s.plainColumns = append(s.plainColumns, s.plain(i))
	}
	for i := range trees {
		s.add(&trees[i], at)
	}
	s.number()
	s.widen(trees, at)
	s.scratch.New = func() any {
		keys := make([]int32, s.block*len(s.columns))
		return &keys
	}
	return s
}

// Onto is Compile, but for the start scores: Batch, Row and Sparse add what the trees say to the scores that they are given, in the order
// of the trees as always, in place of the ensemble's own start scores. It is not for an ensemble whose score is a mean.
func Onto(e *Ensemble) *Scorer {
	s := Compile(e)
	s.start = nil
	return s
}

func (s *Scorer) add(t *Tree, at map[column]int32) {
	depth, how := t.Depth(), linked
	for _, k := range t.Kind {
		if k&Categorical != 0 {
			how = withSets
		}
	}
	if how == linked && depth <= fullDepth && 1<<depth <= fullTimes*t.Leaves() {
		how = complete
	}
	w := walk{leaf: len(s.values), class: int32(t.Class), depth: int32(depth), how: how}
	if how == complete {
		w.node = len(s.full)
		s.full = append(s.full, make([]uint64, 1<<depth)...)
		s.values = append(s.values, make([]float64, 1<<depth)...)
		s.fill(t, at, s.full[w.node:], s.values[w.leaf:], 0, 1)
	} else {
		w.node = len(s.nodes)
		s.nodes = append(s.nodes, make([]node, 2*t.Leaves()-1)...)
		s.link(t, at, s.nodes[w.node:])
		for _, v := range t.LeafValue {
			s.values = append(s.values, s.rounded(v))
		}
	}
	s.trees = append(s.trees, w)
}

// rounded is what a leaf or a start adds.
func (s *Scorer) rounded(v float64) float64 {
	if s.e.Single {
		return float64(float32(v))
	}
	return v
}

// fill fills a complete tree from the place i downwards, where child of t stands.
func (s *Scorer) fill(t *Tree, at map[column]int32, full []uint64, values []float64, child int32, i int) {
	if len(t.Feature) == 0 {
		child = ^0
	}
	switch {
	case child >= 0:
		c := at[column{t.Feature[child], ruleOf(t.Kind[child])}]
		k := s.cuts[c].threshold(t.Threshold[child])
		full[i] = uint64(uint32(k))<<32 | uint64(c)
		s.fill(t, at, full, values, t.Left[child], 2*i)
		s.fill(t, at, full, values, t.Right[child], 2*i+1)
	case i < len(full): // all below is this leaf
		full[i] = keyRight << 32
		s.fill(t, at, full, values, child, 2*i)
		s.fill(t, at, full, values, child, 2*i+1)
	default:
		values[i-len(full)] = s.rounded(t.LeafValue[^child])
	}
}

// link makes the nodes of a tree that is not complete: children beside each other, those of nodes that are near the root first.
func (s *Scorer) link(t *Tree, at map[column]int32, nodes []node) {
	from := []int32{0} // of each place the child of t that stands there
	if len(t.Feature) == 0 {
		from[0] = ^0
	}
	for i := 0; i < len(from); i++ {
		child := from[i]
		if child < 0 {
			nodes[i] = node{key: keyRight, child: int32(i), leaf: ^child}
			continue
		}
		n := node{column: at[column{t.Feature[child], ruleOf(t.Kind[child])}], child: int32(len(from))}
		if t.Kind[child]&Categorical != 0 {
			n.key, n.column = int32(len(s.bounds)-1), ^n.column
			s.words = append(s.words, t.Set(int(child))...)
			s.bounds = append(s.bounds, int32(len(s.words)))
		} else {
			n.key = s.cuts[n.column].threshold(t.Threshold[child])
		}
		nodes[i] = n
		from = append(from, t.Left[child], t.Right[child])
	}
}
