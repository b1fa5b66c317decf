// Package onnx writes inference programs in the format of ONNX, which onnxruntime and many others run, and reads what such a
// file says without its values. It is no runtime.
//
// A program.Program of one block whose operators are in the table [Operators] becomes a graph of the same names; its parameters
// become initializers, whose values are read when they are written, a band at a time.
//
// # Messages
//
// A file is one message ModelProto of protocol buffers (onnx.proto3 of the ONNX project). Of the fields of its messages these are
// written; all are read that inspect shows, and others are passed over. Wire types: 0 a varint, 2 bytes with their length before
// them, 5 four bytes, little-endian.
//
//	message             field                no  wire  what it holds
//	ModelProto          ir_version            1   0    IRVersion
//	                    producer_name         2   2    Producer
//	                    graph                 7   2    GraphProto
//	                    opset_import          8   2    OperatorSetIdProto, one for each domain
//	                    metadata_props       14   2    StringStringEntryProto, in the order of Options.Meta
//	GraphProto          node                  1   2    NodeProto, each after those whose outputs it reads
//	                    name                  2   2    Producer
//	                    initializer           5   2    TensorProto: parameters, then constants
//	                    input                11   2    ValueInfoProto
//	                    output               12   2    ValueInfoProto
//	NodeProto           input                 1   2    names
//	                    output                2   2    names
//	                    name                  3   2    that of its first output
//	                    op_type               4   2    such as MatMul
//	                    attribute             5   2    AttributeProto
//	                    domain                7   2    "" is ONNX's own; not written then
//	AttributeProto      name                  1   2
//	                    i                     3   0    one integer
//	                    ints                  8   2    integers, packed
//	                    type                 20   0    2: i, 7: ints
//	TensorProto         dims                  1   2    packed
//	                    data_type             2   0    1: float32, 7: int64
//	                    name                  8   2
//	                    raw_data              9   2    little-endian
//	                    external_data        13   2    StringStringEntryProto: location, offset, length
//	                    data_location        14   0    1: values are in that file
//	ValueInfoProto      name                  1   2
//	                    type                  2   2    TypeProto
//	TypeProto           tensor_type           1   2    TypeProto.Tensor
//	TypeProto.Tensor    elem_type             1   0    as data_type
//	                    shape                 2   2    TensorShapeProto
//	TensorShapeProto    dim                   1   2    Dimension
//	Dimension           dim_value             1   0
//	                    dim_param             2   2    a name: it may be any number, the same wherever the name stands
//	OperatorSetIdProto  domain                1   2    not written for ONNX's own
//	                    version               2   0    Opset, or MLOpset of the domain ai.onnx.ml
//	StringStringEntry-  key                   1   2
//	Proto               value                 2   2
//
// Limits: readers of protocol buffers take at most 2 GiB ([Limit]); values of larger models go to a file beside the model, which
// is called as it is with [DataEnding] behind.
//
// # Ids
//
// Tables have a row for each feature. Where the ids of a program number keys, a LabelEncoder of ai.onnx.ml looks them up, so that
// keys are fed; where they are rows, those that are none are taken for row 0, and their values for 0. In both cases a feature that
// the model does not know adds nothing, and -1 or any other such id fills up short examples, as does the value 0.
package onnx

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/program"
)

const (
	// IRVersion is the version of the format, that of ONNX 1.8 of November 2020.
	IRVersion = 7
	// Opset is the version of ONNX's own operators, and MLOpset that of the domain ai.onnx.ml.
	Opset, MLOpset = 13, 2
	// Producer is who made the files.
	Producer = "Thole"
	// Limit is up to how many bytes a model has its values within.
	Limit = 1<<31 - 1
	// DataEnding is the ending of the file beside a model which has its values, behind that of the model.
	DataEnding = ".data"
)

// mlDomain is the domain of operators beside those of networks.
const mlDomain = "ai.onnx.ml"

// Options are what a program does not say of itself.
type Options struct {
	// Names are other names for inputs and outputs, by those of the program.
	Names map[string]string
	// IDs and Values are the inputs of examples that are fed as ids and values, as the program names them; "" if none are.
	IDs, Values string
	// Rows is the number of rows of the tables that ids name. Keys, if there are any, are fed in place of rows, ascending: that
	// of each row but the last, which stands for all others.
	Rows int64
	Keys []int64
	// Meta are pairs of a key and a value that the file keeps for people.
	Meta [][2]string
	// Data is the name of the file for the values, beside the model; "": they are within.
	Data string
}

// Model is a program as ONNX has it.
type Model struct {
	nodes   []node
	tensors []tensor
	in, out []port
	o       Options
}

// New translates a program of one block. It fails where an operator, one of its attributes or a type is not known, and names it.
func New(p *program.Program, o Options) (*Model, error) {
	if len(p.Blocks) != 1 || p.Form == program.FormPIR {
		return nil, fmt.Errorf("a program of %d blocks (%s), want one of one block (%s)", len(p.Blocks), p.Form, program.FormDesc)
	}
	t := &translator{block: &p.Blocks[0], Model: Model{o: o},
		names: map[string]string{}, taken: map[string]bool{}, constants: map[string]string{}}
	for _, v := range t.block.Vars {
		t.taken[v.Name] = true
	}
	if err := t.params(p.Params()); err != nil {
		return nil, err
	}
	t.feeds()
	for i := range t.block.Ops {
		op := &t.block.Ops[i]
		if err := t.add(op); err != nil {
			return nil, fmt.Errorf("operator %d (%s): %w", i, op.Type, err)
		}
	}
	return &t.Model, nil
}

// params makes the parameters initializers.
func (t *translator) params(all []program.Var) error {
	for _, v := range all {
		n, known := v.Bytes()
		elem := elemOf(v.Elem)
		if !known || elem == 0 {
			return fmt.Errorf("parameter %q is %v of type %v, want float32 or int64 of known size", v.Name, v.Dims, v.Elem)
		}
		t.tensors = append(t.tensors, tensor{name: v.Name, dims: v.Dims, elem: elem, stored: true, size: n})
		t.names[v.Name] = v.Name
	}
	return nil
}

// elemOf is the type of elements as ONNX numbers it; 0 for others.
func elemOf(t program.VarType_Type) int64 {
	switch t {
	case program.VarType_FP32:
		return float
	case program.VarType_INT64:
		return long
	}
	return 0
}

// translator makes a model of a block.
type translator struct {
	Model
	block     *program.Block
	names     map[string]string // of variables that have a value, in the model
	taken     map[string]bool
	constants map[string]string // names of constants by what they are
}

// feeds makes the inputs, in the order of the program, and what makes rows of ids.
func (t *translator) feeds() {
	for _, op := range slices.Backward(t.block.Ops) { // the last feed stands first
		if op.Type != "feed" {
			continue
		}
		for _, name := range program.Args(op.Out, "Out") {
			p := t.port(name)
			t.in = append(t.in, p)
			t.names[name] = p.name
			t.taken[p.name] = true
		}
	}
	switch {
	case t.o.IDs == "":
	case len(t.o.Keys) > 0: // where there are none, row 0 is that of all others
		t.lookup()
	default:
		t.guard()
	}
}

// port is an input or output by the name of its variable.
func (t *translator) port(name string) port {
	p := port{name: name, elem: float}
	if other := t.o.Names[name]; other != "" {
		p.name = other
	}
	for _, v := range t.block.Vars {
		if v.Name == name {
			p.dims, p.elem = v.Dims, elemOf(v.Elem)
		}
	}
	return p
}

// lookup finds the rows of keys.
func (t *translator) lookup() {
	rows := make([]int64, len(t.o.Keys))
	for i := range rows {
		rows[i] = int64(i)
	}
	t.names[t.o.IDs] = t.node(node{op: "LabelEncoder", domain: mlDomain, in: []string{t.names[t.o.IDs]}, attrs: []attr{
		{name: "keys_int64s", ints: t.o.Keys}, {name: "values_int64s", ints: rows}, {name: "default_int64", i: int64(len(rows))}}}, "ids.rows")
}

// guard makes ids that are no rows to row 0 and their values to 0.
func (t *translator) guard() {
	ids, values := t.names[t.o.IDs], t.names[t.o.Values]
	least := t.node(node{op: "GreaterOrEqual", in: []string{ids, t.whole(0)}}, "ids.from")
	most := t.node(node{op: "Less", in: []string{ids, t.whole(t.o.Rows)}}, "ids.below")
	known := t.node(node{op: "And", in: []string{least, most}}, "ids.known")
	t.names[t.o.IDs] = t.node(node{op: "Where", in: []string{known, ids, t.whole(0)}}, "ids.rows")
	t.names[t.o.Values] = t.node(node{op: "Where", in: []string{known, values, t.number(0)}}, "values.known")
}

// free is the name, or with a number behind it, that nothing else has.
func (t *translator) free(name string) string {
	free := name
	for i := 1; t.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	t.taken[free] = true
	return free
}

// node appends a node with one output of the name, or one like it, and answers with that.
func (t *translator) node(n node, name string) string {
	n.out = t.free(name)
	t.nodes = append(t.nodes, n)
	return n.out
}

// add translates an operator.
func (t *translator) add(op *program.Op) error {
	switch op.Type {
	case "feed":
		return nil
	case "fetch":
		return t.fetch(op)
	}
	l, err := find(op)
	if err != nil {
		return err
	}
	c := call{translator: t, op: op}
	n := l.build(&c)
	if c.err != nil {
		return c.err
	}
	name := c.result()
	if c.err != nil {
		return c.err
	}
	n.out = name
	if other := t.o.Names[name]; other != "" {
		n.out = other
	}
	t.taken[n.out] = true
	t.names[name] = n.out
	t.nodes = append(t.nodes, n)
	return nil
}

// fetch makes an output.
func (t *translator) fetch(op *program.Op) error {
	args := program.Args(op.In, "X")
	if len(args) != 1 || t.names[args[0]] == "" {
		return fmt.Errorf("takes %q, want one variable that an operator gives", strings.Join(args, ", "))
	}
	p := t.port(args[0])
	p.name = t.names[args[0]]
	if p.elem == 0 {
		return fmt.Errorf("takes %q, want float32 or int64", args[0])
	}
	t.out = append(t.out, p)
	return nil
}

// errOther is an error of an attribute that the translation does not have.
func errOther(a program.Attr, want string) error {
	return fmt.Errorf("attribute %s is %s, want %s: %w", a.Name, a.Text(), want, format.ErrVersion)
}
