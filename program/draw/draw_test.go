package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/program"
)

func dense(name string, keep bool, dims ...int64) program.Var {
	return program.Var{Name: name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32, Dims: dims, Persistable: keep}
}

// linear is y = x w, with a name that neither SVG nor Graphviz may take as it is.
func linear(t testing.TB) *program.Program {
	t.Helper()
	slot := func(name string, args ...string) program.Slot { return program.Slot{Name: name, Args: args} }
	p, err := program.New([]program.Block{{Parent: -1,
		Vars: []program.Var{{Name: "feed", Kind: program.VarType_FEED_MINIBATCH, Persistable: true}, dense("x", false, -1, 2),
			dense("w", true, 2, 1), dense("<\"y\\\x01>", false, -1, 1)},
		Ops: []program.Op{
			{Type: "feed", In: []program.Slot{slot("X", "feed")}, Out: []program.Slot{slot("Out", "x")}},
			{Type: "mul", In: []program.Slot{slot("X", "x"), slot("Y", "w")}, Out: []program.Slot{slot("Out", "<\"y\\\x01>")},
				Attrs: []program.Attr{{Name: "axis", Type: program.AttrType_INT, Value: int64(1)}, {Name: "op_role", Type: program.AttrType_INT, Value: int64(0)}}},
			{Type: "fetch", In: []program.Slot{slot("X", "<\"y\\\x01>")}, Out: []program.Slot{slot("Out", "fetch")}},
		}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, linear(t)); err != nil {
		t.Fatal(err)
	}
	want := `#  OPERATOR  TAKES                                   GIVES                   SETTINGS
0  feed      feed                                    x float32[-1,2]         
1  mul       x float32[-1,2], w float32[2,1] (8 B)   <"y\?> float32[-1,1]    axis=1
2  fetch     <"y\?> float32[-1,1]                    fetch                   
`
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestDot(t *testing.T) {
	var out bytes.Buffer
	if err := Dot(&out, linear(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`b0_0 [label="feed\nx float32[-1,2]", style=rounded];`, `b0_1 [label="mul\nY w float32[2,1]"];`,
		`b0_1 -> b0_2 [label="<\"y\\?> float32[-1,1]"];`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// boxes reads a picture as XML and gives the boxes of operators.
func boxes(t interface{ Fatalf(string, ...any) }, svg []byte) (all [][4]float64) {
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		e, ok := tok.(xml.StartElement)
		if !ok || e.Name.Local != "rect" {
			continue
		}
		var box [4]float64
		round := false
		for _, a := range e.Attr {
			for k, name := range []string{"x", "y", "width", "height"} {
				if a.Name.Local == name {
					fmt.Sscan(a.Value, &box[k])
				}
			}
			round = round || a.Name.Local == "rx"
		}
		if round {
			all = append(all, box)
		}
	}
}

func TestSVG(t *testing.T) {
	var out bytes.Buffer
	if err := SVG(&out, linear(t)); err != nil {
		t.Fatal(err)
	}
	if n := len(boxes(t, out.Bytes())); n != 3 {
		t.Errorf("%d boxes, want 3", n)
	}
	if !strings.Contains(out.String(), "&lt;&#34;y") {
		t.Error("names are not escaped")
	}
}

// TestNoOverlap draws random networks: no box lies on another, and every line goes down.
func TestNoOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := program.Block{Parent: -1}
		n := rapid.IntRange(1, 30).Draw(t, "operators")
		for i := range n {
			b.Vars = append(b.Vars, dense(fmt.Sprintf("v%d", i), false, 1))
			o := program.Op{Type: strings.Repeat("o", rapid.IntRange(1, 20).Draw(t, "name")), Out: []program.Slot{{Name: "Out", Args: []string{b.Vars[i].Name}}}}
			for range rapid.IntRange(0, min(i, 3)).Draw(t, "inputs") {
				o.In = append(o.In, program.Slot{Name: "X", Args: []string{fmt.Sprintf("v%d", rapid.IntRange(0, i-1).Draw(t, "input"))}})
			}
			b.Ops = append(b.Ops, o)
		}
		p := &program.Program{Blocks: []program.Block{b}}
		pic := build(p, 0)
		pic.layout()
		for i := range pic.nodes {
			for j := range i {
				x, y := pic.nodes[i], pic.nodes[j]
				if x.layer == y.layer && math.Abs(x.x-y.x) < (x.w+y.w)/2+between-0.01 {
					t.Fatalf("boxes %d and %d of layer %d lie on each other", i, j, x.layer)
				}
			}
		}
		for _, e := range pic.edges {
			path := e.path()
			for k := 1; k < len(path); k++ {
				if pic.nodes[path[k]].y <= pic.nodes[path[k-1]].y {
					t.Fatalf("the line %s does not go down", e.label)
				}
			}
		}
		var out bytes.Buffer
		if err := SVG(&out, p); err != nil || len(boxes(t, out.Bytes())) != n {
			t.Fatalf("%v, %d boxes, want %d", err, len(boxes(t, out.Bytes())), n)
		}
	})
}

// TestReal draws what Paddle wrote.
func TestReal(t *testing.T) {
	data, err := os.ReadFile("../../../shared/paddle-real/custom_gap/custom_gap.pdmodel")
	if err != nil {
		t.Skip("no real files: ", err)
	}
	p, err := program.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := SVG(&out, p); err != nil || len(boxes(t, out.Bytes())) != 13 {
		t.Errorf("%v, %d boxes, want 13", err, len(boxes(t, out.Bytes())))
	}
}

func TestNames(t *testing.T) {
	for elem, want := range map[program.VarType_Type]string{program.VarType_FP32: "float32", program.VarType_BF16: "bfloat16",
		program.VarType_INT64: "int64", program.VarType_FP8_E4M3FN: "float8_e4m3fn", program.VarType_BOOL: "bool"} {
		if got := ElemName(elem); got != want {
			t.Errorf("%v is %s, want %s", elem, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1720: "1.72 kB", 5e9: "5 GB", 3e18: "3e+06 TB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if Shape(nil) != "?" {
		t.Error(Shape(nil))
	}
}
