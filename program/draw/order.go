package draw

import (
	"cmp"
	"slices"
)

// maxWork bounds how many links all sweeps together look at.
const maxWork = 2_000_000

// sort puts the nodes of every row into an order in which few lines cross: by the middle of what they are linked with in
// the row before, from above and from below in turns. The best order of all stays.
func (p *picture) sort() {
	up, down := p.neighbours()
	p.number()
	best, crossings := p.ranks(), p.crossings()
	sweeps := min(24, max(4, maxWork/(1+len(p.links))))
	for s := 0; s < sweeps && crossings > 0; s++ {
		for k := 1; k < len(p.rows); k++ {
			if s%2 == 0 {
				p.arrange(p.rows[k], up)
			} else {
				p.arrange(p.rows[len(p.rows)-1-k], down)
			}
		}
		if n := p.crossings(); n < crossings {
			best, crossings = p.ranks(), n
		}
	}
	for i, order := range best {
		p.rows[p.nodes[i].row][order] = i
	}
	p.number()
}

// neighbours are what each node is linked with above and below.
func (p *picture) neighbours() (up, down [][]int) {
	up, down = make([][]int, len(p.nodes)), make([][]int, len(p.nodes))
	for _, l := range p.links {
		up[l.to] = append(up[l.to], l.from)
		down[l.from] = append(down[l.from], l.to)
	}
	return up, down
}

// number notes the order of the nodes within their rows.
func (p *picture) number() {
	for _, row := range p.rows {
		for k, i := range row {
			p.nodes[i].order = k
		}
	}
}

// ranks are the orders of all nodes.
func (p *picture) ranks() []int {
	all := make([]int, len(p.nodes))
	for i := range p.nodes {
		all[i] = p.nodes[i].order
	}
	return all
}

// arrange orders a row by the middle of neighbours; nodes without any keep their places.
func (p *picture) arrange(row []int, next [][]int) {
	at := make(map[int]float64, len(row))
	var free []int // places of those with neighbours
	var moved []int
	for k, i := range row {
		if len(next[i]) == 0 {
			continue
		}
		sum := 0.0
		for _, j := range next[i] {
			sum += float64(p.nodes[j].order)
		}
		at[i] = sum / float64(len(next[i]))
		free, moved = append(free, k), append(moved, i)
	}
	slices.SortStableFunc(moved, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	for k, i := range moved {
		row[free[k]] = i
	}
	for k, i := range row {
		p.nodes[i].order = k
	}
}

// crossings is how many pairs of lines cross.
func (p *picture) crossings() int {
	between := make([][][2]int, len(p.rows)) // orders of the ends of links, by the upper row
	for _, l := range p.links {
		row := p.nodes[l.from].row
		between[row] = append(between[row], [2]int{p.nodes[l.from].order, p.nodes[l.to].order})
	}
	total := 0
	for row, pairs := range between {
		if len(pairs) == 0 {
			continue
		}
		slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
		total += inversions(pairs, len(p.rows[row+1]))
	}
	return total
}

// inversions counts pairs whose second numbers, all below n, stand in the wrong order: for each how many before it are
// greater, by sums over a tree.
func inversions(pairs [][2]int, n int) (count int) {
	tree := make([]int, n+1)
	for seen, pair := range pairs {
		notGreater := 0
		for k := pair[1] + 1; k > 0; k -= k & -k {
			notGreater += tree[k]
		}
		count += seen - notGreater
		for k := pair[1] + 1; k <= n; k += k & -k {
			tree[k]++
		}
	}
	return count
}
