package interp

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"thole.example/matrix"
	"thole.example/program"
)

// settings gives every setting of the operator its value from the attributes, or its default.
func (o *op) settings(attrs []program.Attr) (map[string]any, error) {
	set := map[string]any{}
	for _, s := range o.set {
		if _, fixed := s.value.(only); !fixed {
			set[s.name] = s.value
		}
	}
	for _, a := range attrs {
		i := slices.IndexFunc(o.set, func(s setting) bool { return s.name == a.Name })
		switch {
		case i >= 0:
			v, err := o.set[i].read(a)
			if err != nil {
				return nil, err
			}
			set[a.Name] = v
		case slices.Contains(hints(), a.Name) || nothing(a.Value):
		default:
			return nil, fmt.Errorf("attribute %s = %s: %w", a.Name, a.Text(), ErrOp)
		}
	}
	return set, nil
}

// nothing reports whether a value is what an attribute has that nobody set.
func nothing(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || r.Kind() == reflect.Slice && r.Len() == 0
}

// read is the value of the attribute in the type of the setting.
func (s *setting) read(a program.Attr) (any, error) {
	if must, ok := s.value.(only); ok {
		fixed := setting{s.name, must.value, ""}
		if list, ok := must.value.([]float64); ok {
			if v, ok := a.Value.([]float64); !ok || !slices.Equal(v, list) {
				return nil, fmt.Errorf("attribute %s = %s, want %v: %w", a.Name, a.Text(), list, ErrOp)
			}
			return nil, nil
		}
		v, err := fixed.read(a)
		if err == nil && v != must.value {
			err = fmt.Errorf("attribute %s = %s, want %v: %w", a.Name, a.Text(), must.value, ErrOp)
		}
		return nil, err
	}
	switch s.value.(type) {
	case int64:
		return a.Int()
	case float64:
		return a.Float()
	case bool:
		return a.Bool()
	case []int64:
		return a.Ints()
	case elem:
		code, err := a.Int()
		text, _ := a.Str()
		if s.value == elem(matrix.Invalid) && (err == nil && code == -1 || strings.HasPrefix(text, "Undefined")) {
			return s.value, nil // that of an input
		}
		return readElem(a)
	case numbers:
		return readNumbers(a)
	}
	return a.Str()
}

// readNumbers is a list of numbers or truth values.
func readNumbers(a program.Attr) (any, error) {
	switch v := a.Value.(type) {
	case []float64:
		return numbers{floats: v}, nil
	case []bool:
		n := numbers{}
		for _, b := range v {
			n.ints = append(n.ints, bit(b))
		}
		return n, nil
	}
	v, err := a.Ints()
	return numbers{ints: v}, err
}

// readElem is an element type by its number or name.
func readElem(a program.Attr) (any, error) {
	if text, err := a.Str(); err == nil {
		for name, t := range map[string]matrix.DType{"float32": matrix.F32, "int64": matrix.I64, "int32": matrix.I32,
			"int16": matrix.I16, "int8": matrix.I8, "uint8": matrix.U8, "bool": matrix.Bool} {
			if text == name {
				return elem(t), nil
			}
		}
		return nil, fmt.Errorf("attribute %s = %q: %w", a.Name, text, ErrOp)
	}
	code, err := a.Int()
	if err != nil {
		return nil, err
	}
	t, err := runType(program.VarType_Type(code))
	return elem(t), err
}

// call is one run of a step.
type call struct {
	*step
	*running
}

// t is the variable in a slot, nil if there is none.
func (c *call) t(slot string) *Tensor {
	if names := c.in[slot]; len(names) > 0 {
		return c.vars[names[0]]
	}
	return nil
}

// all are the variables in a slot.
func (c *call) all(slot string) (list []*Tensor) {
	for _, name := range c.in[slot] {
		list = append(list, c.vars[name])
	}
	return list
}

// floats is the variable in a slot, which must hold floats.
func (c *call) floats(slot string) (*Tensor, error) {
	t := c.t(slot)
	if t == nil || t.Type != matrix.F32 {
		return nil, fmt.Errorf("%s is %s, want floats: %w", slot, t.text(), ErrOp)
	}
	return t, nil
}

// text describes a tensor in errors.
func (t *Tensor) text() string {
	if t == nil {
		return "nothing"
	}
	return fmt.Sprintf("%v %v", t.Type, t.Dims)
}

// give sets the first output.
func (c *call) give(t *Tensor) { c.vars[c.out[c.op.out[0]][0]] = t }

// result sets the first output unless there is an error.
func (c *call) result(t *Tensor, err error) error {
	if err == nil {
		c.give(t)
	}
	return err
}

// from is the tensor that gives a setting, nil if there is none. Several variables in a slot are its values one by one.
func (c *call) from(name string) *Tensor {
	for _, s := range c.op.set {
		if s.name != name {
			continue
		}
		for _, slot := range append(strings.Fields(s.slot), "@"+name) {
			switch list := c.all(slot); len(list) {
			case 0:
			case 1:
				return list[0]
			default:
				whole := &Tensor{Type: list[0].Type}
				for _, t := range list {
					whole.F, whole.I = append(whole.F, t.F...), append(whole.I, t.I...)
				}
				whole.Dims = []int{whole.Len()}
				return whole
			}
		}
	}
	return nil
}

func (c *call) int(name string) (int64, error) {
	if t := c.from(name); t != nil {
		if len(t.I) != 1 {
			return 0, fmt.Errorf("%s is %s, want one integer: %w", name, t.text(), ErrShape)
		}
		return t.I[0], nil
	}
	return c.set[name].(int64), nil
}

func (c *call) float(name string) (float32, error) {
	if t := c.from(name); t != nil {
		switch {
		case len(t.F) == 1:
			return t.F[0], nil
		case len(t.I) == 1:
			return float32(t.I[0]), nil
		}
		return 0, fmt.Errorf("%s is %s, want one number: %w", name, t.text(), ErrShape)
	}
	return float32(c.set[name].(float64)), nil
}

func (c *call) ints(name string) ([]int64, error) {
	if t := c.from(name); t != nil {
		if t.Type == matrix.F32 {
			return nil, fmt.Errorf("%s is %s, want integers: %w", name, t.text(), ErrOp)
		}
		return t.I, nil
	}
	return c.set[name].([]int64), nil
}

func (c *call) bool(name string) bool { return c.set[name].(bool) }

func (c *call) str(name string) string { return c.set[name].(string) }
