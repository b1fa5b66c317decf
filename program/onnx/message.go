package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Types of elements, as ONNX numbers them.
const (
	float = 1
	long  = 7
)

// The wire types that are used.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// message is the bytes of a message in the making.
type message []byte

func (m *message) key(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

// int appends an integer, also where it is 0: some have another default.
func (m *message) int(field int, v int64) {
	m.key(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

// begin appends what stands before n bytes of a field.
func (m *message) begin(field int, n int64) {
	m.key(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(n))
}

func (m *message) text(field int, v string) {
	m.begin(field, int64(len(v)))
	*m = append(*m, v...)
}

func (m *message) sub(field int, v message) { m.text(field, string(v)) }

// ints appends a list of integers, packed.
func (m *message) ints(field int, v []int64) {
	n := int64(0)
	for _, x := range v {
		n += varintLen(uint64(x))
	}
	m.begin(field, n)
	for _, x := range v {
		*m = binary.AppendUvarint(*m, uint64(x))
	}
}

func varintLen(v uint64) (n int64) {
	for n = 1; v >= 0x80; n++ {
		v >>= 7
	}
	return n
}

// entry appends a StringStringEntryProto.
func (m *message) entry(field int, key, value string) {
	var e message
	e.text(1, key)
	e.text(2, value)
	m.sub(field, e)
}

// attr is an attribute of a node: a list of integers, or if there is none one of them.
type attr struct {
	name string
	i    int64
	ints []int64
}

func (a *attr) message() (m message) {
	m.text(1, a.name)
	if a.ints != nil {
		m.ints(8, a.ints)
		m.int(20, 7)
		return m
	}
	m.int(3, a.i)
	m.int(20, 2)
	return m
}

// node is an operator with one output.
type node struct {
	op, domain string
	in         []string
	out        string
	attrs      []attr
}

func (n *node) message() (m message) {
	for _, name := range n.in {
		m.text(1, name)
	}
	m.text(2, n.out)
	m.text(3, n.out)
	m.text(4, n.op)
	for i := range n.attrs {
		m.sub(5, n.attrs[i].message())
	}
	if n.domain != "" {
		m.text(7, n.domain)
	}
	return m
}

// port is an input or output of the graph. Dimensions below 0 are known when it runs.
type port struct {
	name string
	elem int64
	dims []int64
}

func (p *port) message() (m message) {
	var shape message
	for i, d := range p.dims {
		var dim message
		switch {
		case d >= 0:
			dim.int(1, d)
		case i == 0:
			dim.text(2, "batch")
		default:
			dim.text(2, "features")
		}
		shape.sub(1, dim)
	}
	var tensor, kind message
	tensor.int(1, p.elem)
	tensor.sub(2, shape)
	kind.sub(1, tensor)
	m.text(1, p.name)
	m.sub(2, kind)
	return m
}

// tensor is a constant or a parameter.
type tensor struct {
	name   string
	dims   []int64
	elem   int64
	stored bool // its values are those of the matrix of its name, else value
	value  []byte
	size   int64 // of the values in bytes
}

// head is the message without its values, which follow if they are within the model.
func (t *tensor) head(data string, off int64) (m message) {
	m.ints(1, t.dims)
	m.int(2, t.elem)
	m.text(8, t.name)
	if data == "" || !t.stored {
		m.begin(9, t.size)
		return m
	}
	m.entry(13, "location", data)
	m.entry(13, "offset", fmt.Sprint(off))
	m.entry(13, "length", fmt.Sprint(t.size))
	m.int(14, 1)
	return m
}

// constant is a small tensor; those that are equal are one.
func (t *translator) constant(c tensor) string {
	c.size = int64(len(c.value))
	what := fmt.Sprint(c.elem, c.dims, c.value)
	if name := t.constants[what]; name != "" {
		return name
	}
	c.name = t.free(fmt.Sprintf("constant_%d", len(t.constants)))
	t.constants[what] = c.name
	t.tensors = append(t.tensors, c)
	return c.name
}

// number is a constant of one number.
func (t *translator) number(v float32) string {
	return t.constant(tensor{elem: float, value: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))})
}

// whole is a constant of one integer.
func (t *translator) whole(v int64) string {
	return t.constant(tensor{elem: long, value: binary.LittleEndian.AppendUint64(nil, uint64(v))})
}

// list is a constant of integers.
func (t *translator) list(v []int64) string {
	c := tensor{elem: long, dims: []int64{int64(len(v))}}
	for _, x := range v {
		c.value = binary.LittleEndian.AppendUint64(c.value, uint64(x))
	}
	return t.constant(c)
}
