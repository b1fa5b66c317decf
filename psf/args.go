package psf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

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
// error: a mistyped "rows" would mean all of them.
func ParseArgs(params []Param, arg []byte) (Args, error) {
	var given map[string]json.RawMessage
	if len(arg) > 0 {
		if err := json.Unmarshal(arg, &given); err != nil {
			return nil, fmt.Errorf("argument %.60q: %w", arg, err)
		}
	}
	a := Args{}
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
	}
	for name := range given {
		return nil, fmt.Errorf("argument %.60q: %q, want one of %s", arg, name, paramNames(params))
	}
	return a, nil
}

func paramNames(params []Param) string {
	if len(params) == 0 {
		return "none"
	}
	names := make([]string, len(params))
	for i := range params {
		names[i] = params[i].Name
	}
	return strings.Join(names, " ")
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
	return parseAs[map[string]float64](text)
}

func parseAs[T any](text []byte) (v T, err error) {
	if bytes.Equal(text, []byte("null")) {
		return v, fmt.Errorf("null")
	}
	err = json.Unmarshal(text, &v)
	return v, err
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

// Rows is an argument that is a list of rows: all if it was left out or is empty.
func (a Args) Rows(name string, m *matrix.Meta) (Rows, error) {
	list, _ := a[name].([]int64)
	if len(list) == 0 {
		return Rows{All: true}, nil
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
	return nil
}
