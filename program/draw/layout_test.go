package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/program"
)

// rect is a rectangle of the sheet.
type rect struct {
	left, top, right, bottom float64
	what                     string
}

func (r rect) within(o rect) bool {
	return r.left >= o.left-0.01 && r.right <= o.right+0.01 && r.top >= o.top-0.01 && r.bottom <= o.bottom+0.01
}

func (r rect) meets(o rect) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

func (n *node) rect() rect {
	what := "label "
	if n.kind < isValue {
		what = "box "
	}
	return rect{n.x - n.w/2, n.y - n.h/2, n.x + n.w/2, n.y + n.h/2, what + n.lines[0].text}
}

// rects are the boxes, labels and headings of a sheet, and all must be on it. Texts must lie in their boxes.
func rects(t testing.TB, s *sheet) (all []rect) {
	t.Helper()
	page := rect{0, 0, s.w, s.h, "page"}
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.kind == isBend {
			continue
		}
		r := n.rect()
		for k, l := range n.lines {
			size, weight, y := n.text(k)
			wide := textWidth(l.text, size, weight != "")
			text := rect{n.x - wide/2, y - size*0.65, n.x + wide/2, y + size*0.65, ""}
			if !text.within(r) {
				t.Fatalf("the text %q (%v) leaves its %s (%v)", l.text, text, r.what, r)
			}
		}
		all = append(all, r)
	}
	for _, h := range s.heads {
		all = append(all, rect{h.x, h.y - headSize*0.65, h.x + textWidth(h.text, headSize, true), h.y + headSize*0.65, "head " + h.text})
	}
	for _, r := range all {
		if !r.within(page) {
			t.Fatalf("%s (%v) leaves the page of %v x %v", r.what, r, s.w, s.h)
		}
	}
	return all
}

// points are places on a line, close to each other.
func (c *curve) points() (all []point) {
	last := c.begin
	all = append(all, last)
	for _, s := range c.strokes {
		const parts = 24
		for k := 1; k <= parts; k++ {
			u := float64(k) / parts
			v := 1 - u
			at := point{v*last.x + u*s.to.x, v*last.y + u*s.to.y}
			if !s.straight {
				mix := func(p, a, b, q float64) float64 { return v*v*v*p + 3*v*v*u*a + 3*v*u*u*b + u*u*u*q }
				at = point{mix(last.x, s.a.x, s.b.x, s.to.x), mix(last.y, s.a.y, s.b.y, s.to.y)}
			}
			all = append(all, at)
		}
		last = s.to
	}
	return all
}

// crossed finds a rectangle, of some sorted by their tops and at most so high, that a line from one point to another goes
// through, other than the nodes that it joins.
func crossed(a, b point, sorted []rect, high float64, own ...rect) (rect, bool) {
	const rim = 1.0 // a line may touch the border
	line := rect{min(a.x, b.x), min(a.y, b.y), max(a.x, b.x), max(a.y, b.y), ""}
	first, _ := slices.BinarySearchFunc(sorted, line.top-high, func(r rect, y float64) int { return cmp.Compare(r.top, y) })
	for _, r := range sorted[first:] {
		if r.top > line.bottom {
			break
		}
		if slices.Contains(own, r) {
			continue
		}
		if in := (rect{r.left + rim, r.top + rim, r.right - rim, r.bottom - rim, ""}); line.meets(in) {
			return r, true
		}
	}
	return rect{}, false
}

// checkSheet fails for boxes, labels and headings that lie on each other, lines that go through them or do not end where they
// should, and values that do not come to those who take them.
func checkSheet(t testing.TB, p *program.Program) *sheet {
	t.Helper()
	s := layout(p)
	all := rects(t, s)
	slices.SortFunc(all, func(a, b rect) int { return cmp.Compare(a.top, b.top) })
	high := 0.0
	for i, a := range all {
		high = max(high, a.bottom-a.top)
		for _, b := range all[i+1:] {
			if b.top >= a.bottom {
				break
			}
			if a.meets(b) {
				t.Fatalf("%s (%v) and %s (%v) lie on each other", a.what, a, b.what, b)
			}
		}
	}
	for i := range s.curves {
		c := &s.curves[i]
		from, to := &s.nodes[c.from], &s.nodes[c.to]
		var own []rect
		for _, n := range []*node{from, to} {
			if n.kind != isBend {
				own = append(own, n.rect())
			}
		}
		points := c.points()
		for k := 1; k < len(points); k++ {
			if r, ok := crossed(points[k-1], points[k], all, high, own...); ok {
				t.Fatalf("the line of %s goes through %s at %v", c.title, r.what, points[k])
			}
		}
		end := points[len(points)-1]
		if math.Abs(end.y-(to.y-to.h/2)) > 0.01 || math.Abs(end.x-to.x) > to.w/2 || math.Abs(c.begin.x-from.x) > from.w/2 ||
			math.Abs(c.begin.y-(from.y+from.h/2)) > 0.01 {
			t.Fatalf("the line of %s does not go from box to box", c.title)
		}
		if c.tip != (to.kind < isValue || c.wrap) {
			t.Fatalf("the line of %s has an arrow: %v", c.title, c.tip)
		}
	}
	return s
}

// net makes a program of one block: for each operator its type, and which operators before it it takes from.
type net struct{ block program.Block }

func (n *net) op(kind string, from ...int) int {
	i := len(n.block.Ops)
	name := fmt.Sprintf("%s_%d.tmp_0", kind, i)
	n.block.Vars = append(n.block.Vars, dense(name, false, -1, 64))
	o := program.Op{Type: kind, Out: []program.Slot{{Name: "Out", Args: []string{name}}}}
	for _, f := range from {
		o.In = append(o.In, program.Slot{Name: "X", Args: n.block.Ops[f].Out[0].Args})
	}
	if kind == "fc" {
		w := fmt.Sprintf("fc_%d.w_0", i)
		n.block.Vars = append(n.block.Vars, dense(w, true, 64, 64))
		o.In = append(o.In, program.Slot{Name: "W", Args: []string{w}})
	}
	n.block.Ops = append(n.block.Ops, o)
	return i
}

// nets are networks of the shapes that models have, and of worse ones.
var nets = map[string]func(n *net){
	"one operator": func(n *net) { n.op("relu") },
	"long chain": func(n *net) {
		last := n.op("feed")
		for range 160 {
			last = n.op("fc", last)
		}
	},
	"residual": func(n *net) {
		last := n.op("feed")
		for range 40 {
			last = n.op("elementwise_add", last, n.op("relu", n.op("fc", last)))
		}
	},
	"one mask for all": func(n *net) {
		mask, last := n.op("feed"), n.op("feed")
		for range 60 {
			last = n.op("elementwise_mul", n.op("fc", last), mask)
		}
	},
	"fan-out": func(n *net) {
		in := n.op("feed")
		for range 60 {
			n.op("fetch", n.op("fc", in))
		}
	},
	"many inputs": func(n *net) {
		var all []int
		for range 120 {
			all = append(all, n.op("reduce_sum", n.op("fc", n.op("feed"))))
		}
		n.op("fetch", n.op("fc", n.op("concat", all...)))
	},
	"inputs taken twice": func(n *net) {
		var deep, wide, in []int
		for range 30 {
			in = append(in, n.op("feed"))
		}
		for _, i := range in {
			deep, wide = append(deep, n.op("fc", i)), append(wide, n.op("lookup_table_v2_of_a_long_name", i))
		}
		n.op("elementwise_add", n.op("concat", deep...), n.op("concat", wide...))
	},
	"branches": func(n *net) {
		last := n.op("feed")
		for range 12 {
			var parts []int
			for b := range 4 {
				part := last
				for range b + 1 {
					part = n.op("fc", part)
				}
				parts = append(parts, part)
			}
			last = n.op("concat", parts...)
		}
	},
	"everything takes everything": func(n *net) {
		var all []int
		for range 70 {
			all = append(all, n.op("concat", all...))
		}
	},
	"ladder": func(n *net) {
		var down []int
		last := n.op("feed")
		for range 25 {
			last = n.op("fc", last)
			down = append(down, last)
		}
		for _, d := range slices.Backward(down) {
			last = n.op("elementwise_add", n.op("fc", last), d)
		}
	},
}

func TestGenerated(t *testing.T) {
	for name, make := range nets {
		t.Run(name, func(t *testing.T) {
			n := &net{block: program.Block{Parent: -1}}
			make(n)
			checkSheet(t, &program.Program{Blocks: []program.Block{n.block}})
		})
	}
}

// TestGathered draws boxes that take more from afar than there is room for lines: one label says how much.
func TestGathered(t *testing.T) {
	n := &net{block: program.Block{Parent: -1}}
	nets["everything takes everything"](n)
	s := checkSheet(t, &program.Program{Blocks: []program.Block{n.block}})
	most := 0
	for _, c := range s.curves {
		var k int
		if from := &s.nodes[c.from]; from.kind == isAgain && s.nodes[c.to].kind == isOp {
			if _, err := fmt.Sscanf(from.lines[0].text, "%d values from above", &k); err == nil {
				most = max(most, k)
			}
		}
	}
	if most != len(n.block.Ops)-2 { // all but that right above
		t.Errorf("at most %d values are gathered, want %d", most, len(n.block.Ops)-2)
	}
}

// TestJoined counts the lines that come to a box of many values from afar: of more than ten one comes.
func TestJoined(t *testing.T) {
	for _, takes := range []int{manyTaken - 1, manyTaken, manyTaken + 1} {
		n := &net{block: program.Block{Parent: -1}}
		var all []int
		for range takes {
			all = append(all, n.op("fc", n.op("feed")))
		}
		far := n.op("fc", n.op("fc", n.op("fc", all[0])))
		n.op("concat", append(all[1:], all[0], far)[1:]...) // as many: one of them right above it
		p := build(newScope(&program.Program{Blocks: []program.Block{n.block}}), 0, maxBoxes).draw()
		lines := 0
		for _, l := range p.links {
			if to := p.nodes[l.to]; to.kind == isOp && p.boxes[to.of].lines[0].text == "concat" {
				lines++
			}
		}
		if want := map[bool]int{true: takes, false: 2}[takes <= manyTaken]; lines != want {
			t.Errorf("%d lines come to a box that takes %d, want %d", lines, takes, want)
		}
	}
}

// TestBlocks draws several blocks, each under its own heading.
func TestBlocks(t *testing.T) {
	p := &program.Program{}
	for b, name := range []string{"residual", "fan-out", "one operator", "many inputs", "one operator"} {
		n := &net{block: program.Block{Parent: b - 1}}
		nets[name](n)
		p.Blocks = append(p.Blocks, n.block)
	}
	s := checkSheet(t, p)
	if len(s.heads) != len(p.Blocks) || s.heads[1].text != "block 1 within block 0" {
		t.Errorf("headings %v", s.heads)
	}
	beside := 0
	for i := range s.heads[1:] {
		if s.heads[i].y == s.heads[i+1].y {
			beside++
		}
	}
	if beside == 0 {
		t.Errorf("no two blocks stand side by side: %v", s.heads)
	}
}

// TestSnap breaks threads that make a picture broad: every node stays in one thread.
func TestSnap(t *testing.T) {
	broken := 0
	for name, make := range nets {
		n := &net{block: program.Block{Parent: -1}}
		make(n)
		p := build(newScope(&program.Program{Blocks: []program.Block{n.block}}), 0, maxBoxes).draw()
		threads := p.weave()
		whole, of := len(threads), p.pack(threads)
		for _, c := range p.columns {
			if last := p.sprawls(c); last >= 0 {
				threads = p.snap(threads, of, last)
			}
		}
		broken += len(threads) - whole
		var all []int
		for _, t := range threads {
			all = append(all, t.nodes...)
		}
		slices.Sort(all)
		if len(all) != len(p.nodes) || len(slices.Compact(all)) != len(p.nodes) {
			t.Errorf("%s: %d nodes in threads, want each of %d once", name, len(all), len(p.nodes))
		}
	}
	if broken == 0 {
		t.Error("no thread was broken")
	}
}

// TestColumns draws a chain of 62 operators: in columns of about one screen, from each of which an arrow goes to the next.
func TestColumns(t *testing.T) {
	n := &net{block: program.Block{Parent: -1}}
	last := n.op("feed")
	for range 61 {
		last = n.op("fc", last)
	}
	s := checkSheet(t, &program.Program{Blocks: []program.Block{n.block}})
	wraps := 0
	for _, c := range s.curves {
		if c.wrap {
			wraps++
			from, to := &s.nodes[c.from], &s.nodes[c.to]
			if !c.tip || to.kind != isAgain || from.lines[0].text != to.lines[0].text || to.y > from.y || to.x < from.x {
				t.Errorf("the line of %s goes from %v to %v", c.title, from, to)
			}
		}
	}
	if ratio := s.w / s.h; wraps < 3 || ratio < 0.7 || ratio > 2.5 {
		t.Errorf("%d lines to the next column, %.0f x %.0f points", wraps, s.w, s.h)
	}
}

// TestTaken follows the lines from each box: they come to those that take what it gives, and to no others.
func TestTaken(t *testing.T) {
	for _, name := range []string{"residual", "many inputs", "branches"} {
		n := &net{block: program.Block{Parent: -1}}
		nets[name](n)
		p := build(newScope(&program.Program{Blocks: []program.Block{n.block}}), 0, maxBoxes).draw()
		_, down := p.neighbours()
		for i := range p.boxes {
			var want, got []int
			for _, v := range p.values {
				if v.from == i {
					want = append(want, v.to...)
				}
			}
			for todo := slices.Clone(down[i]); len(todo) > 0; todo = todo[1:] {
				if at := todo[0]; p.nodes[at].kind < isValue {
					got = append(got, p.nodes[at].of)
				} else {
					todo = append(todo, down[at]...)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: lines from box %d come to %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestCutLines looks for the line of each value into each box that takes it, where some begin anew above the box.
func TestCutLines(t *testing.T) {
	n := &net{block: program.Block{Parent: -1}}
	nets["ladder"](n)
	p := build(newScope(&program.Program{Blocks: []program.Block{n.block}}), 0, maxBoxes).draw()
	again := 0
	for v, value := range p.values {
		for _, to := range value.to {
			k := slices.IndexFunc(p.links, func(l link) bool { return l.to == to && l.value == v })
			if k < 0 {
				t.Errorf("no line of %s comes to box %d", value.label, to)
				continue
			}
			if from := p.nodes[p.links[k].from]; from.kind == isAgain {
				again++
				if from.lines[0].text != value.label {
					t.Errorf("the line to box %d begins under %q, want %q", to, from.lines[0].text, value.label)
				}
			}
		}
	}
	if again == 0 {
		t.Error("no line begins anew")
	}
}

// TestRandom draws random networks with names of any length.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := &net{block: program.Block{Parent: -1}}
		reach := rapid.IntRange(1, 40).Draw(r, "reach")
		for i := range rapid.IntRange(1, 80).Draw(r, "operators") {
			var from []int
			for range rapid.IntRange(0, min(i, 4)).Draw(r, "inputs") {
				from = append(from, rapid.IntRange(max(0, i-reach), i-1).Draw(r, "input"))
			}
			kind := rapid.SampledFrom([]string{"feed", "fetch", "fc", "W", strings.Repeat("W", 90), "elementwise_add"}).Draw(r, "type")
			n.op(kind, from...)
		}
		checkSheet(t, &program.Program{Blocks: []program.Block{n.block}})
	})
}

// TestReal draws what Paddle wrote, and where it is there what was made as it writes.
func TestReal(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.pdmodel")
	if err != nil || len(files) < 4 {
		t.Errorf("%v, %v, want the models of testdata", files, err)
	}
	for _, name := range []string{"branches", "loops", "norm", "tower", "wide"} {
		files = append(files, "../testdata/"+name+".json")
	}
	for _, pattern := range []string{"paddle-real/*/__model__", "paddle-real/*/*.pdmodel", "golden/paddle/*/__model__", "golden/paddle/*/*.pdmodel"} {
		found, _ := filepath.Glob("../../../shared/" + pattern)
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Decode(data)
		if err != nil && strings.Contains(file, "golden") {
			continue // some are damaged on purpose
		}
		if err != nil {
			t.Fatal(err)
		}
		s := checkSheet(t, p)
		var out bytes.Buffer
		if err := SVG(&out, p); err != nil || strings.HasSuffix(file, "custom_gap.pdmodel") && boxesOf(t, out.Bytes()) != 13 {
			t.Errorf("%s: %v, %d boxes, want 13", file, err, boxesOf(t, out.Bytes()))
		}
		if len(s.nodes) == 0 {
			t.Errorf("%s: nothing is drawn", file)
		}
	}
}
