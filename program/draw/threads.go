package draw

import (
	"cmp"
	"slices"
)

// thread is nodes of rows one below the other that stand on one vertical line.
type thread struct {
	nodes  []int
	x      float64
	pushed int // the node that keeps it from standing further left, -1 if there is none
}

// weave makes threads of the links that shall be straight. Threads do not cross, so that all of them can be.
func (p *picture) weave() (threads []thread) {
	up, down := make([]int, len(p.nodes)), make([]int, len(p.nodes))
	for i := range p.nodes {
		up[i], down[i] = -1, -1
	}
	chosen := make([][][2]int, len(p.rows)) // by the upper row, in order
	for _, l := range p.straightest() {
		from, to := &p.nodes[l.from], &p.nodes[l.to]
		pairs, pair := chosen[from.row], [2]int{from.order, to.order}
		k, _ := slices.BinarySearchFunc(pairs, pair, func(a, b [2]int) int { return a[0] - b[0] })
		crosses := k > 0 && pairs[k-1][1] > pair[1] || k < len(pairs) && pairs[k][1] < pair[1]
		if down[l.from] < 0 && up[l.to] < 0 && !crosses {
			chosen[from.row] = slices.Insert(pairs, k, pair)
			down[l.from], up[l.to] = l.to, l.from
		}
	}
	for _, row := range p.rows {
		for _, i := range row {
			if up[i] >= 0 {
				continue
			}
			var t thread
			for ; i >= 0; i = down[i] {
				t.nodes = append(t.nodes, i)
			}
			threads = append(threads, t)
		}
	}
	return threads
}

// straightest are the links within columns, those first that look worst if they are not straight: lines that pass rows,
// then a box, its label and the box below; of several the one in the middle.
func (p *picture) straightest() []link {
	up, down := p.neighbours()
	for i := range p.nodes {
		byOrder := func(a, b int) int { return p.nodes[a].order - p.nodes[b].order }
		slices.SortFunc(up[i], byOrder)
		slices.SortFunc(down[i], byOrder)
	}
	type ranked struct {
		link
		class, off int
	}
	var all []ranked
	for _, l := range p.links {
		if l.betweenWraps {
			continue
		}
		r := ranked{link: l, class: 2}
		switch a, b := p.nodes[l.from].kind == isBend, p.nodes[l.to].kind == isBend; {
		case p.nodes[l.from].kind == isAgain:
			r.class = 3
		case a && b:
			r.class = 0
		case !a && !b:
			r.class = 1
		}
		r.off = offMiddle(down[l.from], l.to) + offMiddle(up[l.to], l.from)
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Or(a.class-b.class, a.off-b.off) })
	links := make([]link, len(all))
	for i, r := range all {
		links[i] = r.link
	}
	return links
}

// offMiddle is how far from the middle of a list a number stands, in halves.
func offMiddle(list []int, of int) int {
	off := 2*slices.Index(list, of) - (len(list) - 1)
	return max(off, -off)
}
