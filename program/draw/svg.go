package draw

import (
	"bufio"
	"fmt"
	"io"

	"thole.example/chart"
	"thole.example/program"
)

// look is how a kind of node is drawn.
type look struct {
	fill, border string
	corner       float64
}

var looks = [...]look{
	isOp:     {"#eaf1fb", "#5b7fae", 3},
	isInput:  {"#e6f4e6", "#5c9a5c", 12},
	isOutput: {"#fcefdc", "#c08a3e", 12},
	isValue:  {"#f4f4f4", "", 5},
	isAgain:  {"#ffffff", "#2f6db5", 5},
}

// inks are the colours of lines of text.
var inks = [...]string{isType: "#000000", isSetting: "#8a4b00", isTensor: "#444444"}

// Colours of lines: within a column, and to the next.
const (
	lineInk = "#666666"
	wrapInk = "#2f6db5"
)

// SVG prints the program as a picture. It needs nothing of a viewer but shapes and text.
func SVG(w io.Writer, p *program.Program) error {
	s, out := layout(p), bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`font-family="sans-serif" font-size="%g">`+"\n", s.w, s.h, s.w, s.h, textSize)
	fmt.Fprintf(out, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", s.w, s.h)
	for _, h := range s.heads {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%g" font-weight="bold">%s</text>`+"\n",
			h.x, h.y+headSize*baseline, headSize, chart.Escape(h.text))
	}
	for i := range s.curves {
		s.curves[i].print(out)
	}
	for i := range s.nodes {
		s.nodes[i].print(out)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// baseline is how far below the middle of a text its line stands, as a part of the size.
const baseline = 0.36

// print draws a line, and an arrow at its end; arrows point down, as all lines end.
func (c *curve) print(out io.Writer) {
	ink, wide := lineInk, 1.0
	if c.wrap {
		ink, wide = wrapInk, 1.6
	}
	strokes := c.strokes
	end := strokes[len(strokes)-1].to
	fmt.Fprintf(out, `<g><title>%s</title><path fill="none" stroke="%s" stroke-width="%g" d="M%.1f,%.1f`,
		chart.Escape(c.title), ink, wide, c.begin.x, c.begin.y)
	for i, s := range strokes {
		to := s.to
		if c.tip && i == len(strokes)-1 {
			to.y -= tipHeight - 1
		}
		if s.straight {
			fmt.Fprintf(out, " L%.1f,%.1f", to.x, to.y)
		} else {
			fmt.Fprintf(out, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", s.a.x, s.a.y, s.b.x, s.b.y, to.x, to.y)
		}
	}
	fmt.Fprint(out, `"/>`)
	if c.tip {
		fmt.Fprintf(out, `<path fill="%s" d="M%.1f,%.1f l-3.5,-%g h7 z"/>`, ink, end.x, end.y, tipHeight)
	}
	fmt.Fprintln(out, "</g>")
}

// print draws a box or a label.
func (n *node) print(out io.Writer) {
	if n.kind == isBend {
		return
	}
	k, border := looks[n.kind], ""
	if k.border != "" {
		border = fmt.Sprintf(` stroke="%s"`, k.border)
	}
	fmt.Fprintf(out, `<g text-anchor="middle"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%g" fill="%s"%s/>`+"\n",
		chart.Escape(n.title), n.x-n.w/2, n.y-n.h/2, n.w, n.h, k.corner, k.fill, border)
	for i := range n.lines {
		size, weight, y := n.text(i)
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%g"%s fill="%s">%s</text>`+"\n",
			n.x, y+size*baseline, size, weight, inks[n.lines[i].style], chart.Escape(n.lines[i].text))
	}
	fmt.Fprintln(out, "</g>")
}

// text is how and where a line of a node is written; y is its middle.
func (n *node) text(i int) (size float64, weight string, y float64) {
	if n.kind >= isValue {
		return labelSize, "", n.y
	}
	y = n.y - n.h/2 + boxMargin/2 + (float64(i)+0.5)*lineHeight
	if n.lines[i].style == isType {
		weight = ` font-weight="bold"`
	}
	return textSize, weight, y
}
