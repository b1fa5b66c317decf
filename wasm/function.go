package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
)

// Func is the module as a function beside the data, under the name. A map reads the rows from, or from1 to from3, and writes the
// row to; a get function reads the rows that it is told of, one after the other, or those that it wants together. arg is the
// module's own argument. Cells that are not stored are not shown to get functions; to maps only if they keep zeros, or
// "stored" says that they stay as they are.
func (m *Module) Func(name string) psf.Func {
	about := m.Describe()
	f := psf.Func{Name: name, Help: about.Help}
	arg := psf.Param{Name: "arg", Kind: psf.Any, Optional: true, Help: "the argument of the module, if it takes one"}
	if about.Kind == KindGet {
		f.Params = []psf.Param{{Name: "rows", Kind: psf.RowList, Optional: true, Help: "which rows (default: all)"}, arg}
		f.Bind = m.bindGet
		return f
	}
	for i := range about.Rows {
		from := psf.Param{Name: "from", Kind: psf.Row, Help: "a row that is read"}
		if about.Rows > 1 {
			from.Name = fmt.Sprintf("from%d", i+1)
		}
		f.Params = append(f.Params, from)
	}
	to := psf.Param{Name: "to", Kind: psf.Row, Optional: about.Rows == 1, Help: "the row that is changed (default: from)"}
	stored := psf.Param{Name: "stored", Kind: psf.Flag, Default: "false", Help: "leave cells alone that are not stored"}
	f.Params = append(f.Params, to, stored, arg)
	f.Bind = m.bindMap
	return f
}

func (m *Module) bindGet(a psf.Args, meta *matrix.Meta) (*psf.Call, error) {
	rows, err := a.Rows("rows", meta)
	if err != nil {
		return nil, err
	}
	arg, about := a.JSON("arg"), m.Describe()
	if n := int64(len(rows.In(meta.Rect().Rows))); about.Rows > 1 && n != int64(about.Rows) {
		return nil, fmt.Errorf("%d rows, want the %d that %s reads together", n, about.Rows, m.name)
	}
	return &psf.Call{
		Reads: rows, Together: about.Rows > 1, Concurrent: true,
		Part: func(v psf.View) ([]byte, error) {
			in, err := m.New(context.Background(), arg)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			if err := m.look(in, v, rows); err != nil {
				return nil, err
			}
			return in.End(context.Background())
		},
		Merge: func(parts [][]byte) (psf.Answer, error) {
			answer, err := m.Merge(context.Background(), arg, parts)
			if err == nil && !json.Valid(answer) {
				answer, err = json.Marshal(string(answer))
			}
			return answer, err
		},
	}, nil
}

// look shows the instance the cells of a partition.
func (m *Module) look(in *Instance, v psf.View, rows psf.Rows) error {
	switch cells := v.Cells().(type) {
	case psf.Cells[float64]:
		return lookAt(m, in, v, cells, rows)
	case psf.Cells[float32]:
		return lookAt(m, in, v, cells, rows)
	case psf.Cells[int64]:
		return lookAt(m, in, v, cells, rows)
	case psf.Cells[int32]:
		return lookAt(m, in, v, cells, rows)
	}
	return fmt.Errorf("wasm: %s: cells of %v, want f64, f32, i64 or i32", m.name, v.Meta().DType)
}

func lookAt[T kernel.Number](m *Module, in *Instance, v psf.View, cells psf.Cells[T], rows psf.Rows) error {
	ctx, mine := context.Background(), rows.In(v.At().Rows)
	if m.Describe().Rows > 1 {
		return cells.Together(mine, 0, func(c *psf.Chunk[T]) error { return Add(ctx, in, c.IDs[0], c.Rows, c.Col, c.Cols) })
	}
	return cells.Apart(mine, false, func(c *psf.Chunk[T]) error {
		for i, row := range c.Rows {
			if err := Add(ctx, in, c.IDs[i], [][]T{row}, c.Col, c.Cols); err != nil {
				return err
			}
		}
		return nil
	})
}

// mapping is a map on its way: from rows to the last of them.
type mapping struct {
	m      *Module
	arg    []byte
	rows   []int64
	stored bool
}

func (m *Module) bindMap(a psf.Args, meta *matrix.Meta) (*psf.Call, error) {
	p := mapping{m: m, arg: a.JSON("arg"), stored: a.Flag("stored") || meta.Init.Random()}
	about := m.Describe()
	names := []string{"from"}
	if about.Rows > 1 {
		names = []string{"from1", "from2", "from3"}[:about.Rows]
	}
	if names = append(names, "to"); !a.Has("to") {
		names[len(names)-1] = "from"
	}
	for _, name := range names {
		row, err := a.Row(name, meta)
		if err != nil {
			return nil, err
		}
		p.rows = append(p.rows, row)
	}
	if meta.Layout == matrix.RowSparse && !p.stored && !about.KeepsZero {
		return nil, fmt.Errorf("%s does not say that it keeps zeros, and cells that are not stored have one value in all columns: "+
			`"stored": true leaves them alone`, m.name)
	}
	last := len(p.rows) - 1
	return &psf.Call{Reads: psf.RowSet(p.rows[:last]...), Writes: psf.RowSet(p.rows[last]), Together: true, Part: p.part}, nil
}

func (p mapping) part(v psf.View) ([]byte, error) {
	in, err := p.m.New(context.Background(), p.arg)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	switch cells := v.Cells().(type) {
	case psf.Cells[float64]:
		err = mapCells(p, in, v, cells)
	case psf.Cells[float32]:
		err = mapCells(p, in, v, cells)
	case psf.Cells[int64]:
		err = mapCells(p, in, v, cells)
	case psf.Cells[int32]:
		err = mapCells(p, in, v, cells)
	}
	return nil, err
}

func mapCells[T kernel.Number](p mapping, in *Instance, v psf.View, cells psf.Cells[T]) error {
	ctx, last := context.Background(), len(p.rows)-1
	if v.Meta().Layout == matrix.RowSparse && !p.stored {
		if err := mapAbsent(ctx, p, in, cells); err != nil {
			return err
		}
	}
	return cells.Together(p.rows, 1, func(c *psf.Chunk[T]) error {
		return Map(ctx, in, c.Rows[last], c.Rows[:last], c.Col, c.Cols)
	})
}

// mapAbsent gives the row its value in columns that are not stored.
func mapAbsent[T kernel.Number](ctx context.Context, p mapping, in *Instance, cells psf.Cells[T]) error {
	last, zero := len(p.rows)-1, true
	var from [][]T
	for _, row := range p.rows[:last] {
		x := cells.Value(row)
		from, zero = append(from, []T{x}), zero && x == 0
	}
	var to [1]T
	if !zero {
		if err := Map(ctx, in, to[:], from, 0, nil); err != nil {
			return err
		}
	}
	if x := float64(to[0]); math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("cells that are not stored would become %v, want a finite number; \"stored\": true leaves them alone", x)
	}
	cells.SetValue(p.rows[last], to[0])
	return nil
}
