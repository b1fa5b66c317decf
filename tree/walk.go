package tree

import "thole.example/kernel"

// Row scores one row into scores, one for each class. It allocates nothing.
func (s *Scorer) Row(row []float64, scores []float64) {
	keys := s.scratch.Get().(*[]int32)
	s.keys(row, *keys)
	s.one((*keys)[:len(s.columns)], scores)
	s.scratch.Put(keys)
}

// Batch scores rows of so many features each, one after the other in rows, into out: scores of the first row, one for each class, then
// of the second, as many rows as out has room for and rows must have. Rows may have fewer features than the trees ask for; those are
// 0. It allocates nothing after the first calls.
func (s *Scorer) Batch(rows []float64, features int, out []float64) {
	classes := s.e.Classes
	n := len(out) / classes
	if s.wides != nil && n >= blockLeast {
		b := s.blocks.Get().(*block)
		for n >= blockLeast {
			some := min(n, kernel.LeafRows)
			s.wideRows(b, rows, features, some, out)
			rows, out, n = rows[some*features:], out[some*classes:], n-some
		}
		s.blocks.Put(b)
	}
	if n > 0 {
		s.walkRows(rows, features, out)
	}
}

// walkRows is Batch without blocks.
func (s *Scorer) walkRows(rows []float64, features int, out []float64) {
	keys := s.scratch.Get().(*[]int32)
	classes, columns := s.e.Classes, len(s.columns)
	for n := len(out) / classes; n > 0; {
		some := min(n, s.block)
		for r := range some {
			s.keys(rows[r*features:(r+1)*features], (*keys)[r*columns:])
		}
		s.rows(*keys, some, out[:some*classes])
		rows, out, n = rows[some*features:], out[some*classes:], n-some
	}
	s.scratch.Put(keys)
}

// rows scores n rows of which there are keys, tree by tree.
func (s *Scorer) rows(keys []int32, n int, out []float64) {
	classes, columns := s.e.Classes, len(s.columns)
	for r := range n {
		s.begin(out[r*classes : (r+1)*classes])
	}
	for i := range s.trees {
		w := &s.trees[i]
		to := out[w.class:]
		if w.how == complete {
			s.completeRows(w, keys, n, to)
			continue
		}
		for r := range n {
			s.add1(w, keys[r*columns:(r+1)*columns], &to[r*classes])
		}
	}
	for r := range n {
		s.end(out[r*classes : (r+1)*classes])
	}
}

// one scores one row of which there are keys.
func (s *Scorer) one(keys []int32, scores []float64) {
	s.begin(scores)
	for i := range s.trees {
		w := &s.trees[i]
		s.add1(w, keys, &scores[w.class])
	}
	s.end(scores)
}

// begin and end are what comes before and after the trees, add1 is what a tree does.
func (s *Scorer) begin(scores []float64) {
	copy(scores, s.start)
}

func (s *Scorer) end(scores []float64) {
	if s.e.Mean && len(s.trees) > 0 {
		by := float64(len(s.trees) / s.e.Group)
		for c := range scores {
			scores[c] /= by
		}
	}
}

func (s *Scorer) add1(w *walk, keys []int32, to *float64) {
	s.plus(to, s.values[w.leaf+s.leaf(w, keys)])
}

// plus adds the value of a leaf, in float32 if scores are.
func (s *Scorer) plus(to *float64, v float64) {
	if s.e.Single {
		*to = float64(float32(*to) + float32(v))
	} else {
		*to += v
	}
}

// above is 1 if a key is above that of a threshold, and else 0, without a branch.
func above(key, threshold int32) int { return int(uint64(int64(threshold)-int64(key)) >> 63) }

// leaf is the number among its values that a row comes to in a tree.
func (s *Scorer) leaf(w *walk, keys []int32) int {
	if w.how == complete {
		full, i := s.full[w.node:], 1
		for range w.depth {
			n := full[i]
			i = 2*i + above(keys[uint32(n)], int32(n>>32))
		}
		return i - 1<<w.depth
	}
	nodes, i := s.nodes[w.node:], int32(0)
	for {
		n := &nodes[i]
		if n.child == i {
			return int(n.leaf)
		}
		if n.column < 0 {
			words := s.words[s.bounds[n.key]:s.bounds[n.key+1]]
			i = n.child + 1
			if inSet(words, keys[^n.column]) {
				i--
			}
			continue
		}
		i = n.child + int32(above(keys[n.column], n.key))
	}
}

// completeRows adds a complete tree to n rows, four at a time.
func (s *Scorer) completeRows(w *walk, keys []int32, n int, to []float64) {
	classes, columns := s.e.Classes, len(s.columns)
	full, values := s.full[w.node:w.node+1<<w.depth], s.values[w.leaf:w.leaf+1<<w.depth]
	r := 0
	for ; r+4 <= n; r += 4 {
		k0, k1 := keys[r*columns:(r+1)*columns], keys[(r+1)*columns:(r+2)*columns]
		k2, k3 := keys[(r+2)*columns:(r+3)*columns], keys[(r+3)*columns:(r+4)*columns]
		i0, i1, i2, i3 := 1, 1, 1, 1
		for range w.depth {
			n0, n1, n2, n3 := full[i0], full[i1], full[i2], full[i3]
			i0 = 2*i0 + above(k0[uint32(n0)], int32(n0>>32))
			i1 = 2*i1 + above(k1[uint32(n1)], int32(n1>>32))
			i2 = 2*i2 + above(k2[uint32(n2)], int32(n2>>32))
			i3 = 2*i3 + above(k3[uint32(n3)], int32(n3>>32))
		}
		for j, i := range [4]int{i0, i1, i2, i3} {
			s.plus(&to[(r+j)*classes], values[i-len(values)])
		}
	}
	for ; r < n; r++ {
		s.add1(w, keys[r*columns:(r+1)*columns], &to[r*classes])
	}
}
