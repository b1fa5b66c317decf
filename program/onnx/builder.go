package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/internal/spell"
	"thole.example/program"
	"thole.example/wire"
)

// builder translates operators. In what it is given and what it makes every name is given a value once.
type builder struct {
	vars      map[string]*program.Var
	nodes     message
	constants []tensor
	known     map[string]string // names of constants by their bytes
	as        map[string]string // what operators read in place of an input
	fed       []string          // inputs so far
	count     int               // names made up
}

// operator is an operator being translated; the first thing that is missing is its error.
type operator struct {
	*program.Op
	as  map[string]string
	err error
}

// fail notes the first error.
func (o *operator) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// one is the only variable of a slot.
func (o *operator) one(slots []program.Slot, name string) string {
	args := program.Args(slots, name)
	if len(args) != 1 {
		o.fail(fmt.Errorf("%d variables in %s, want one", len(args), name))
		return ""
	}
	return args[0]
}

// in is what stands for the only variable of a slot.
func (o *operator) in(name string) string {
	arg := o.one(o.In, name)
	return cmp.Or(o.as[arg], arg)
}

func (o *operator) out() string { return o.one(o.Out, "Out") }

// ints are the integers of an attribute that has to be there.
func (o *operator) ints(name string) []int64 {
	a, ok := o.Attr(name)
	if !ok {
		o.fail(fmt.Errorf("no attribute %s", name))
	}
	v, err := a.Ints()
	if err != nil {
		o.fail(err)
	}
	return v
}

// int is the one integer of an attribute.
func (o *operator) int(name string) int64 {
	v := o.ints(name)
	if len(v) != 1 {
		o.fail(fmt.Errorf("attribute %s is %v, want one integer", name, v))
		return 0
	}
	return v[0]
}

// truth is a truth value, false if there is none.
func (o *operator) truth(name string) bool {
	a, ok := o.Attr(name)
	if !ok {
		return false
	}
	v, err := a.Bool()
	if err != nil {
		o.fail(err)
	}
	return v
}

// float is a number, with a default.
func (o *operator) float(name string, otherwise float64) float64 {
	a, ok := o.Attr(name)
	if !ok {
		return otherwise
	}
	v, err := a.Float()
	if err != nil {
		o.fail(err)
	}
	return v
}

// translate translates the operators; feeds and fetches become the inputs and outputs of the model.
func (b *builder) translate(ops []program.Op, m *Model) error {
	type end struct {
		col int64
		Value
	}
	var in, out []end
	table := operators()
	for i := range ops {
		o := &operator{Op: &ops[i], as: b.as}
		switch build, ok := table[o.Type]; {
		case o.Type == "feed":
			in = append(in, end{o.int("col"), b.value(o, o.out())})
			b.rows(o.out(), m.opts)
		case o.Type == "fetch":
			out = append(out, end{o.int("col"), b.value(o, o.in("X"))})
		case !ok:
			return fmt.Errorf("onnx: operator %d: %w", i, spell.Unknown("operator", o.Type, slices.Sorted(maps.Keys(table))))
		default:
			build(b, o)
		}
		if o.err != nil {
			return fmt.Errorf("onnx: operator %d, %s: %w", i, o.Type, o.err)
		}
	}
	list := func(ends []end) (all []Value) {
		slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.col, b.col) })
		for _, e := range ends {
			all = append(all, e.Value)
		}
		return all
	}
	m.Inputs, m.Outputs = list(in), list(out)
	if len(m.Inputs) == 0 || len(m.Outputs) == 0 {
		return fmt.Errorf("onnx: %d inputs and %d outputs, want a program that is fed and fetched from", len(m.Inputs), len(m.Outputs))
	}
	b.score(m)
	return nil
}

// score adds the output of that name where the score is the prediction: every model has both.
func (b *builder) score(m *Model) {
	if len(m.Outputs) == 1 && m.Outputs[0].Name == "prediction" && b.vars["score"] == nil {
		score := m.Outputs[0]
		score.Name = "score"
		b.node("Identity", "score", []string{"prediction"})
		m.Outputs = append(m.Outputs, score)
	}
}

// value is an input or output of the model.
func (b *builder) value(o *operator, name string) Value {
	v := b.vars[name]
	if v == nil || !networked(v.Elem) {
		o.fail(fmt.Errorf("variable %q, want one of float32 or int64", name))
		return Value{}
	}
	return Value{Name: name, Elem: v.Elem, Dims: v.Dims}
}

// attr is an attribute of a node: a tensor or integers if there are any, else one integer.
type attr struct {
	name   string
	i      int64
	list   []int64
	tensor *tensor
}

// node adds a node with one output, whose name is that of the node, too.
func (b *builder) node(kind, out string, in []string, attrs ...attr) {
	var n message
	for _, name := range in {
		n.text(1, name)
	}
	n.text(2, out)
	n.text(3, out)
	n.text(4, kind)
	for _, a := range attrs {
		n.message(5, a.message())
	}
	if kind == "LabelEncoder" || kind == "TreeEnsemble" {
		n.text(7, domainML)
	}
	b.nodes.message(1, n)
}

// message is the AttributeProto.
func (a *attr) message() (m message) {
	m.text(1, a.name)
	switch {
	case a.tensor != nil:
		m.message(5, append(a.tensor.body(), a.tensor.raw...))
		m.number(20, 4)
	case a.list != nil:
		m.numbers(8, a.list)
		m.number(20, 7)
	default:
		m.number(3, a.i)
		m.number(20, 2)
	}
	return m
}

// add adds a node whose output has a name of its own.
func (b *builder) add(kind, what string, in []string, attrs ...attr) string {
	out := b.fresh(what)
	b.node(kind, out, in, attrs...)
	return out
}

// fresh is a name that no variable has.
func (b *builder) fresh(what string) string {
	for {
		b.count++
		if name := fmt.Sprintf("%s_%d", what, b.count); b.vars[name] == nil {
			return name
		}
	}
}

// list is a constant of integers, which is made once.
func (b *builder) list(v ...int64) string {
	var raw []byte
	for _, x := range v {
		raw = wire.AppendU64(raw, wire.Little, uint64(x))
	}
	return b.constant("list", tensor{elem: program.VarType_INT64, dims: []int64{int64(len(v))}, raw: raw})
}

// integer is a constant without dimensions.
func (b *builder) integer(v int64) string {
	return b.constant("integer", tensor{elem: program.VarType_INT64, raw: wire.AppendU64(nil, wire.Little, uint64(v))})
}

// double is a constant without dimensions.
func (b *builder) double(v float64) string {
	return b.constant("double", tensor{elem: program.VarType_FP64, raw: wire.AppendU64(nil, wire.Little, math.Float64bits(v))})
}

// number is a constant without dimensions.
func (b *builder) number(v float64) string {
	return b.constant("number", tensor{elem: program.VarType_FP32, raw: wire.AppendU32(nil, wire.Little, math.Float32bits(float32(v)))})
}

func (b *builder) constant(what string, t tensor) string {
	key := what + string(t.raw)
	if b.known[key] == "" {
		t.name, t.bytes = b.fresh(what), int64(len(t.raw))
		b.known[key] = t.name
		b.constants = append(b.constants, t)
	}
	return b.known[key]
}
