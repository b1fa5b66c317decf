package draw

import "math"

// When a picture gets several columns.
const (
	highEnough = 1000.0 // points up to which one column is readable
	gutter     = 56.0   // points between columns, without the lines in it
	laneRoom   = 8.0    // points between lines in a gutter
	cutWindow  = 0.2    // of a column's height, in which the best place to cut is looked for
)

// cuts says which steps begin a column; the first one always does.
func (p *picture) cuts(steps []int) []int {
	high, broad := p.extents(steps)
	alive := p.alive(steps, len(high))
	height, widest := 0.0, 0.0
	for s := range high {
		height, widest = height+high[s], max(widest, broad[s])
	}
	cuts := []int{0}
	if height <= highEnough {
		return cuts
	}
	// n columns are n*widest broad and height/n high.
	n := math.Round(math.Sqrt(aspect * height / (widest + gutter)))
	n = max(1, min(n, math.Floor(height/highEnough*2)))
	each := height / n
	y, from := 0.0, 0.0
	best, bestCost := 0, math.Inf(1)
	for s := range high {
		if s > 0 && y-from >= each*(1-cutWindow) {
			off := math.Abs(y-from-each) / each
			if cost := float64(alive[s]) + off*2; cost < bestCost {
				best, bestCost = s, cost
			}
			if y-from >= each*(1+cutWindow) || y+high[s]-from > each*(1+cutWindow) {
				cuts = append(cuts, best)
				from = y
				for b := best; b < s; b++ {
					from -= high[b]
				}
				bestCost = math.Inf(1)
			}
		}
		y += high[s]
	}
	return cuts
}

// extents are about how high and broad the steps get.
func (p *picture) extents(steps []int) (high, broad []float64) {
	n := 0
	for _, s := range steps {
		n = max(n, s+1)
	}
	high, broad = make([]float64, n), make([]float64, n)
	for i, s := range steps {
		high[s] = max(high[s], p.nodes[i].h+stepRoom)
		broad[s] += p.nodes[i].w + boxGap
	}
	for s, lines := range p.alive(steps, n) {
		broad[s] += float64(lines-1) * lineGap
	}
	return high, broad
}

// alive is for each step how many values come into it from above.
func (p *picture) alive(steps []int, n int) []int {
	alive := make([]int, n+1)
	for _, v := range p.values {
		last := steps[v.from]
		for _, to := range v.to {
			last = max(last, steps[to])
		}
		alive[min(steps[v.from]+1, n)]++
		alive[min(last+1, n)]--
	}
	for s := 1; s < n; s++ {
		alive[s] += alive[s-1]
	}
	return alive[:n]
}
