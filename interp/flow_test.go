package interp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/program"
)

// savedDir has models that Paddle saved, with what it computed.
const savedDir = "../program/testdata"

// flat are the numbers of nested lists, and the lengths of the lists.
func flat(v any) (dims []int, values []float32) {
	list, ok := v.([]any)
	if !ok {
		return nil, []float32{float32(v.(float64))}
	}
	var inner []int
	for _, one := range list {
		d, more := flat(one)
		inner, values = d, append(values, more...)
	}
	return slices.Concat([]int{len(list)}, inner), values
}

// TestSaved runs models with normalization and control flow in both forms and compares what Paddle computed.
func TestSaved(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(savedDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string][]struct {
		X   any
		Out []struct {
			Shape  []int
			Values []float32
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for name, cases := range expected {
		for _, ext := range []string{".json", ".pdmodel"} {
			m := load(t, savedDir, name+ext)
			for i, c := range cases {
				dims, x := flat(c.X)
				got, err := m.Run(context.Background(), map[string]*Tensor{"x": Floats(x, dims...)})
				if err != nil || len(got) != len(c.Out) {
					t.Fatalf("%s%s, case %d: %d outputs (%v), want %d", name, ext, i, len(got), err, len(c.Out))
				}
				for k, want := range c.Out {
					if !slices.Equal(got[k].Tensor.Dims, want.Shape) {
						t.Errorf("%s%s, case %d: output %d has shape %v, want %v", name, ext, i, k, got[k].Tensor.Dims, want.Shape)
						continue
					}
					for j, w := range want.Values {
						if v := got[k].Tensor.F[j]; math.Abs(float64(v-w)) > 2e-6*max(1, math.Abs(float64(w))) {
							t.Errorf("%s%s, case %d: output %d, value %d is %v, want %v", name, ext, i, k, j, v, w)
						}
					}
				}
			}
		}
	}
}

// flowProgram is feed x, then operators of the first block, then fetch of y; others are blocks within it.
func flowProgram(ops []program.Op, others ...program.Block) *program.Program {
	slot := func(name, arg string) []program.Slot { return []program.Slot{{Name: name, Args: []string{arg}}} }
	main := program.Block{Parent: -1}
	main.Ops = append(main.Ops, program.Op{Type: "feed", Out: slot("Out", "x")})
	main.Ops = append(main.Ops, ops...)
	main.Ops = append(main.Ops, program.Op{Type: "fetch", In: slot("X", "y")})
	return &program.Program{Blocks: append([]program.Block{main}, others...)}
}

// op1 is an operator from text: type slot=variable,variable ... > slot=variable, with the block that it runs.
func op1(text string, block int64) program.Op {
	left, right, _ := strings.Cut(text, ">")
	words := strings.Fields(left)
	o := program.Op{Type: words[0]}
	slots := func(words []string) (all []program.Slot) {
		for _, w := range words {
			name, args, _ := strings.Cut(w, "=")
			all = append(all, program.Slot{Name: name, Args: strings.Split(args, ",")})
		}
		return all
	}
	o.In, o.Out = slots(words[1:]), slots(strings.Fields(right))
	if block > 0 {
		o.Attrs = []program.Attr{{Name: "sub_block", Type: program.AttrType_BLOCK, Value: block}}
	}
	if o.Type == "while_values" {
		o.Attrs = []program.Attr{{Name: "regions", Type: program.AttrType_BLOCKS, Value: []int64{block}}}
	}
	if o.Type == "if_values" {
		o.Attrs = []program.Attr{{Name: "regions", Type: program.AttrType_BLOCKS, Value: []int64{1, 2}}}
	}
	return o
}

// TestFlowRefusals lists control flow that cannot be run, or that gives no value: errors, and no panic or endless loop.
func TestFlowRefusals(t *testing.T) {
	b := func(ops ...string) program.Block {
		block := program.Block{Parent: 0}
		for _, text := range ops {
			block.Ops = append(block.Ops, op1(text, 0))
		}
		return block
	}
	list := func(ops ...program.Op) []program.Op { return ops }
	positive := op1("greater_than X=x Y=x > Out=c", 0) // never
	same := op1("equal X=x Y=x > Out=c", 0)            // always
	hiding := b("relu X=x > Out=y")
	hiding.Vars = []program.Var{{Name: "x"}}
	for what, p := range map[string]*program.Program{
		"block 7, want one that no other operator runs": flowProgram(list(same, op1("while Condition=c X=x > Out=x", 7))),
		"block 0, want one that no other operator runs": flowProgram(list(same, op1("while Condition=c X=x > Out=x", 0))),
		"block 1, want one that no other operator runs": flowProgram(list(same, op1("while Condition=c X=x > Out=x", 1),
			op1("while Condition=c X=x > Out=x", 1)), b("relu X=x > Out=x")),
		`variable "x" of block 1 hides one around it`: flowProgram(list(same, op1("while Condition=c X=x > Out=x", 1)), hiding),
		"loops turn more than":                        flowProgram(list(same, op1("while Condition=c X=x > Out=x", 1), op1("relu X=x > Out=y", 0)), b("relu X=x > Out=x")),
		`condition "x" is f32 [2], want one truth`:    flowProgram(list(op1("while Condition=x X=x > Out=x", 1), op1("relu X=x > Out=y", 0)), b("relu X=x > Out=x")),
		`variable "z" has no value before it`:         flowProgram(list(same, op1("conditional_block Cond=c > Out=y", 1), op1("relu X=z > Out=w", 0)), b("relu X=x > Out=z")),
		`output "y" has no value`:                     flowProgram(list(positive, op1("conditional_block Cond=c > Out=y", 1)), b("relu X=x > Out=y")),
		`variable "z" has no value, since`:            flowProgram(list(positive, op1("conditional_block Cond=c > Out=z", 1), op1("relu X=z > Out=y", 0)), b("relu X=x > Out=z")),
		"mask is bool [1], want the number of one":    flowProgram(list(positive, op1("conditional_block Cond=c > Out=z", 1), op1("select_input X=z,x Mask=c > Out=y", 0)), b("relu X=x > Out=z")),
		"a fetch in a block of control flow":          flowProgram(list(same, op1("conditional_block Cond=c > Out=y", 1)), b("fetch X=x")),
		"a feed in a block of control flow":           flowProgram(list(same, op1("conditional_block Cond=c > Out=y", 1)), b("feed > Out=y")),
		"a yield outside of regions":                  flowProgram(list(op1("cf.yield 0=x", 0))),
		"yields 0 values, want 1":                     flowProgram(list(same, op1("if_values Cond=c > Out=y", 0)), b("relu X=x > Out=y"), b("cf.yield 0=x")),
	} {
		m, err := New(p, nil)
		if err == nil {
			x := Floats([]float32{1, 2}, 2)
			if strings.Contains(what, "turn") || strings.Contains(what, "since") || strings.Contains(what, "output") || strings.Contains(what, "mask") {
				x = Floats([]float32{1}, 1)
			}
			_, err = m.Run(context.Background(), map[string]*Tensor{"x": x})
		}
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	deep := []program.Block{}
	for i := range int64(maxDepth + 1) {
		deep = append(deep, program.Block{Ops: []program.Op{op1("conditional_block Cond=c > Out=y", i+2)}})
	}
	p := flowProgram(list(same, op1("conditional_block Cond=c > Out=y", 1)), deep...)
	if _, err := New(p, nil); !errors.Is(err, ErrOp) || !strings.Contains(fmt.Sprint(err), "more than 64 deep") {
		t.Errorf("%v, want a limit of depth", err)
	}
}

// TestRegions runs loops and branches of PIR: whoever misses something says what and where.
func TestRegions(t *testing.T) {
	turn := []string{"greater_than X=a Y=a > Out=k", "relu X=a > Out=b", "cf.yield 0=k 1=b"} // once, since k is false
	loop := func(args string, ops ...string) []program.Block {
		b := program.Block{Args: strings.Fields(args)}
		for _, text := range ops {
			b.Ops = append(b.Ops, op1(text, 0))
		}
		return []program.Block{b}
	}
	branches := slices.Concat(loop("", "relu X=x > Out=b", "cf.yield 0=b"), loop("", "square X=x > Out=s", "cf.yield 0=s"))
	run := func(op string, block int64, regions []int64, blocks []program.Block) (string, error) {
		ops := []program.Op{op1("equal X=x Y=x > Out=c", 0), op1("greater_than X=x Y=x > Out=never", 0),
			op1("conditional_block Cond=never > Out=z", int64(len(blocks)+1)), op1(op, block)}
		if regions != nil {
			ops[3].Attrs[0].Value = regions
		}
		m, err := New(flowProgram(ops, append(blocks, loop("", "relu X=x > Out=z")...)...), nil)
		if err != nil {
			return "", err
		}
		got, err := m.Run(context.Background(), map[string]*Tensor{"x": Floats([]float32{-3}, 1)})
		if err != nil {
			return "", err
		}
		return text(got[0].Tensor), nil
	}
	const while, choose = "while_values Cond=c X=x > Out=y", "if_values Cond=c > Out=y"
	for _, c := range []struct {
		op      string
		regions []int64
		blocks  []program.Block
		want    string // what y is, or what the error says
	}{
		{while, nil, loop("a", turn...), "[1] [0]"},
		{"while_values Cond=never X=x > Out=y", nil, loop("a", turn...), "[1] [-3]"},
		{while, []int64{}, loop("a", turn...), "0 blocks, want 1"},
		{while, []int64{1, 2}, loop("a", turn...), "2 blocks, want 1"},
		{while, []int64{7}, loop("a", turn...), "operator 4 (while_values): block 7, want one"},
		{while, nil, loop("a", turn[:2]...), "block 1 yields 0 values, want 2"},
		{while, nil, loop("a b", turn...), "1 values in, 2 in the block, 1 out"},
		{"while_values Cond=c X=x,x > Out=y", nil, loop("a b", turn...), "2 values in, 2 in the block, 1 out"},
		{"while_values Cond=c X=x,x > Out=y", nil, loop("a", turn...), "2 values in, 1 in the block, 1 out"},
		{while, nil, loop("a", "relu X=q > Out=b", turn[2]), `operator 0 (relu) of block 1: input X: variable "q"`},
		{while, nil, loop("a", turn[0], "cf.yield 0=k 1=q"), `operator 1 (cf.yield) of block 1: variable "q"`},
		{"while_values Cond=x X=x > Out=y", nil, loop("a", turn...), "is f32 [1], want one truth value"},
		{while, nil, loop("a", turn[0], turn[1], "cf.yield 0=b 1=b"), "is f32 [1], want one truth value"},
		{while, nil, loop("a", turn[0], "reduce_all X=a > Out=b", turn[2]), "operator 1 (reduce_all) of block 1"},
		{"while_values Cond=c X=z > Out=y", nil, loop("a", turn...), `variable "z" has no value`},
		{while, nil, loop("a", turn[0], "cf.yield 0=k 1=z"), `variable "z" has no value`},
		{choose, nil, branches, "[1] [0]"},
		{"if_values Cond=never > Out=y", nil, branches, "[1] [9]"},
		{choose, []int64{1}, branches, "1 blocks, want 2"},
		{choose, []int64{1, 1}, branches, "block 1, want one that no other operator runs"},
		{"if_values Cond=x > Out=y", nil, branches, `condition "x" is f32 [1], want one truth value`},
		{"if_values Cond=z > Out=y", nil, branches, `condition "z" is nothing, want one truth value`},
		{choose, nil, slices.Concat(loop("", "reduce_all X=x > Out=b", "cf.yield 0=b"), branches[1:]), "operator 0 (reduce_all) of block 1"},
		{choose, nil, slices.Concat(loop("", "cf.yield 0=z"), branches[1:]), `variable "z" has no value`},
		{choose, nil, slices.Concat(loop("a", "relu X=a > Out=b", "cf.yield 0=b"), branches[1:]), `variable "a" has no value`},
	} {
		got, err := run(c.op, 1, c.regions, c.blocks)
		if got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %v gives %s, %v, want %s", c.op, c.regions, got, err, c.want)
		}
	}
}
