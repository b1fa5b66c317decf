package draw

import (
	"cmp"
	"math"
	"slices"
)

// Distances in points.
const (
	lineGap   = 10.0 // between lines that pass a row side by side
	labelGap  = 14.0 // between labels, and between a line and a box
	aboveText = 9.0  // from a box to its label
	aboveBox  = 22.0 // from a label to the box that takes the value
	steep     = 9.0  // lines go so many points aside for one point of more room between rows
	mostRoom  = 70.0 // between rows
)

// apart is the least distance of the middles of two nodes of a row.
func (p *picture) apart(a, b int) float64 {
	left, right := &p.nodes[a], &p.nodes[b]
	gap := boxGap
	switch {
	case left.kind == isBend && right.kind == isBend:
		gap = lineGap
	case left.kind >= isValue || right.kind >= isValue:
		gap = labelGap
	}
	return (left.w+right.w)/2 + gap
}

// place gives all nodes and links their coordinates.
func (p *picture) place() {
	for c := range p.columns[:len(p.columns)-1] {
		for i, l := range p.links {
			if p.nodes[l.to].row == p.columns[c+1].first {
				p.links[i].betweenWraps = true
				p.columns[c].wraps = append(p.columns[c].wraps, i)
			}
		}
	}
	p.settle(p.weave())
	p.shift()
	p.ports()
	p.stack()
}

// breadth is where a column begins and ends.
func (p *picture) breadth(c column) (left, right float64) {
	left, right = math.Inf(1), math.Inf(-1)
	for _, row := range p.rows[c.first : c.last+1] {
		for _, i := range row {
			n := &p.nodes[i]
			left, right = min(left, n.x-n.w/2), max(right, n.x+n.w/2)
		}
	}
	return left, right
}

// shift puts the columns side by side, with room for the lines between them.
func (p *picture) shift() {
	x := 0.0
	for c := range p.columns {
		col := &p.columns[c]
		left, right := p.breadth(*col)
		for _, row := range p.rows[col.first : col.last+1] {
			for _, i := range row {
				p.nodes[i].x += x - left
			}
		}
		col.left, col.right = x, x+right-left
		x = col.right + gutter + float64(len(col.wraps))*laneRoom
	}
}

// ports spreads the ends of lines over the sides of boxes, in the order in which they come.
func (p *picture) ports() {
	in, out := make([][]int, len(p.nodes)), make([][]int, len(p.nodes))
	for i := range p.links {
		l := &p.links[i]
		l.fromX, l.toX = p.nodes[l.from].x, p.nodes[l.to].x
		if p.nodes[l.to].kind < isValue {
			in[l.to] = append(in[l.to], i)
		}
		if p.nodes[l.from].kind < isValue && p.nodes[l.to].kind == isValue {
			out[l.from] = append(out[l.from], i)
		}
	}
	for i := range p.nodes {
		p.spread(&p.nodes[i], in[i], func(l *link) (at *float64, other float64) { return &l.toX, p.nodes[l.from].x })
		p.spread(&p.nodes[i], out[i], func(l *link) (at *float64, other float64) { return &l.fromX, p.nodes[l.to].x })
	}
}

// spread gives the ends of lines at one side of a box their places: straight below or above where they come from, if
// the others leave room for it.
func (p *picture) spread(n *node, links []int, end func(l *link) (at *float64, other float64)) {
	if len(links) == 0 {
		return
	}
	slices.SortStableFunc(links, func(a, b int) int {
		_, x := end(&p.links[a])
		_, y := end(&p.links[b])
		return cmp.Compare(x, y)
	})
	lo, hi := n.x-n.w/2+boxMargin, n.x+n.w/2-boxMargin
	room := min(portRoom, (hi-lo)/float64(max(1, len(links)-1)))
	last := lo - room
	for _, i := range links {
		at, other := end(&p.links[i])
		*at = max(min(max(other, lo), hi), last+room)
		last = *at
	}
	most := hi
	for _, i := range slices.Backward(links) {
		at, _ := end(&p.links[i])
		*at = min(*at, most)
		most = *at - room
	}
}

// stack puts the rows of each column below each other.
func (p *picture) stack() {
	aside := make([]float64, len(p.rows)) // how far lines above a row go aside
	enters := make([]bool, len(p.rows))   // whether they enter boxes
	for _, l := range p.links {
		row := p.nodes[l.to].row
		aside[row] = max(aside[row], l.toX-l.fromX, l.fromX-l.toX)
		enters[row] = enters[row] || p.nodes[l.to].kind < isValue
	}
	lanes := 0
	for _, c := range p.columns {
		lanes = max(lanes, len(c.wraps))
	}
	begin := 0.0
	if lanes > 0 {
		begin = float64(lanes)*laneRoom + aboveBox
	}
	p.tops, p.bottoms = make([]float64, len(p.rows)), make([]float64, len(p.rows))
	for _, c := range p.columns {
		y := begin
		for r := c.first; r <= c.last; r++ {
			if r > c.first {
				y += aboveText
				if enters[r] {
					y += aboveBox - aboveText
				}
				y += min(aside[r]/steep, mostRoom)
			}
			high := 0.0
			for _, i := range p.rows[r] {
				high = max(high, p.nodes[i].h)
			}
			for _, i := range p.rows[r] {
				p.nodes[i].y = y + high/2
			}
			p.tops[r], p.bottoms[r] = y, y+high
			y += high
		}
	}
}
