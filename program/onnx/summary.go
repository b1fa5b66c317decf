package onnx

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Summary is what a model says, without the values of its initializers.
type Summary struct {
	IR           int64             `json:"irVersion"`
	Producer     string            `json:"producer,omitempty"`
	Opsets       []Opset           `json:"operatorSets"`
	Inputs       []Port            `json:"inputs"`
	Outputs      []Port            `json:"outputs"`
	Nodes        int64             `json:"nodes"`
	Operators    map[string]int64  `json:"operators"` // how many nodes there are of each; with the domain before it if it is not ONNX's own
	Initializers []Initializer     `json:"initializers"`
	Meta         map[string]string `json:"metadata,omitempty"`
}

// Opset is the version of the operators of a domain; "" is ONNX's own.
type Opset struct {
	Domain  string `json:"domain"`
	Version int64  `json:"version"`
}

// Port is an input or output of the graph: its element type, and its dimensions, numbers or names, "?" where nothing is said.
type Port struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Dims []string `json:"dims"`
}

// String is the port as inspect shows it: ids int64[batch,fields].
func (p Port) String() string {
	return fmt.Sprintf("%s %s[%s]", p.Name, p.Type, strings.Join(p.Dims, ","))
}

// Initializer is a constant or parameter.
type Initializer struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Dims  []int64 `json:"dims"`
	Bytes int64   `json:"bytes"`          // of its values, as they are stored
	File  string  `json:"file,omitempty"` // beside the model, with the values
}

// rankLimit is the largest number of dimensions that is read.
const rankLimit = 64

// typeName is a type of elements by its number.
func typeName(t int64) string {
	names := []string{"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16",
		"float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"}
	if t >= 0 && t < int64(len(names)) {
		return names[t]
	}
	return fmt.Sprintf("type %d", t)
}

// Read reads what a model of size bytes says; values are passed over. path is for errors, which wrap format.ErrCorrupt or
// format.ErrLimit if it is the file that is wrong.
func Read(path string, r io.ReaderAt, size int64) (*Summary, error) {
	s, d := &Summary{Operators: map[string]int64{}, Meta: map[string]string{}}, &decoder{path: path, file: r, size: size}
	graphs := 0
	err := d.walk("ModelProto", 0, size, func(f field) error {
		switch f.number {
		case 1:
			return d.setInt(&s.IR, f)
		case 2:
			return d.setText(&s.Producer, f)
		case 7:
			graphs++
			return d.sub("GraphProto", f, func(f field) error { return d.graph(s, f) })
		case 8:
			return add(d, &s.Opsets, f, d.opset)
		case 14:
			key, value, err := d.pair(f)
			if err == nil {
				s.Meta[key] = value
				err = d.keep()
			}
			return err
		}
		return nil
	})
	if err == nil && (graphs != 1 || s.IR < 1 || len(s.Opsets) == 0) {
		err = d.corrupt(-1, "%d graphs, ir_version %d, %d sets of operators, want one graph, a version and at least one set",
			graphs, s.IR, len(s.Opsets))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// add appends what read reads of a field.
func add[T any](d *decoder, to *[]T, f field, read func(field) (T, error)) error {
	one, err := read(f)
	if err == nil {
		err = d.keep()
	}
	*to = append(*to, one)
	return err
}

// graph reads a field of GraphProto.
func (d *decoder) graph(s *Summary, f field) error {
	switch f.number {
	case 1:
		return d.count(s, f)
	case 5:
		return add(d, &s.Initializers, f, d.tensor)
	case 11:
		return add(d, &s.Inputs, f, d.port)
	case 12:
		return add(d, &s.Outputs, f, d.port)
	}
	return nil
}

// count counts a node.
func (d *decoder) count(s *Summary, node field) error {
	before := d.text
	var kind, domain string
	err := d.sub("NodeProto", node, func(f field) error {
		switch f.number {
		case 4:
			return d.setText(&kind, f)
		case 7:
			return d.setText(&domain, f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if domain != "" {
		kind = domain + "." + kind
	}
	s.Nodes++
	if s.Operators[kind]++; s.Operators[kind] == 1 {
		return d.keep()
	}
	d.text = before // the text was known
	return nil
}

func (d *decoder) opset(set field) (o Opset, err error) {
	err = d.sub("OperatorSetIdProto", set, func(f field) error {
		switch f.number {
		case 1:
			return d.setText(&o.Domain, f)
		case 2:
			return d.setInt(&o.Version, f)
		}
		return nil
	})
	return o, err
}

// pair reads a StringStringEntryProto.
func (d *decoder) pair(entry field) (key, value string, err error) {
	err = d.sub("StringStringEntryProto", entry, func(f field) error {
		switch f.number {
		case 1:
			return d.setText(&key, f)
		case 2:
			return d.setText(&value, f)
		}
		return nil
	})
	return key, value, err
}

func (d *decoder) tensor(tensor field) (t Initializer, err error) {
	t.Type = typeName(0)
	err = d.sub("TensorProto", tensor, func(f field) error {
		switch f.number {
		case 1:
			return d.dims(&t, f)
		case 2:
			var kind int64
			err := d.setInt(&kind, f)
			t.Type = typeName(kind)
			return err
		case 4, 5, 6, 7, 9, 10, 11: // float_data and the like, raw_data
			t.Bytes += f.n
		case 8:
			return d.setText(&t.Name, f)
		case 13:
			return d.elsewhere(&t, f)
		}
		return nil
	})
	return t, err
}

// elsewhere reads an entry of external_data.
func (d *decoder) elsewhere(t *Initializer, f field) error {
	key, value, err := d.pair(f)
	if err != nil {
		return err
	}
	switch key {
	case "location":
		t.File = value
	case "length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return d.corrupt(f.off, "length %.40q of values in another file, want a number of bytes", value)
		}
		t.Bytes = n
	}
	return nil
}

// dims reads one dimension, or packed ones.
func (d *decoder) dims(t *Initializer, f field) error {
	if f.wire != sized {
		var n int64
		err := d.setInt(&n, f)
		if t.Dims = append(t.Dims, n); err == nil && len(t.Dims) > rankLimit {
			err = d.limit(f.off, "more than %d dimensions", rankLimit)
		}
		return err
	}
	for off := f.off; off < f.off+f.n; {
		v, err := d.varint(&off, f.off+f.n, "a dimension")
		if err == nil && len(t.Dims) == rankLimit {
			err = d.limit(off, "more than %d dimensions", rankLimit)
		}
		if err != nil {
			return err
		}
		t.Dims = append(t.Dims, int64(v))
	}
	return nil
}

func (d *decoder) port(info field) (p Port, err error) {
	p.Type = "no tensor"
	err = d.sub("ValueInfoProto", info, func(f field) error {
		switch f.number {
		case 1:
			return d.setText(&p.Name, f)
		case 2:
			return d.sub("TypeProto", f, func(f field) error {
				if f.number != 1 {
					return nil
				}
				return d.sub("TypeProto.Tensor", f, func(f field) error { return d.shaped(&p, f) })
			})
		}
		return nil
	})
	return p, err
}

// shaped reads a field of TypeProto.Tensor.
func (d *decoder) shaped(p *Port, f field) error {
	switch f.number {
	case 1:
		var kind int64
		err := d.setInt(&kind, f)
		p.Type = typeName(kind)
		return err
	case 2:
		return d.sub("TensorShapeProto", f, func(f field) error {
			if f.number != 1 {
				return nil
			}
			if len(p.Dims) == rankLimit {
				return d.limit(f.off, "more than %d dimensions", rankLimit)
			}
			return add(d, &p.Dims, f, d.dim)
		})
	}
	return nil
}

// dim reads a Dimension.
func (d *decoder) dim(dim field) (text string, err error) {
	err = d.sub("Dimension", dim, func(f field) error {
		switch f.number {
		case 1:
			var n int64
			err := d.setInt(&n, f)
			text = fmt.Sprint(n)
			return err
		case 2:
			return d.setText(&text, f)
		}
		return nil
	})
	return cmp.Or(text, "?"), err
}
