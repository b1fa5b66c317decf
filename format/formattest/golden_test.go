package formattest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"thole.example/format"
	"thole.example/matrix"
)

const archive = `By hand.
-- cells --
format some
file graph.json
file notes.txt "all \"good\""
matrix w f32 2 x 2 dense
labels "a" "b c"
0 0 0.1
0 1 NaN
1 0 -0
1 1 0x7fc00001
matrix "s p" i8 4 x 6 sparse
first -2
saved 0 3
sequences 0 4
0 -2 -128
3 3 127
matrix f f64 1 x 3 dense
types u8 bf16 bool
shape 3
0 0 255
0 1 -1.5
0 2 1
-- options --
base 0
note two words
-- write --
-- model/graph.json --
{}
-- model/w.hex --
# head
02 00  rows 2
ff*3  padding
` + "`{\"a\": 1}`  header\n\"\\x00\\n\"\n"

func parsed(t *testing.T, text string) *Golden {
	t.Helper()
	g, err := parse(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParse(t *testing.T) {
	g := parsed(t, archive)
	if g.Format != "some" || g.Path != "model" || fmt.Sprint(g.Options) != "map[base:0 note:two words]" || g.Write == nil || len(g.Write) != 0 {
		t.Errorf("%+v", g)
	}
	if got := string(g.Files["model/w"]); got != "\x02\x00\xff\xff\xff{\"a\": 1}\x00\n" || string(g.Files["model/graph.json"]) != "{}\n" {
		t.Errorf("files %q", g.Files)
	}
	r := g.Reader()
	if got := fmt.Sprintf("%q", r.Files()); got != `map["graph.json":"{}\n" "notes.txt":"all \"good\""]` {
		t.Errorf("beside %s", got)
	}
	var text []string
	for _, m := range r.Matrices() {
		for b, err := range r.Blocks(context.Background(), m.Name, m.Rect()) {
			if err != nil || b.Check() != nil {
				t.Fatal(err, b.Check())
			}
			text = append(text, fmt.Sprint(m.Name, b.At, b.Data.DType()))
			_ = b.EachText(func(row, col int64, v []byte) error {
				text = append(text, fmt.Sprintf("%d %d %s", row, col, v))
				return nil
			})
		}
	}
	at := func(name string, r matrix.Rect, d matrix.DType) string { return fmt.Sprint(name, r, d) }
	want := []string{at("w", matrix.At(0, 2, 0, 2), matrix.F32), "0 0 0.1", "0 1 NaN", "1 0 -0", "1 1 NaN",
		at("s p", matrix.At(0, 1, -2, 4), matrix.I8), "0 -2 -128", at("s p", matrix.At(3, 4, -2, 4), matrix.I8), "3 3 127",
		at("f", matrix.At(0, 1, 0, 1), matrix.U8), "0 0 255", at("f", matrix.At(0, 1, 1, 2), matrix.BF16), "0 1 -1.5",
		at("f", matrix.At(0, 1, 2, 3), matrix.Bool), "0 2 1"}
	if strings.Join(text, "|") != strings.Join(want, "|") {
		t.Errorf("read %q, want %q", text, want)
	}
}

// TestParseRefuses changes one line of a good archive.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"By hand.\n", "", "no comment"},
		{"format some\n", "", "want some"},
		{"matrix w f32", "matrix w f99", "element type"},
		{"2 x 2 dense", "2 x 2 thick", "want dense or sparse"},
		{"2 x 2 dense", "3 x 2 dense", "4 cells, want 3 x 2"},
		{"2 x 2 dense", "y x 2 dense", "invalid syntax"},
		{`labels "a"`, "labels", "labels"},
		{`"b c"`, `"b c`, "invalid syntax"},
		{"saved 0", "safed 0", `"safed", want labels`},
		{"types u8", "types u7", "element type"},
		{"shape 3", "shape 4", "shape"},
		{"first -2", "first x", "invalid syntax"},
		{"0 0 0.1", "0 0 0.1 2", "4 words"},
		{"0 0 0.1", "0 0 1e99", "out of range"},
		{"0 1 NaN", "0 0 NaN", "a cell that was before"},
		{"-128", "-129", "out of range"},
		{"0 0 255", "0 0 256", "out of range"},
		{"0 1 -1.5", "0 1 -1.501", "holds -1.5"},
		{"0 2 1", "0 2 2", "invalid syntax"},
		{"0x7fc00001", "0x17fc00001", "out of range"},
		{"02 00  rows", "02 0  rows", "a byte of two digits"},
		{"02 00  rows", "0200  rows", "a byte of two digits"},
		{"ff*3", "ff*0", "a byte of two digits"},
		{"`  header", "` header", "want two spaces"},
		{"-- model/w.hex", "-- other/w.hex", "want one file or one folder"},
	} {
		changed := strings.Replace(archive, c.old, c.new, 1)
		if changed == archive {
			t.Errorf("%q is not in the archive", c.old)
		}
		if _, err := parse(txtar.Parse([]byte(changed))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v, want an error with %q", c.new, c.old, err, c.want)
		}
	}
}

// TestCompare holds readers that differ in one thing to the archive.
func TestCompare(t *testing.T) {
	g, ctx := parsed(t, archive), context.Background()
	if err := g.Compare(ctx, g.Reader()); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"0 0 0.1", "0 0 0.10000001", "cell (0,0) is 0.10000001"},
		{"1 0 -0", "1 0 0", "cell (1,0) is 0, bits 0, want bits 80000000"},
		{"0x7fc00001", "0x7fc00000", "cell (1,1) is NaN, bits 7fc00000, want bits 7fc00001"},
		{"0 1 NaN", "0 1 1", "cell (0,1) is 1"},
		{"0 1 NaN", "0 1 0xffc12345", ""},
		{"3 3 127", "3 2 127", "cell (3,2) is 127, want none"},
		{"3 3 127\n", "", "no cell (3,3)"},
		{`"s p" i8`, `"s p" i16`, "element types"},
		{`"s p" i8 4`, `"s p" i8 5`, "5 x 6"},
		{"matrix w", "matrix v", "matrix v"},
		{"6 sparse", "6 dense\n0 -1 0\n0 0 0\n0 1 0\n0 2 0\n0 3 0\n3 -2 0\n3 -1 0\n3 0 0\n3 1 0\n3 2 0", "dense, want s p"},
		{`"b c"`, `"b"`, "names of columns"},
		{"types u8", "types i16", "element types"},
		{"first -2", "first -3\n3 -3 1", "first column"},
		{"saved 0 3\n", "", "stored cells"},
		{"sequences 0 4", "sequences 0 1 4", "sequences"},
		{"shape 3", "shape 1 3", "shape"},
		{"{}\n", "[]\n", "graph.json"},
		{"file notes.txt \"all \\\"good\\\"\"\n", "", "notes.txt"},
	} {
		changed := strings.Replace(archive, c.old, c.new, 1)
		if changed == archive {
			t.Errorf("%q is not in the archive", c.old)
		}
		err := g.Compare(ctx, parsed(t, changed).Reader())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v, want an error with %q", c.new, c.old, err, c.want)
		}
	}
	if err := g.Compare(ctx, twice{g.Reader()}); err == nil || !strings.Contains(err.Error(), "cell (0,0) twice") {
		t.Errorf("blocks that come twice: %v", err)
	}
}

// twice gives every block two times.
type twice struct{ format.Reader }

func (r twice) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for range 2 {
			for b, err := range r.Reader.Blocks(ctx, name, want) {
				if !yield(b, err) {
					return
				}
			}
		}
	}
}
