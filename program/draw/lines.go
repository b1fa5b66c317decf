package draw

import (
	"fmt"
	"slices"
	"strings"
)

// manyTaken is how many values a box takes beyond which lines that come from afar join.
const manyTaken = 10

// route makes the rows, and the way of every value through them: from its label straight down to the last row in which a
// box takes it, with a branch to each.
func (p *picture) route(steps, cuts []int) {
	row := p.makeRows(steps, cuts)
	for i, s := range steps {
		p.nodes[i].row = row[s]
		p.rows[row[s]] = append(p.rows[row[s]], i)
	}
	begins := make(map[int]bool, len(cuts)) // rows that begin a column
	for _, c := range p.columns[1:] {
		begins[c.first] = true
	}
	r := router{picture: p, begins: begins, cut: p.crowded(), joined: map[[2]int]int{}}
	for v := range p.values {
		r.value(v)
	}
}

// makeRows makes a row for each step, one below it if there are labels, and one on top of each column but the first.
func (p *picture) makeRows(steps, cuts []int) (row []int) {
	n := 0
	for _, s := range steps {
		n = max(n, s+1)
	}
	labelled := make([]bool, n)
	for _, v := range p.values {
		labelled[steps[v.from]] = labelled[steps[v.from]] || p.boxes[v.from].kind != isInput
	}
	row = make([]int, n)
	rows := 0
	for s := range row {
		if slices.Contains(cuts, s) {
			if s > 0 {
				p.columns[len(p.columns)-1].last = rows - 1
			}
			p.columns = append(p.columns, column{first: rows})
			if s > 0 {
				rows++
			}
		}
		row[s] = rows
		rows++
		if labelled[s] {
			rows++
		}
	}
	p.columns[len(p.columns)-1].last = rows - 1
	p.rows = make([][]int, rows)
	return row
}

// taking are the boxes that take a value, from above.
func (p *picture) taking(v value) []int {
	to := slices.Clone(v.to)
	slices.SortStableFunc(to, func(a, b int) int { return p.nodes[a].row - p.nodes[b].row })
	return to
}

// router makes the lines of values.
type router struct {
	*picture
	begins map[int]bool
	cut    map[way]bool
	joined map[[2]int]int // bends by the box to which joined lines go, and the row
}

// value makes the line of a value.
func (r *router) value(v int) {
	val := &r.values[v]
	trunk := val.from
	if r.boxes[val.from].kind != isInput {
		trunk = r.label(isValue, v, r.nodes[val.from].row+1, val.label)
		r.links = append(r.links, link{from: val.from, to: trunk, value: v})
	}
	first, start := trunk, r.nodes[trunk].row
	for _, to := range r.taking(*val) {
		above := r.nodes[to].row - 1
		switch joins := r.joins(to, start); {
		case joins && r.cut[way{-1, to}]:
			r.gather(to, v)
			continue
		case r.cut[way{v, to}]:
			trunk = r.label(isAgain, v, above, val.label)
		case joins:
			r.join(first, to, v)
			continue
		}
		for r.nodes[trunk].row < above {
			next := r.pass(r.nodes[trunk].row+1, v, val.label)
			r.links = append(r.links, link{from: trunk, to: next, value: v})
			trunk = next
		}
		r.links = append(r.links, link{from: trunk, to: to, value: v})
	}
}

// pass is the node of a line that passes a row: a bend, or on top of a column a label.
func (r *router) pass(row, v int, text string) int {
	if r.begins[row] {
		return r.label(isAgain, v, row, text)
	}
	return r.node(node{kind: isBend, of: v, row: row, w: 1, title: r.values[v].title})
}

// join leads a value to a box that takes many, on the line that they share.
func (r *router) join(from, to, v int) {
	for row := r.nodes[from].row + 1; row < r.nodes[to].row; row++ {
		next, ok := r.joined[[2]int{to, row}]
		if !ok {
			next = r.pass(row, v, "to "+r.boxes[to].lines[0].text)
			r.nodes[next].title = "several values to " + r.boxes[to].lines[0].text
			r.joined[[2]int{to, row}] = next
		}
		r.links = append(r.links, link{from: from, to: next, value: v})
		if ok {
			return
		}
		from = next
	}
	r.links = append(r.links, link{from: from, to: to, value: v})
}

// gather makes the label of all values that a box takes from afar where their joined line is cut.
func (r *router) gather(to, v int) {
	key := [2]int{to, r.nodes[to].row - 1}
	if _, ok := r.joined[key]; ok {
		return
	}
	var names []string
	for _, t := range r.boxes[to].takes {
		if r.joins(to, r.start(t)) {
			names = append(names, r.values[t].title)
		}
	}
	n := r.label(isAgain, v, key[1], fmt.Sprintf("%d values from above", len(names)))
	r.nodes[n].title = cut(strings.Join(names, ", "), maxTitle)
	r.joined[key] = n
	r.links = append(r.links, link{from: n, to: to, value: v})
}
