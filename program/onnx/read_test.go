package onnx

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"thole.example/program"
)

// file is what a test reads of a model.
type file struct {
	head, nodes, tensors, ends string
	sets                       string // of operators beside ONNX's own
	raw                        []byte // values of the first tensor
}

func le(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// fields are those of a message, by number: a varint as uint64, the others as bytes.
func fields(t *testing.T, b []byte) (numbers map[int][]uint64, texts map[int][][]byte) {
	t.Helper()
	numbers, texts = map[int][]uint64{}, map[int][][]byte{}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			v, m := protowire.ConsumeVarint(b)
			numbers[int(num)], n = append(numbers[int(num)], v), m
		case protowire.BytesType:
			v, m := protowire.ConsumeBytes(b)
			texts[int(num)], n = append(texts[int(num)], v), m
		default:
			t.Fatalf("field %d of wire type %d", num, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
	}
	return numbers, texts
}

func words(all [][]byte) string {
	var list []string
	for _, b := range all {
		list = append(list, string(b))
	}
	return strings.Join(list, ",")
}

var typeNames = map[uint64]string{1: "float32", 7: "int64"}

// read takes a model apart.
func read(t *testing.T, data []byte) (f file) {
	n, s := fields(t, data)
	opset, _ := fields(t, s[8][0])
	_, graph := fields(t, s[7][0])
	for _, set := range s[8][1:] {
		n, s := fields(t, set)
		f.sets += fmt.Sprintf("%s %d", s[1][0], n[2][0])
	}
	f.head = fmt.Sprintf("ir %d %s opset %d graph %s", n[1][0], s[2][0], opset[2][0], graph[2][0])
	for _, e := range s[14] {
		_, entry := fields(t, e)
		f.head += fmt.Sprintf(" %s=%s", entry[1][0], entry[2][0])
	}
	var nodes, tensors []string
	for _, b := range graph[1] {
		nodes = append(nodes, node(t, b))
	}
	for _, b := range graph[5] {
		n, s := fields(t, b)
		if n[14] != nil { // apart
			text := fmt.Sprintf("%s %s%v %d", s[8][0], typeNames[n[2][0]], n[1], n[14][0])
			for _, e := range s[13] {
				_, pair := fields(t, e)
				text += fmt.Sprintf(" %s=%s", pair[1][0], pair[2][0])
			}
			tensors = append(tensors, text)
			continue
		}
		raw := s[9][0]
		if f.raw == nil {
			f.raw = raw
		}
		tensors = append(tensors, fmt.Sprintf("%s %s%v %x", s[8][0], typeNames[n[2][0]], n[1], raw))
	}
	f.nodes, f.tensors = strings.Join(nodes, "; "), strings.Join(tensors, "; ")
	f.ends = end(t, graph[11]) + " -> " + end(t, graph[12])
	return f
}

// node is a node as a text: Kind(inputs)=output attribute=value.
func node(t *testing.T, b []byte) string {
	_, s := fields(t, b)
	text := fmt.Sprintf("%s(%s)=%s", s[4][0], words(s[1]), words(s[2]))
	if len(s[7]) > 0 {
		text = string(s[7][0]) + "." + text
	}
	if words(s[2]) != words(s[3]) {
		t.Errorf("%s is called %s", text, words(s[3]))
	}
	for _, a := range s[5] {
		n, s := fields(t, a)
		if n[20][0] == 7 {
			text += fmt.Sprintf(" %s=%x", s[1][0], s[8][0])
			continue
		}
		if n[20][0] != 2 {
			t.Errorf("attribute %s of type %d", s[1][0], n[20][0])
		}
		text += fmt.Sprintf(" %s=%d", s[1][0], int64(n[3][0]))
	}
	return text
}

// end is inputs or outputs.
func end(t *testing.T, all [][]byte) string {
	var list []string
	for _, b := range all {
		_, s := fields(t, b)
		_, kind := fields(t, s[2][0])
		n, tensor := fields(t, kind[1][0])
		_, shape := fields(t, tensor[2][0])
		var dims []string
		for _, d := range shape[1] {
			n, s := fields(t, d)
			if len(s[2]) > 0 {
				dims = append(dims, string(s[2][0]))
			} else {
				dims = append(dims, fmt.Sprint(n[1][0]))
			}
		}
		list = append(list, fmt.Sprintf("%s %s[%s]", s[1][0], typeNames[n[1][0]], strings.Join(dims, " ")))
	}
	return strings.Join(list, " ")
}

// TestOperators: every operator of the table, and what it becomes.
func TestOperators(t *testing.T) {
	a := func(name string, v any) program.Attr {
		switch v.(type) {
		case bool:
			return program.Attr{Name: name, Type: program.AttrType_BOOLEAN, Value: v}
		case float64:
			return program.Attr{Name: name, Type: program.AttrType_FLOAT, Value: v}
		case []int64:
			return program.Attr{Name: name, Type: program.AttrType_INTS, Value: v}
		}
		return program.Attr{Name: name, Type: program.AttrType_INT, Value: v}
	}
	last := a("axis", int64(-1))
	seen := map[string]bool{}
	for _, c := range []struct {
		op    string
		attrs []program.Attr
		want  string
	}{
		{"lookup_table_v2", []program.Attr{a("padding_idx", int64(-1))}, "Gather(w,ids)=y axis=0"},
		{"gather", []program.Attr{a("axis", int64(1))}, "Gather(x,index)=y axis=1"},
		{"unsqueeze2", []program.Attr{a("axes", []int64{2})}, "Unsqueeze(x,list_1)=y"},
		{"reshape2", []program.Attr{a("shape", []int64{0, 6})}, "Reshape(x,list_1)=y"},
		{"concat", []program.Attr{a("axis", int64(1))}, "Concat(x)=y axis=1"},
		{"elementwise_add", []program.Attr{last}, "Add(x,z)=y"},
		{"elementwise_sub", []program.Attr{last}, "Sub(x,z)=y"},
		{"elementwise_mul", []program.Attr{last}, "Mul(x,z)=y"},
		{"matmul_v2", nil, "MatMul(x,z)=y"},
		{"matmul_v2", []program.Attr{a("trans_y", true)}, "Gemm(x,z)=y transB=1"},
		{"reduce_sum", []program.Attr{a("dim", []int64{1}), a("keep_dim", true)}, "ReduceSum(x,list_1)=y keepdims=1"},
		{"reduce_sum", []program.Attr{a("dim", int64(2))}, "ReduceSum(x,list_1)=y keepdims=0"},
		{"scale", []program.Attr{a("scale", 1.0), a("bias", 0.0)}, "Identity(x)=y"},
		{"scale", []program.Attr{a("scale", 0.5)}, "Mul(x,number_1)=y"},
		{"scale", []program.Attr{a("bias", 0.5)}, "Add(x,number_1)=y"},
		{"scale", []program.Attr{a("scale", 2.0), a("bias", 2.0), a("bias_after_scale", true)},
			"Mul(x,number_2)=scaled_1; Add(scaled_1,number_2)=y"},
		{"square", nil, "Mul(x,x)=y"},
		{"rsqrt", nil, "Sqrt(x)=root_1; Reciprocal(root_1)=y"},
		{"sigmoid", nil, "Sigmoid(x)=y"},
		{"tanh", nil, "Tanh(x)=y"},
		{"relu", nil, "Relu(x)=y"},
		{"exp", nil, "Exp(x)=y"},
		{"clip", []program.Attr{a("min", -2.0), a("max", 80.0)}, "Clip(x,number_1,number_2)=y"},
		{"softmax", []program.Attr{last}, "Softmax(x)=y axis=-1"},
	} {
		seen[c.op] = true
		op := program.Op{Type: c.op, Out: slots("Out", "y"), Attrs: c.attrs,
			In: slots("X", "x", "Y", "z", "W", "w", "Ids", "ids", "Index", "index")}
		f := read(t, encode(t, fed(t, "y", nil, op), &source{}, Options{}))
		if f.nodes != c.want {
			t.Errorf("%s: %s, want %s", c.op, f.nodes, c.want)
		}
	}
	for name := range operators() {
		if !seen[name] {
			t.Errorf("operator %s, want a case of it", name)
		}
	}
}
