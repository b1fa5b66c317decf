package draw

import "math"

// How broad a picture is made.
const (
	aspect     = 1.5    // breadth against height that is aimed at
	leastBroad = 1000.0 // points that a row may have in any case
	boxGap     = 24.0   // points between boxes of a row
	stepRoom   = 52.0   // points that a label and the lines around it take below a box
)

// steps says for each box in which step it stands: below all that it waits for, in the first step that has room. Boxes
// are taken in the order in which the last ones need them, so that what belongs together stands together.
func (p *picture) steps() []int {
	room, area := p.room(), 0.0
	for i := range p.boxes {
		area += room[i] * (p.nodes[i].h + stepRoom)
	}
	broad := max(leastBroad, math.Sqrt(aspect*area))
	step, used := make([]int, len(p.boxes)), []float64{0}
	fits := func(i, s int) bool { return used[s] == 0 || used[s]+room[i] <= broad }
	for _, i := range p.needed() {
		s := 0
		for _, v := range p.boxes[i].takes {
			s = max(s, step[p.values[v].from]+1)
		}
		for ; s < len(used) && !fits(i, s); s++ {
		}
		if s == len(used) {
			used = append(used, 0)
		}
		step[i] = s
		used[s] += room[i]
	}
	first := make([]int, len(p.boxes)) // step of the first that takes anything from a box
	for _, v := range p.values {
		for _, to := range v.to {
			if first[v.from] == 0 || step[to] < first[v.from] {
				first[v.from] = step[to]
			}
		}
	}
	for i := range p.boxes { // what waits for nothing stands right above the first that takes it
		if s := first[i] - 1; len(p.boxes[i].takes) == 0 && s > step[i] && fits(i, s) {
			used[step[i]] -= room[i]
			step[i] = s
			used[s] += room[i]
		}
	}
	return compact(step)
}

// room is the breadth that each box takes in its step: its own, or that of its labels. Boxes of a chain, each of which
// takes one value, all have the room of the broadest: they shall stand straight below each other.
func (p *picture) room() []float64 {
	room := make([]float64, len(p.boxes))
	for _, v := range p.values {
		if p.boxes[v.from].kind != isInput {
			room[v.from] += textWidth(v.label, labelSize, false) + 2*labelMargin + boxGap
		}
	}
	chain, broadest := make([]int, len(p.boxes)), make([]float64, len(p.boxes))
	for i := range p.boxes {
		chain[i] = i
		if takes := p.boxes[i].takes; len(takes) == 1 {
			chain[i] = chain[p.values[takes[0]].from]
		}
		room[i] = max(room[i], p.nodes[i].w+boxGap)
		broadest[chain[i]] = max(broadest[chain[i]], room[i])
	}
	for i := range room {
		room[i] = broadest[chain[i]]
	}
	return room
}

// compact numbers the steps anew, without those in which nothing stands.
func compact(step []int) []int {
	last := 0
	for _, s := range step {
		last = max(last, s)
	}
	number := make([]int, last+1)
	for _, s := range step {
		number[s] = 1
	}
	n := 0
	for s, used := range number {
		number[s], n = n, n+used
	}
	for i, s := range step {
		step[i] = number[s]
	}
	return step
}

// needed are the boxes in an order in which each follows what it waits for, closely.
func (p *picture) needed() (order []int) {
	seen := make([]bool, len(p.boxes))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, v := range p.boxes[i].takes {
			visit(p.values[v].from)
		}
		order = append(order, i)
	}
	taken := make([]bool, len(p.boxes))
	for _, v := range p.values {
		taken[v.from] = true
	}
	for i := range p.boxes {
		if !taken[i] {
			visit(i)
		}
	}
	return order
}
