package onnx

import (
	"encoding/binary"
	"fmt"
	"strings"

	"thole.example/program"
)

// message is the bytes of a protobuf message in the making.
type message []byte

// The wire types.
const (
	varint = 0
	sized  = 2
)

func (m *message) varint(v uint64) { *m = binary.AppendUvarint(*m, v) }

// number adds an integer.
func (m *message) number(field int, v int64) {
	m.varint(uint64(field)<<3 | varint)
	m.varint(uint64(v))
}

// length begins a field of n bytes, which follow.
func (m *message) length(field int, n int64) {
	m.varint(uint64(field)<<3 | sized)
	m.varint(uint64(n))
}

// text adds a text; ONNX wants UTF-8, so what is none is replaced.
func (m *message) text(field int, s string) {
	m.message(field, message(strings.ToValidUTF8(s, "\ufffd")))
}

// message adds a message.
func (m *message) message(field int, sub message) {
	m.length(field, int64(len(sub)))
	*m = append(*m, sub...)
}

// entry adds a StringStringEntryProto.
func (m *message) entry(field int, key, value string) {
	var e message
	e.text(1, key)
	e.text(2, value)
	m.message(field, e)
}

// numbers adds integers, packed.
func (m *message) numbers(field int, all []int64) {
	var list message
	for _, v := range all {
		list.varint(uint64(v))
	}
	m.message(field, list)
}

// elems is the table of types of elements: what ONNX calls them.
func elems() map[program.VarType_Type]int64 {
	return map[program.VarType_Type]int64{program.VarType_FP32: 1, program.VarType_UINT8: 2, program.VarType_INT64: 7,
		program.VarType_FP64: 11}
}

// networked reports whether the variables of networks may have the type.
func networked(t program.VarType_Type) bool {
	return t == program.VarType_FP32 || t == program.VarType_INT64
}

// message is the ValueInfoProto. Dimensions that are not known have names: the first is the batch.
func (v *Value) message() (out message) {
	var shape, tensor, kind message
	for i, n := range v.Dims {
		var dim message
		switch {
		case n >= 0:
			dim.number(1, n)
		case i == 0:
			dim.text(2, "batch")
		default:
			dim.text(2, "fields")
		}
		shape.message(1, dim)
	}
	tensor.number(1, elems()[v.Elem])
	tensor.message(2, shape)
	kind.message(1, tensor)
	out.text(1, v.Name)
	out.message(2, kind)
	return out
}

// String is the name, the type and the dimensions.
func (v Value) String() string {
	dims := strings.ReplaceAll(fmt.Sprint(v.Dims), " ", ",")
	return v.Name + " " + typeName(elems()[v.Elem]) + dims
}

// tensor is a TensorProto; its values are a parameter, which is read when it is written, or a list.
type tensor struct {
	name  string
	elem  program.VarType_Type
	dims  []int64
	bytes int64
	raw   []byte // of a constant
	apart string // the file that has the values, from byte at on; "": they follow the head
	at    int64
}

// within is how many bytes of values follow the head.
func (t *tensor) within() int64 {
	if t.apart != "" {
		return 0
	}
	return t.bytes
}

// parameter is the tensor of a variable.
func parameter(v *program.Var) (tensor, error) {
	n, ok := v.Bytes()
	if !networked(v.Elem) || !ok {
		return tensor{}, fmt.Errorf("onnx: parameter %q of type %v and dimensions %v, want float32 or int64 of known ones",
			v.Name, v.Elem, v.Dims)
	}
	return tensor{name: v.Name, elem: v.Elem, dims: v.Dims, bytes: n}, nil
}

// head is the field of the graph up to the values.
func (t *tensor) head() (out message) {
	m := t.body()
	out.length(5, int64(len(m))+t.within())
	return append(out, m...)
}

// body is the TensorProto up to the values.
func (t *tensor) body() (m message) {
	for _, n := range t.dims {
		m.number(1, n)
	}
	m.number(2, elems()[t.elem])
	if t.name != "" {
		m.text(8, t.name)
	}
	if t.apart == "" {
		m.length(9, t.bytes)
	} else {
		m.entry(13, "location", t.apart)
		m.entry(13, "offset", fmt.Sprint(t.at))
		m.entry(13, "length", fmt.Sprint(t.bytes))
		m.number(14, 1)
	}
	return m
}
