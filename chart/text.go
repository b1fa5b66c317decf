package chart

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal is how a chart is drawn in characters.
type Terminal struct {
	Columns, Rows int  // of the whole picture but its title and legend; 0: 80 and 16. Others are brought to 30 to 500 and 6 to 200
	ASCII         bool // only characters that every terminal has
	Colour        bool // lines have colours, by escapes of ANSI
}

// Text prints the lines of the chart in characters: each line ends at a letter at the right, by which the legend names it. Bars are left
// out. Control characters of texts are, too. An error is one of w.
func (c *Chart) Text(w io.Writer, t Terminal) error {
	out := bufio.NewWriter(w)
	p := t.page(c)
	if c.Title != "" {
		fmt.Fprintln(out, plain(c.Title))
	}
	p.print(out)
	for i := range c.Lines {
		if name := plain(c.Lines[i].Name); name != "" {
			fmt.Fprintf(out, "%*s  %s %s\n", p.left, "", p.ink(i, letterOf(i)), name)
		}
	}
	return out.Flush()
}

// page is a picture in characters. A cell has dots of which braille shows each, and ASCII any.
type page struct {
	Terminal
	left, wide, high int // characters of labels, and cells of the picture
	across, down     int // dots of a cell
	x, y             scale
	xTicks, yTicks   []string
	label            string // of the axis x
	dots             []byte // of the cells, as bits
	owner            []int  // the line on top in a cell
	ends             []string
}

// page lays the picture out and draws the lines.
func (t Terminal) page(c *Chart) *page {
	p := &page{Terminal: t, across: 2, down: 4, label: plain(c.X.Label)}
	if t.ASCII {
		p.across, p.down = 1, 1
	}
	p.Columns, p.Rows = within(t.Columns, 80, 30, 500), within(t.Rows, 16, 6, 200)
	none := math.Inf(1)
	xlo, xhi, ylo, yhi := none, -none, none, -none
	for i := range c.Lines {
		xlo, xhi = span(xlo, xhi, c.Lines[i].X)
		ylo, yhi = span(ylo, yhi, c.Lines[i].Y)
	}
	p.high = p.Rows - 2 // the axis x and its labels
	p.y = c.Y.scaled(ylo, yhi, max(2, p.high/3))
	p.yTicks = labels(p.y.ticks)
	for _, text := range p.yTicks {
		p.left = max(p.left, len(text))
	}
	p.left = min(p.left, 14)
	p.wide = p.Columns - p.left - 3 - min(len(c.Lines), 8)
	p.x = c.X.scaled(xlo, xhi, max(2, p.wide/12))
	p.xTicks = labels(p.x.ticks)
	p.y.from, p.y.to = float64(p.high*p.down-1), 0
	p.x.from, p.x.to = 0, float64(p.wide*p.across-1)
	p.dots, p.owner, p.ends = make([]byte, p.wide*p.high), make([]int, p.wide*p.high), make([]string, p.high)
	for i := range c.Lines {
		p.line(i, &c.Lines[i])
	}
	return p
}

// within is a size that can be drawn.
func within(n, standard, least, most int) int {
	if n == 0 {
		n = standard
	}
	return min(max(n, least), most)
}

// line draws a curve, broken where the numbers are not finite, with its letter at its end.
func (p *page) line(of int, l *Line) {
	drawn, x0, y0 := false, 0, 0
	for i := range min(len(l.X), len(l.Y)) {
		if !finite(l.X[i]) || !finite(l.Y[i]) {
			drawn = false
			continue
		}
		x, y := int(math.Round(p.x.place(l.X[i]))), int(math.Round(p.y.place(l.Y[i])))
		if !drawn {
			x0, y0 = x, y
		}
		p.stroke(of, x0, y0, x, y)
		drawn, x0, y0 = true, x, y
	}
	if row := y0 / p.down; drawn && y0 >= 0 && row < p.high {
		p.ends[row] += p.ink(of, letterOf(of))
	}
}

// stroke sets the dots between two: as many as the longer way has, which is at most three times the picture.
func (p *page) stroke(of, x0, y0, x1, y1 int) {
	n := max(abs(x1-x0), abs(y1-y0))
	for k := range n + 1 {
		part := float64(k) / float64(max(n, 1))
		p.set(of, x0+int(math.Round(part*float64(x1-x0))), y0+int(math.Round(part*float64(y1-y0))))
	}
}

func abs(n int) int { return max(n, -n) }

// braille are the bits of the dots of a cell, by row and column.
var braille = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (p *page) set(of, x, y int) {
	if x < 0 || y < 0 || x >= p.wide*p.across || y >= p.high*p.down {
		return
	}
	cell := y/p.down*p.wide + x/p.across
	p.dots[cell] |= braille[y%p.down][x%p.across]
	p.owner[cell] = of
}

// letterOf names a line at its end.
func letterOf(line int) string { return string(rune('A' + line%26)) }

// ansi are the colours of lines.
var ansi = [...]string{"34", "31", "32", "35", "33", "36"}

// ink is a text in the colour of a line.
func (p *page) ink(line int, text string) string {
	if !p.Colour {
		return text
	}
	return "\x1b[" + ansi[line%len(ansi)] + "m" + text + "\x1b[0m"
}

// print prints the rows, the axis x and its labels.
func (p *page) print(out io.Writer) {
	side, tick, corner, floor := "│", "┤", "└", "─"
	if p.ASCII {
		side, tick, corner, floor = "|", "+", "+", "-"
	}
	ticks := map[int]string{}
	for i, v := range p.y.ticks {
		ticks[int(math.Round(p.y.place(v)))/p.down] = p.yTicks[i]
	}
	for row := range p.high {
		edge, name := side, ticks[row]
		if name != "" {
			edge = tick
		}
		text := fmt.Sprintf("%*.*s %s%s", p.left, p.left, name, edge, p.cells(row))
		if p.ends[row] != "" {
			text += " " + p.ends[row]
		} else {
			text = strings.TrimRight(text, " ")
		}
		fmt.Fprintln(out, text)
	}
	fmt.Fprintf(out, "%*s %s%s\n", p.left, "", corner, strings.Repeat(floor, p.wide))
	fmt.Fprintln(out, strings.TrimRight(p.below(), " "))
}

// cells are those of a row.
func (p *page) cells(row int) string {
	var b strings.Builder
	for i, dots := range p.dots[row*p.wide : (row+1)*p.wide] {
		line := p.owner[row*p.wide+i]
		switch {
		case dots == 0:
			b.WriteByte(' ')
		case p.ASCII:
			b.WriteString(p.ink(line, strings.ToLower(letterOf(line))))
		default:
			b.WriteString(p.ink(line, string(rune(0x2800+int(dots)))))
		}
	}
	return b.String()
}

// below is the line of labels of the axis x, those that have room, and what it is.
func (p *page) below() string {
	line, free := []rune(strings.Repeat(" ", p.Columns)), 0
	put := func(at int, text string) {
		if at < free || at+len(text) > len(line) {
			return
		}
		copy(line[at:], []rune(text))
		free = at + utf8.RuneCountInString(text) + 1
	}
	for i, v := range p.x.ticks {
		middle := p.left + 2 + int(math.Round(p.x.place(v)))/p.across
		put(max(middle-len(p.xTicks[i])/2, p.left), p.xTicks[i])
	}
	put(free, p.label)
	return string(line)
}

// plain is a text without what moves the cursor.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}
