package draw

import (
	"fmt"
	"math"

	"thole.example/program"
)

// sheet is all that is drawn: the pictures of all blocks with their places.
type sheet struct {
	w, h   float64
	heads  []head
	nodes  []node // boxes and labels
	curves []curve
}

// head is a line of text over the picture of a block.
type head struct {
	x, y float64 // left end and middle
	text string
}

// curve is a line from a node down to another, or from the end of a column to the beginning of the next (wrap).
type curve struct {
	from, to int // nodes of the sheet
	tip      bool
	wrap     bool
	begin    point
	strokes  []stroke
	title    string
}

type point struct{ x, y float64 }

// stroke goes on from where the last one ended: a straight line, or a Bézier curve with two points that it bends to.
type stroke struct {
	straight bool
	a, b, to point
}

const (
	pageMargin = 20.0
	blockGap   = 40.0
	headHeight = 24.0
	headSize   = 12.0
	cornerSize = 7.0
	tipHeight  = 7.0
)

// draw lays out a program: the pictures of its blocks in lines, as text is.
func layout(p *program.Program) *sheet {
	var pictures []*picture
	s, left, more := newScope(p), maxBoxes, 0
	for b := range p.Blocks {
		if left == 0 {
			more += len(p.Blocks[b].Ops)
			continue
		}
		g := build(s, b, left)
		left -= len(g.boxes)
		more += g.more
		if len(g.boxes) > 0 {
			pictures = append(pictures, g.draw())
		}
	}
	return arrange(p, pictures, more)
}

// arrange puts pictures on a sheet.
func arrange(p *program.Program, pictures []*picture, more int) *sheet {
	area, broad := 0.0, 0.0
	for _, pic := range pictures {
		w, h := pic.size()
		area, broad = area+(w+blockGap)*(h+blockGap), max(broad, w)
	}
	broad = max(broad, math.Sqrt(area*aspect))
	s := &sheet{}
	x, y, high := pageMargin, pageMargin, 0.0
	for _, pic := range pictures {
		w, h := pic.size()
		if len(p.Blocks) > 1 {
			text := fmt.Sprintf("block %d", pic.block)
			if parent := p.Blocks[pic.block].Parent; parent >= 0 {
				text += fmt.Sprintf(" within block %d", parent)
			}
			w, h = max(w, textWidth(text, headSize, true)), h+headHeight
			if x > pageMargin && x+w > pageMargin+broad {
				x, y, high = pageMargin, y+high+blockGap, 0
			}
			s.heads = append(s.heads, head{x, y + headHeight/2, text})
			s.add(pic, x, y+headHeight)
		} else {
			s.add(pic, x, y)
		}
		s.w, s.h = max(s.w, x+w), max(s.h, y+h)
		x, high = x+w+blockGap, max(high, h)
	}
	if more > 0 {
		text := fmt.Sprintf("… and %d more operators, which are not drawn", more)
		s.heads = append(s.heads, head{pageMargin, s.h + headHeight, text})
		s.w, s.h = max(s.w, pageMargin+textWidth(text, headSize, true)), s.h+2*headHeight
	}
	s.w, s.h = s.w+pageMargin, s.h+pageMargin
	return s
}

// size is how much room the picture takes.
func (p *picture) size() (w, h float64) {
	for _, c := range p.columns {
		w = max(w, c.right)
		h = max(h, p.bottoms[c.last]+c.lanes())
	}
	return w, h
}

// lanes is the room below or above a column for lines to the next.
func (c *column) lanes() float64 {
	if len(c.wraps) == 0 {
		return 0
	}
	return float64(len(c.wraps))*laneRoom + cornerSize
}

// add puts a picture on the sheet.
func (s *sheet) add(p *picture, x, y float64) {
	number := make([]int, len(p.nodes))
	for i, n := range p.nodes {
		number[i] = len(s.nodes)
		n.x, n.y = n.x+x, n.y+y
		s.nodes = append(s.nodes, n)
	}
	for i := range p.links {
		l := &p.links[i]
		c := curve{from: number[l.from], to: number[l.to], title: p.values[l.value].title, wrap: l.betweenWraps,
			tip: p.nodes[l.to].kind < isValue || l.betweenWraps}
		if l.betweenWraps {
			continue
		}
		p.down(&c, l, point{x, y})
		s.curves = append(s.curves, c)
	}
	for i := range p.columns {
		for k, w := range p.columns[i].wraps {
			l := &p.links[w]
			c := curve{from: number[l.from], to: number[l.to], title: p.values[l.value].title, wrap: true, tip: true}
			p.around(&c, l, i, k, point{x, y})
			s.curves = append(s.curves, c)
		}
	}
}

// down draws a link to the next row: straight within rows, where boxes stand, and aside only between them.
func (p *picture) down(c *curve, l *link, at point) {
	from, to := &p.nodes[l.from], &p.nodes[l.to]
	c.begin = point{at.x + l.fromX, at.y + from.y + from.h/2}
	upper, lower := point{c.begin.x, at.y + p.bottoms[from.row]}, point{at.x + l.toX, at.y + p.tops[to.row]}
	if upper.y > c.begin.y {
		c.strokes = append(c.strokes, stroke{straight: true, to: upper})
	}
	end := point{lower.x, at.y + to.y - to.h/2}
	if c.tip && end.y == lower.y {
		lower.y -= min(tipHeight, (lower.y-upper.y)/3) // an arrow stands straight
	}
	half := (lower.y - upper.y) / 2
	if upper.x == lower.x {
		c.strokes = append(c.strokes, stroke{straight: true, to: lower})
	} else {
		c.strokes = append(c.strokes, stroke{a: point{upper.x, upper.y + half}, b: point{lower.x, lower.y - half}, to: lower})
	}
	if end.y > lower.y {
		c.strokes = append(c.strokes, stroke{straight: true, to: end})
	}
}

// around draws the k-th link from the end of a column, below it, between it and the next, and above that to its beginning.
// Links lie in each other as the layers of an onion, so that they do not cross.
func (p *picture) around(c *curve, l *link, col, k int, at point) {
	here, next := &p.columns[col], &p.columns[col+1]
	from, to := &p.nodes[l.from], &p.nodes[l.to]
	lane := float64(len(here.wraps) - k)
	c.begin = point{at.x + l.fromX, at.y + from.y + from.h/2}
	x := at.x + here.right + (next.left-here.right-float64(len(here.wraps)+1)*laneRoom)/2 + lane*laneRoom
	low := at.y + p.bottoms[here.last] + lane*laneRoom + cornerSize
	top := at.y + p.tops[next.first] - aboveBox - float64(len(here.wraps)-1)*laneRoom + (lane-1)*laneRoom
	c.corners(point{c.begin.x, low}, point{x, low}, point{x, top}, point{at.x + l.toX, top}, point{at.x + l.toX, at.y + to.y - to.h/2})
}

// corners goes from point to point, with round corners.
func (c *curve) corners(points ...point) {
	last := c.begin
	for i, p := range points[:len(points)-1] {
		next := points[i+1]
		in, out := toward(p, last), toward(p, next)
		c.strokes = append(c.strokes, stroke{straight: true, to: in}, stroke{a: p, b: p, to: out})
		last = out
	}
	c.strokes = append(c.strokes, stroke{straight: true, to: points[len(points)-1]})
}

// toward is the point at a corner's distance from a point on the way to another.
func toward(p, other point) point {
	dx, dy := other.x-p.x, other.y-p.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return p
	}
	part := min(cornerSize, length/2) / length
	return point{p.x + dx*part, p.y + dy*part}
}
