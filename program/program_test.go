package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"thole.example/blob"
	"thole.example/format"
)

// small is a program with an attribute of every type that programs are made with.
func small() []Block {
	return []Block{{Parent: -1,
		Vars: []Var{
			{Name: "feed", Kind: VarType_FEED_MINIBATCH, Persistable: true},
			{Name: "w", Kind: VarType_DENSE_TENSOR, Typed: true, Elem: VarType_FP32, Dims: []int64{3, 2}, Persistable: true, Parameter: true},
			{Name: "a", Kind: VarType_SELECTED_ROWS, Typed: true, Elem: VarType_INT64, Dims: []int64{5}, Persistable: true},
			{Name: "x", Kind: VarType_DENSE_TENSOR, Typed: true, Elem: VarType_FP32, Dims: []int64{-1, 3}, LoDLevel: 1, NeedFeed: true},
		},
		Ops: []Op{{Type: "every", In: []Slot{{"X", []string{"x", "w"}}, {"None", nil}}, Out: []Slot{{"Out", []string{"y"}}}, Target: true,
			Attrs: []Attr{
				{"i", AttrType_INT, int64(-5)}, {"l", AttrType_LONG, int64(math.MinInt64)}, {"b", AttrType_BOOLEAN, true},
				{"f", AttrType_FLOAT, 0.5}, {"d", AttrType_FLOAT64, math.Pi}, {"s", AttrType_STRING, "text"},
				{"is", AttrType_INTS, []int64{1, -2}}, {"ls", AttrType_LONGS, []int64{1 << 40}}, {"bs", AttrType_BOOLEANS, []bool{true, false}},
				{"fs", AttrType_FLOATS, []float64{1.5}}, {"ds", AttrType_FLOAT64S, []float64{math.E}}, {"ss", AttrType_STRINGS, []string{"a", ""}},
				{"k", AttrType_BLOCK, int64(1)},
			}}}},
		{Parent: 0}}
}

// TestNew writes a program and reads it back.
func TestNew(t *testing.T) {
	p, err := New(small(), 2_006_001)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := SameGraph(p, q); err != nil {
		t.Errorf("%v:\n%+v, want\n%+v", err, q.Blocks, p.Blocks)
	}
	if q.VersionText() != "version 2006001 (release 2.6.1)" {
		t.Error(q.VersionText())
	}
	again, err := q.Encode()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("% x, want % x, %v", again, data, err)
	}
	var names []string
	for _, v := range q.Params() {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, []string{"a", "w"}) {
		t.Errorf("parameters %v, want a and w", names)
	}
}

// TestNewRefuses gives values that their attributes cannot hold, and wrong blocks.
func TestNewRefuses(t *testing.T) {
	for _, a := range []Attr{{"x", AttrType_INT, int64(1 << 40)}, {"x", AttrType_INTS, []int64{1 << 40}}, {"x", AttrType_STRING, int64(1)},
		{"x", AttrType_LONG, "1"}, {"x", AttrType_SCALAR, 1.0}, {"x", AttrType_BOOLEAN, nil}, {"x", AttrType_LONGS, []string{"a"}}} {
		if _, err := New([]Block{{Parent: -1, Ops: []Op{{Type: "op", Attrs: []Attr{a}}}}}, 0); err == nil {
			t.Errorf("%+v: no error", a)
		}
	}
	for what, blocks := range map[string][]Block{
		"no block": nil, "parent": {{Parent: 0}}, "no type": {{Parent: -1, Ops: []Op{{}}}},
		"twice": {{Parent: -1, Vars: []Var{{Name: "a"}, {Name: "a"}}}},
	} {
		if _, err := New(blocks, 0); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
	}
}

// TestUnknownFields keeps what the schema does not know, and values that are defaults.
func TestUnknownFields(t *testing.T) {
	data := []byte("\x0a\x0d\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + "\xa2\x1f\x03abc")
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Encode(); err != nil || !bytes.Equal(got, data) {
		t.Errorf("% x, want % x, %v", got, data, err)
	}
	for text, want := range map[string]string{
		"no version": p.VersionText(), "no version (release 0.11)": (&Program{Form: FormEarly}).VersionText(),
		"version 0 (a development build)": (&Program{HasVersion: true}).VersionText(),
		"version -3 (no release)":         (&Program{HasVersion: true, Version: -3}).VersionText(),
	} {
		if text != want {
			t.Errorf("%q, want %q", want, text)
		}
	}
}

// TestEarly reads and writes a program of release 0.11.
func TestEarly(t *testing.T) {
	tensor := &VarType_TensorDesc{DataType: VarType_FP32.Enum(), Dims: []int64{4}}
	d := &EarlyProgramDesc{Blocks: []*EarlyBlockDesc{{Idx: proto.Int32(0), ParentIdx: proto.Int32(-1),
		Vars: []*EarlyVarDesc{
			{Name: proto.String("b"), Type: EarlyVarDesc_LOD_TENSOR.Enum(), Persistable: proto.Bool(true),
				LodTensor: &VarType_DenseTensorDesc{Tensor: tensor, LodLevel: proto.Int32(1)}},
			{Name: proto.String("a"), Type: EarlyVarDesc_SELECTED_ROWS.Enum(), SelectedRows: tensor},
			{Name: proto.String("feed"), Type: EarlyVarDesc_FEED_MINIBATCH.Enum(), Persistable: proto.Bool(true)},
		},
		Ops: []*OpDesc{{Type: proto.String("relu"), Attrs: []*OpDesc_Attr{{Name: proto.String("op_role"), Type: AttrType_INT.Enum(), I: proto.Int32(1)}}}}}}}
	data, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	want := []Var{{Name: "b", Kind: VarType_DENSE_TENSOR, Typed: true, Elem: VarType_FP32, Dims: []int64{4}, LoDLevel: 1, Persistable: true},
		{Name: "a", Kind: VarType_SELECTED_ROWS, Typed: true, Elem: VarType_FP32, Dims: []int64{4}},
		{Name: "feed", Kind: VarType_FEED_MINIBATCH, Persistable: true}}
	if p.Form != FormEarly || !reflect.DeepEqual(p.Blocks[0].Vars, want) || len(p.Params()) != 1 {
		t.Errorf("%s, %+v", p.Form, p.Blocks[0].Vars)
	}
	if again, err := p.Encode(); err != nil || !bytes.Equal(again, data) {
		t.Errorf("% x, want % x, %v", again, data, err)
	}
	clean, err := p.Scrub()
	if err != nil || clean.Form != FormEarly || len(clean.Blocks[0].Ops[0].Attrs) != 0 {
		t.Errorf("scrubbed: %+v, %v", clean, err)
	}
}

// TestEarlyBlocks refuses blocks of release 0.11 that are out of order, as those of later releases.
func TestEarlyBlocks(t *testing.T) {
	for _, c := range []struct {
		blocks [][2]int32 // number and parent
		want   string
	}{
		{[][2]int32{{0, -1}, {1, 0}}, ""},
		{[][2]int32{{0, -1}, {2, 0}}, "block 1 has number 2"},
		{[][2]int32{{0, -1}, {1, 1}}, "block 1 has parent 1"},
		{[][2]int32{{0, -2}}, "block 0 has parent -2"},
	} {
		d := &EarlyProgramDesc{}
		for i, b := range c.blocks {
			d.Blocks = append(d.Blocks, &EarlyBlockDesc{Idx: &b[0], ParentIdx: &b[1], Vars: []*EarlyVarDesc{
				{Name: proto.String(fmt.Sprint("v", i)), Type: EarlyVarDesc_LOD_RANK_TABLE.Enum()},
			}})
		}
		data, err := proto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := decodeEarly(data)
		if c.want == "" {
			if err != nil || len(p.Blocks) != len(c.blocks) {
				t.Errorf("%v: %+v, %v", c.blocks, p, err)
			}
		} else if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.blocks, err, c.want)
		}
	}
}

// TestSniffAbsent wants the error of a file that cannot be opened, not a file of no form.
func TestSniffAbsent(t *testing.T) {
	if form, err := sniffFile(t.Context(), &blob.Mem{}, "a"); form != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q, %v, want fs.ErrNotExist", form, err)
	}
}

// TestLeaks counts the text of real files as others counted it, and scrubs it.
func TestLeaks(t *testing.T) {
	texts := map[string]int{"testdata/tower.pdmodel": 4397}
	for file, text := range map[string]int{"uci_housing_model/__model__": 3559, "custom_gap/custom_gap.pdmodel": 11990} {
		for _, path := range present(t, filepath.Join(realDir, file)) {
			texts[path] = text
		}
	}
	for file, text := range texts {
		data := readFile(t, file)
		p, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		leaks, whole, err := p.Leaks()
		if err != nil || whole != len(data) || leaks[0].Attr != "op_callstack" || leaks[0].Text != text || leaks[0].Bytes <= text {
			t.Errorf("%s: %+v of %d, %v, want %d bytes of op_callstack", file, leaks, whole, err, text)
		}
		clean, err := p.Scrub()
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, l := range leaks {
			total += l.Bytes
		}
		left, lean, _ := clean.Leaks()
		if len(left) != 0 || SameGraph(p, clean) != nil || lean >= len(data)-total {
			t.Errorf("%s: %d of %d bytes remain, with %+v", file, lean, len(data), left)
		}
	}
	for _, file := range present(t, goldenDir+"/model_linear/__model__.callstack") {
		scrubbed, _ := Decode(readFile(t, file))
		scrubbed, err := scrubbed.Scrub()
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := Decode(readFile(t, strings.TrimSuffix(file, ".callstack")))
		if err := SameGraph(scrubbed, plain); err != nil {
			t.Errorf("the scrubbed golden model is not the plain one: %v", err)
		}
	}
}

// TestScrubTwice finds nothing in what was scrubbed, and leaves it as it is.
func TestScrubTwice(t *testing.T) {
	for _, file := range []string{"branches.pdmodel", "loops.pdmodel", "norm.pdmodel", "loops.json"} {
		p, data := saved(t, file)
		leaks, _, err := p.Leaks()
		if err != nil || len(leaks) != 0 {
			t.Errorf("%s: %+v, %v, want nothing", file, leaks, err)
		}
		again, err := p.Scrub()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := again.Encode(); err != nil || !bytes.Equal(text, data) {
			t.Errorf("%s: %d other bytes than the %d of the file, %v", file, len(text), len(data), err)
		}
	}
}

func TestSameGraph(t *testing.T) {
	base := func() *Program {
		p, err := New(small(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for what, change := range map[string]func(b []Block){
		"variable": func(b []Block) { b[0].Vars[1].Dims = []int64{2, 3} },
		"operator": func(b []Block) { b[0].Ops[0].Type = "other" },
		"setting":  func(b []Block) { b[0].Ops[0].Attrs[0].Value = int64(1) },
		"parent":   func(b []Block) { b[1].Parent = -1 },
		"more":     func(b []Block) { b[1].Ops = []Op{{Type: "x"}} },
	} {
		p := base()
		change(p.Blocks)
		if SameGraph(base(), p) == nil {
			t.Errorf("another %s: no difference", what)
		}
	}
	if err := SameGraph(base(), base()); err != nil {
		t.Error(err)
	}
}

// TestAttrs reads attributes as what they are asked for.
func TestAttrs(t *testing.T) {
	i, b, f, s := Attr{"a", AttrType_INT, int64(1)}, Attr{"a", AttrType_BOOLEAN, true}, Attr{"a", AttrType_FLOAT, 0.5}, Attr{"a", AttrType_STRING, "x"}
	if v, err := i.Bool(); !v || err != nil {
		t.Error(v, err)
	}
	if v, err := b.Int(); v != 1 || err != nil {
		t.Error(v, err)
	}
	if v, err := i.Float(); v != 1 || err != nil {
		t.Error(v, err)
	}
	if v, err := i.Ints(); !slices.Equal(v, []int64{1}) || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Float(); v != 0.5 || err != nil {
		t.Error(v, err)
	}
	if v, err := s.Str(); v != "x" || err != nil {
		t.Error(v, err)
	}
	for _, wrong := range []error{second(f.Int()), second(s.Bool()), second(s.Float()), second(i.Str()), second(s.Ints()), second((Attr{}).Ints())} {
		if wrong == nil || !strings.Contains(wrong.Error(), "want") {
			t.Errorf("%v, want an error", wrong)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestLoad finds topologies and parameters by the names that releases gave them.
func TestLoad(t *testing.T) {
	p, err := New(small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := p.Encode()
	files := func(names ...string) *blob.Mem {
		b := &blob.Mem{}
		for _, n := range names {
			content := data
			if strings.HasSuffix(n, ".json") {
				content = []byte(linearPIR)
			}
			if err := blob.WriteAll(context.Background(), b, n, content); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	for _, c := range []struct {
		files              []string
		path, want, params string
		separate           bool
	}{
		{[]string{"m/__model__", "m/__params__"}, "m", "m/__model__", "m/__params__", false},
		{[]string{"m/__model__", "m/a", "m/w", "m/__params__"}, "m", "m/__model__", "", true},
		{[]string{"m/__model__", "m/a", "m/params"}, "m/__model__", "m/__model__", "m/params", false},
		{[]string{"m/n.pdmodel", "m/n.pdiparams", "m/other"}, "m", "m/n.pdmodel", "m/n.pdiparams", false},
		{[]string{"m/n.pdmodel", "m/n.pdiparams"}, "m/n", "m/n.pdmodel", "m/n.pdiparams", false},
		{[]string{"n.json", "n.pdiparams"}, "n", "n.json", "n.pdiparams", false},
		{[]string{"m/n.json", "m/n.pdiparams"}, "m", "m/n.json", "m/n.pdiparams", false},
		{[]string{"n.pdmodel"}, "n.pdmodel", "n.pdmodel", "", false},
	} {
		m, err := Load(context.Background(), files(c.files...), c.path)
		if err != nil || m.Path != c.want || m.Params != c.params || (m.Of != nil) != c.separate {
			t.Errorf("%v of %v: %+v, %v", c.path, c.files, m, err)
		}
	}
	for path, want := range map[string]error{"none": fs.ErrNotExist, "two": nil, "empty": format.ErrUnknown} {
		b := files("two/a.pdmodel", "two/b.pdmodel", "empty/x")
		if m, err := Load(context.Background(), b, path); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v, want %v", path, m, err, want)
		}
	}
	if m, err := Beside(context.Background(), files("m/__model__", "m/a", "m/w"), "m/a"); m != nil || err != nil {
		t.Errorf("the file of one variable: %+v, %v", m, err)
	}
}

// TestTruncated cuts a program at every byte, and turns bits: an error or a program that can be written again.
func TestTruncated(t *testing.T) {
	p, _ := New(small(), 1)
	data, _ := p.Encode()
	for n := range data {
		if q, err := Decode(data[:n]); err == nil && len(q.Blocks) == len(p.Blocks) && n < len(data)-4 { // the version stands last
			t.Errorf("cut at byte %d of %d: no error", n, len(data))
		}
	}
	for i := range len(data) * 8 {
		changed := bytes.Clone(data)
		changed[i/8] ^= 1 << (i % 8)
		tryDecode(t, changed)
	}
}

// tryDecode decodes and, if that succeeds, uses what came out.
func tryDecode(t *testing.T, data []byte) {
	p, err := Decode(data)
	if err != nil {
		w := format.Wrap(name, "x", err)
		if !errors.Is(w, format.ErrCorrupt) && !errors.Is(w, format.ErrLimit) && !errors.Is(w, format.ErrVersion) {
			t.Fatalf("%v wraps no error of package format", err)
		}
		return
	}
	again, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(again)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	if err := SameGraph(p, q); err != nil && !strings.Contains(fmt.Sprintf("%+v", p.Blocks), "NaN") {
		t.Fatalf("other program after writing: %v", err)
	}
	if _, _, err := p.Leaks(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Scrub(); err != nil {
		t.Fatal(err)
	}
}

func FuzzDecode(f *testing.F) {
	p, _ := New(small(), 1)
	data, _ := p.Encode()
	f.Add(data)
	f.Add([]byte(linearPIR))
	for _, file := range []string{"bad/p_trunc_program.bin", "bad/p_missing_required.bin", "bad/p_deep_len.bin", "model_linear/__model__"} {
		if data, err := os.ReadFile(filepath.Join(goldenDir, file)); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { tryDecode(t, data) })
}

// BenchmarkDecode reads a topology of about 900 kB whose operators have call stacks, as those of real image models.
func BenchmarkDecode(b *testing.B) {
	stack := make([]string, 28)
	for i := range stack {
		stack[i] = fmt.Sprintf("  File \"train.py\", line %d, in a function with a long name of its own", i)
	}
	block := Block{Parent: -1}
	for i := range 360 {
		block.Vars = append(block.Vars, Var{Name: fmt.Sprintf("batch_norm_%d.tmp_2", i), Kind: VarType_DENSE_TENSOR, Typed: true,
			Elem: VarType_FP32, Dims: []int64{-1, 64, 7, 7}})
		o := Op{Type: "batch_norm", Out: []Slot{{"Y", []string{block.Vars[i].Name}}}, Attrs: []Attr{{"op_callstack", AttrType_STRINGS, stack}}}
		for _, slot := range []string{"X", "Scale", "Bias", "Mean", "Variance"} {
			o.In = append(o.In, Slot{slot, []string{block.Vars[i].Name}})
		}
		for k := range 12 {
			o.Attrs = append(o.Attrs, Attr{fmt.Sprintf("setting_%d", k), AttrType_FLOAT, 0.5})
		}
		block.Ops = append(block.Ops, o)
	}
	p, err := New([]Block{block}, 2_000_002)
	if err != nil {
		b.Fatal(err)
	}
	data, _ := p.Encode()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
