package draw

import (
	"bytes"
	"fmt"
	"io"
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
