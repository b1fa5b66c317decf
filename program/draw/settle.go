package draw

import (
	"cmp"
	"slices"
)

const (
	settleSweeps = 40  // how often all threads are moved
	breaks       = 100 // how often threads are broken
	sprawl       = 1.5 // how much broader than its broadest row a column may be
)

// settle gives the threads places from left to right, as narrow as they can stand, and then moves each towards what it
// is linked with, as far as its neighbours let it. Threads that make the picture broad are broken.
func (p *picture) settle(threads []thread) {
	of := p.pack(threads)
	for range breaks {
		broken := false
		for c := range p.columns {
			if last := p.sprawls(p.columns[c]); last >= 0 {
				threads, broken = p.snap(threads, of, last), true
			}
		}
		if !broken {
			break
		}
		of = p.pack(threads)
	}
	links := make([][]int, len(threads)) // linked nodes
	for _, l := range p.links {
		if a, b := of[l.from], of[l.to]; a != b && !l.betweenWraps {
			links[a], links[b] = append(links[a], l.to), append(links[b], l.from)
		}
	}
	order := make([]int, len(threads))
	for t := range order {
		order[t] = t
	}
	for s := range settleSweeps {
		sign := 1 - s%2*2
		slices.SortStableFunc(order, func(a, b int) int { return sign * cmp.Compare(threads[a].x, threads[b].x) })
		for _, t := range order {
			if len(links[t]) > 0 {
				p.move(&threads[t], links[t])
			}
		}
	}
}

// pack puts every thread as far to the left as those on its left let it, and says which thread each node is of.
func (p *picture) pack(threads []thread) (of []int) {
	of = make([]int, len(p.nodes))
	for t := range threads {
		threads[t].x, threads[t].pushed = 0, -1
		for _, i := range threads[t].nodes {
			of[i] = t
		}
	}
	waits := make([]int, len(threads)) // for so many on its left
	for _, row := range p.rows {
		for k := 1; k < len(row); k++ {
			waits[of[row[k]]]++
		}
	}
	var ready []int
	for t := range threads {
		if waits[t] == 0 {
			ready = append(ready, t)
		}
	}
	for len(ready) > 0 {
		t := &threads[ready[0]]
		ready = ready[1:]
		for _, i := range t.nodes {
			p.nodes[i].x = t.x
			if right := p.beside(i, 1); right >= 0 {
				next := &threads[of[right]]
				if x := t.x + p.apart(i, right); x > next.x || next.pushed < 0 {
					next.x, next.pushed = max(x, next.x), right
				}
				if waits[of[right]]--; waits[of[right]] == 0 {
					ready = append(ready, of[right])
				}
			}
		}
	}
	return of
}

// sprawls is the last node of a column that is much broader than its rows need, -1 of all others.
func (p *picture) sprawls(c column) (last int) {
	need, far := leastBroad, 0.0
	for _, row := range p.rows[c.first : c.last+1] {
		sum := 0.0
		for k, i := range row {
			if k > 0 {
				sum += p.apart(row[k-1], i)
			}
			if p.nodes[i].x > far {
				far, last = p.nodes[i].x, i
			}
		}
		need = max(need, sum)
	}
	if far <= need*sprawl {
		return -1
	}
	return last
}

// snap breaks the threads that push a node to the right: each where it is pushed in one row and pushes in another.
func (p *picture) snap(threads []thread, of []int, last int) []thread {
	for at := last; at >= 0; {
		t := of[at]
		pushed := threads[t].pushed
		if pushed < 0 {
			break
		}
		if a, b := min(p.nodes[at].row, p.nodes[pushed].row), max(p.nodes[at].row, p.nodes[pushed].row); a < b {
			first := p.nodes[threads[t].nodes[0]].row
			k := p.weakest(threads[t].nodes, a-first+1, b-first)
			threads = append(threads, thread{nodes: threads[t].nodes[k:]})
			threads[t].nodes = threads[t].nodes[:k]
		}
		at = p.beside(pushed, -1)
	}
	return threads
}

// weakest is before which node, from one to another, a thread is broken: rather in a line that passes rows than between a
// box and its label.
func (p *picture) weakest(nodes []int, from, to int) (best int) {
	strength := func(k int) int {
		a, b := p.nodes[nodes[k-1]].kind, p.nodes[nodes[k]].kind
		switch {
		case a == isBend || b == isBend:
			return 0
		case a == isValue || a == isAgain:
			return 1
		}
		return 2
	}
	best = from
	for k := from; k <= to; k++ {
		if strength(k) < strength(best) {
			best = k
		}
	}
	return best
}

// move brings a thread to the middle of what it is linked with, or as near as it can stand.
func (p *picture) move(t *thread, links []int) {
	x := 0.0
	for _, i := range links {
		x += p.nodes[i].x / float64(len(links))
	}
	for _, i := range t.nodes {
		if right := p.beside(i, 1); right >= 0 {
			x = min(x, p.nodes[right].x-p.apart(i, right))
		}
	}
	for _, i := range t.nodes {
		if left := p.beside(i, -1); left >= 0 {
			x = max(x, p.nodes[left].x+p.apart(left, i))
		}
	}
	t.x = x
	for _, i := range t.nodes {
		p.nodes[i].x = x
	}
}

// beside is the next node of a row to the right or left, -1 if there is none.
func (p *picture) beside(i, side int) int {
	n := &p.nodes[i]
	if k := n.order + side; k >= 0 && k < len(p.rows[n.row]) {
		return p.rows[n.row][k]
	}
	return -1
}
