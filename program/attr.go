package program

import (
	"fmt"
	"strconv"
	"strings"
)

// Attr is a setting of an operator. Value is an int64 (also for INT, LONG and the number of a BLOCK), float64, string,
// bool, a slice of one of these, or nil where the file states a type without a value; complex numbers are complex128.
// The same attribute has different types in different releases, so readers ask for what they need.
type Attr struct {
	Name  string
	Type  AttrType
	Value any
}

// Int is the value as an integer; a truth value counts as 0 or 1.
func (a Attr) Int() (int64, error) {
	switch v := a.Value.(type) {
	case int64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, a.wrong("an integer")
}

// Bool is the value as a truth value; an integer counts as true unless it is 0.
func (a Attr) Bool() (bool, error) {
	switch v := a.Value.(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	}
	return false, a.wrong("a truth value")
}

// Float is the value as a number.
func (a Attr) Float() (float64, error) {
	switch v := a.Value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	}
	return 0, a.wrong("a number")
}

// Str is the value as text.
func (a Attr) Str() (string, error) {
	if v, ok := a.Value.(string); ok {
		return v, nil
	}
	return "", a.wrong("text")
}

// Ints is the value as integers; one integer counts as a list of one. The slice must not be changed.
func (a Attr) Ints() ([]int64, error) {
	switch v := a.Value.(type) {
	case []int64:
		return v, nil
	case int64:
		return []int64{v}, nil
	case nil:
		if a.Type == AttrType_INTS || a.Type == AttrType_LONGS {
			return nil, nil
		}
	}
	return nil, a.wrong("integers")
}

func (a Attr) wrong(want string) error {
	return fmt.Errorf("attribute %s is %s, want %s", a.Name, a.Text(), want)
}

// maxText is how much of a value is shown, in bytes.
const maxText = 60

// Text is the value for people, shortened.
func (a Attr) Text() string {
	s := ""
	switch v := a.Value.(type) {
	case nil:
		s = "nothing"
	case string:
		s = strconv.Quote(v)
	case []string:
		var words []string
		for _, w := range v {
			words = append(words, strconv.Quote(w))
			if len(words) == maxText {
				break
			}
		}
		s = "[" + strings.Join(words, " ") + "]"
	case []int64:
		s = fmt.Sprint(v[:min(len(v), maxText)])
	case []float64:
		s = fmt.Sprint(v[:min(len(v), maxText)])
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// attrOf reads an attribute of a ProgramDesc.
func attrOf(a *OpDesc_Attr) Attr {
	return Attr{Name: a.GetName(), Type: a.GetType(), Value: attrValue(a)}
}

func attrValue(a *OpDesc_Attr) any {
	switch a.GetType() {
	case AttrType_INT:
		return int64(a.GetI())
	case AttrType_LONG:
		return a.GetL()
	case AttrType_BLOCK:
		return int64(a.GetBlockIdx())
	case AttrType_FLOAT:
		return float64(a.GetF())
	case AttrType_FLOAT64:
		return a.GetFloat64()
	case AttrType_STRING:
		return a.GetS()
	case AttrType_VAR:
		return a.GetVarName()
	case AttrType_BOOLEAN:
		return a.GetB()
	case AttrType_SCALAR:
		return scalarValue(a.GetScalar())
	}
	return attrList(a)
}

// attrList is the value of an attribute that is a list.
func attrList(a *OpDesc_Attr) any {
	switch a.GetType() {
	case AttrType_INTS:
		return widen(a.GetInts())
	case AttrType_BLOCKS:
		return widen(a.GetBlocksIdx())
	case AttrType_LONGS:
		return a.GetLongs()
	case AttrType_FLOATS:
		list := make([]float64, len(a.GetFloats()))
		for i, v := range a.GetFloats() {
			list[i] = float64(v)
		}
		return list
	case AttrType_FLOAT64S:
		return a.GetFloat64S()
	case AttrType_STRINGS:
		return a.GetStrings()
	case AttrType_VARS:
		return a.GetVarsName()
	case AttrType_BOOLEANS:
		return a.GetBools()
	case AttrType_SCALARS:
		return scalarList(a.GetScalars())
	}
	return nil // a type of a later release: known by number only
}

func widen(v []int32) []int64 {
	list := make([]int64, len(v))
	for i, x := range v {
		list[i] = int64(x)
	}
	return list
}

func scalarValue(s *Scalar) any {
	switch s.GetType() {
	case Scalar_BOOLEAN:
		return s.GetB()
	case Scalar_LONG:
		return s.GetI()
	case Scalar_FLOAT64:
		return s.GetR()
	case Scalar_COMPLEX128:
		return complex(s.GetC().GetR(), s.GetC().GetI())
	}
	return nil
}

// scalarList is the scalars as integers if all are, else as numbers if all are; nil for other lists.
func scalarList(list []*Scalar) any {
	ints, floats := make([]int64, 0, len(list)), make([]float64, 0, len(list))
	for _, s := range list {
		switch s.GetType() {
		case Scalar_LONG:
			ints = append(ints, s.GetI())
			floats = append(floats, float64(s.GetI()))
		case Scalar_FLOAT64:
			floats = append(floats, s.GetR())
		default:
			return nil
		}
	}
	if len(ints) == len(list) {
		return ints
	}
	return floats
}
