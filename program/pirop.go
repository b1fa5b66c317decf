package program

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"thole.example/format"
)

// Operators of PIR that give a parameter, give an input, take an output, make one value of several, and several of one.
const (
	PIRParameter = "builtin.parameter"
	PIRInput     = "pd_op.data"
	PIROutput    = "pd_op.fetch"
	PIRList      = "builtin.combine"
	PIRSplit     = "builtin.split"
)

// dialects are the parts of operator names that files write as numbers.
var dialects = [...]string{"builtin", "pd_op", "cf", "custom_op", "pd_dist"}

// opName is the full name of an operator: 1.matmul is pd_op.matmul, p is a parameter.
func opName(short string) string {
	if short == "p" {
		return PIRParameter
	}
	number, rest, ok := strings.Cut(short, ".")
	if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n < len(dialects) {
		return dialects[n] + "." + rest
	}
	return short
}

// op reads one operator into the block.
func (r *pirReader) op(o *pirOp, at int) error {
	op := Op{Type: opName(o.Name)}
	for i, v := range o.In {
		s := Slot{Name: strconv.Itoa(i)}
		if v.ID != 0 {
			name := r.names[v.ID]
			if name == "" {
				return fmt.Errorf("operand %d: value %d was not made before: %w", i, v.ID, format.ErrCorrupt)
			}
			s.Args = []string{name}
		}
		op.In = append(op.In, s)
	}
	out, err := results(o.Out)
	if err != nil {
		return err
	}
	if op.Type == PIRParameter {
		return r.parameter(o, op, out, at)
	}
	if op.Attrs, err = pirAttrs(o.Attrs); err != nil {
		return err
	}
	still := stopGradients(o.OutAttr)
	called := ""
	if a, ok := op.Attr("name"); ok && op.Type == PIRInput {
		called, _ = a.Value.(string)
	}
	for i, v := range out {
		if err := r.result(v, called, at); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		op.Out = append(op.Out, Slot{strconv.Itoa(i), r.made(v)})
		if vars := r.p.Blocks[at].Vars; v.ID != 0 && i < len(still) {
			vars[len(vars)-1].StopGradient = still[i]
		}
	}
	if called != "" && len(out) == 1 {
		b := &r.p.Blocks[at]
		b.Vars[len(b.Vars)-1].NeedFeed = true
	}
	r.p.Blocks[at].Ops = append(r.p.Blocks[at].Ops, op)
	return nil
}

// made is the variable of a result, none if the operator gives no value there.
func (r *pirReader) made(v pirValue) []string {
	if v.ID == 0 {
		return nil
	}
	return []string{r.names[v.ID]}
}

// results are the values that an operator gives: a list, or a single one without brackets.
func results(raw json.RawMessage) ([]pirValue, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []pirValue
	if json.Unmarshal(raw, &list) == nil {
		return list, nil
	}
	var one pirValue
	if err := json.Unmarshal(raw, &one); err != nil {
		return nil, fmt.Errorf("results %.40q: %w", raw, format.ErrCorrupt)
	}
	return []pirValue{one}, nil
}

// parameter reads a parameter operator, whose attributes are bare: is_distributed, is_parameter, need_clip, name.
func (r *pirReader) parameter(o *pirOp, op Op, out []pirValue, at int) error {
	name, err := parameterName(o.Attrs)
	if err != nil {
		return err
	}
	if len(out) != 1 || out[0].ID == 0 || r.used[name] {
		return fmt.Errorf("parameter %q, want one value and a name that no other has: %w", name, format.ErrCorrupt)
	}
	if err := r.result(out[0], name, at); err != nil {
		return err
	}
	b := &r.p.Blocks[at]
	v := &b.Vars[len(b.Vars)-1]
	v.Persistable, v.Parameter = persistable(o.OutAttr), true
	var bare []any
	if json.Unmarshal(o.Attrs, &bare) == nil && len(bare) == 4 {
		v.Parameter = bare[1] != 0.0
	}
	var of []int // persistable, stop_gradient, trainable
	if json.Unmarshal(o.OutAttr, &of) == nil && len(of) == 3 {
		v.StopGradient = of[1] != 0
	}
	op.Attrs = []Attr{{Name: "parameter_name", Type: AttrType_STRING, Value: name}}
	op.Out = []Slot{{"0", []string{name}}}
	b.Ops = append(b.Ops, op)
	return nil
}

// stopGradients says of each result whether no gradient goes through it; nil where the program says nothing.
func stopGradients(raw json.RawMessage) []bool {
	attrs, _ := pirAttrs(raw)
	for _, a := range attrs {
		if list, ok := a.Value.([]bool); ok && a.Name == "stop_gradient" {
			return list
		}
	}
	return nil
}

// persistable reports whether the attributes of a parameter's result, bare numbers of which the first says it, leave it in
// the parameter file. What is not said, is.
func persistable(raw json.RawMessage) bool {
	var bare []int
	return json.Unmarshal(raw, &bare) != nil || len(bare) == 0 || bare[0] != 0
}

// parameterName is the last of the bare attributes, or the one called parameter_name where they are objects.
func parameterName(raw json.RawMessage) (string, error) {
	var bare []any
	if err := json.Unmarshal(raw, &bare); err == nil && len(bare) > 0 {
		if name, ok := bare[len(bare)-1].(string); ok && name != "" {
			return name, nil
		}
	}
	attrs, err := pirAttrs(raw)
	if err != nil {
		return "", err
	}
	for _, a := range attrs {
		if name, ok := a.Value.(string); ok && (a.Name == "parameter_name" || a.Name == "name") {
			return name, nil
		}
	}
	return "", fmt.Errorf("attributes %.40q, want the name of a parameter: %w", raw, format.ErrCorrupt)
}
