package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

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

// boxesOf reads a picture as XML and counts the boxes of operators: those with a border that are no labels.
func boxesOf(t testing.TB, svg []byte) (n int) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("%v in %d bytes", err, len(svg))
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
			for _, k := range []kind{isOp, isInput, isOutput} {
				if slices.Contains(e.Attr, xml.Attr{Name: xml.Name{Local: "stroke"}, Value: looks[k].border}) {
					n++
				}
			}
		}
	}
}

func TestSVG(t *testing.T) {
	var out bytes.Buffer
	if err := SVG(&out, linear(t)); err != nil {
		t.Fatal(err)
	}
	if n := boxesOf(t, out.Bytes()); n != 3 {
		t.Errorf("%d boxes, want 3", n)
	}
	if !strings.Contains(out.String(), "&lt;&#34;y") {
		t.Error("names are not escaped")
	}
	for _, rare := range []string{"paint-order", "<marker", "<style", "textLength"} { // what some viewers do not know
		if strings.Contains(out.String(), rare) {
			t.Errorf("%s in\n%s", rare, out.String())
		}
	}
}

// TestTextWidth compares with the widths that the fonts DejaVu Sans and Liberation Sans give, the broader of both, in
// parts of the size.
func TestTextWidth(t *testing.T) {
	for _, c := range []struct {
		text        string
		plain, bold float64
	}{
		{"conv2d", 3.658, 4.055},
		{"elementwise_add", 8.738, 9.756},
		{"WWWWMMMM", 7.406, 8.393},
		{"iiiiillll", 2.500, 3.085},
		{"float32[-1,3,224,224]", 10.704, 12.044},
		{"save_infer_model/scale_0.tmp_0", 16.250, 17.983},
		{"strides=[1,1] paddings=[0,0]", 14.692, 16.481},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 17.613, 19.627},
		{"abcdefghijklmnopqrstuvwxyz", 14.646, 16.539},
		{"0123456789", 6.362, 6.958},
		{"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ", 18.230, 19.492},
		{"Жук…→", 4.111, 4.393},
	} {
		for bold, want := range map[bool]float64{false: c.plain, true: c.bold} {
			if got := textWidth(c.text, 100, bold); got < want*100 {
				t.Errorf("%q (bold: %v) is %v wide, want at least %v", c.text, bold, got, want*100)
			}
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "abcdefghijklmnop": "abcdef…nop", "ЖЖЖЖЖ": "ЖЖЖЖЖ",
		strings.Repeat("Ж", 99): "ЖЖЖЖЖЖ…ЖЖЖ", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff": "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd…\ufffd\ufffd\ufffd"} {
		if got := cut(text, 10); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for elem, want := range map[program.VarType_Type]string{program.VarType_FP32: "float32", program.VarType_BF16: "bfloat16",
		program.VarType_INT64: "int64", program.VarType_FP8_E4M3FN: "float8_e4m3fn", program.VarType_BOOL: "bool"} {
		if got := ElemName(elem); got != want {
			t.Errorf("%v is %s, want %s", elem, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1: "1 B", 999: "999 B", 1000: "1 kB", 1720: "1.72 kB", 999_499: "999 kB", 999_500: "1 MB",
		999_999: "1 MB", 1e6: "1 MB", 5e9: "5 GB", 999.4e12: "999 TB", 1e15: "1 PB", 3e18: "3 EB", math.MaxInt64: "9.22 EB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	if Shape(nil) != "?" {
		t.Error(Shape(nil))
	}
}
