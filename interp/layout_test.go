package interp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thole.example/program"
)

// layoutTrials are examples of operators that repeat, cut and measure.
func layoutTrials() []trial {
	row := Floats([]float32{10, 20}, 1, 2)
	return []trial{
		{"expand_v2", oneIn(row), attrs{"shape": []int64{2, 2, -1}}, "[2 2 2] [10 20 10 20 10 20 10 20]"},
		{"expand_v2", map[string]*Tensor{"X": seq(2, 1), "Shape": ints(-1, 2)}, nil, "[2 2] [0 0 1 1]"},
		{"expand_v2", map[string]*Tensor{"X": seq(1), "expand_shapes_tensor,expand_shapes_tensor": ints(2)}, attrs{"shape": []int64{-2, 2}}, "[2 2] [0 0 0 0]"},
		{"expand_as_v2", twoIn(ints(7), seq(2, 2)), attrs{"target_shape": []int64{-1, 2}}, "[2 2] [7 7 7 7]"},
		{"expand_as_v2", oneIn(row), attrs{"target_shape": []int64{2, 2}}, "[2 2] [10 20 10 20]"},
		{"tile", oneIn(row), attrs{"repeat_times": []int64{2, 1, 2}}, "[2 1 4] [10 20 10 20 10 20 10 20]"},
		{"tile", oneIn(seq(2, 2)), attrs{"repeat_times": []int64{2}}, "[2 4] [0 1 0 1 2 3 2 3]"},
		{"split", oneIn(seq(1, 2)), attrs{"axis": int64(1), "num": int64(1)}, "[1 2] [0 1]"},
		{"unstack", oneIn(seq(1, 2)), attrs{"axis": int64(0), "num": int64(1)}, "[2] [0 1]"},
		{"shape", map[string]*Tensor{"Input": seq(2, 3)}, nil, "[2] [2 3]"},
		{"shape64", map[string]*Tensor{"Input": seq(2, 3)}, nil, "[2] [2 3]"},
		{"size", map[string]*Tensor{"Input": seq(2, 3)}, nil, "[1] [6]"},
		{"fill_any_like", oneIn(seq(2)), attrs{"value": 1.5, "dtype": int64(-1)}, "[2] [1.5 1.5]"},
		{"fill_any_like", oneIn(seq(2)), attrs{"value": 1.5, "dtype": int64(3)}, "[2] [1 1]"},
		{"flip", oneIn(seq(2, 3)), attrs{"axis": []int64{1, 1}}, "[2 3] [2 1 0 5 4 3]"},
		{"flip", oneIn(seq(2, 3)), attrs{"axis": []int64{0, -1}}, "[2 3] [5 4 3 2 1 0]"},
		{"tril_triu", oneIn(Ints([]int64{1, 2, 3, 4}, 2, 2)), nil, "[2 2] [1 0 3 4]"},
		{"tril_triu", oneIn(Ints([]int64{1, 2, 3, 4}, 2, 2)), attrs{"lower": false, "diagonal": int64(1)}, "[2 2] [0 2 0 0]"},
		{"triu", oneIn(Ints([]int64{1, 2, 3, 4}, 2, 2)), nil, "[2 2] [1 2 0 4]"},
		{"increment", oneIn(ints(3)), attrs{"step": -1.0}, "[1] [2]"},
		{"increment", oneIn(Floats([]float32{3}, 1)), attrs{"step": 0.5}, "[1] [3.5]"},
		{"range", map[string]*Tensor{"Start": ints(5), "End": ints(-1), "Step": ints(-2)}, nil, "[3] [5 3 1]"},
		{"range", map[string]*Tensor{"Start": Floats([]float32{0}, 1), "End": Floats([]float32{1}, 1), "Step": Floats([]float32{0.5}, 1)}, nil, "[2] [0 0.5]"},
		{"reshape2", map[string]*Tensor{"X": seq(2, 2), "ShapeTensor,ShapeTensor": ints(2)}, attrs{"shape": []int64{-1, -1}}, "[2 2] [0 1 2 3]"},
	}
}

// TestSplit cuts a tensor into several variables, as both forms do.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		op   string
		set  attrs
		want string
	}{
		{"split Out", attrs{"axis": int64(1), "num": int64(3)}, "[2 1] [0 3]; [2 1] [1 4]; [2 1] [2 5]"},
		{"split Out", attrs{"axis": int64(-1), "sections": []int64{1, -1, 0}}, "[2 1] [0 3]; [2 2] [1 2 4 5]; [2 0] []"},
		{"split Out", attrs{"axis": int64(0), "num": int64(3)}, "a dimension of 2 into 3 parts"},
		{"split Out", attrs{"axis": int64(1), "sections": []int64{1, 1}}, "a dimension of 3 into 3 parts"},
		{"split Out", attrs{"axis": int64(1), "sections": []int64{2, 1}}, "2 parts for 3 variables"},
		{"unstack Y", attrs{"axis": int64(1)}, "[2] [0 3]; [2] [1 4]; [2] [2 5]"},
		{"unstack Y", attrs{"axis": int64(0)}, "2 parts for 3 variables"},
	} {
		name, slot, _ := strings.Cut(c.op, " ")
		o := op1(name+" X=x > "+slot+"=y,b,c", 0)
		for k, v := range c.set {
			o.Attrs = append(o.Attrs, program.Attr{Name: k, Value: v})
		}
		p := flowProgram([]program.Op{o})
		ops := p.Blocks[0].Ops
		for i, v := range []string{"b", "c"} {
			ops = append(ops, op1("fetch X="+v, 0))
			ops[len(ops)-1].Attrs = []program.Attr{{Name: "col", Value: int64(i + 1)}}
		}
		p.Blocks[0].Ops = ops
		m, err := New(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		got, err := m.Run(context.Background(), map[string]*Tensor{"x": seq(2, 3)})
		for _, r := range got {
			all = append(all, text(r.Tensor))
		}
		if has := strings.Join(all, "; "); has != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %v gives %s (%v), want %s", c.op, c.set, has, err, c.want)
		}
	}
	const full = `{"#":"1.full","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[1]}},{"N":"value","AT":{"#":"0.a_f64","D":1.0}},{"N":"dtype","AT":{"#":"1.a_dtype","D":"int32"}}],"I":[],"O":[{"%":10}]},`
	p, err := program.Decode([]byte(pirText(full + `{"#":"1.split_with_num","A":[{"N":"num","AT":{"#":"0.a_i32","D":3}}],"I":[{"%":2},{"%":10}],"O":[{"%":11}]},
{"#":"0.split","A":[],"I":[{"%":11}],"O":[{"%":12},{"%":0},{"%":13}]},{"#":"1.subtract","A":[],"I":[{"%":13},{"%":12}],"O":[{"%":99}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(p, map[string]*Tensor{"w": seq(3, 2)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Run(context.Background(), map[string]*Tensor{"x": seq(2, 3), "ids": ints(0)})
	if err != nil || text(got[0].Tensor) != "[2 1] [2 2]" {
		t.Errorf("%v, %v, want the last column less the first", got, err)
	}
}

// TestOrder looks at both outputs of operators that put in order.
func TestOrder(t *testing.T) {
	x := Floats([]float32{1, 3, 2, 5, 5, 4}, 2, 3)
	for _, c := range []struct {
		op   string
		set  attrs
		want string
	}{
		{"top_k_v2", attrs{"k": int64(2)}, "[2 2] [3 2 5 5]; [2 2] [1 2 0 1]"},
		{"top_k_v2", attrs{"k": int64(1), "axis": int64(0), "largest": false}, "[1 3] [1 3 2]; [1 3] [0 0 0]"},
		{"top_k", attrs{"k": int64(1)}, "[2 1] [3 5]; [2 1] [1 0]"},
		{"argsort", nil, "[2 3] [1 2 3 4 5 5]; [2 3] [0 2 1 2 0 1]"},
		{"argsort", attrs{"axis": int64(0), "descending": true}, "[2 3] [5 5 4 1 3 2]; [2 3] [1 1 1 0 0 0]"},
	} {
		o := op1(c.op+" X=x > Out=y Indices=i", 0)
		for k, v := range c.set {
			o.Attrs = append(o.Attrs, program.Attr{Name: k, Value: v})
		}
		p := flowProgram([]program.Op{o})
		p.Blocks[0].Ops = append(p.Blocks[0].Ops, op1("fetch X=i", 0))
		p.Blocks[0].Ops[3].Attrs = []program.Attr{{Name: "col", Value: int64(1)}}
		m, err := New(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Run(context.Background(), map[string]*Tensor{"x": x})
		if err != nil || fmt.Sprint(text(got[0].Tensor), "; ", text(got[1].Tensor)) != c.want {
			t.Errorf("%s %v gives %v, %v (%v), want %s", c.op, c.set, got[0].Tensor, got[1].Tensor, err, c.want)
		}
	}
}
