package draw

// picture is the layout of one block.
type picture struct {
	*graph
	nodes   []node
	links   []link
	rows    [][]int // nodes from left to right
	columns []column
	tops    []float64 // of rows
	bottoms []float64
}

// node is what has a place in the picture: a box, a label, or a bend of a line.
type node struct {
	kind       kind
	of         int // the box, or the value
	row, order int
	x, y       float64 // the middle
	w, h       float64
	lines      []line
	title      string
}

// link is a part of a line, from a node to one in the next row.
type link struct {
	from, to     int
	value        int
	fromX, toX   float64 // where it leaves and enters
	betweenWraps bool
}

// column is a range of rows that stand below each other.
type column struct {
	first, last int // rows
	left, right float64
	wraps       []int // links to the next column, from left to right
}

// draw lays out a graph.
func (g *graph) draw() *picture {
	p := &picture{graph: g}
	for i := range g.boxes {
		b := &g.boxes[i]
		p.nodes = append(p.nodes, node{kind: b.kind, of: i, lines: b.lines, title: b.title})
		p.nodes[i].measure(len(b.takes))
	}
	steps := p.steps()
	p.route(steps, p.cuts(steps))
	p.sort()
	p.place()
	return p
}

// Rooms within and around boxes, in points.
const (
	boxMargin   = 10.0
	labelMargin = 4.0
	labelHeight = 15.0
	portRoom    = 12.0 // between lines that enter a box
	maxPortRoom = 400.0
)

// measure sizes a box by what stands in it and by the lines that enter it.
func (n *node) measure(takes int) {
	for _, l := range n.lines {
		n.w = max(n.w, textWidth(l.text, textSize, l.style == isType))
	}
	n.w = max(n.w+2*boxMargin, min(float64(takes)*portRoom+boxMargin, maxPortRoom))
	n.h = float64(len(n.lines))*lineHeight + boxMargin
}

// label makes the node of a value's label in a row.
func (p *picture) label(kind kind, value, row int, text string) int {
	w := textWidth(text, labelSize, false) + 2*labelMargin
	return p.node(node{kind: kind, of: value, row: row, w: w, h: labelHeight,
		lines: []line{{text, isTensor}}, title: p.values[value].title})
}

// node puts a node into its row.
func (p *picture) node(n node) int {
	p.rows[n.row] = append(p.rows[n.row], len(p.nodes))
	p.nodes = append(p.nodes, n)
	return len(p.nodes) - 1
}
