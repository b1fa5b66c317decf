// Package chart draws charts of lines and bars as SVG: axes with ticks, a legend, curves, histograms. A picture needs nothing of a
// viewer but shapes and text, and has no script and no reference to anything outside of it, so that it can stand in a file of its
// own or inside of an HTML page. It is not a package of statistics: whoever draws says what, and thins curves of many points.
//
// Everything may be drawn: texts are escaped and cut to their place, points that are no finite numbers are left out, and axes of
// equal or of huge numbers have ticks, too. The same chart gives the same bytes.
package chart

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Chart is a picture with two axes. Its zero value is an empty one.
type Chart struct {
	Title         string
	X, Y          Axis
	Bars          []Bars // drawn first
	Lines         []Line // drawn over the bars, the last one on top
	Width, Height int    // in pixels; 0: 560 and 340. Others are brought to 200 to 4000
}

// Line is a curve through points, in the order in which they stand. A point with a coordinate that is no finite number is left out,
// and the line is broken there.
type Line struct {
	Name   string // in the legend; "": not there
	X, Y   []float64
	Dots   bool // every point is marked
	Dashed bool
	Faint  bool // grey, for what others are compared with: it takes no colour from the lines after it
}

// Bars are rectangles that stand on the zero of Y, or on its lower end where zero is not in sight: number i goes from Lo[i] to Hi[i]
// on the axis X and to Y[i]. Bars of several entries overlap and are translucent.
type Bars struct {
	Name      string
	Lo, Hi, Y []float64
}

// colours are of lines and bars: they can be told apart also by people who see few colours (the palette of Okabe and Ito).
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

const (
	faint    = "#999999"
	grid     = "#e4e4e4"
	textInk  = "#333333"
	fontSize = 12.0
	baseline = 0.36 // how far below the middle of a text its line stands, as a part of the size
	letter   = 0.58 // the mean width of a letter, as a part of the size
)

// entry is a line of the legend.
type entry struct {
	name, colour string
	bar, dashed  bool
}

// SVG prints the picture. An error is one of w.
func (c *Chart) SVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	f := c.frame()
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="%g" fill="%s">`+"\n", f.width, f.height, f.width, f.height, fontSize, textInk)
	fmt.Fprintf(out, `<title>%s</title><rect width="%d" height="%d" fill="#ffffff"/>`+"\n", Escape(c.Title), f.width, f.height)
	if c.Title != "" {
		fmt.Fprintf(out, `<text x="%.1f" y="18" font-size="14" font-weight="bold">%s</text>`+"\n", f.left,
			Escape(cut(c.Title, (float64(f.width)-f.left)/14)))
	}
	f.axes(out, &c.X, &c.Y)
	// A picture in a picture cuts off what is outside of its edges; the margin is for dots on them.
	x, y, wide, high := f.left-3, f.y.to-3, f.x.to-f.left+6, f.y.from-f.y.to+6
	fmt.Fprintf(out, `<svg x="%.1f" y="%.1f" width="%.1f" height="%.1f" viewBox="%.1f %.1f %.1f %.1f">`+"\n",
		x, y, wide, high, x, y, wide, high)
	for i := range c.Bars {
		f.bars(out, &c.Bars[i], colours[i%len(colours)])
	}
	for i := range c.Lines {
		f.line(out, &c.Lines[i], f.inks[i])
	}
	fmt.Fprintln(out, "</svg>")
	f.legend(out)
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// Escape is text that may stand in XML and in HTML, between tags and in attributes; what XML has no character for becomes U+FFFD.
func Escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

// cut is the text, with an ellipsis at its end if it is wider than so many times the size of its letters.
func cut(s string, wide float64) string {
	runes := []rune(s)
	if n := int(max(wide, 0) / letter); len(runes) > n {
		return string(runes[:max(n-1, 0)]) + "…"
	}
	return s
}

// line draws a curve, and points alone where it is broken on both sides of them.
func (f *frame) line(out io.Writer, l *Line, ink string) {
	var path, dots strings.Builder
	n, run := min(len(l.X), len(l.Y)), 0
	for i := range n {
		if !finite(l.X[i]) || !finite(l.Y[i]) {
			run = 0
			continue
		}
		x, y := f.x.place(l.X[i]), f.y.place(l.Y[i])
		next := i+1 < n && finite(l.X[i+1]) && finite(l.Y[i+1])
		if l.Dots || run == 0 && !next {
			fmt.Fprintf(&dots, `<circle cx="%.2f" cy="%.2f" r="2.6"/>`, x, y)
		}
		verb := "L"
		if run == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.2f,%.2f", verb, x, y)
		run++
	}
	dashes := ""
	if l.Dashed {
		dashes = ` stroke-dasharray="5 4"`
	}
	fmt.Fprintf(out, `<g><title>%s</title><path fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round"%s d="%s"/>`,
		Escape(l.Name), ink, dashes, path.String())
	fmt.Fprintf(out, `<g fill="%s">%s</g></g>`+"\n", ink, dots.String())
}

// bars draws rectangles; each says its numbers to who points at it.
func (f *frame) bars(out io.Writer, b *Bars, ink string) {
	foot := f.y.place(min(max(0, f.y.lo), f.y.hi))
	fmt.Fprintf(out, `<g fill="%s" fill-opacity="0.55" stroke="%s" stroke-width="0.7">`, ink, ink)
	for i := range min(len(b.Lo), len(b.Hi), len(b.Y)) {
		if !finite(b.Lo[i]) || !finite(b.Hi[i]) || !finite(b.Y[i]) {
			continue
		}
		x0, x1, y := f.x.place(b.Lo[i]), f.x.place(b.Hi[i]), f.y.place(b.Y[i])
		fmt.Fprintf(out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f"><title>%s</title></rect>`, min(x0, x1), min(y, foot),
			max(x1-x0, x0-x1, 1), max(y-foot, foot-y), Escape(fmt.Sprintf("%s %.6g to %.6g: %.6g", b.Name, b.Lo[i], b.Hi[i], b.Y[i])))
	}
	fmt.Fprintln(out, "</g>")
}
