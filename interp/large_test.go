package interp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/program"
)

// TestTooLarge gives operators small inputs of which they would make more elements than a tensor may have.
func TestTooLarge(t *testing.T) {
	const n = 1 << 15 // n*n is too many
	col, row, line := seq(n, 1), seq(1, n), Ints(make([]int64, n), n)
	truth := &Tensor{Dims: []int{n, 1}, Type: matrix.Bool, I: line.I}
	falsehood := &Tensor{Dims: []int{1, n}, Type: matrix.Bool, I: line.I}
	square := []int64{n, n}
	for _, c := range []trial{
		{op: "elementwise_add", in: twoIn(col, row)},
		{op: "less_than", in: twoIn(col, row)},
		{op: "logical_and", in: twoIn(truth, falsehood)},
		{op: "where", in: map[string]*Tensor{"Condition": truth, "X": row, "Y": row}},
		{op: "where", in: map[string]*Tensor{"Condition": truth, "X": col, "Y": row}},
		{op: "mul", in: twoIn(col, row)},
		{op: "matmul_v2", in: twoIn(col, row)},
		{op: "matmul_v2", in: twoIn(seq(n, 1, 1), row)},
		{op: "bmm", in: twoIn(seq(1, n, 1), seq(1, 1, n))},
		{op: "expand_v2", in: oneIn(row), set: attrs{"shape": square}},
		{op: "expand_as_v2", in: oneIn(row), set: attrs{"target_shape": square}},
		{op: "tile", in: oneIn(row), set: attrs{"repeat_times": []int64{n, 1}}},
		{op: "tile", in: oneIn(row), set: attrs{"repeat_times": square}},
		{op: "fill_constant", set: attrs{"shape": square}},
		{op: "fill_constant", set: attrs{"shape": []int64{0, maxElems, 2}}}, // nor may one without elements
		{op: "assign_value", set: attrs{"shape": square}},
		{op: "range", in: map[string]*Tensor{"Start": ints(0), "End": ints(maxElems + 1), "Step": ints(1)}},
		{op: "range", in: map[string]*Tensor{"Start": ints(0), "End": ints(0), "Step": ints(0)}},
		{op: "one_hot_v2", in: oneIn(line), set: attrs{"depth": int64(n)}},
		{op: "one_hot_v2", in: oneIn(line), set: attrs{"depth": int64(maxElems + 1)}},
		{op: "sequence_mask", in: oneIn(line), set: attrs{"maxlen": int64(n)}},
		{op: "gather", in: map[string]*Tensor{"X": row, "Index": line}},
		{op: "gather_nd", in: map[string]*Tensor{"X": row, "Index": Ints(line.I, n, 1)}},
		{op: "index_select", in: map[string]*Tensor{"X": row, "Index": line}},
		{op: "lookup_table_v2", in: map[string]*Tensor{"W": row, "Ids": line}},
		{op: "lookup_table", in: map[string]*Tensor{"W": row, "Ids": Ints(line.I, n, 1)}},
		{op: "conv2d", in: map[string]*Tensor{"Input": seq(1, 1, n, 1), "Filter": seq(n, 1, 1, 1)}},
		{op: "reshape2", in: oneIn(seq(0)), set: attrs{"shape": []int64{0, n, n}}},
	} {
		_, err := c.compute(t)
		if !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), "("+c.op+")") {
			t.Errorf("%s %v: %v, want too many elements", c.op, c.set, err)
		}
	}
}

// TestManyEmpty puts shapes without elements together whose other dimensions are large: nothing is counted through.
func TestManyEmpty(t *testing.T) {
	for _, dims := range [][]int64{{1 << 8, 1 << 8, 0}, {maxElems, maxElems, 0}, {1 << 20, 1 << 20, 1 << 20, 1 << 20, 0}} {
		fill := op1("fill_constant > Out=z", 0)
		fill.Attrs = []program.Attr{{Name: "shape", Value: dims}}
		for _, op := range []string{"concat X=z,z > Out=y", "stack X=z,z > Y=y", "softmax X=z > Out=y", "reduce_sum X=z > Out=y", "gather X=z Index=i > Out=y",
			"argsort X=z > Out=y Indices=k", "cumsum X=z > Out=y", "slice Input=z > Out=y", "elementwise_add X=z Y=z > Out=y", "transpose2 X=z > Out=y"} {
			o := op1(op, 0)
			last := int64(len(dims) - 1)
			switch o.Type {
			case "concat", "gather", "stack":
				o.Attrs = []program.Attr{{Name: "axis", Value: last}}
			case "slice":
				o.Attrs = []program.Attr{{Name: "axes", Value: []int64{last}}, {Name: "starts", Value: []int64{0}}, {Name: "ends", Value: []int64{1}}}
			case "transpose2":
				perm := []int64{last}
				for i := range last {
					perm = append(perm, i)
				}
				o.Attrs = []program.Attr{{Name: "axis", Value: perm}}
			}
			index := op1("fill_ints > Out=i", 0)
			index.Attrs = []program.Attr{{Name: "value", Value: []int64{}}}
			m, err := New(flowProgram([]program.Op{fill, index, o}), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Run(context.Background(), map[string]*Tensor{"x": seq(1)})
			if err == nil && got[0].Tensor.Len() != 0 && o.Type != "reduce_sum" || err != nil && !errors.Is(err, ErrShape) {
				t.Errorf("%s of %v: %v, %v", o.Type, dims, fmt.Sprint(got), err)
			}
		}
	}
}
