package tree

import (
	"math"

	"thole.example/kernel"
)

// wide is a tree that is scored for many rows at a time by comparing all of its nodes with all of them (kernel.Splits).
type wide struct {
	splits kernel.Splits
	sets   []setColumn
	values []float64 // of leaves
	class  int
}

// setColumn is a node that asks for a set, for which there is a column of its own while its tree is scored: keyLeft where the level is
// in the set, else keyRight.
type setColumn struct {
	column int32
	words  []uint32
}

// block is memory for one block of rows.
type block struct {
	keys  []int32 // by column, those of sets last
	reach kernel.Reach
	leaf  [kernel.LeafRows]uint8
}

// Limits of blocks.
const (
	blockColumns = 1 << 14 // so that keys stay in a cache: 4 MB
	blockLeast   = 16      // rows for which a block pays
)

// widen makes the trees of blocks, if the machine is fast at them and all trees are small enough.
func (s *Scorer) widen(trees []Tree, at map[column]int32) {
	if !kernel.LeavesFast() {
		return
	}
	all, sets := make([]wide, len(trees)), 0
	for i := range trees {
		w, ok := s.wide(&trees[i], at)
		if !ok {
			return
		}
		all[i], sets = w, max(sets, len(w.sets))
	}
	if len(s.columns)+sets > blockColumns {
		return
	}
	s.wides, s.sets = all, sets
	s.blocks.New = func() any { return s.newBlock() }
}

func (s *Scorer) newBlock() *block {
	return &block{keys: make([]int32, (len(s.columns)+s.sets)*kernel.LeafRows)}
}

func (s *Scorer) wide(t *Tree, at map[column]int32) (w wide, ok bool) {
	n := len(t.Feature)
	w.class = t.Class
	place := func(child int32) uint32 {
		if child < 0 {
			return uint32(n) + uint32(^child)
		}
		return uint32(child)
	}
	all := make([]kernel.Split, n)
	for i := range all {
		c := at[column{t.Feature[i], ruleOf(t.Kind[i])}]
		all[i] = kernel.Split{Column: uint32(c), Left: place(t.Left[i]), Right: place(t.Right[i])}
		if t.Kind[i]&Categorical != 0 {
			all[i].Column = uint32(len(s.columns) + len(w.sets))
			w.sets = append(w.sets, setColumn{c, t.Set(i)})
		} else {
			all[i].Key = s.cuts[c].threshold(t.Threshold[i])
		}
	}
	w.values = make([]float64, n+1)
	for i, v := range t.LeafValue {
		w.values[i] = s.rounded(v)
	}
	w.splits, ok = kernel.NewSplits(all, len(s.columns)+len(w.sets))
	return w, ok
}

// wideRows scores n rows, at most kernel.LeafRows, one after the other in rows.
func (s *Scorer) wideRows(b *block, rows []float64, features, n int, out []float64) {
	for i := range s.columns {
		s.columnKeys(i, b.keys[i*kernel.LeafRows:(i+1)*kernel.LeafRows], rows, features, n)
	}
	s.wideSums(b, n, out)
}

// wideSums scores n rows of which there are keys.
func (s *Scorer) wideSums(b *block, n int, out []float64) {
	classes := s.e.Classes
	for r := range n {
		s.begin(out[r*classes : (r+1)*classes])
	}
	for i := range s.wides {
		w := &s.wides[i]
		for j := range w.sets {
			from, to := int(w.sets[j].column)*kernel.LeafRows, (len(s.columns)+j)*kernel.LeafRows
			w.sets[j].keys(b.keys[to:to+n], b.keys[from:from+n])
		}
		w.splits.Leaves(&b.leaf, b.keys, &b.reach)
		to := out[w.class:]
		switch {
		case s.e.Single:
			for r, leaf := range b.leaf[:n] {
				to[r*classes] = float64(float32(to[r*classes]) + float32(w.values[leaf]))
			}
		case classes == 1:
			to = to[:n]
			for r, leaf := range b.leaf[:n] {
				to[r] += w.values[leaf]
			}
		default:
			for r, leaf := range b.leaf[:n] {
				to[r*classes] += w.values[leaf]
			}
		}
	}
	for r := range n {
		s.end(out[r*classes : (r+1)*classes])
	}
}

// columnKeys writes the keys of column i of n rows.
func (s *Scorer) columnKeys(i int, keys []int32, rows []float64, features, n int) {
	f := int(s.columns[i].feature)
	switch {
	case f >= features:
		k := s.key(i, 0)
		for r := range keys[:n] {
			keys[r] = k
		}
	case s.plainColumns[i]: // what most columns are, without a call
		missing := s.key(i, math.NaN())
		for r := range keys[:n] {
			v := rows[r*features+f]
			x := float32(v)
			switch k := order(x); {
			case float64(x) == v && x-x == 0:
				keys[r] = k
			case v != v:
				keys[r] = missing
			default:
				keys[r] = s.key(i, v)
			}
		}
	default:
		for r := range keys[:n] {
			keys[r] = s.key(i, rows[r*features+f])
		}
	}
}

func (c *setColumn) keys(keys, levels []int32) {
	for r, v := range levels[:len(keys)] {
		k := int32(keyRight)
		if inSet(c.words, v) {
			k = keyLeft
		}
		keys[r] = k
	}
}
