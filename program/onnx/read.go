package onnx

import (
	"encoding/binary"
	"fmt"
	"strings"

	"thole.example/format"
)

// Summary is what a model says, without the values of its initializers.
type Summary struct {
	IR           int64         `json:"irVersion"`
	Producer     string        `json:"producer,omitempty"`
	Opsets       []Opsets      `json:"operatorSets"`
	Inputs       []Port        `json:"inputs"`
	Outputs      []Port        `json:"outputs"`
	Nodes        []Node        `json:"nodes"`
	Initializers []Initializer `json:"initializers"`
	Meta         [][2]string   `json:"metadata,omitempty"`
}

// Opsets is a version of the operators of a domain; "" is ONNX's own.
type Opsets struct {
	Domain  string `json:"domain"`
	Version int64  `json:"version"`
}

// Port is an input or output of the graph: its element type, and its dimensions, numbers or names, "?" where nothing is said.
type Port struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Dims []string `json:"dims"`
}

// String is the port as inspect shows it: ids int64[batch,features].
func (p Port) String() string {
	return fmt.Sprintf("%s %s[%s]", p.Name, p.Type, strings.Join(p.Dims, ","))
}

// Node is an operator.
type Node struct {
	Op     string   `json:"op"`
	Domain string   `json:"domain,omitempty"`
	Name   string   `json:"name,omitempty"`
	In     []string `json:"inputs"`
	Out    []string `json:"outputs"`
	Attrs  []Attr   `json:"attributes,omitempty"`
}

// Attr is an attribute of a node: an integer, or integers where there are any. Of others only the name is kept.
type Attr struct {
	Name string  `json:"name"`
	I    int64   `json:"i,omitempty"`
	Ints []int64 `json:"-"`
}

// Initializer is a constant or parameter.
type Initializer struct {
	Name string  `json:"name"`
	Type string  `json:"type"`
	Dims []int64 `json:"dims"`
	Data string  `json:"file,omitempty"` // where its values are, if they are not within
	Raw  []byte  `json:"-"`              // the values, a view of the file
}

// itemLimit is up to how many nodes, initializers, names and dimensions a model is read.
const itemLimit = 1 << 20

// typeNames are the types of elements by their numbers.
var typeNames = []string{"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64",
	"uint32", "uint64", "complex64", "complex128", "bfloat16"}

func typeName(t int64) string {
	if t >= 0 && t < int64(len(typeNames)) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", t)
}

// Decode reads a model; path is for errors, which wrap format.ErrCorrupt or format.ErrLimit. It keeps views of data.
func Decode(path string, data []byte) (*Summary, error) {
	s, d := &Summary{}, &decoder{path: path}
	graphs := 0
	err := d.walk("ModelProto", data, 0, func(f field) (err error) {
		switch f.number {
		case 1:
			s.IR, err = f.int()
		case 2:
			s.Producer, err = f.text()
		case 7:
			graphs++
			err = d.graph(s, f)
		case 8:
			var o Opsets
			if o, err = d.opset(f); err == nil {
				s.Opsets, err = more(d, s.Opsets, o)
			}
		case 14:
			var pair [2]string
			if pair, err = d.entry(f); err == nil {
				s.Meta, err = more(d, s.Meta, pair)
			}
		}
		return err
	})
	if err == nil && (graphs != 1 || s.IR < 1 || len(s.Opsets) == 0) {
		err = format.Corrupt("onnx", path, -1, "%d graphs, version %d of the format and %d sets of operators, want one graph, and the "+
			"others named", graphs, s.IR, len(s.Opsets))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// more appends one of a bounded number of things.
func more[T any](d *decoder, all []T, one T) ([]T, error) {
	if d.items++; d.items > itemLimit {
		err := fmt.Errorf("more than %d parts: %w", itemLimit, format.ErrLimit)
		return nil, &format.Error{Codec: "onnx", Path: d.path, Off: -1, Err: err}
	}
	return append(all, one), nil
}

func (d *decoder) graph(s *Summary, g field) error {
	return d.sub("GraphProto", g, func(f field) (err error) {
		switch f.number {
		case 1:
			var n Node
			if n, err = d.node(f); err == nil {
				s.Nodes, err = more(d, s.Nodes, n)
			}
		case 5:
			var t Initializer
			if t, err = d.tensor(f); err == nil {
				s.Initializers, err = more(d, s.Initializers, t)
			}
		case 11, 12:
			var p Port
			if p, err = d.port(f); err != nil {
				return err
			}
			if f.number == 11 {
				s.Inputs, err = more(d, s.Inputs, p)
			} else {
				s.Outputs, err = more(d, s.Outputs, p)
			}
		}
		return err
	})
}

func (d *decoder) opset(of field) (o Opsets, err error) {
	err = d.sub("OperatorSetIdProto", of, func(f field) (err error) {
		switch f.number {
		case 1:
			o.Domain, err = f.text()
		case 2:
			o.Version, err = f.int()
		}
		return err
	})
	return o, err
}

func (d *decoder) entry(of field) (pair [2]string, err error) {
	err = d.sub("StringStringEntryProto", of, func(f field) (err error) {
		if f.number == 1 || f.number == 2 {
			pair[f.number-1], err = f.text()
		}
		return err
	})
	return pair, err
}

func (d *decoder) node(of field) (n Node, err error) {
	err = d.sub("NodeProto", of, func(f field) (err error) {
		text := ""
		if f.number <= 4 || f.number == 7 {
			if text, err = f.text(); err != nil {
				return err
			}
		}
		switch f.number {
		case 1:
			n.In, err = more(d, n.In, text)
		case 2:
			n.Out, err = more(d, n.Out, text)
		case 3:
			n.Name = text
		case 4:
			n.Op = text
		case 5:
			var a Attr
			if a, err = d.attr(f); err == nil {
				n.Attrs, err = more(d, n.Attrs, a)
			}
		case 7:
			n.Domain = text
		}
		return err
	})
	return n, err
}

func (d *decoder) attr(of field) (a Attr, err error) {
	err = d.sub("AttributeProto", of, func(f field) (err error) {
		switch f.number {
		case 1:
			a.Name, err = f.text()
		case 3:
			a.I, err = f.int()
		case 8:
			a.Ints, err = f.ints(a.Ints)
		}
		return err
	})
	return a, err
}

func (d *decoder) tensor(of field) (t Initializer, err error) {
	err = d.sub("TensorProto", of, func(f field) (err error) {
		switch f.number {
		case 1:
			if t.Dims, err = f.ints(t.Dims); err == nil && len(t.Dims) > 64 {
				err = f.corrupt("more than 64 dimensions")
			}
		case 2:
			var kind int64
			kind, err = f.int()
			t.Type = typeName(kind)
		case 8:
			t.Name, err = f.text()
		case 9:
			if f.wire != wireBytes {
				return f.corrupt("wire type %d of raw_data, want %d", f.wire, wireBytes)
			}
			t.Raw = f.data
		case 13:
			var pair [2]string
			if pair, err = d.entry(f); pair[0] == "location" {
				t.Data = pair[1]
			}
		}
		return err
	})
	return t, err
}

func (d *decoder) port(of field) (p Port, err error) {
	p.Type = "no tensor"
	err = d.sub("ValueInfoProto", of, func(f field) (err error) {
		switch f.number {
		case 1:
			p.Name, err = f.text()
		case 2:
			err = d.sub("TypeProto", f, func(f field) error {
				if f.number != 1 {
					return nil
				}
				return d.sub("TypeProto.Tensor", f, func(f field) error { return d.shaped(&p, f) })
			})
		}
		return err
	})
	return p, err
}

// shaped reads a field of TypeProto.Tensor.
func (d *decoder) shaped(p *Port, f field) error {
	switch f.number {
	case 1:
		kind, err := f.int()
		p.Type = typeName(kind)
		return err
	case 2:
		return d.sub("TensorShapeProto", f, func(f field) error {
			if f.number != 1 {
				return nil
			}
			dim := "?"
			err := d.sub("Dimension", f, func(f field) (err error) {
				switch f.number {
				case 1:
					var n int64
					n, err = f.int()
					dim = fmt.Sprint(n)
				case 2:
					dim, err = f.text()
				}
				return err
			})
			if err == nil {
				p.Dims, err = more(d, p.Dims, dim)
			}
			return err
		})
	}
	return nil
}

// decodePort reads a ValueInfoProto that was just written.
func decodePort(m message) (Port, error) {
	return (&decoder{}).port(field{wire: wireBytes, data: m})
}

// decoder reads messages. Depth is bounded by those that are known: others are passed over.
type decoder struct {
	path  string
	items int
}

// field is a field of a message: its number, and its bytes or number by the wire type.
type field struct {
	path   string
	number int
	wire   int
	off    int64 // of data, or of the number, in the file
	value  uint64
	data   []byte
}

func (f *field) corrupt(text string, args ...any) error {
	return format.Corrupt("onnx", f.path, f.off, "field %d: "+text, append([]any{f.number}, args...)...)
}

func (f *field) int() (int64, error) {
	if f.wire != wireVarint {
		return 0, f.corrupt("wire type %d, want %d, a number", f.wire, wireVarint)
	}
	return int64(f.value), nil
}

// textLimit is the longest text that is read, in bytes.
const textLimit = 1 << 20

func (f *field) text() (string, error) {
	if f.wire != wireBytes {
		return "", f.corrupt("wire type %d, want %d, text", f.wire, wireBytes)
	}
	if len(f.data) > textLimit {
		return "", f.corrupt("a text of %d bytes, want at most %d", len(f.data), textLimit)
	}
	return string(f.data), nil
}

// ints appends an integer, or packed ones.
func (f *field) ints(to []int64) ([]int64, error) {
	if f.wire == wireVarint {
		return append(to, int64(f.value)), nil
	}
	if f.wire != wireBytes {
		return nil, f.corrupt("wire type %d, want numbers", f.wire)
	}
	for rest := f.data; len(rest) > 0; {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, f.corrupt("a number without end")
		}
		to, rest = append(to, int64(v)), rest[n:]
	}
	return to, nil
}

// sub walks through a field that is a message.
func (d *decoder) sub(name string, f field, visit func(field) error) error {
	if f.wire != wireBytes {
		return f.corrupt("wire type %d, want %d, a %s", f.wire, wireBytes, name)
	}
	return d.walk(name, f.data, f.off, visit)
}

// walk calls visit for each field of a message, which begins at off in the file.
func (d *decoder) walk(name string, data []byte, off int64, visit func(field) error) error {
	number := func(what string) (uint64, error) {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return 0, format.Corrupt("onnx", d.path, off, "%s: %s without end", name, what)
		}
		data, off = data[n:], off+int64(n)
		return v, nil
	}
	for len(data) > 0 {
		key, err := number("the number of a field")
		if err != nil {
			return err
		}
		f := field{path: d.path, number: int(key >> 3 & (1<<29 - 1)), wire: int(key & 7)}
		if key>>3 == 0 || key>>3 > 1<<29-1 {
			return format.Corrupt("onnx", d.path, off, "%s: field %d, want 1 to %d", name, key>>3, 1<<29-1)
		}
		n := uint64(0)
		switch f.wire {
		case wireVarint:
			f.off = off
			f.value, err = number("a number")
		case wireFixed64:
			n = 8
		case wireFixed32:
			n = 4
		case wireBytes:
			n, err = number("a length")
		default:
			err = format.Corrupt("onnx", d.path, off, "%s: field %d of wire type %d, want 0, 1, 2 or 5", name, f.number, f.wire)
		}
		if err != nil {
			return err
		}
		if n > uint64(len(data)) {
			return format.Corrupt("onnx", d.path, off, "%s: field %d of %d bytes, and %d remain", name, f.number, n, len(data))
		}
		if f.wire != wireVarint {
			f.off, f.data = off, data[:n]
			data, off = data[n:], off+int64(n)
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}
