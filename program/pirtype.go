package program

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"thole.example/format"
)

// pirElems are the element types of PIR by the part of their name behind t_.
func pirElems() map[string]VarType_Type {
	return map[string]VarType_Type{
		"f32": VarType_FP32, "f64": VarType_FP64, "f16": VarType_FP16, "bf16": VarType_BF16,
		"i8": VarType_INT8, "ui8": VarType_UINT8, "i16": VarType_INT16, "i32": VarType_INT32, "i64": VarType_INT64,
		"bool": VarType_BOOL, "c64": VarType_COMPLEX64, "c128": VarType_COMPLEX128,
		"f8e4m3fn": VarType_FP8_E4M3FN, "f8e5m2": VarType_FP8_E5M2,
	}
}

// pirType gives the variable the type of a value. Types other than dense tensors leave it untyped.
func (v *Var) pirType(t *pirType) error {
	if t == nil {
		return nil
	}
	if !strings.HasSuffix(t.Name, ".t_dtensor") {
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(t.Data, &parts); err != nil || len(parts) < 2 {
		return fmt.Errorf("tensor type %.60q, want element type, dimensions, layout, LoD and offset: %w", t.Data, format.ErrCorrupt)
	}
	elem, err := pirElem(parts[0])
	if err != nil {
		return err
	}
	var dims []int64
	if err := json.Unmarshal(parts[1], &dims); err != nil {
		return fmt.Errorf("dimensions %.60q: %w", parts[1], format.ErrCorrupt)
	}
	v.Kind, v.Typed, v.Elem, v.Dims = VarType_DENSE_TENSOR, true, elem, dims
	if len(parts) > 3 {
		var lod [][]int64
		if json.Unmarshal(parts[3], &lod) == nil {
			v.LoDLevel = len(lod)
		}
	}
	return nil
}

// pirElem reads an element type, an object or its bare name.
func pirElem(raw json.RawMessage) (VarType_Type, error) {
	var t pirType
	if json.Unmarshal(raw, &t) != nil {
		if err := json.Unmarshal(raw, &t.Name); err != nil {
			return 0, fmt.Errorf("element type %.40q: %w", raw, format.ErrCorrupt)
		}
	}
	_, short, _ := strings.Cut(t.Name, "t_")
	elem, ok := pirElems()[short]
	if !ok {
		return 0, fmt.Errorf("element type %q, want one of 0.t_f32, 0.t_i64 and so on: %w", t.Name, format.ErrVersion)
	}
	return elem, nil
}

// pirAttrs reads the attributes of an operator.
func pirAttrs(raw json.RawMessage) ([]Attr, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []pirAttr
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("attributes %.40q: %w", raw, format.ErrCorrupt)
	}
	attrs := make([]Attr, 0, len(list))
	for _, a := range list {
		typ, value, err := a.Type.value(0)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		attrs = append(attrs, Attr{a.Name, typ, value})
	}
	return attrs, nil
}

// maxAttrNesting is how deep lists of attributes may lie within each other.
const maxAttrNesting = 8

// value reads an attribute by the type it names. What has no value of ours (places, layouts) becomes its JSON text.
func (d *pirData) value(depth int) (AttrType, any, error) {
	if depth > maxAttrNesting {
		return 0, nil, fmt.Errorf("lists more than %d deep: %w", maxAttrNesting, format.ErrLimit)
	}
	raw := d.Data
	if len(raw) == 0 {
		raw = d.Void
	}
	_, kind, _ := strings.Cut(d.Name, ".")
	bad := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%.40q as %s: %w", raw, d.Name, format.ErrCorrupt)
	}
	switch kind {
	case "a_bool":
		v := false
		err := json.Unmarshal(raw, &v)
		return AttrType_BOOLEAN, v, bad(err)
	case "a_f32":
		v, err := pirNumber(raw)
		return AttrType_FLOAT, v, bad(err)
	case "a_f64":
		v, err := pirNumber(raw)
		return AttrType_FLOAT64, v, bad(err)
	case "a_i32", "a_ui8", "a_i8", "a_i16":
		v := int64(0)
		err := json.Unmarshal(raw, &v)
		return AttrType_INT, v, bad(err)
	case "a_i64", "a_index":
		v := int64(0)
		err := json.Unmarshal(raw, &v)
		return AttrType_LONG, v, bad(err)
	case "a_str", "a_tstr", "a_dtype":
		v := ""
		err := json.Unmarshal(raw, &v)
		return AttrType_STRING, v, bad(err)
	case "a_intarray":
		v := []int64{}
		err := json.Unmarshal(raw, &v)
		return AttrType_LONGS, v, bad(err)
	case "a_array":
		return pirArray(raw, depth)
	case "a_scalar":
		return pirScalar(raw, depth)
	}
	return AttrType_STRING, string(raw), nil
}

// pirNumber reads a number, or the text of one that JSON has no digits for.
func pirNumber(raw json.RawMessage) (float64, error) {
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		switch strings.ToLower(strings.TrimPrefix(text, "+")) {
		case "nan", "-nan":
			return math.NaN(), nil
		case "inf", "infinity":
			return math.Inf(1), nil
		case "-inf", "-infinity":
			return math.Inf(-1), nil
		}
		return 0, fmt.Errorf("number %q", text)
	}
	v := 0.0
	err := json.Unmarshal(raw, &v)
	return v, err
}

// pirScalar reads a number or truth value, bare or as an attribute of its own.
func pirScalar(raw json.RawMessage, depth int) (AttrType, any, error) {
	var inner pirData
	if json.Unmarshal(raw, &inner) == nil && inner.Name != "" && !strings.HasSuffix(inner.Name, ".a_scalar") {
		return inner.value(depth + 1)
	}
	if v, err := pirNumber(raw); err == nil {
		return AttrType_FLOAT64, v, nil
	}
	return AttrType_STRING, string(raw), nil
}

// pirArray reads a list of attributes; lists of one type become slices, others their JSON text.
func pirArray(raw json.RawMessage, depth int) (AttrType, any, error) {
	var list []pirData
	if json.Unmarshal(raw, &list) != nil {
		return AttrType_STRING, string(raw), nil
	}
	var ints []int64
	var floats []float64
	var texts []string
	var bools []bool
	wide := AttrType_LONGS
	for i := range list {
		t, v, err := list[i].value(depth + 1)
		if err != nil {
			return 0, nil, err
		}
		if t == AttrType_INT {
			wide = AttrType_INTS
		}
		switch v := v.(type) {
		case int64:
			ints = append(ints, v)
		case float64:
			floats = append(floats, v)
		case string:
			texts = append(texts, v)
		case bool:
			bools = append(bools, v)
		}
	}
	switch len(list) {
	case len(ints):
		return wide, ints, nil
	case len(floats):
		return AttrType_FLOAT64S, floats, nil
	case len(texts):
		return AttrType_STRINGS, texts, nil
	case len(bools):
		return AttrType_BOOLEANS, bools, nil
	}
	return AttrType_STRING, string(raw), nil
}
