package psf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/expr"
	"thole.example/kernel"
	"thole.example/matrix"
)

// shape is which rows a map works on.
type shape uint8

const (
	oneRow    shape = iota // from, to
	twoRowsIn              // from1, from2, to
	threeRows              // from1, from2, from3, to
	inPlace                // rows
	ontoY                  // x, y; y is changed
)

// params are the parameters of a shape, the operands first and what is changed last.
func (s shape) params() []Param {
	from := Param{Kind: Row, Help: "a row that is read"}
	to := Param{Name: "to", Kind: Row, Help: "the row that is changed"}
	named := func(p Param, name string) Param { p.Name = name; return p }
	switch s {
	case oneRow:
		to.Optional, to.Help = true, "the row that is changed (default: from)"
		return []Param{named(from, "from"), to}
	case twoRowsIn:
		return []Param{named(from, "from1"), named(from, "from2"), to}
	case threeRows:
		return []Param{named(from, "from1"), named(from, "from2"), named(from, "from3"), to}
	case ontoY:
		return []Param{named(from, "x"), {Name: "y", Kind: Row, Help: "the row that is changed"}}
	}
	return []Param{rowsParam}
}

// formula is an update function whose cells are an expression of others.
type formula struct {
	name, help string
	shape      shape
	text       string   // "": it is the argument f
	scalars    []string // names in it that are arguments
}

// formulas is the table of them. Angel's Mul is element by element, whatever its manual says.
var formulas = []formula{
	{"abs", "to = |from|", oneRow, "abs(x)", nil},
	{"add", "to = from1 + from2", twoRowsIn, "x + y", nil},
	{"adds", "to = from + s", oneRow, "x + s", []string{"s"}},
	{"axpy", "y = a*x + y", ontoY, "a*x + y", []string{"a"}},
	{"ceil", "to = from, rounded up", oneRow, "ceil(x)", nil},
	{"copy", "to = from", oneRow, "x", nil},
	{"div", "to = from1 / from2", twoRowsIn, "x / y", nil},
	{"divs", "to = from / s; s is not 0", oneRow, "x / s", []string{"s"}},
	{"exp", "to = e^from", oneRow, "exp(x)", nil},
	{"expm1", "to = e^from - 1", oneRow, "expm1(x)", nil},
	{"fill", "cells = value", inPlace, "value", []string{"value"}},
	{"floor", "to = from, rounded down", oneRow, "floor(x)", nil},
	{"log", "to = ln(from)", oneRow, "log(x)", nil},
	{"log10", "to = log10(from)", oneRow, "log10(x)", nil},
	{"log1p", "to = ln(1 + from)", oneRow, "log1p(x)", nil},
	{"maxv", "to = the larger of from1 and from2", twoRowsIn, "max(x, y)", nil},
	{"minv", "to = the lesser of from1 and from2", twoRowsIn, "min(x, y)", nil},
	{"mul", "to = from1 * from2, cell by cell", twoRowsIn, "x * y", nil},
	{"muls", "to = from * s", oneRow, "x * s", []string{"s"}},
	{"pow", "to = from^p", oneRow, "x ^ p", []string{"p"}},
	{"round", "to = from, rounded to the nearest whole number, halves away from 0", oneRow, "round(x)", nil},
	{"scale", "cells *= by", inPlace, "x * by", []string{"by"}},
	{"signum", "to = the sign of from: -1, 0 or 1", oneRow, "sign(x)", nil},
	{"softthreshold", "cells move towards 0 by t, and stop there (the proximal step of l1)", inPlace,
		"sign(x) * max(abs(x) - t, 0)", []string{"t"}},
	{"sqrt", "to = the square root of from", oneRow, "sqrt(x)", nil},
	{"sub", "to = from1 - from2", twoRowsIn, "x - y", nil},
	{"subs", "to = from - s", oneRow, "x - s", []string{"s"}},
	{"threshold", "cells whose magnitude is below a limit = 0", inPlace, "abs(x) < below ? 0 : x", []string{"below"}},

	{"map", "to = f of x = from and i, the column", oneRow, "", nil},
	{"mapinplace", "cells = f of x, the cell, and i, the column", inPlace, "", nil},
	{"zip2map", "to = f of x = from1, y = from2 and i, the column", twoRowsIn, "", nil},
	{"zip3map", "to = f of x = from1, y = from2, z = from3 and i, the column", threeRows, "", nil},
}

// mapFuncs are the functions of the formulas.
func mapFuncs() []Func {
	var all []Func
	for _, f := range formulas {
		params := f.shape.params()
		for _, s := range f.scalars {
			params = append(params, Param{Name: s, Kind: Number})
		}
		if f.text == "" {
			params = append(params, Param{Name: "f", Kind: Text, Help: `an expression, such as "2*x + 1"`},
				Param{Name: "with", Kind: Scalars, Optional: true, Help: "values of the other names in it"})
		}
		all = append(all, Func{Name: f.name, Help: f.help, Params: append(params, storedParam), Bind: f.bind})
	}
	return all
}

// bind implements Func.Bind.
func (f formula) bind(a Args, m *matrix.Meta) (*Call, error) {
	text, with := f.text, map[string]float64{}
	if text == "" {
		text = a.Text("f")
		maps.Copy(with, a.Scalars("with"))
	}
	for _, s := range f.scalars {
		var err error
		if with[s], err = a.scalar(s, m); err != nil {
			return nil, err
		}
	}
	for _, s := range slices.Sorted(maps.Keys(with)) {
		if err := checkSize(s, with[s], m); err != nil {
			return nil, err
		}
	}
	switch {
	case f.name == "divs" && with["s"] == 0:
		return nil, fmt.Errorf("s is 0, want another number")
	case f.name == "softthreshold" && with["t"] < 0:
		return nil, fmt.Errorf("t is %v, want a number from 0 on", with["t"])
	case f.name == "fill":
		if err := checkNumber("value", with["value"], m); err != nil {
			return nil, err
		}
	}
	e, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	p := mapping{expr: e, scalars: with, stored: a.Flag("stored") || m.Init.Random()}
	call := &Call{Together: f.shape != inPlace, Part: func(v View) ([]byte, error) { return mapPart(v, p) }}
	if f.shape == inPlace {
		if call.Writes, err = a.Rows("rows", m); err != nil {
			return nil, err
		}
		call.Reads, p.all = call.Writes, call.Writes
		call.Check = func(v View) error { _, err := mapCheck(v, p); return err }
	} else {
		for _, param := range f.shape.params() {
			row := p.rows[:min(1, len(p.rows))]
			if a.Has(param.Name) {
				r, err := a.Row(param.Name, m)
				if err != nil {
					return nil, err
				}
				row = []int64{r}
			}
			p.rows = append(p.rows, row...)
		}
		n := len(p.rows)
		if f.shape == ontoY {
			p.rows = append(p.rows, p.rows[n-1])
			n++
		}
		call.Reads, call.Writes = RowSet(p.rows[:n-1]...), RowSet(p.rows[n-1])
	}
	if have := max(1, len(p.rows)-1); e.Rows() > have {
		return nil, fmt.Errorf("expression %.60q of %d rows, want at most %d", text, e.Rows(), have)
	}
	if e.Columns() && m.Layout == matrix.RowSparse && !p.stored {
		return nil, fmt.Errorf("expression %.60q depends on the column, and cells that are not stored have one value in all of them; "+
			`"stored": true leaves them alone`, text)
	}
	return call, p.check(m)
}

// mapping is an expression on its way: from the first of rows to the last one, or in place of all.
type mapping struct {
	expr    *expr.Expr
	scalars map[string]float64
	rows    []int64
	all     Rows
	stored  bool
}

// check tells what is wrong with the scalars.
func (p *mapping) check(m *matrix.Meta) error {
	var err error
	switch m.DType {
	case matrix.F64:
		_, err = expr.Bind[float64](p.expr, p.scalars)
	case matrix.F32:
		_, err = expr.Bind[float32](p.expr, p.scalars)
	case matrix.I64:
		_, err = expr.Bind[int64](p.expr, p.scalars)
	case matrix.I32:
		_, err = expr.Bind[int32](p.expr, p.scalars)
	}
	return err
}

var mapCheck = typed(mapChecked[float64], mapChecked[float32], mapChecked[int64], mapChecked[int32])

// mapChecked tells which row of those that are changed in place would not have a number where nothing is stored.
func mapChecked[T kernel.Number](v View, cells Cells[T], p mapping) ([]byte, error) {
	f, err := expr.Bind[T](p.expr, p.scalars)
	if err == nil && !(v.Meta().Layout == matrix.RowDense || p.stored) {
		_, err = absentValues(p.all.In(v.At().Rows), func(row int64) T { return f.At(0, cells.Value(row), 0, 0) })
	}
	return nil, err
}

var mapPart = typed(mapAs[float64], mapAs[float32], mapAs[int64], mapAs[int32])

func mapAs[T kernel.Number](v View, cells Cells[T], p mapping) ([]byte, error) {
	f, err := expr.Bind[T](p.expr, p.scalars)
	if err != nil {
		return nil, err
	}
	if p.rows == nil {
		rows := p.all.In(v.At().Rows)
		err := setValues(v, cells, rows, p.stored, func(row int64) T { return f.At(0, cells.Value(row), 0, 0) })
		if err != nil {
			return nil, err
		}
		constant := f.At(0, 0, 0, 0) // what the cells become if the expression has none
		return nil, cells.Apart(rows, true, func(c *Chunk[T]) error {
			switch {
			case p.expr.Columns():
			case p.expr.Rows() == 0:
				kernel.Fill(c.All, constant)
				return nil
			default:
				return f.Run(c.All, [][]T{c.All}, c.Col, nil)
			}
			for _, row := range c.Rows {
				if err := f.Run(row, [][]T{row}, c.Col, c.Cols); err != nil {
					return err
				}
			}
			return nil
		})
	}
	last := len(p.rows) - 1
	err = setValues(v, cells, p.rows[last:], p.stored, func(int64) T {
		var in [3]T
		for i, r := range p.rows[:last] {
			in[i] = cells.Value(r)
		}
		return f.At(0, in[0], in[1], in[2])
	})
	if err != nil {
		return nil, err
	}
	return nil, cells.Together(p.rows, 1, func(c *Chunk[T]) error {
		return f.Run(c.Rows[last], c.Rows[:last], c.Col, c.Cols)
	})
}

// setValues gives rows new values in columns that are not stored, unless those are to be left alone. Nothing is changed if
// one of them is not finite.
func setValues[T kernel.Number](v View, cells Cells[T], rows []int64, stored bool, value func(row int64) T) error {
	if v.Meta().Layout == matrix.RowDense || stored {
		return nil
	}
	values, err := absentValues(rows, value)
	if err != nil {
		return err
	}
	for i, r := range rows {
		cells.SetValue(r, values[i])
	}
	return nil
}

// absentValues is the values that the rows are to have in columns that are not stored; an error if one is not finite.
func absentValues[T kernel.Number](rows []int64, value func(row int64) T) ([]T, error) {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = value(r)
		if x := float64(values[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("row %d: cells that are not stored would become %v, want a finite number; "+
				`"stored": true leaves them alone`, r, x)
		}
	}
	return values, nil
}

// columns calls f with the cells of single columns of the row, if the partition has them.
func columns[T kernel.Number](v View, cells Cells[T], row int64, cols []int64, f func(c *Chunk[T]) error) error {
	if !v.At().Rows.Has(row) {
		return nil
	}
	var own []int64
	for _, col := range cols {
		if v.Owns(col) {
			own = append(own, col)
		}
	}
	return cells.Pick([]int64{row}, slices.Clip(own), f)
}
