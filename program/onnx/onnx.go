// Package onnx writes an inference program as an ONNX model, which ONNX Runtime and others run: a table gives each operator of a
// ProgramDesc, as package export builds them of every kind of layer, the operators of ONNX (opset 13, ir_version 7).
//
// # Messages
//
// The file is one message of protobuf, the fields of each message in the order of their numbers, which are those of onnx.proto3.
// Wire type 0 is a varint, 2 a length and bytes. What is not listed is not written.
//
//	message                  field                    wire   what
//	ModelProto               1  ir_version            0      7
//	                         2  producer_name         2      "thole"
//	                         7  graph                 2      GraphProto
//	                         8  opset_import          2      OperatorSetIdProto
//	                         14 metadata_props        2      StringStringEntryProto, by key
//	OperatorSetIdProto       2  version               0      13; the domain is the default one
//	StringStringEntryProto   1  key, 2 value          2
//	GraphProto               1  node                  2      NodeProto, in the order in which they run
//	                         2  name                  2      "thole"
//	                         5  initializer           2      TensorProto, parameters by name, then constants
//	                         11 input, 12 output      2      ValueInfoProto
//	NodeProto                1  input, 2 output       2      names, one field for each
//	                         3  name                  2      that of the first output
//	                         4  op_type               2
//	                         5  attribute             2      AttributeProto
//	AttributeProto           1  name                  2
//	                         3  i                     0      the integer
//	                         20 type                  0      2: INT
//	TensorProto              1  dims                  0      one field for each
//	                         2  data_type             0      1: float32, 7: int64
//	                         8  name                  2
//	                         9  raw_data              2      little endian, row-major
//	ValueInfoProto           1  name                  2
//	                         2  type                  2      TypeProto
//	TypeProto                1  tensor_type           2      TypeProto.Tensor
//	TypeProto.Tensor         1  elem_type             0      as data_type
//	                         2  shape                 2      TensorShapeProto
//	TensorShapeProto         1  dim                   2      Dimension
//	Dimension                1  dim_value             0      a size, or
//	                         2  dim_param             2      "batch", "fields"
//
// The same program and parameters give the same bytes. A file is smaller than 2 GiB, which is what readers of protobuf accept.
package onnx

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"thole.example/format"
	"thole.example/program"
)

const (
	irVersion = 7  // the first that goes with the opset
	opset     = 13 // the first whose sums and shapes are operands as they are here
)

// limit is the largest size of a file, in bytes.
const limit = 1<<31 - 1

// ErrSize says that a model is too large for one message of protobuf.
var ErrSize = errors.New("ONNX files are smaller than 2 GiB")

// Model is a model of ONNX and where its parameters come from.
type Model struct {
	Inputs, Outputs []Value

	nodes   message  // the first fields of GraphProto, and its name
	tensors []tensor // parameters by name, then constants
	meta    map[string]string
	graph   int64 // length of the graph, in bytes
	size    int64
	src     format.Reader
}

// Value is an input or output; a dimension of -1 is known when there is input.
type Value struct {
	Name string
	Elem program.VarType_Type
	Dims []int64
}

// New translates a program of one block. Parameters come from r, by their names, as they are written; it must stay open until then.
// meta is kept in the file for those who use the model. It fails where an operator has no place in the table, and with ErrSize.
func New(p *program.Program, r format.Reader, meta map[string]string) (*Model, error) {
	if p.Form != program.FormDesc || len(p.Blocks) != 1 {
		return nil, fmt.Errorf("onnx: %s of %d blocks, want %s of one", p.Form, len(p.Blocks), program.FormDesc)
	}
	b := &builder{vars: map[string]*program.Var{}, known: map[string]string{}}
	for i := range p.Blocks[0].Vars {
		v := &p.Blocks[0].Vars[i]
		b.vars[v.Name] = v
	}
	m := &Model{meta: meta, src: r}
	for _, v := range p.Params() {
		t, err := parameter(&v)
		if err != nil {
			return nil, err
		}
		m.tensors = append(m.tensors, t)
	}
	if err := b.translate(p.Blocks[0].Ops, m); err != nil {
		return nil, err
	}
	m.tensors = append(m.tensors, b.constants...)
	m.nodes = b.nodes
	m.nodes.text(2, "thole")
	m.measure()
	if m.size > limit {
		return nil, fmt.Errorf("onnx: a file of %s: %w; number the columns that are stored (--ids numbered), "+
			"write the model for Paddle, or train with fewer columns or factors (--hash, --factors)",
			format.Bytes(m.size), ErrSize)
	}
	return m, nil
}

// Size is the length of the file in bytes.
func (m *Model) Size() int64 { return m.size }

// ends are the messages before and behind the graph.
func (m *Model) ends() (before, behind message) {
	before.number(1, irVersion)
	before.text(2, "thole")
	var set message
	set.number(2, opset)
	behind.message(8, set)
	for _, key := range slices.Sorted(maps.Keys(m.meta)) {
		var entry message
		entry.text(1, key)
		entry.text(2, m.meta[key])
		behind.message(14, entry)
	}
	return before, behind
}

// tail is the fields of the graph behind its tensors.
func (m *Model) tail() (tail message) {
	for _, v := range m.Inputs {
		tail.message(11, v.message())
	}
	for _, v := range m.Outputs {
		tail.message(12, v.message())
	}
	return tail
}

// measure finds how long graph and file are.
func (m *Model) measure() {
	m.graph = int64(len(m.nodes) + len(m.tail()))
	for i := range m.tensors {
		m.graph += int64(len(m.tensors[i].head())) + m.tensors[i].bytes
	}
	before, behind := m.ends()
	var head message
	head.length(7, m.graph)
	m.size = int64(len(before)+len(head)+len(behind)) + m.graph
}
