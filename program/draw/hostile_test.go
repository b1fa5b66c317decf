package draw

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/program"
)

// TestHostile draws topologies that nobody would train: the picture stays bounded, and says what it leaves out.
func TestHostile(t *testing.T) {
	huge := strings.Repeat("Ж\x00<W", 40_000)
	slot := func(args ...string) []program.Slot { return []program.Slot{{Name: huge, Args: args}} }
	long := program.Block{Parent: -1}
	for i := range maxBoxes + 500 {
		o := program.Op{Type: "fc", Out: slot(fmt.Sprint(i))}
		o.In = slot(fmt.Sprint(i-1), fmt.Sprint(i/2), fmt.Sprint(i/3), fmt.Sprint(i%17), fmt.Sprint(i-40))
		long.Ops = append(long.Ops, o)
	}
	var many []string
	broad := program.Block{Parent: -1}
	for i := range 2000 {
		many = append(many, fmt.Sprint(i))
		broad.Ops = append(broad.Ops, program.Op{Type: "feed", Out: slot(many[i])})
	}
	for range 100 {
		broad.Ops = append(broad.Ops, program.Op{Type: "concat", In: slot(many...), Out: slot("y")})
	}
	loop := program.Block{Parent: -1, Ops: []program.Op{
		{Type: "a", In: slot("y"), Out: slot("x")}, {Type: "b", In: slot("x"), Out: slot("y")},
		{Type: "c", In: slot("x", "x", "y"), Out: slot("x")}, {Type: "d", In: slot("x"), Out: slot("x", "x")}}}
	names := program.Block{Parent: -1, Vars: []program.Var{dense(huge, false, make([]int64, 10_000)...), {Name: "p", Persistable: true}},
		Ops: []program.Op{{Type: huge, Out: slot(huge), Attrs: []program.Attr{{Name: huge, Value: []string{huge}}, {Name: "n"}}},
			{Type: huge, In: slot(huge, "p"), Out: slot("y")}, {Type: "cast", In: slot("y"), Attrs: []program.Attr{{Name: "dtype", Value: int64(1 << 40)}}}}}
	parts, dims := program.Block{Parent: -1}, program.Block{Parent: -1, Vars: []program.Var{dense("v", false, make([]int64, 100_000)...)}}
	parts.Ops = []program.Op{{Type: "pd_op.data", Out: slot("0")}, {Type: "builtin.combine", In: slot(slices.Repeat(many, 100)...), Out: slot("list")}}
	for i := range maxBoxes {
		parts.Ops = append(parts.Ops, program.Op{Type: "concat", In: slot("list"), Out: slot(fmt.Sprint("made", i))})
		dims.Ops = append(dims.Ops, program.Op{Type: "relu", In: slot("v"), Out: slot("v")})
	}
	nested := &program.Program{}
	for b := range maxBoxes + 1000 {
		nested.Blocks = append(nested.Blocks, program.Block{Parent: b - 1, Ops: []program.Op{{Type: "while", In: slot(fmt.Sprint("none", b))}}})
	}
	for name, p := range map[string]*program.Program{
		"long": {Blocks: []program.Block{long}}, "broad": {Blocks: []program.Block{broad}}, "loop": {Blocks: []program.Block{loop}},
		"parts": {Blocks: []program.Block{parts}}, "dims": {Blocks: []program.Block{dims}}, "names": {Blocks: []program.Block{names}}, "nested": nested, "empty": {Blocks: []program.Block{{Parent: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := SVG(&out, p); err != nil {
				t.Fatal(err)
			}
			ops := 0
			for b := range p.Blocks {
				for _, o := range p.Blocks[b].Ops {
					if o.Type != "builtin.combine" {
						ops++
					}
				}
			}
			if n, most := boxesOf(t, out.Bytes()), min(ops, maxBoxes); n != most {
				t.Errorf("%d boxes, want %d", n, most)
			}
			left := fmt.Sprintf("… and %d more operators, which are not drawn", ops-maxBoxes)
			if strings.Contains(out.String(), left) != (ops > maxBoxes) {
				t.Errorf("with %d operators the picture says %q: %v", ops, left, ops <= maxBoxes)
			}
			if most := 10_000*min(ops, maxBoxes) + 10_000; out.Len() > most {
				t.Errorf("%d bytes, want at most %d", out.Len(), most)
			}
			if err := Text(io.Discard, p); err != nil {
				t.Error(err)
			}
			if err := Dot(io.Discard, p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCrowd counts the bends of a network in which every operator takes from far above: few lines pass each row.
func TestCrowd(t *testing.T) {
	n := &net{block: program.Block{Parent: -1}}
	for i := range 400 {
		var from []int
		for k := 1; k <= 5 && i >= k*31; k++ {
			from = append(from, i-k*31)
		}
		if i > 0 {
			from = append(from, i-1)
		}
		n.op("fc", from...)
	}
	p := &program.Program{Blocks: []program.Block{n.block}}
	checkSheet(t, p)
	pic := build(newScope(p), 0, maxBoxes).draw()
	again := 0
	for r, row := range pic.rows {
		bends := 0
		for _, i := range row {
			switch pic.nodes[i].kind {
			case isBend:
				bends++
			case isAgain:
				again++
			}
		}
		if bends > manyLines {
			t.Errorf("%d lines pass row %d, want at most %d", bends, r, manyLines)
		}
	}
	if again == 0 {
		t.Error("no line is cut")
	}
}

// passing counts the lines that pass each row. Where a line is cut it begins anew right above the box.
func passing(p *picture, cut map[way]bool) []int {
	lines, joined := make([]int, len(p.rows)), map[int]int{} // the row where the first line begins that others join, by box
	count := func(w way, first, last int) {
		for r := first; r <= last && !cut[w]; r++ {
			lines[r]++
		}
	}
	for v := range p.values {
		start := p.start(v)
		at := start
		for _, to := range p.taking(p.values[v]) {
			if first, ok := joined[to]; !p.joins(to, start) {
				count(way{v, to}, at+1, p.nodes[to].row-1)
				at = p.nodes[to].row - 1
			} else if !ok || start < first {
				joined[to] = start
			}
		}
	}
	for to, start := range joined {
		count(way{-1, to}, start+1, p.nodes[to].row-1)
	}
	return lines
}

// TestCrowded draws random crowds: lines are cut only where more pass a row than there is room for, and then no row has more.
func TestCrowded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	met := map[int]int{} // crowds, by the lines that pass the fullest row
	for range 5000 {
		p := &picture{graph: &graph{}, rows: make([][]int, 30)}
		add := func(kind kind, row int) int {
			p.boxes, p.nodes = append(p.boxes, box{kind: kind}), append(p.nodes, node{kind: kind, row: row})
			return len(p.boxes) - 1
		}
		var takers, from []int // the latter take all values that begin from a row on
		for range 1 + rng.IntN(16) {
			takers = append(takers, add(isOp, 3+rng.IntN(27)))
			from = append(from, rng.IntN(30))
		}
		rows := make([]int, 8+rng.IntN(40))
		for i := range rows {
			rows[i] = rng.IntN(25)
		}
		if rng.IntN(2) == 0 {
			slices.Sort(rows)
		}
		for _, row := range rows {
			one := rng.IntN(2 * len(takers))
			v := value{from: add([]kind{isOp, isInput}[rng.IntN(2)], row)}
			for i, to := range takers {
				if (i == one || row >= from[i]) && p.nodes[to].row > row {
					v.to = append(v.to, to)
					p.boxes[to].takes = append(p.boxes[to].takes, len(p.values))
				}
			}
			p.values = append(p.values, v)
		}
		most, cut := slices.Max(passing(p, nil)), p.crowded()
		if met[most]++; (len(cut) > 0) != (most > manyLines) {
			t.Fatalf("%d lines pass a row of %v, cut are %v", most, p.values, cut)
		}
		if left := slices.Max(passing(p, cut)); left > manyLines {
			t.Fatalf("%d lines pass a row of %v where %v are cut", left, p.values, cut)
		}
	}
	if met[manyLines] < 20 || met[manyLines+1] < 20 {
		t.Errorf("crowds by size %v, want many at the bound", met)
	}
}

// TestLongest cuts the long lines of a crowd, or the one that ends last.
func TestLongest(t *testing.T) {
	nine := []int{6, 6, 6, 6, 6, 6, 6, 6, 6}
	for _, c := range []struct {
		ends, want []int // the row where each line ends, and which are cut
	}{
		{append([]int{40}, nine...), nil}, // ten have room
		{append([]int{6, 40}, nine...), []int{1}},
		{append([]int{12, 12}, nine...), []int{0, 1}}, // from row 2 on: ten rows and one more
		{append([]int{11, 11}, nine...), []int{0}},
		{append([]int{7, 11}, nine...), []int{1}},
		{append([]int{7, 8, 8}, nine...), []int{1, 2}},
		{append([]int{12, 8, 8}, nine...), []int{0, 1}}, // first the long one, and that is not enough
	} {
		p := &picture{graph: &graph{}, rows: make([][]int, 50)}
		for i, end := range c.ends {
			p.boxes = append(p.boxes, box{kind: isOp}, box{kind: isOp, takes: []int{i}})
			p.nodes = append(p.nodes, node{row: 0}, node{row: end + 1})
			p.values = append(p.values, value{from: 2 * i, to: []int{2*i + 1}})
		}
		var got []int
		for w := range p.crowded() {
			if p.crowded()[w] {
				got = append(got, w.value)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("of lines to rows %v, %v are cut, want %v", c.ends, got, c.want)
		}
	}
}
