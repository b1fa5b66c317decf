package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/internal/spell"
	"thole.example/program"
)

// line is a line of the table of operators: the attributes that the translation knows, and the node that it gives, after those
// that it puts before it.
type line struct {
	name  string
	attrs []string
	build func(c *call) node
}

// Operators are the operators of Paddle that become nodes.
func Operators() []string {
	var all []string
	for _, l := range lines() {
		all = append(all, l.name)
	}
	return all
}

// lines is the table.
func lines() []line {
	axis, none := []string{"axis"}, []string(nil)
	return []line{
		{"matmul_v2", []string{"trans_x", "trans_y"}, multiply},
		{"elementwise_add", axis, pair("Add")},
		{"elementwise_sub", axis, pair("Sub")},
		{"elementwise_mul", axis, pair("Mul")},
		{"lookup_table_v2", []string{"padding_idx", "is_sparse", "is_distributed"}, rowsOf},
		{"reduce_sum", []string{"dim", "keep_dim", "reduce_all"}, sum},
		{"scale", []string{"scale", "bias", "bias_after_scale"}, scale},
		{"clip", []string{"min", "max"}, clip},
		{"gather", axis, gather},
		{"concat", axis, concat},
		{"reshape2", []string{"shape"}, reshape},
		{"unsqueeze2", []string{"axes"}, unsqueeze},
		{"softmax", axis, softmax},
		{"square", none, func(c *call) node { return node{op: "Mul", in: []string{c.in("X"), c.in("X")}} }},
		{"rsqrt", none, func(c *call) node { return node{op: "Reciprocal", in: []string{c.put("Sqrt", "root", c.in("X"))}} }},
		{"sigmoid", none, one("Sigmoid")},
		{"exp", none, one("Exp")},
		{"tanh", none, one("Tanh")},
		{"relu", none, one("Relu")},
	}
}

// find is the line of an operator, whose attributes must all be known.
func find(op *program.Op) (*line, error) {
	for _, l := range lines() {
		if l.name != op.Type {
			continue
		}
		for _, a := range op.Attrs {
			if !slices.Contains(l.attrs, a.Name) {
				return nil, fmt.Errorf("attribute %q, want none but %s: %w", a.Name, strings.Join(l.attrs, ", "), format.ErrVersion)
			}
		}
		return &l, nil
	}
	return nil, fmt.Errorf("%w: %w", spell.Unknown("operator", op.Type, Operators()), format.ErrVersion)
}

// call is an operator that is translated. The first error stays.
type call struct {
	*translator
	op  *program.Op
	err error
}

func (c *call) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// all are the values of the variables in a slot.
func (c *call) all(slot string) []string {
	var names []string
	for _, arg := range program.Args(c.op.In, slot) {
		name := c.names[arg]
		if name == "" {
			c.fail(fmt.Errorf("reads %q, want a variable that has a value", arg))
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		c.fail(fmt.Errorf("nothing in slot %s", slot))
	}
	return names
}

// in is the value of the one variable in a slot.
func (c *call) in(slot string) string {
	names := c.all(slot)
	if len(names) == 1 {
		return names[0]
	}
	c.fail(fmt.Errorf("%d variables in slot %s, want 1", len(names), slot))
	return ""
}

// result is the name of the one variable that the operator gives, which has none yet.
func (c *call) result() string {
	args := program.Args(c.op.Out, "Out")
	if len(args) != 1 {
		c.fail(fmt.Errorf("%d variables in slot Out, want 1", len(args)))
		return ""
	}
	if c.names[args[0]] != "" {
		c.fail(fmt.Errorf("gives %q, which has a value already", args[0]))
	}
	return args[0]
}

// put is a node before the one that the operator becomes; its output is called as the operator's, with what behind it.
func (c *call) put(op, what string, in ...string) string {
	return c.node(node{op: op, in: in}, c.result()+"."+what)
}

// get is the value of an attribute, or what is meant where there is none.
func get[T any](c *call, name string, otherwise T, value func(program.Attr) (T, error)) T {
	a, ok := c.op.Attr(name)
	if !ok {
		return otherwise
	}
	v, err := value(a)
	if err != nil {
		c.fail(err)
	}
	return v
}

func (c *call) int(name string, otherwise int64) int64 {
	return get(c, name, otherwise, program.Attr.Int)
}

func (c *call) truth(name string) bool { return get(c, name, false, program.Attr.Bool) }

func (c *call) float(name string, otherwise float64) float32 {
	return float32(get(c, name, otherwise, program.Attr.Float))
}

// ints are integers that have to be there.
func (c *call) ints(name string) []int64 {
	v := get(c, name, nil, program.Attr.Ints)
	if len(v) == 0 {
		c.fail(fmt.Errorf("no attribute %s", name))
	}
	return v
}

// only refuses another value of an attribute, if there is one.
func (c *call) only(name string, want int64) {
	if a, ok := c.op.Attr(name); ok && c.int(name, want) != want {
		c.fail(errOther(a, fmt.Sprint(want)))
	}
}

// one is an operator of one input.
func one(op string) func(*call) node {
	return func(c *call) node { return node{op: op, in: []string{c.in("X")}} }
}

// pair is an operator of two inputs, the smaller of which is stretched as in NumPy.
func pair(op string) func(*call) node {
	return func(c *call) node {
		c.only("axis", -1)
		return node{op: op, in: []string{c.in("X"), c.in("Y")}}
	}
}

// multiply is the product of two matrices. Those that lie transposed have two dimensions.
func multiply(c *call) node {
	n := node{op: "MatMul", in: []string{c.in("X"), c.in("Y")}}
	for _, side := range [][2]string{{"trans_x", "transA"}, {"trans_y", "transB"}} {
		if c.truth(side[0]) {
			n.op = "Gemm"
			n.attrs = append(n.attrs, attr{name: side[1], i: 1})
		}
	}
	return n
}

func rowsOf(c *call) node {
	c.only("padding_idx", -1)
	return node{op: "Gather", in: []string{c.in("W"), c.in("Ids")}, attrs: []attr{{name: "axis"}}}
}

func gather(c *call) node {
	return node{op: "Gather", in: []string{c.in("X"), c.in("Index")}, attrs: []attr{{name: "axis", i: c.int("axis", 0)}}}
}

func sum(c *call) node {
	if a, ok := c.op.Attr("reduce_all"); ok && c.truth("reduce_all") {
		c.fail(errOther(a, "false"))
	}
	keep := int64(0)
	if c.truth("keep_dim") {
		keep = 1
	}
	return node{op: "ReduceSum", in: []string{c.in("X"), c.list(c.ints("dim"))}, attrs: []attr{{name: "keepdims", i: keep}}}
}

// scale is x*scale + bias, or (x + bias)*scale, without the parts that do nothing.
func scale(c *call) node {
	x, by, plus := c.in("X"), c.float("scale", 1), c.float("bias", 0)
	if a, ok := c.op.Attr("bias_after_scale"); ok && !c.truth("bias_after_scale") && by != 1 && plus != 0 {
		c.fail(errOther(a, "true"))
	}
	switch {
	case by == 1 && plus == 0:
		return node{op: "Identity", in: []string{x}}
	case plus == 0:
		return node{op: "Mul", in: []string{x, c.number(by)}}
	case by != 1:
		x = c.put("Mul", "scaled", x, c.number(by))
	}
	return node{op: "Add", in: []string{x, c.number(plus)}}
}

func clip(c *call) node {
	low, high := c.float("min", -math.MaxFloat32), c.float("max", math.MaxFloat32)
	return node{op: "Clip", in: []string{c.in("X"), c.number(low), c.number(high)}}
}

func concat(c *call) node {
	return node{op: "Concat", in: c.all("X"), attrs: []attr{{name: "axis", i: c.int("axis", 0)}}}
}

// reshape has 0 where a dimension stays, in both.
func reshape(c *call) node {
	return node{op: "Reshape", in: []string{c.in("X"), c.list(c.ints("shape"))}}
}

func unsqueeze(c *call) node {
	return node{op: "Unsqueeze", in: []string{c.in("X"), c.list(c.ints("axes"))}}
}

func softmax(c *call) node {
	return node{op: "Softmax", in: []string{c.in("X")}, attrs: []attr{{name: "axis", i: c.int("axis", -1)}}}
}
