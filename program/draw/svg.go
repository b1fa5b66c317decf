package draw

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"thole.example/program"
)

// SVG prints the first block of the program as a picture.
func SVG(w io.Writer, p *program.Program) error {
	pic := build(p, 0)
	pic.layout()
	left, right, bottom := 0.0, 0.0, 0.0
	for _, n := range pic.nodes {
		left, right, bottom = min(left, n.x-n.w/2), max(right, n.x+n.w/2), max(bottom, n.y+n.h/2)
	}
	for i := range pic.edges { // labels stand to the right of lines
		e := &pic.edges[i]
		right = max(right, pic.nodes[e.from].x+12+float64(len(e.label))*letterSize*0.9)
	}
	out := bufio.NewWriter(w)
	width, height := right-left+40, bottom+20
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%.1f 0 %.1f %.1f"`+"\n",
		width, height, left-20, width, height)
	fmt.Fprintln(out, ` font-family="sans-serif" font-size="11">`)
	fmt.Fprintf(out, `<rect x="%.1f" y="0" width="%.1f" height="%.1f" fill="white"/>`+"\n", left-20, width, height)
	fmt.Fprintln(out, `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">`+
		`<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>`)
	for i := range pic.edges {
		pic.line(out, &pic.edges[i])
	}
	for i := range pic.nodes {
		pic.box(out, &pic.nodes[i])
	}
	labelled := map[string]bool{}
	for i := range pic.edges {
		if e := &pic.edges[i]; !labelled[e.label] {
			labelled[e.label] = true
			n := &pic.nodes[e.from]
			fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="9" fill="#666" `+ // a white rim sets it off from lines
				`stroke="white" stroke-width="3" paint-order="stroke">%s</text>`+"\n", n.x+7, n.y+n.h/2+13, escape(e.label))
		}
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// line draws a variable: from the bottom of a box, through bends, to the top of another.
func (p *picture) line(out io.Writer, e *edge) {
	from, to := &p.nodes[e.from], &p.nodes[e.to]
	x, y := from.x, from.y+from.h/2
	fmt.Fprintf(out, `<path fill="none" stroke="#555" marker-end="url(#tip)" d="M%.1f,%.1f`, x, y)
	for _, i := range e.via {
		n := &p.nodes[i]
		curve(out, x, y, n.x, n.y)
		x, y = n.x, n.y
	}
	curve(out, x, y, to.x, to.y-to.h/2)
	fmt.Fprintf(out, `"><title>%s</title></path>`+"\n", escape(e.label))
}

// curve goes down on both ends.
func curve(out io.Writer, x, y, toX, toY float64) {
	half := (toY - y) / 2
	fmt.Fprintf(out, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y+half, toX, toY-half, toX, toY)
}

// box draws an operator.
func (p *picture) box(out io.Writer, n *node) {
	fill, round := "#e8f0fa", 4
	switch n.kind {
	case isBend:
		return
	case isInput:
		fill, round = "#e6f4e6", 12
	case isOutput:
		fill, round = "#fbeede", 12
	}
	fmt.Fprintf(out, `<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d" fill="%s" stroke="#557"/>`+"\n",
		escape(strings.TrimSpace(n.lines[0]+" "+n.detail)), n.x-n.w/2, n.y-n.h/2, n.w, n.h, round, fill)
	for k, text := range n.lines {
		weight := ""
		if k == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle"%s>%s</text>`+"\n",
			n.x, n.y-n.h/2+float64(k+1)*lineHeight+1, weight, escape(text))
	}
	fmt.Fprintln(out, "</g>")
}

// escape is text that may stand in XML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
