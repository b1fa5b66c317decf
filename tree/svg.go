package tree

import (
	"bufio"
	"fmt"
	"io"

	"thole.example/chart"
)

// Sizes of pictures, in pixels. Trees grow to the right, so that texts have room, and the width is bounded by the levels.
const (
	boxWidth, boxHeight   = 190.0, 32.0
	levelWidth, rowHeight = 226.0, 38.0
	svgMargin             = 12.0
	svgTop                = 34.0
	boxLetters            = 27 // of the size of texts that a box has room for
)

// box is a node, a leaf, or the leaves below a node that are not shown.
type box struct {
	child int32
	level int
	y     float64 // of its middle
	from  int     // the box of the parent, or -1
	yes   bool    // which is left by yes
	cut   bool    // what is below is not shown
}

// boxes lays out what is below a child: each leaf has a row, and a node stands in the middle of its children.
func boxes(all []box, t *Tree, b box, levels int, rows *float64) []box {
	at := len(all)
	b.cut = b.child >= 0 && b.level == levels
	all = append(all, b)
	if b.child < 0 || b.cut {
		all[at].y = svgTop + (*rows+0.5)*rowHeight
		*rows++
		return all
	}
	left := len(all)
	all = boxes(all, t, box{child: t.Left[b.child], level: b.level + 1, from: at, yes: true}, levels, rows)
	right := len(all)
	all = boxes(all, t, box{child: t.Right[b.child], level: b.level + 1, from: at}, levels, rows)
	all[at].y = (all[left].y + all[right].y) / 2
	return all
}

// SVG draws a tree, as many levels of splits as asked for (0: 6, at most 64); what is below has one box. It needs nothing of a viewer but
// shapes and text, and has no script; texts that are cut stand in titles as a whole. An error is one of w, or says that there is no
// such tree.
func (e *Ensemble) SVG(w io.Writer, tree, levels int) error {
	t, levels, err := e.of(tree, levels, svgLevels)
	if err != nil {
		return err
	}
	out, rows := bufio.NewWriter(w), 0.0
	all := boxes(nil, t, box{child: t.root(), from: -1}, levels, &rows)
	width := 2*svgMargin + boxWidth + float64(min(levels, t.Depth()))*levelWidth
	height := svgTop + rows*rowHeight + svgMargin
	title := chart.Escape(e.title(tree))
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`font-family="sans-serif" font-size="11" fill="#333333">`+"\n", width, height, width, height)
	fmt.Fprintf(out, `<title>%s</title><rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", title, width, height)
	fmt.Fprintf(out, `<text x="%g" y="20" font-size="13" font-weight="bold">%s</text>`+"\n", svgMargin, title)
	for i := range all {
		if all[i].from >= 0 {
			all[i].line(out, &all[all[i].from])
		}
	}
	for i := range all {
		e.box(out, t, &all[i])
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// left is where a box begins.
func (b *box) left() float64 { return svgMargin + float64(b.level)*levelWidth }

// line draws the way to a box from that of its parent.
func (b *box) line(out io.Writer, from *box) {
	answer, ink := "no", "#c05a00"
	if b.yes {
		answer, ink = "yes", "#0072b2"
	}
	x0, x1 := from.left()+boxWidth, b.left()
	middle := (x0 + x1) / 2
	fmt.Fprintf(out, `<path fill="none" stroke="%s" d="M%.1f,%.1fC%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`, ink, x0, from.y, middle, from.y,
		middle, b.y, x1, b.y)
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="9" text-anchor="end" fill="%s">%s</text>`+"\n", x1-3, b.y-3, ink, answer)
}

// box draws a box with one or two lines of text; its title has the whole question.
func (e *Ensemble) box(out io.Writer, t *Tree, b *box) {
	fill, border, corner := "#eaf1fb", "#5b7fae", 3
	var text, whole string
	stats := t.stats(b.child)
	switch {
	case b.child < 0:
		fill, border, corner = "#e6f4e6", "#5c9a5c", 12
		if t.LeafValue[^b.child] < 0 {
			fill, border = "#fcefdc", "#c08a3e"
		}
		text = fmt.Sprintf("%.6g", t.LeafValue[^b.child])
		whole = fmt.Sprintf("leaf %d: %v", ^b.child, t.LeafValue[^b.child])
	case b.cut:
		fill, border = "#f4f4f4", "#999999"
		text = fmt.Sprintf("%d leaves", t.below(b.child))
		whole = text + " that are not shown"
	default:
		text = e.question(t, int(b.child), 2)
		whole = e.question(t, int(b.child), 20) + " (" + t.missing(int(b.child)) + ")"
		stats = t.missing(int(b.child)) + sep(stats)
	}
	x := b.left()
	fmt.Fprintf(out, `<g><title>%s</title><rect x="%.1f" y="%.1f" width="%g" height="%g" rx="%d" fill="%s" stroke="%s"/>`,
		chart.Escape(whole), x, b.y-boxHeight/2, boxWidth, boxHeight, corner, fill, border)
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-weight="bold">%s</text>`, x+6, b.y-3, chart.Escape(shorten(text, boxLetters)))
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="10" fill="#666666">%s</text></g>`+"\n", x+6, b.y+11,
		chart.Escape(shorten(stats, boxLetters+4)))
}

// sep is a text after another one, if there is one.
func sep(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}
