package program

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"thole.example/format"
)

// pirVersion is the version of PIR that is written, that of release 3.3.
const pirVersion = 4

// node is an object of JSON, whose keys are written in order, as Paddle does.
type node = map[string]any

// NewPIR makes a topology of release 3 from a block of operators as Decode gives those of PIR: types with the dialect in
// front, operands and results in the order of the slots, with one variable each or none. Parameters come from operators
// PIRParameter, inputs from PIRInput, and PIROutput takes outputs. Variables must be typed tensors, but for results of
// PIRList. The names of others than parameters and inputs are lost. Fails where a type or attribute has no form in PIR.
func NewPIR(b Block) (*Program, error) {
	w := pirWriter{vars: map[string]*Var{}, ids: map[string]int64{}, types: map[string]any{}}
	for i := range b.Vars {
		w.vars[b.Vars[i].Name] = &b.Vars[i]
	}
	ops := []any{}
	for i := range b.Ops {
		o, err := w.op(&b.Ops[i])
		if err != nil {
			return nil, fmt.Errorf("operator %d (%s): %w", i, b.Ops[i].Type, err)
		}
		ops = append(ops, o)
	}
	block := node{"#": "block_0", "args": []any{}, "ops": ops}
	text, err := jsonText(node{
		"base_code": node{"magic": pirMagic, "trainable": true, "version": pirVersion},
		"program":   node{"regions": []any{node{"#": "region_0", "blocks": []any{block}}}},
	})
	if err != nil {
		return nil, err
	}
	return Decode(text)
}

// pirWriter numbers values in the order in which operators give them.
type pirWriter struct {
	vars  map[string]*Var
	ids   map[string]int64
	types map[string]any // of values that have a number
}

// op is the JSON of an operator.
func (w *pirWriter) op(o *Op) (node, error) {
	in, err := w.operands(o.In)
	if err != nil {
		return nil, err
	}
	out, still, err := w.results(o)
	if err != nil {
		return nil, err
	}
	if o.Type == PIRParameter {
		return w.parameter(o, out)
	}
	attrs := []any{}
	for _, a := range o.Attrs {
		v, err := a.pir()
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, node{"N": a.Name, "AT": v})
	}
	of := []any{}
	if o.Type == PIROutput {
		of = append(of, truths("persistable", []any{true}))
	}
	of = append(of, truths("stop_gradient", still))
	return node{"#": shortName(o.Type), "A": attrs, "I": in, "O": out, "OA": of}, nil
}

// truths is an attribute of an operator's results.
func truths(name string, values []any) node {
	var list []any
	for _, v := range values {
		list = append(list, node{"#": "0.a_bool", "D": v})
	}
	return node{"N": name, "AT": node{"#": "0.a_array", "D": list}}
}

// shortName is the name of an operator with the number of its dialect.
func shortName(name string) string {
	dialect, rest, _ := strings.Cut(name, ".")
	for i, d := range dialects {
		if d == dialect {
			return strconv.Itoa(i) + "." + rest
		}
	}
	return name
}

func (w *pirWriter) operands(slots []Slot) ([]any, error) {
	list := []any{}
	for _, s := range slots {
		id := int64(0)
		if len(s.Args) > 0 {
			id = w.ids[s.Args[0]]
		}
		if len(s.Args) > 1 || len(s.Args) == 1 && id == 0 {
			return nil, fmt.Errorf("operand %s is %q, want one value that was made before: %w", s.Name, s.Args, format.ErrCorrupt)
		}
		list = append(list, node{"%": id})
	}
	return list, nil
}

// results are the values that an operator gives, with their types, and which of them let no gradient through.
func (w *pirWriter) results(o *Op) (list, still []any, err error) {
	list = []any{}
	for _, s := range o.Out {
		if len(s.Args) == 0 {
			list, still = append(list, node{"%": 0}), append(still, false)
			continue
		}
		name := s.Args[0]
		v := w.vars[name]
		if len(s.Args) > 1 || v == nil || w.ids[name] != 0 {
			return nil, nil, fmt.Errorf("result %s is %q, want one variable that is declared and not made before: %w",
				s.Name, s.Args, format.ErrCorrupt)
		}
		t, err := w.typeOf(o, v)
		if err != nil {
			return nil, nil, fmt.Errorf("variable %q: %w", name, err)
		}
		w.ids[name], w.types[name] = int64(len(w.ids)+1), t
		list, still = append(list, node{"%": w.ids[name], "TT": t}), append(still, v.StopGradient)
	}
	return list, still, nil
}

// typeOf is the type of a result: a tensor, or a list of what PIRList takes.
func (w *pirWriter) typeOf(o *Op, v *Var) (any, error) {
	if o.Type == PIRList {
		var of []any
		for _, s := range o.In {
			for _, name := range s.Args {
				of = append(of, w.types[name])
			}
		}
		return node{"#": "0.t_vec", "D": of}, nil
	}
	if !v.Typed || v.Kind != VarType_DENSE_TENSOR || v.LoDLevel != 0 {
		return nil, fmt.Errorf("no dense tensor without LoD: %w", format.ErrLossy)
	}
	for short, elem := range pirElems() {
		if elem == v.Elem {
			dims := v.Dims
			if dims == nil {
				dims = []int64{}
			}
			return node{"#": "0.t_dtensor", "D": []any{node{"#": "0.t_" + short}, dims, "NCHW", []any{}, 0}}, nil
		}
	}
	return nil, fmt.Errorf("elements of type %v: %w", v.Elem, format.ErrLossy)
}

// parameter is the short form of the operator that gives a parameter.
func (w *pirWriter) parameter(o *Op, out []any) (node, error) {
	if len(out) != 1 || len(o.Out[0].Args) != 1 {
		return nil, fmt.Errorf("%d results, want one: %w", len(out), format.ErrCorrupt)
	}
	v := w.vars[o.Out[0].Args[0]]
	return node{"#": "p", "A": []any{0, bit(v.Parameter), 1, v.Name}, "DA": []any{}, "O": out[0],
		"OA": []any{bit(v.Persistable), bit(v.StopGradient), bit(!v.StopGradient)}, "QA": []any{}}, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pir is the value of an attribute with its type. Some types of PIR have no number of their own here: their attributes
// are known by name.
func (a Attr) pir() (node, error) {
	switch v := a.Value.(type) {
	case string:
		switch a.Name {
		case "dtype":
			return node{"#": "1.a_dtype", "D": v}, nil
		case "place":
			return node{"#": "1.a_place", "D": json.RawMessage(v)}, nil
		}
		return node{"#": "0.a_str", "D": v}, nil
	case []int64:
		if a.Name == "shape" {
			return node{"#": "1.a_intarray", "D": append([]int64{}, v...)}, nil
		}
		list := []any{}
		for _, n := range v {
			one, err := Attr{Type: single(a.Type), Value: n}.pir()
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return node{"#": "0.a_array", "D": list}, nil
	case bool:
		return node{"#": "0.a_bool", "D": v}, nil
	case int64:
		if a.Type == AttrType_INT && int64(int32(v)) != v {
			return nil, fmt.Errorf("attribute %s is %d, want 32 bits: %w", a.Name, v, format.ErrLimit)
		}
		if a.Type == AttrType_INT || a.Type == AttrType_LONG {
			return node{"#": map[AttrType]string{AttrType_INT: "0.a_i32", AttrType_LONG: "0.a_i64"}[a.Type], "D": v}, nil
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break
		}
		if a.Type == AttrType_FLOAT {
			return node{"#": "0.a_f32", "D": decimal(float64(float32(v)))}, nil
		}
		return node{"#": "0.a_f64", "D": decimal(v)}, nil
	}
	return nil, fmt.Errorf("attribute %s of type %v is %s, which is not written in PIR", a.Name, a.Type, a.Text())
}

// single is the type of the elements of a list of integers.
func single(t AttrType) AttrType {
	if t == AttrType_INTS {
		return AttrType_INT
	}
	return AttrType_LONG
}

// decimal is a number with a point or an exponent, as Paddle writes those that are no integers by type.
func decimal(v float64) json.Number {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		text = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return json.Number(text)
}
