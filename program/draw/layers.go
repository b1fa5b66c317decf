package draw

import (
	"cmp"
	"slices"
)

const (
	maxBends   = 50  // a line over more layers goes straight
	sweeps     = 8   // over the layers, to put boxes near their neighbours
	between    = 26  // points between boxes of a layer
	below      = 46  // points between layers
	bendWidth  = 10  // points that a passing line takes
	letterSize = 6.2 // points of a letter, on average
	boldFactor = 1.15
	lineHeight = 15 // points
)

// layout gives every box its place.
func (p *picture) layout() {
	p.measure()
	p.rank()
	p.bend()
	for s := range sweeps {
		p.sweep(s%2 == 0)
	}
	p.place()
}

// measure sizes the boxes by what stands in them.
func (p *picture) measure() {
	for i := range p.nodes {
		n := &p.nodes[i]
		longest := 0.0
		for k, line := range n.lines {
			wide := float64(len([]rune(line))) * letterSize
			if k == 0 {
				wide *= boldFactor
			}
			longest = max(longest, wide)
		}
		n.w, n.h = longest+20, float64(len(n.lines))*lineHeight+10
	}
}

// rank puts every box below those that it waits for. Operators stand in the order in which they run, so one pass is
// enough; a line that goes up (a variable of a loop) counts for nothing.
func (p *picture) rank() {
	into := make([][]int, len(p.nodes))
	for _, e := range p.edges {
		into[e.to] = append(into[e.to], e.from)
	}
	for i := range p.nodes {
		for _, from := range into[i] {
			if from < i {
				p.nodes[i].layer = max(p.nodes[i].layer, p.nodes[from].layer+1)
			}
		}
	}
	// What begins in the first layer moves down to just above the first that takes it.
	first := make([]int, len(p.nodes))
	for _, e := range p.edges {
		if l := p.nodes[e.to].layer; first[e.from] == 0 || l < first[e.from] {
			first[e.from] = l
		}
	}
	for i := range p.nodes {
		if len(into[i]) == 0 && first[i] > 1 {
			p.nodes[i].layer = first[i] - 1
		}
	}
	for i := range p.nodes {
		l := p.nodes[i].layer
		for len(p.layers) <= l {
			p.layers = append(p.layers, nil)
		}
		p.layers[l] = append(p.layers[l], i)
	}
}

// bend gives lines that pass layers a place in each of them.
func (p *picture) bend() {
	for i := range p.edges {
		e := &p.edges[i]
		from, to := p.nodes[e.from].layer, p.nodes[e.to].layer
		if to-from > maxBends {
			continue
		}
		for l := from + 1; l < to; l++ {
			p.nodes = append(p.nodes, node{kind: isBend, layer: l, w: bendWidth})
			e.via = append(e.via, len(p.nodes)-1)
			p.layers[l] = append(p.layers[l], len(p.nodes)-1)
		}
	}
	p.number()
}

// number notes the order of the boxes within their layers.
func (p *picture) number() {
	for _, layer := range p.layers {
		for k, i := range layer {
			p.nodes[i].order = k
		}
	}
}

// path is the boxes and bends that a line touches.
func (e *edge) path() []int { return append(append([]int{e.from}, e.via...), e.to) }

// neighbours are what stands beside each box along its lines: above, or below.
func (p *picture) neighbours(above bool) [][]int {
	next := make([][]int, len(p.nodes))
	for i := range p.edges {
		path := p.edges[i].path()
		for k := 1; k < len(path); k++ {
			if above {
				next[path[k]] = append(next[path[k]], path[k-1])
			} else {
				next[path[k-1]] = append(next[path[k-1]], path[k])
			}
		}
	}
	return next
}

// sweep orders the boxes of every layer by the middle of their neighbours in the layer before.
func (p *picture) sweep(down bool) {
	next := p.neighbours(down)
	for k := range p.layers {
		l := k
		if !down {
			l = len(p.layers) - 1 - k
		}
		slices.SortStableFunc(p.layers[l], func(a, b int) int {
			return cmp.Compare(p.middle(next[a], float64(p.nodes[a].order)), p.middle(next[b], float64(p.nodes[b].order)))
		})
		for k, i := range p.layers[l] {
			p.nodes[i].order = k
		}
	}
}

// middle is the mean order of boxes, or else where there are none.
func (p *picture) middle(of []int, otherwise float64) float64 {
	if len(of) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, i := range of {
		sum += float64(p.nodes[i].order)
	}
	return sum / float64(len(of))
}

// place sets the coordinates: layers from above, boxes side by side, each as near to the middle of its neighbours as the
// others let it.
func (p *picture) place() {
	y := 20.0
	for _, layer := range p.layers {
		x, tall := 0.0, 0.0
		for _, i := range layer {
			n := &p.nodes[i]
			n.x, x = x+n.w/2, x+n.w+between
			tall = max(tall, n.h)
		}
		for _, i := range layer {
			p.nodes[i].x -= x / 2
			p.nodes[i].y = y + tall/2
		}
		y += tall + below
	}
	for s := range sweeps {
		next := p.neighbours(s%2 == 0)
		for k := range p.layers {
			l := k
			if s%2 == 1 {
				l = len(p.layers) - 1 - k
			}
			p.pull(p.layers[l], next)
		}
	}
}

// pull moves the boxes of a layer towards their neighbours, the left ones first, then the right ones as far as the left
// ones leave room.
func (p *picture) pull(layer []int, next [][]int) {
	want := make([]float64, len(layer))
	for k, i := range layer {
		want[k] = p.nodes[i].x
		if len(next[i]) > 0 {
			want[k] = 0
			for _, j := range next[i] {
				want[k] += p.nodes[j].x / float64(len(next[i]))
			}
		}
	}
	left, right := make([]float64, len(layer)), make([]float64, len(layer))
	for k, i := range layer {
		left[k] = want[k]
		if k > 0 {
			left[k] = max(left[k], left[k-1]+p.apart(layer[k-1], i))
		}
	}
	for k := len(layer) - 1; k >= 0; k-- {
		right[k] = want[k]
		if k < len(layer)-1 {
			right[k] = min(right[k], right[k+1]-p.apart(layer[k], layer[k+1]))
		}
	}
	for k, i := range layer { // the middle of both keeps all distances
		p.nodes[i].x = (left[k] + right[k]) / 2
	}
}

// apart is the least distance of the middles of two boxes.
func (p *picture) apart(a, b int) float64 { return (p.nodes[a].w+p.nodes[b].w)/2 + between }
