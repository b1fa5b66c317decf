package shard

import (
	"cmp"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
)

// counts is how a table counts the shows and clicks of its columns: in two values of each row of the slab, after the slots of the rule, so
// that they go wherever the row goes. They decay, and columns of low scores are removed, in turns by hash like those that expire: after
// each step a part of the table is looked at. What becomes of a column depends on its counts, its hash and the number of the step alone, or
// with a budget on those of its bucket.
type counts struct {
	keep  matrix.Keep
	at    int     // of the shows in a row; clicks come next
	turns int     // bits of the hash that say whose turn it is
	decay float64 // by which counts are multiplied then

	looked []uint32 // scratch: rows whose turn it is,
	keys   []int64  // and their keys
	scored []scored
}

// scored is a column with its score.
type scored struct {
	score float64
	key   int64
}

// newCounts is nil for a table that does not count.
func newCounts(m *matrix.Meta, rows, slots int) *counts {
	if !m.Keep.Counts() {
		return nil
	}
	c := &counts{keep: m.Keep, at: rows * (1 + slots - m.Keep.CountSlots(m.Rows))}
	c.turns, c.decay = m.Keep.CountTurns()
	return c
}

func (c *counts) bytes() int64 {
	if c == nil {
		return 0
	}
	return int64(4*cap(c.looked) + 8*cap(c.keys) + 16*cap(c.scored))
}

// counting reports whether the delta brings shows and clicks.
func (s *Shard) counting(d *Delta) bool {
	return s.meta.Keep.Counts() && d.Keys != nil && d.Rows == s.meta.CountRows()
}

// apart is the gradients and the counts among deltas, each in their order.
func (s *Shard) apart(deltas []Delta) (grads, counts []Delta) {
	for i := range deltas {
		if s.counting(&deltas[i]) {
			counts = append(counts, deltas[i])
		} else {
			grads = append(grads, deltas[i])
		}
	}
	return grads, counts
}

// count adds the shows and clicks of columns that are there, after the step that named them, and has those whose turn it is decay and go.
func (k *keyed[T]) count(deltas []Delta) error {
	c := k.counts
	for i := range deltas {
		d := k.columns(&deltas[i])
		var w walk
		for k.begin(&w, d.keys, makeNone); k.next(&w); {
			for j, row := range w.rows() {
				if row == 0 {
					continue
				}
				k.ready(row)
				into := k.slab.row(row)[c.at:]
				addTo(into[:2], d.of(int32(w.at+j)))
			}
		}
		if w.err != nil {
			return w.err
		}
	}
	k.decay()
	return nil
}

// ready has a row be ready for a change of its counts: in memory, and kept by marks as it was.
func (k *keyed[T]) ready(row uint32) {
	one := [1]uint32{row}
	k.slab.need(one[:], true)
	k.keep(one[:])
}

// decay has the counts decay of the columns whose turn it is, and removes those whose score is too low then.
func (k *keyed[T]) decay() {
	c := k.counts
	from, to := k.turn(c.turns, k.life.steps)
	c.looked, c.keys = c.looked[:0], c.keys[:0]
	k.index.visit(from, to, allStamps, func(line, at int) {
		l := &k.index.lines[line]
		c.looked, c.keys = append(c.looked, l.Row[at]), append(c.keys, int64(l.Key[at]))
	})
	n := 0
	for i, row := range c.looked {
		k.ready(row)
		of := k.slab.row(row)[c.at:][:2]
		of[0], of[1] = T(float64(of[0])*c.decay), T(float64(of[1])*c.decay)
		if k.score(row) < c.keep.EvictBelow {
			c.keys[n] = c.keys[i]
			n++
		}
	}
	k.life.fate.Evicted += int64(k.remove(c.keys[:n]))
}

// score is that of the column in a row, which is in memory.
func (k *keyed[T]) score(row uint32) float64 {
	c := k.counts
	of := k.slab.row(row)[c.at:][:2]
	return c.keep.ShowWeight*float64(of[0]) + c.keep.ClickWeight*float64(of[1])
}

// lowest puts into what is due the columns of the lowest scores, of equal ones those of the smallest hashes: so many of those between two
// points that are not of the highest rank.
func (k *keyed[T]) lowest(from, to uint64, some int) {
	a, c := k.age, k.counts
	c.scored = c.scored[:0]
	k.index.visit(from, to, allStamps&^a.of(a.top()), func(line, at int) {
		l := &k.index.lines[line]
		k.slab.need([]uint32{l.Row[at]}, false)
		c.scored = append(c.scored, scored{k.score(l.Row[at]), int64(l.Key[at])})
	})
	slices.SortFunc(c.scored, func(x, y scored) int {
		return cmp.Or(cmp.Compare(x.score, y.score), cmp.Compare(kernel.Hash(uint64(x.key)), kernel.Hash(uint64(y.key))))
	})
	for _, x := range c.scored[:min(some, len(c.scored))] {
		a.due = append(a.due, x.key)
	}
}

func (d *dense[T]) count([]Delta) error { return nil }
