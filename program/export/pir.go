package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/program"
)

// modern is a line of the table of what operators become in PIR: one operator, whose operands are the variables in slots
// of the old one ("*" behind a slot: a list of all), or values of attributes ("@" before the name), which operators
// before it give. attrs are pairs of the attribute's old and new name, in the order of PIR; where there is no old name the
// second is one of fixed.
type modern struct {
	name, as string
	operands []string
	attrs    [][2]string
}

// moderns is the table. Attributes that it does not name are those that only the old form has: is_distributed, the axis
// -1 of elementwise operators, reduce_all false.
func moderns() []modern {
	x, xy := []string{"X"}, []string{"X", "Y"}
	return []modern{
		{"matmul_v2", "matmul", xy, [][2]string{{"trans_x", "transpose_x"}, {"trans_y", "transpose_y"}}},
		{"elementwise_add", "add", xy, nil},
		{"elementwise_sub", "subtract", xy, nil},
		{"elementwise_mul", "multiply", xy, nil},
		{"lookup_table_v2", "embedding", []string{"Ids", "W"}, [][2]string{{"padding_idx", "padding_idx"}, {"is_sparse", "sparse"}}},
		{"reduce_sum", "sum", []string{"X", "@dim"}, [][2]string{{"", "dtype"}, {"keep_dim", "keepdim"}}},
		{"scale", "scale", []string{"X", "@scale"}, [][2]string{{"bias", "bias"}, {"bias_after_scale", "bias_after_scale"}}},
		{"clip", "clip", []string{"X", "@min", "@max"}, nil},
		{"gather", "gather", []string{"X", "Index", "@axis"}, nil},
		{"concat", "concat", []string{"X*", "@axis"}, nil},
		{"reshape2", "reshape", []string{"X", "@shape"}, nil},
		{"unsqueeze2", "unsqueeze", []string{"X", "@axes"}, nil},
		{"softmax", "softmax", x, [][2]string{{"axis", "axis"}}},
		{"square", "square", x, nil},
		{"rsqrt", "rsqrt", x, nil},
		{"sigmoid", "sigmoid", x, nil},
		{"exp", "exp", x, nil},
		{"tanh", "tanh", x, nil},
		{"relu", "relu", x, nil},
	}
}

// The values of attributes that only PIR has. Constants that steer operators lie on the CPU, inputs anywhere.
const (
	sameType = "Undefined(ALL_DTYPE)" // the result has the type of the operand
	onCPU    = `[1,0,""]`
	anywhere = `[0,0,""]`
)

// modernizer makes the block of PIR.
type modernizer struct {
	from, to program.Block
	of       map[string]*modern
	constant int // how many there are
}

// modernize gives the program in PIR: parameters sorted by name, inputs, operators, outputs in their order.
func modernize(b program.Block) (*program.Program, error) {
	m := &modernizer{from: b, to: program.Block{Parent: -1, Vars: slices.Clone(b.Vars)}, of: map[string]*modern{}}
	for _, line := range moderns() {
		m.of[line.name] = &line
	}
	for _, v := range (&program.Program{Blocks: []program.Block{b}}).Params() {
		m.op(program.PIRParameter, nil, v.Name)
	}
	for _, o := range slices.Backward(b.Ops) { // the last feed stands first
		if o.Type == "feed" {
			m.input(&o)
		}
	}
	for i := range b.Ops {
		if err := m.add(&b.Ops[i]); err != nil {
			return nil, fmt.Errorf("operator %d (%s): %w", i, b.Ops[i].Type, err)
		}
	}
	return program.NewPIR(m.to)
}

// op appends an operator with operands and results by position.
func (m *modernizer) op(kind string, operands []string, result string, attrs ...program.Attr) {
	o := program.Op{Type: kind, Out: in("0", result), Attrs: attrs}
	for i, name := range operands {
		o.In = append(o.In, in(strconv.Itoa(i), name)...)
	}
	m.to.Ops = append(m.to.Ops, o)
}

// declared finds a variable.
func (m *modernizer) declared(name string) *program.Var {
	for i := range m.to.Vars {
		if m.to.Vars[i].Name == name {
			return &m.to.Vars[i]
		}
	}
	return nil
}

// temp declares a variable of the operators that PIR has more.
func (m *modernizer) temp(name string, t program.VarType_Type, dims ...int64) string {
	m.constant++
	v := tensorVar(fmt.Sprintf("%s of operator %d, %d", name, len(m.to.Ops), m.constant), t, dims)
	v.StopGradient = true
	m.to.Vars = append(m.to.Vars, v)
	return v.Name
}

// typeName is an element type as PIR's attributes spell it.
func typeName(t program.VarType_Type) string {
	if t == program.VarType_INT64 {
		return "int64"
	}
	return "float32"
}

func text(name, v string) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_STRING, Value: v}
}

func longs(name string, v ...int64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_LONGS, Value: v}
}

func double(name string, v float64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_FLOAT64, Value: v}
}

// input is the operator of a feed.
func (m *modernizer) input(o *program.Op) {
	name := program.Args(o.Out, "Out")[0]
	v := m.declared(name)
	m.op(program.PIRInput, nil, name, text("name", name), longs("shape", v.Dims...), text("dtype", typeName(v.Elem)), text("place", anywhere))
}

// output is the operator of a fetch, which has the name of what it takes.
func (m *modernizer) output(o *program.Op) {
	name, col := program.Args(o.In, "X")[0], int64(0)
	if a, ok := o.Attr("col"); ok {
		col, _ = a.Int()
	}
	v := m.declared(name)
	m.op(program.PIROutput, []string{name}, m.temp("output", v.Elem, v.Dims...), text("name", name), integer("col", col))
}

// add appends what an operator becomes.
func (m *modernizer) add(o *program.Op) error {
	switch o.Type {
	case "feed":
		return nil
	case "fetch":
		m.output(o)
		return nil
	}
	line := m.of[o.Type]
	if line == nil {
		return fmt.Errorf("no operator of PIR is known for it")
	}
	var operands []string
	for _, name := range line.operands {
		operand, err := m.operand(o, name)
		if err != nil {
			return err
		}
		operands = append(operands, operand)
	}
	var attrs []program.Attr
	for _, pair := range line.attrs {
		if pair[0] == "" {
			attrs = append(attrs, text(pair[1], sameType))
			continue
		}
		a, ok := o.Attr(pair[0])
		if !ok {
			return fmt.Errorf("no attribute %s", pair[0])
		}
		a.Name = pair[1]
		attrs = append(attrs, a)
	}
	m.op("pd_op."+line.as, operands, o.Out[0].Args[0], attrs...)
	return nil
}

// operand is the variable of a slot, a list of them, or a constant with the value of an attribute.
func (m *modernizer) operand(o *program.Op, name string) (string, error) {
	attr, constant := strings.CutPrefix(name, "@")
	if !constant {
		args := program.Args(o.In, strings.TrimSuffix(name, "*"))
		if !strings.HasSuffix(name, "*") {
			return args[0], nil
		}
		list := m.temp("list", program.VarType_FP32)
		m.op(program.PIRList, args, list)
		return list, nil
	}
	a, ok := o.Attr(attr)
	if !ok {
		return "", fmt.Errorf("no attribute %s", attr)
	}
	switch v := a.Value.(type) {
	case []int64:
		out := m.temp(attr, program.VarType_INT64, int64(len(v)))
		m.op("pd_op.full_int_array", nil, out, longs("value", v...), text("dtype", "int64"), text("place", onCPU))
		return out, nil
	case int64:
		return m.full(attr, float64(v), program.VarType_INT32, "int32"), nil
	case float64:
		return m.full(attr, v, program.VarType_FP32, "float32"), nil
	}
	return "", fmt.Errorf("attribute %s is %s, want numbers", attr, a.Text())
}

// full is a constant of one number.
func (m *modernizer) full(name string, v float64, t program.VarType_Type, dtype string) string {
	out := m.temp(name, t, 1)
	m.op("pd_op.full", nil, out, longs("shape", 1), double("value", v), text("dtype", dtype), text("place", onCPU))
	return out
}
