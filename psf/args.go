package psf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"thole.example/internal/spell"
	"thole.example/kernel"
	"thole.example/matrix"
)

// Kind is what a parameter takes.
type Kind uint8

// The kinds of parameters.
const (
	Row     Kind = iota + 1 // a row of the matrix
	RowList                 // some rows; without it all of them
	Columns                 // some columns, none twice
	Number                  // a finite number
	Numbers                 // a list of them
	Count                   // a whole number from 0 on
	Text                    // such as an expression
	Flag                    // true or false
	Scalars                 // numbers by name
	Any                     // any JSON
)

// String says what is wanted, for errors.
func (k Kind) String() string {
	return [...]string{
		"nothing", "a row", "a list of rows", "a list of columns", "a number", "a list of numbers", "a whole number from 0 on", "a text",
		"true or false", "numbers by name", "JSON",
	}[k]
}

// Param is a parameter of a function.
type Param struct {
	Name     string
	Kind     Kind
	Help     string
	Default  string // as JSON; ""
	Optional bool   // it may be left out, also without a default
}

// Args are the arguments of a call, checked against the parameters.
type Args map[string]any

// ParseArgs reads a JSON object: what each parameter is given, or else its default. A name that is no parameter is an
// error: a mistyped "rows" would mean all of them. Every function takes "atomic": true beside its own parameters.
func ParseArgs(params []Param, arg []byte) (Args, error) {
	given := map[string]json.RawMessage{}
	if len(arg) > 0 {
		var err error
		if given, err = object(arg); err != nil {
			return nil, fmt.Errorf("argument %.60q: %w", arg, err)
		}
	}
	a := Args{}
	if text, ok := given[atomicName]; ok {
		on, err := parseAs[bool](text)
		if err != nil {
			return nil, fmt.Errorf("argument %.60q: %s is %.40s, want %v", arg, atomicName, text, Flag)
		}
		a[atomicName] = on
		delete(given, atomicName)
	}
	for i := range params {
		p := &params[i]
		text, ok := given[p.Name]
		switch delete(given, p.Name); {
		case !ok && p.Default != "":
			text = json.RawMessage(p.Default)
		case !ok && p.Optional:
			continue
		case !ok:
			return nil, fmt.Errorf("argument %.60q: no %q, want %v", arg, p.Name, p.Kind)
		}
		v, err := p.parse(text)
		if err != nil {
			return nil, fmt.Errorf("argument %.60q: %s is %.40s, want %v", arg, p.Name, text, p.Kind)
		}
		a[p.Name] = v
		if p.Kind == Number || p.Kind == Numbers {
			a.keepWhole(p.Name, text)
		}
	}
	for name := range given {
		return nil, fmt.Errorf("argument %.60q: %w", arg, spell.Unknown("no argument", name, paramNames(params)))
	}
	return a, nil
}

// atomicName is the argument that makes a call atomic.
const atomicName = "atomic"

// object reads a JSON object in which no name comes twice: who looks at it and who runs it must see the same.
func object(text []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	all := map[string]json.RawMessage{}
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("%v, want a JSON object", cmp.Or[any](err, begin, "null"))
	}
	for d.More() {
		name, err := d.Token() // a text: the decoder sees to that
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if _, again := all[fmt.Sprint(name)]; again {
			return nil, fmt.Errorf("%q comes twice", name)
		}
		all[fmt.Sprint(name)] = value
	}
	if _, err := d.Token(); err != nil { // the end of the object
		return nil, err
	}
	if more, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%v after the object, want nothing", cmp.Or[any](err, more))
	}
	return all, nil
}

func paramNames(params []Param) []string {
	names := make([]string, len(params))
	for i := range params {
		names[i] = params[i].Name
	}
	return names
}

func (p *Param) parse(text []byte) (any, error) {
	switch p.Kind {
	case Row:
		return parseAs[int64](text)
	case RowList, Columns:
		if one, err := parseAs[int64](text); err == nil {
			return []int64{one}, nil
		}
		return parseAs[[]int64](text)
	case Number:
		return parseAs[float64](text)
	case Numbers:
		if one, err := parseAs[float64](text); err == nil {
			return []float64{one}, nil
		}
		return parseAs[[]float64](text)
	case Count:
		n, err := parseAs[int64](text)
		if err == nil && n < 0 {
			err = fmt.Errorf("%d is below 0", n)
		}
		return n, err
	case Text:
		return parseAs[string](text)
	case Flag:
		return parseAs[bool](text)
	case Any:
		return slices.Clone(text), nil
	}
	return parseScalars(text)
}

// parseScalars reads numbers by name.
func parseScalars(text []byte) (map[string]float64, error) {
	given, err := object(text)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for name, value := range given {
		if all[name], err = parseAs[float64](value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseAs reads a value. A null, which the decoder would leave as it is, is none.
func parseAs[T any](text []byte) (v T, err error) {
	if null := []byte("null"); bytes.Equal(text, null) || text[0] == '[' && bytes.Contains(text, null) {
		return v, fmt.Errorf("null")
	}
	err = json.Unmarshal(text, &v)
	return v, err
}

// keepWhole remembers integers among the numbers of an argument that a float64 does not hold, by their positions.
func (a Args) keepWhole(name string, text []byte) {
	if len(text) > 0 && text[0] != '[' {
		text = fmt.Appendf(nil, "[%s]", text)
	}
	var all []json.Number
	if len(text) < len("[9007199254740993]") || json.Unmarshal(text, &all) != nil {
		return
	}
	kept := map[int]int64{}
	for i, n := range all {
		if v, err := n.Int64(); err == nil && (v > 1<<53 || v < -1<<53) && (float64(v) >= 1<<63 || int64(float64(v)) != v) {
			kept[i] = v
		}
	}
	if len(kept) > 0 {
		a[wholeOfArg(name)] = kept
	}
}

// wholeOfArg is the name of what keepWhole keeps, which no parameter has.
func wholeOfArg(name string) string { return name + " as integers" }

// whole is the integers among the numbers of an argument that a float64 does not hold, by their positions.
func (a Args) whole(name string) map[int]int64 { v, _ := a[wholeOfArg(name)].(map[int]int64); return v }

// scalar is an argument that is a number which stands for one of the matrix's type.
func (a Args) scalar(name string, m *matrix.Meta) (float64, error) {
	if v, inexact := a.whole(name)[0]; inexact && m.DType == matrix.I64 {
		return 0, fmt.Errorf("%s is %d, want a number that a float64 holds", name, v)
	}
	return a.Number(name), checkSize(name, a.Number(name), m)
}

// Has reports whether an optional argument was given.
func (a Args) Has(name string) bool { _, ok := a[name]; return ok }

// Number is an argument that is a number.
func (a Args) Number(name string) float64 { v, _ := a[name].(float64); return v }

// Numbers is an argument that is a list of numbers.
func (a Args) Numbers(name string) []float64 { v, _ := a[name].([]float64); return v }

// Count is an argument that is a whole number.
func (a Args) Count(name string) int64 { v, _ := a[name].(int64); return v }

// Text is an argument that is a text.
func (a Args) Text(name string) string { v, _ := a[name].(string); return v }

// Flag is an argument that is true or false.
func (a Args) Flag(name string) bool { v, _ := a[name].(bool); return v }

// Scalars is an argument that is numbers by name.
func (a Args) Scalars(name string) map[string]float64 { v, _ := a[name].(map[string]float64); return v }

// JSON is an argument that may be any JSON, as it was given; nil if it was left out.
func (a Args) JSON(name string) []byte { v, _ := a[name].([]byte); return v }

// Row is an argument that is a row of the matrix.
func (a Args) Row(name string, m *matrix.Meta) (int64, error) {
	r, _ := a[name].(int64)
	if r < 0 || r >= m.Rows {
		return 0, fmt.Errorf("%s is row %d, want one in [0,%d)", name, r, m.Rows)
	}
	return r, nil
}

// Rows is an argument that is a list of rows: all if it was left out.
func (a Args) Rows(name string, m *matrix.Meta) (Rows, error) {
	list, given := a[name].([]int64)
	switch {
	case !given:
		return Rows{All: true}, nil
	case len(list) == 0:
		return Rows{}, fmt.Errorf("%s is an empty list, want at least one row; all of them if it is left out", name)
	}
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	for _, r := range list {
		if r < 0 || r >= m.Rows {
			return Rows{}, fmt.Errorf("row %d, want one in [0,%d)", r, m.Rows)
		}
	}
	return Rows{Of: list}, nil
}

// Columns is an argument that is a list of columns; ok is false if it was left out.
func (a Args) Columns(name string, m *matrix.Meta) (cols []int64, ok bool, err error) {
	cols, ok = a[name].([]int64)
	whole := m.Rect().Cols
	seen := make(map[int64]bool, len(cols))
	for i, c := range cols {
		switch {
		case !whole.Has(c):
			return nil, ok, fmt.Errorf("column %d at position %d, want one in %v", c, i, whole)
		case seen[c]:
			return nil, ok, fmt.Errorf("column %d at position %d comes twice", c, i)
		}
		seen[c] = true
	}
	return cols, ok, nil
}

// exactInt reports whether the number is one of the integer type's.
func exactInt(v float64, d matrix.DType) bool {
	limit := float64(1 << 31)
	if d == matrix.I64 {
		limit = 1 << 63
	}
	return v == math.Trunc(v) && v >= -limit && v < limit
}

// checkNumber tells why a number cannot be the value of a cell.
func checkNumber(what string, v float64, m *matrix.Meta) error {
	if !m.DType.Float() && !exactInt(v, m.DType) {
		return fmt.Errorf("%s is %v, want a number of %v", what, v, m.DType)
	}
	return checkSize(what, v, m)
}

// checkSize tells that a number would be infinite in the matrix's type.
func checkSize(what string, v float64, m *matrix.Meta) error {
	if m.DType == matrix.F32 && math.IsInf(float64(float32(v)), 0) {
		return fmt.Errorf("%s is %v, want a finite number of %v", what, v, m.DType)
	}
	return nil
}

// checkNumbers tells why one of a list of numbers cannot be the value of a cell.
func (a Args) checkNumbers(name string, m *matrix.Meta) error {
	exact := a.whole(name)
	for i, v := range a.Numbers(name) {
		if _, fits := exact[i]; fits && m.DType == matrix.I64 {
			continue // float64(MaxInt64) would be beyond
		}
		if err := checkNumber(fmt.Sprintf("value %d", i), v, m); err != nil {
			return err
		}
	}
	return nil
}

// numberAt is a number of a list as one of the matrix's type.
func numberAt[T kernel.Number](values []float64, exact map[int]int64, i int) T {
	if v, ok := exact[i]; ok {
		if n, same := any(v).(T); same {
			return n
		}
	}
	return T(values[i])
}
