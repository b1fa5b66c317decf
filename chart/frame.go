package chart

import (
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// frame is where the parts of a picture lie, in pixels.
type frame struct {
	width, height int
	left          float64
	x, y          scale
	inks          []string // of the lines
	entries       []entry
	legendX       float64
	legendEm      float64 // how wide names in the legend may be, in sizes of letters
	yTicks        []string
}

// frame lays the picture out: the legend is at the right, as wide as its longest name but at most a third.
func (c *Chart) frame() *frame {
	f := &frame{width: sized(c.Width, 560), height: sized(c.Height, 340)}
	f.colour(c)
	longest := 0
	for _, e := range f.entries {
		longest = max(longest, utf8.RuneCountInString(e.name))
	}
	right := float64(f.width) - 16
	if longest > 0 {
		f.legendEm = min(float64(longest+1)*letter, (float64(f.width)/3-26)/fontSize)
		right = float64(f.width) - f.legendEm*fontSize - 38
		f.legendX = right + 12
	}
	top, bottom := 16.0, float64(f.height)-26
	if c.Title != "" {
		top = 32
	}
	if c.X.Label != "" {
		bottom -= 18
	}
	none := math.Inf(1)
	xlo, xhi, ylo, yhi := none, -none, none, -none
	for i := range c.Bars {
		b := &c.Bars[i]
		xlo, xhi = span(xlo, xhi, b.Lo)
		xlo, xhi = span(xlo, xhi, b.Hi)
		ylo, yhi = span(ylo, yhi, b.Y)
		ylo, yhi = min(ylo, 0), max(yhi, 0)
	}
	for i := range c.Lines {
		xlo, xhi = span(xlo, xhi, c.Lines[i].X)
		ylo, yhi = span(ylo, yhi, c.Lines[i].Y)
	}
	f.y = c.Y.scaled(ylo, yhi, max(2, int((bottom-top)/50)))
	f.y.from, f.y.to = bottom, top
	f.yTicks = labels(f.y.ticks)
	f.left = 14
	for _, t := range f.yTicks {
		f.left = max(f.left, 14+float64(len(t))*letter*fontSize)
	}
	if c.Y.Label != "" {
		f.left += 18
	}
	f.x = c.X.scaled(xlo, xhi, max(2, int((right-f.left)/64)))
	f.x.from, f.x.to = f.left, max(right, f.left+40)
	return f
}

// sized is a size in pixels that can be drawn.
func sized(n, standard int) int {
	if n == 0 {
		n = standard
	}
	return min(max(n, 200), 4000)
}

// colour chooses the colours of lines, which go on behind those of bars, and makes the legend.
func (f *frame) colour(c *Chart) {
	for i, b := range c.Bars {
		if b.Name != "" {
			f.entries = append(f.entries, entry{b.Name, colours[i%len(colours)], true, false})
		}
	}
	next := len(c.Bars)
	for i := range c.Lines {
		l, ink := &c.Lines[i], faint
		if !l.Faint {
			ink = colours[next%len(colours)]
			next++
		}
		f.inks = append(f.inks, ink)
		if l.Name != "" {
			f.entries = append(f.entries, entry{l.Name, ink, false, l.Dashed})
		}
	}
}

// axes draws the grid, the ticks and what the axes are.
func (f *frame) axes(out io.Writer, x, y *Axis) {
	top, bottom := f.y.to, f.y.from
	fmt.Fprintf(out, `<path stroke="%s" fill="none" d="`, grid)
	for _, t := range f.x.ticks {
		fmt.Fprintf(out, "M%.1f,%.1fV%.1f", f.x.place(t), top, bottom+4)
	}
	for _, t := range f.y.ticks {
		fmt.Fprintf(out, "M%.1f,%.1fH%.1f", f.left-4, f.y.place(t), f.x.to)
	}
	fmt.Fprintf(out, "\"/>\n"+`<path stroke="%s" fill="none" d="M%.1f,%.1fV%.1fH%.1f"/>`+"\n", faint, f.left, top, bottom, f.x.to)
	fmt.Fprint(out, `<g text-anchor="middle">`)
	for i, name := range labels(f.x.ticks) {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f">%s</text>`, f.x.place(f.x.ticks[i]), bottom+18, name)
	}
	if x.Label != "" {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f">%s</text>`, (f.left+f.x.to)/2, bottom+37,
			Escape(cut(x.Label, (f.x.to-f.left)/fontSize)))
	}
	if y.Label != "" {
		fmt.Fprintf(out, `<text transform="translate(14,%.1f) rotate(-90)">%s</text>`, (top+bottom)/2,
			Escape(cut(y.Label, (bottom-top)/fontSize)))
	}
	fmt.Fprint(out, "</g>\n"+`<g text-anchor="end">`)
	for i, name := range f.yTicks {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f">%s</text>`, f.left-7, f.y.place(f.y.ticks[i])+fontSize*baseline, name)
	}
	fmt.Fprintln(out, "</g>")
}

// legend names lines and bars at the right, as many as have room; the last line then says how many have not.
func (f *frame) legend(out io.Writer) {
	const high = 18.0
	room := max(1, int((f.y.from-f.y.to)/high))
	for i, e := range f.entries {
		y := f.y.to + 8 + float64(i)*high
		if i == room-1 && len(f.entries) > room {
			fmt.Fprintf(out, `<text x="%.1f" y="%.1f">and %d more</text>`+"\n", f.legendX, y+fontSize*baseline, len(f.entries)-i)
			return
		}
		if e.bar {
			fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="16" height="10" fill="%s" fill-opacity="0.55" stroke="%s"/>`,
				f.legendX, y-5, e.colour, e.colour)
		} else {
			dashes := ""
			if e.dashed {
				dashes = ` stroke-dasharray="5 4"`
			}
			fmt.Fprintf(out, `<path stroke="%s" stroke-width="2"%s d="M%.1f,%.1fh16"/>`, e.colour, dashes, f.legendX, y)
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f"><title>%s</title>%s</text>`+"\n", f.legendX+22, y+fontSize*baseline, Escape(e.name),
			Escape(cut(e.name, f.legendEm)))
	}
}
