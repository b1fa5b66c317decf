package draw

import (
	"cmp"
	"slices"
)

// When lines are cut.
const (
	manyLines = 10 // that pass one row
	longLine  = 10 // rows
)

// way is a part of a value's line, down to a box that takes it; -1 stands for all values that join on the way to a box.
type way struct{ value, to int }

// span is the rows that a way passes.
type span struct {
	way
	first, last int
}

// crowded says which ways are cut, so that not too many lines pass a row: the value goes on under a label, right above the
// box that takes it. Where there are too many the long ones are cut, and if none is long the one that ends last.
func (p *picture) crowded() map[way]bool {
	cut := map[way]bool{}
	var passing []span
	for _, s := range p.spans() {
		passing = append(slices.DeleteFunc(passing, func(o span) bool { return o.last < s.first }), s)
		if len(passing) <= manyLines {
			continue
		}
		before := len(passing)
		passing = slices.DeleteFunc(passing, func(o span) bool {
			long := o.value >= 0 && o.last-o.first >= longLine
			cut[o.way] = cut[o.way] || long
			return long
		})
		if len(passing) == before {
			k := 0
			for i, o := range passing {
				if o.last > passing[k].last {
					k = i
				}
			}
			cut[passing[k].way] = true
			passing = slices.Delete(passing, k, k+1)
		}
	}
	return cut
}

// spans are the ways that pass rows, by the first row.
func (p *picture) spans() (all []span) {
	joined := map[int]int{} // the span of the values that join, by box
	for v := range p.values {
		start := p.start(v)
		at := start
		for _, to := range p.taking(p.values[v]) {
			above := p.nodes[to].row - 1
			if !p.joins(to, start) {
				if above > at {
					all = append(all, span{way{v, to}, at + 1, above})
				}
				at = above
				continue
			}
			if k, ok := joined[to]; ok {
				all[k].first = min(all[k].first, start+1)
			} else {
				joined[to] = len(all)
				all = append(all, span{way{-1, to}, start + 1, above})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	return all
}

// start is the row where the line of a value begins: that of its label, or of the input.
func (p *picture) start(v int) int {
	from := p.values[v].from
	if p.boxes[from].kind == isInput {
		return p.nodes[from].row
	}
	return p.nodes[from].row + 1
}

// joins reports whether a value that begins in a row comes to a box on a line shared with others.
func (p *picture) joins(to, start int) bool {
	return len(p.boxes[to].takes) > manyTaken && p.nodes[to].row-1 > start
}
