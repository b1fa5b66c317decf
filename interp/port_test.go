package interp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/program"
)

// TestPorts lists programs whose inputs or outputs are not as they must be.
func TestPorts(t *testing.T) {
	numbered := func(text string, col any) program.Op {
		o := op1(text, 0)
		o.Attrs = []program.Attr{{Name: "col", Value: col}}
		return o
	}
	relu := op1("relu X=x > Out=y", 0)
	typed := func(t program.VarType_Type) []program.Var {
		return []program.Var{{Name: "x", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: t, Dims: []int64{-1}}}
	}
	for want, b := range map[string]program.Block{
		`variable "x" has a value already`:             {Ops: []program.Op{op1("feed > Out=x", 0), op1("feed > Out=x", 0), relu, op1("fetch X=y", 0)}},
		"no fetch: the program gives nothing":          {Ops: []program.Op{op1("feed > Out=x", 0), relu}},
		`operator 1 (fetch): variable "y" has no`:      {Ops: []program.Op{op1("feed > Out=x", 0), op1("fetch X=y", 0)}},
		`"x" and "z" both have number 3 among`:         {Ops: []program.Op{numbered("feed > Out=x", int64(3)), numbered("feed > Out=z", int64(3)), relu, op1("fetch X=y", 0)}},
		`"y" and "x" both have number 0 among`:         {Ops: []program.Op{op1("feed > Out=x", 0), relu, numbered("fetch X=y", int64(0)), numbered("fetch X=x", int64(0))}},
		"(feed): attribute col is -1, want a number":   {Ops: []program.Op{numbered("feed > Out=x", int64(-1)), relu, op1("fetch X=y", 0)}},
		"attribute col is 1048577, want a number":      {Ops: []program.Op{numbered("feed > Out=x", int64(1<<20+1)), relu, op1("fetch X=y", 0)}},
		"(fetch): attribute col is \"first\", want":    {Ops: []program.Op{op1("feed > Out=x", 0), relu, numbered("fetch X=y", "first")}},
		`operator 0 (feed): variable "x": values of`:   {Vars: typed(program.VarType_FP64), Ops: []program.Op{op1("feed > Out=x", 0), relu, op1("fetch X=y", 0)}},
		"not known to the interpreter: operator 1 (x)": {Ops: []program.Op{op1("feed > Out=x", 0), op1("x X=x > Out=y", 0), op1("fetch X=y", 0)}},
	} {
		if _, err := New(&program.Program{Blocks: []program.Block{b}}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for elem, want := range map[program.VarType_Type]matrix.DType{program.VarType_FP32: matrix.F32, program.VarType_INT64: matrix.I64,
		program.VarType_INT32: matrix.I32, program.VarType_INT16: matrix.I16, program.VarType_INT8: matrix.I8,
		program.VarType_UINT8: matrix.U8, program.VarType_BOOL: matrix.Bool} {
		b := program.Block{Vars: typed(elem), Ops: []program.Op{numbered("feed > Out=x", int64(1<<20)), op1("assign X=x > Out=y", 0), op1("fetch X=y", 0)}}
		m, err := New(&program.Program{Blocks: []program.Block{b}}, nil)
		if err != nil || m.Inputs()[0].Type != want || m.Inputs()[0].Col != 1<<20 || len(m.Outputs()) != 1 || m.Outputs()[0].Name != "y" {
			t.Errorf("input of type %v: %v, %v, want %v", elem, m, err, want)
		}
	}
	if _, err := New(flowProgram([]program.Op{relu}), map[string]*Tensor{"w": {Dims: []int{2}, F: []float32{1}}}); !errors.Is(err, ErrShape) ||
		!strings.Contains(err.Error(), `parameter "w": 1 values of shape [2]`) {
		t.Errorf("%v, want a parameter that is not as it says", err)
	}
}

// TestSlots gives operators other variables than they take.
func TestSlots(t *testing.T) {
	fill := op1("fill_constant > Out=z", 0)
	fill.Attrs = []program.Attr{{Name: "shape", Value: []int64{2}}}
	named := op1("pd_op.fetch 0=x", 0)
	named.Attrs = []program.Attr{{Name: "name", Value: int64(1)}}
	for _, c := range []struct {
		op   program.Op
		want string
	}{
		{op1("relu X=x", 0), "(relu): output Out has 0 variables, want one"},
		{op1("relu X=x > Out=y,w", 0), "(relu): output Out has 2 variables, want one"},
		{op1("relu X=x,x > Out=y", 0), "(relu): input X has 2 variables, want one"},
		{op1("relu X=x > Out=y XShape=w", 0), "(relu): output XShape: not supported"},
		{op1("sum > Out=y", 0), "(sum): input X has no variable, want at least one"},
		{op1("sum X=x,z > Out=y", 0), "(sum): f32 [1] and f32 [2]: shapes"},
		{op1("sum X=z,i > Out=y", 0), "(sum): f32 [2] and i64 [2]: shapes"},
		{op1("stack X=x,z > Y=y", 0), "(stack): f32 [1] and f32 [2]: shapes"},
		{op1("stack X=z,i > Y=y", 0), "(stack): f32 [2] and i64 [2]: shapes"},
		{op1("concat X=z,i > Out=y", 0), "(concat): f32 [2] and i64 [2]: shapes"},
		{op1("pd_op.relu 0=x 1=x > 0=y", 0), "(pd_op.relu): input operand 1: not supported"},
		{named, "(pd_op.fetch): attribute name"},
	} {
		index := op1("fill_ints > Out=i", 0)
		index.Attrs = []program.Attr{{Name: "value", Value: []int64{1, 2}}}
		m, err := New(flowProgram([]program.Op{fill, index, c.op}), nil)
		if err == nil {
			_, err = m.Run(context.Background(), map[string]*Tensor{"x": seq(1)})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestUnknown names the first twenty operators that are not known and counts the others.
func TestUnknown(t *testing.T) {
	var ops []program.Op
	for range 22 {
		ops = append(ops, op1("whirl X=x > Out=y", 0))
	}
	p := flowProgram(ops, program.Block{Ops: ops[:1]})
	_, err := New(p, nil)
	if len(Unknown(p)) != 23 || !errors.Is(err, ErrOp) || !strings.HasSuffix(err.Error(), "operator 20 (whirl), and 3 more") {
		t.Errorf("%d, %v", len(Unknown(p)), err)
	}
	_, err = New(flowProgram(ops[:19], program.Block{Ops: ops[:1]}), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "operator 19 (whirl), operator 0 (whirl) of block 1") {
		t.Errorf("%v, want all twenty", err)
	}
}

// TestCompare holds machines to each other that differ in one thing.
func TestCompare(t *testing.T) {
	machine := func(vars []program.Var, ops ...string) *Machine {
		b := program.Block{Parent: -1, Vars: vars}
		for i, text := range ops {
			b.Ops = append(b.Ops, op1(text, 0))
			b.Ops[i].Attrs = []program.Attr{{Name: "col", Value: int64(i)}}[:min(1, strings.Count(text, "fetch"))]
		}
		m, err := New(&program.Program{Blocks: []program.Block{b}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	x := func(elem program.VarType_Type, dims ...int64) []program.Var {
		return []program.Var{{Name: "x", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: elem, Dims: dims}}
	}
	floats, whole := x(program.VarType_FP32, 2, -1), x(program.VarType_INT64, 2, -1)
	a := machine(floats, "feed > Out=x", "abs X=x > Out=y", "fetch X=y")
	ids := machine(whole, "feed > Out=x", "abs X=x > Out=y", "fetch X=y")
	for _, c := range []struct {
		a, b *Machine
		want string
		is   error
	}{
		{a, a, "", nil}, {ids, ids, "", nil},
		{a, machine(floats, "feed > Out=x", "relu X=x > Out=y", "fetch X=y"), `output "y", value 3 is 0, want 1.`, nil},
		{ids, machine(whole, "feed > Out=x", "elementwise_sub X=x Y=x > Out=y", "fetch X=y"), `output "y", value 0 is 0, want 1`, nil},
		{a, machine(floats, "feed > Out=x", "abs X=x > Out=z", "fetch X=z"), `output 0 is "z" f32 [2 3], want "y" f32 [2 3]`, nil},
		{a, machine(floats, "feed > Out=x", "isnan_v2 X=x > Out=y", "fetch X=y"), `output 0 is "y" bool [2 3], want "y" f32 [2 3]`, nil},
		{a, machine(floats, "feed > Out=x", "mean X=x > Out=y", "fetch X=y"), `output 0 is "y" f32 [1], want "y" f32 [2 3]`, nil},
		{a, machine(floats, "feed > Out=x", "abs X=x > Out=y", "fetch X=y", "fetch X=x"), "2 outputs, want 1", nil},
		{a, ids, "has type f32, want i64", nil},
		{ids, machine(whole, "feed > Out=x", "relu X=x > Out=y", "fetch X=y"), "(relu)", ErrOp},
		{machine(whole, "feed > Out=x", "relu X=x > Out=y", "fetch X=y"), ids, "(relu)", ErrRun},
		{machine(nil, "feed > Out=x", "relu X=x > Out=y", "fetch X=y"), a, "unknown shape", ErrRun},
		{machine(x(program.VarType_FP32, maxElems+1), "feed > Out=x", "relu X=x > Out=y", "fetch X=y"), a, "more than", ErrRun},
	} {
		err := Compare(context.Background(), c.a, c.b, 2)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) ||
			errors.Is(err, ErrRun) != (c.is == ErrRun)) {
			t.Errorf("%v, want %q (%v)", err, c.want, c.is)
		}
	}
}

// TestSample makes up inputs of the port's shape, if it has one: normal numbers, or ids 0 and 1.
func TestSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, err := (&Port{Name: "x", Type: matrix.F32, Dims: []int64{-1, 300}}).sample(rng)
	if err != nil || x.check() != nil || x.Dims[0] != unknownSize || x.Dims[1] != 300 {
		t.Fatalf("%+v, %v", x, err)
	}
	square := 0.0
	for _, v := range x.F {
		square += float64(v) * float64(v) / float64(len(x.F))
	}
	if math.Abs(square-1) > 0.2 {
		t.Errorf("mean of squares %v, want about 1", square)
	}
	x, err = (&Port{Name: "x", Type: matrix.I64, Dims: []int64{100}}).sample(rng)
	if err != nil || x.check() != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	counts := map[int64]int{}
	for _, v := range x.I {
		counts[v]++
	}
	if counts[0] < 25 || counts[1] != 100-counts[0] {
		t.Errorf("%v, want about as many 0 as 1", counts)
	}
	if x, err := (&Port{Name: "x", Type: matrix.F32}).sample(rng); err == nil || !strings.Contains(err.Error(), "unknown shape") {
		t.Errorf("of no shape: %+v, %v", x, err)
	}
}

// TestTensors refuses tensors that are not what their fields say.
func TestTensors(t *testing.T) {
	for _, c := range []struct {
		x    *Tensor
		want error
	}{
		{Floats([]float32{1, 2}, 2), nil}, {Floats([]float32{1}), nil}, {Ints(nil, 2, 0), nil},
		{Floats([]float32{1, 2}, 3), ErrShape}, {Floats(nil, 1), ErrShape}, {Ints([]int64{1, 2}, 1), ErrShape},
		{Floats([]float32{1}, -1), ErrShape}, {Ints(nil, -1, 0), ErrShape}, {Ints(nil, 0, -1), ErrShape}, {Floats(nil, maxElems, 0), nil}, {Floats(nil, 0, maxElems, 2), ErrShape}, {Floats(nil, maxElems, 2), ErrShape}, {Floats(nil, maxElems+1), ErrShape},
		{&Tensor{Dims: []int{1}, Type: matrix.F32, F: []float32{1}, I: []int64{}}, ErrShape},
		{&Tensor{Dims: []int{1}, Type: matrix.I64, F: []float32{}, I: []int64{1}}, ErrShape},
		{&Tensor{Dims: []int{1}, Type: matrix.F64, I: []int64{1}}, ErrOp}, {&Tensor{Dims: []int{1}, I: []int64{1}}, ErrOp},
		{&Tensor{Dims: []int{1}, Type: matrix.U8, I: []int64{1}}, nil},
	} {
		if err := c.x.check(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v, want %v", c.x, err, c.want)
		}
	}
}
