// Package onnx writes an inference program as an ONNX model, which ONNX Runtime and others run: a table gives each operator of a
// ProgramDesc, as package export builds them of every kind of layer, the operators of ONNX (opset 13, ir_version 7).
//
// [NewTrees] does so with boosted trees: a TreeEnsemble of ai.onnx.ml (version 5, ir_version 10) between operators that make its columns of
// the features and predictions of its sums. It has thresholds and sums in float64, or in float32 where the ensemble adds up so. Of each
// set of levels the lookup of a level in a table makes a column.
//
// [Read] says what a file of ONNX holds, whoever wrote it, without its values. The package is no runtime.
//
// # Messages
//
// The file is one message of protobuf, the fields of each message in the order of their numbers, which are those of onnx.proto3.
// Wire type 0 is a varint, 2 a length and bytes. What is not listed is not written, and is
// passed over where a file is read.
//
//	message                  field                    wire   what
//	ModelProto               1  ir_version            0      7; 10 of trees
//	                         2  producer_name         2      "thole"
//	                         7  graph                 2      GraphProto
//	                         8  opset_import          2      OperatorSetIdProto, one for each domain
//	                         14 metadata_props        2      StringStringEntryProto, by key
//	OperatorSetIdProto       1  domain                2      "ai.onnx.ml", or none: ONNX's own
//	                         2  version               0      13; 2 of ai.onnx.ml, 5 of trees
//	StringStringEntryProto   1  key, 2 value          2
//	GraphProto               1  node                  2      NodeProto, in the order in which they run
//	                         2  name                  2      "thole"
//	                         5  initializer           2      TensorProto, parameters by name, then constants
//	                         11 input, 12 output      2      ValueInfoProto
//	NodeProto                1  input, 2 output       2      names, one field for each
//	                         3  name                  2      that of the first output
//	                         4  op_type               2
//	                         5  attribute             2      AttributeProto
//	                         7  domain                2      "ai.onnx.ml", or none
//	AttributeProto           1  name                  2
//	                         3  i                     0      the integer, or
//	                         5  t                     2      TensorProto, or
//	                         8  ints                  2      integers, packed
//	                         20 type                  0      2: INT, 4: TENSOR, 7: INTS
//	TensorProto              1  dims                  0      one field for each
//	                         2  data_type             0      1: float32, 7: int64; of trees 2: uint8, 11: float64, too
//	                         8  name                  2
//	                         9  raw_data              2      little endian, row-major; or
//	                         13 external_data         2      StringStringEntryProto: location, offset, length, and
//	                         14 data_location         0      1: the values are in that file
//	ValueInfoProto           1  name                  2
//	                         2  type                  2      TypeProto
//	TypeProto                1  tensor_type           2      TypeProto.Tensor
//	TypeProto.Tensor         1  elem_type             0      as data_type
//	                         2  shape                 2      TensorShapeProto
//	TensorShapeProto         1  dim                   2      Dimension
//	Dimension                1  dim_value             0      a size, or
//	                         2  dim_param             2      "batch", "fields"
//
// The same program and parameters give the same bytes. Readers of protobuf take less than 2 GiB ([Limit]); the parameters of larger models
// go to a file beside the model ([Model.Apart]).
//
// # Ids
//
// Tables have a row for each feature. Where these have keys, a LabelEncoder of ai.onnx.ml looks up the rows, and that of a key which
// is not there is the last, which is zero; where ids are rows, those that are none are taken for row 0, and their values for 0. In both
// cases a feature that the model does not know adds nothing, as in predict.
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
	opsetML   = 2  // the first whose LabelEncoder takes integers

	irTrees      = 10 // the first that goes with opsetMLTrees
	opsetMLTrees = 5  // the first with TreeEnsemble, of float64
)

// domainML is the domain of operators beside those of networks.
const domainML = "ai.onnx.ml"

// Limit is the largest size of a model's file, in bytes.
const Limit = 1<<31 - 1

// DataEnding is what stands behind the name of a model in that of the file with its parameters, where they are apart.
const DataEnding = ".data"

// ErrSize says that a model is too large for one message of protobuf.
var ErrSize = errors.New("ONNX files are smaller than 2 GiB")

// Options are what a program does not say of itself.
type Options struct {
	// Meta is kept in the file for those who use the model.
	Meta map[string]string
	// Rows is the number of rows of the tables that the input "ids" names, whose values are the input "vals"; 0 if there are none.
	Rows int64
	// Keys, if there are any, are fed in place of rows, ascending: that of each row but the last.
	Keys []int64
}

// Model is a model of ONNX and where its parameters come from.
type Model struct {
	Inputs, Outputs []Value

	nodes   message  // the first fields of GraphProto, and its name
	tensors []tensor // parameters by name, then constants
	opts    Options
	ir, ml  int64  // versions: of the format, and of the operators of ai.onnx.ml, 0 if there are none
	apart   string // the file with the parameters, "": they are in the model
	graph   int64  // length of the graph, in bytes
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
// It fails where an operator has no place in the table.
func New(p *program.Program, r format.Reader, o Options) (*Model, error) {
	if p.Form != program.FormDesc || len(p.Blocks) != 1 {
		return nil, fmt.Errorf("onnx: %s of %d blocks, want %s of one", p.Form, len(p.Blocks), program.FormDesc)
	}
	b := &builder{vars: map[string]*program.Var{}, known: map[string]string{}, as: map[string]string{}}
	for i := range p.Blocks[0].Vars {
		v := &p.Blocks[0].Vars[i]
		b.vars[v.Name] = v
	}
	m := &Model{opts: o, src: r, ir: irVersion}
	if len(o.Keys) > 0 {
		m.ml = opsetML
	}
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
	m.finish(b)
	return m, nil
}

// finish takes over what was built.
func (m *Model) finish(b *builder) {
	m.tensors = append(m.tensors, b.constants...)
	m.nodes = b.nodes
	m.nodes.text(2, "thole")
	m.measure()
}

// Size is the length of the model's file in bytes.
func (m *Model) Size() int64 { return m.size }

// Apart puts the parameters into a file of the name, which lies beside the model: WriteData writes it.
func (m *Model) Apart(name string) {
	m.apart = name
	m.measure()
}

// ends are the messages before and behind the graph.
func (m *Model) ends() (before, behind message) {
	before.number(1, m.ir)
	before.text(2, "thole")
	var set message
	set.number(2, opset)
	behind.message(8, set)
	if m.ml > 0 {
		set = nil
		set.text(1, domainML)
		set.number(2, m.ml)
		behind.message(8, set)
	}
	for _, key := range slices.Sorted(maps.Keys(m.opts.Meta)) {
		behind.entry(14, key, m.opts.Meta[key])
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

// measure finds where the parameters lie, if they are apart, and how long graph and file are.
func (m *Model) measure() {
	m.graph = int64(len(m.nodes) + len(m.tail()))
	at := int64(0)
	for i := range m.tensors {
		t := &m.tensors[i]
		t.apart = ""
		if m.apart != "" && t.raw == nil {
			t.apart, t.at = m.apart, at
			at += t.bytes
		}
		m.graph += int64(len(t.head())) + t.within()
	}
	before, behind := m.ends()
	var head message
	head.length(7, m.graph)
	m.size = int64(len(before)+len(head)+len(behind)) + m.graph
}
