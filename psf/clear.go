package psf

import (
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
)

var (
	zero     = clearing("zero", "all cells = 0; a sparse matrix keeps no column, and nothing that its rule had for them")
	reset    = clearing("reset", "cells of rows = 0", rowsParam)
	compress = Func{
		Name: "compress", Help: "cells of a magnitude of at most a limit = 0; columns of sparse matrices that say nothing are dropped",
		Params: []Param{{Name: "limit", Kind: Number, Default: "1e-11"}},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			limit := a.Number("limit")
			return &Call{
				Reads: Rows{All: true}, Writes: Rows{All: true},
				Part: func(v View) ([]byte, error) { return compressPart(v, limit) },
			}, nil
		},
	}
	diag = diagonal("diag", "a diagonal matrix", Param{Name: "values", Kind: Numbers, Help: "one for each row"})
	eye  = diagonal("eye", "the identity matrix: 1 where row and column, counted from the first, are the same")
)

func clearing(name, help string, params ...Param) Func {
	return Func{
		Name: name, Help: help, Params: params,
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			rows, err := a.Rows("rows", m)
			if err != nil {
				return nil, err
			}
			return &Call{Writes: rows, Part: func(v View) ([]byte, error) { return clearPart(v, rows) }}, nil
		},
	}
}

var clearPart = typed(clearAs[float64], clearAs[float32], clearAs[int64], clearAs[int32])

func clearAs[T kernel.Number](v View, cells Cells[T], rows Rows) ([]byte, error) {
	some := rows.In(v.At().Rows)
	for _, r := range some {
		if !v.Meta().Init.Random() {
			cells.SetValue(r, 0)
		}
	}
	if rows.All && v.Meta().Layout == matrix.RowSparse && !v.Meta().Init.Random() {
		return nil, dropIf(cells, some, func([]T) bool { return true })
	}
	return nil, cells.Apart(some, true, func(c *Chunk[T]) error {
		kernel.Fill(c.All, 0)
		return nil
	})
}

// dropIf drops the columns whose cells in the rows, all rows of the partition, are such that f says so.
func dropIf[T kernel.Number](cells Cells[T], rows []int64, f func(cells []T) bool) error {
	var out []int64
	column := make([]T, len(rows))
	err := cells.Apart(rows, false, func(c *Chunk[T]) error {
		for i := range c.Rows[0] {
			for r := range rows {
				column[r] = c.Rows[r][i]
			}
			if f(column) {
				out = append(out, c.Column(i))
			}
		}
		return nil
	})
	cells.Drop(out)
	return err
}

var compressPart = typed(compressAs[float64], compressAs[float32], compressAs[int64], compressAs[int32])

func compressAs[T kernel.Number](v View, cells Cells[T], limit float64) ([]byte, error) {
	rows := Rows{All: true}.In(v.At().Rows)
	err := cells.Apart(rows, true, func(c *Chunk[T]) error {
		for i, x := range c.All {
			if y := float64(x); y >= -limit && y <= limit {
				c.All[i] = 0
			}
		}
		return nil
	})
	if err != nil || v.Meta().Layout == matrix.RowDense || v.Meta().Init.Random() {
		return nil, err
	}
	absent := make([]T, len(rows))
	for i, r := range rows {
		absent[i] = cells.Value(r)
	}
	return nil, dropIf(cells, rows, func(cells []T) bool {
		for i, x := range cells {
			if x != absent[i] {
				return false
			}
		}
		return true
	})
}

func diagonal(name, help string, params ...Param) Func {
	return Func{
		Name: name, Help: help, Params: params,
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			values := a.Numbers("values")
			if a.Has("values") && int64(len(values)) != min(m.Rows, m.Cols) {
				return nil, fmt.Errorf("%d values, want %d", len(values), min(m.Rows, m.Cols))
			}
			for i, v := range values {
				if err := checkNumber(fmt.Sprintf("value %d", i), v, m); err != nil {
					return nil, err
				}
			}
			if m.Layout == matrix.RowSparse && m.Init.Random() {
				return nil, fmt.Errorf("a sparse matrix with random initial values, want one that begins with zeros")
			}
			return &Call{Writes: Rows{All: true}, Part: func(v View) ([]byte, error) { return diagonalPart(v, values) }}, nil
		},
	}
}

var diagonalPart = typed(diagonalAs[float64], diagonalAs[float32], diagonalAs[int64], diagonalAs[int32])

func diagonalAs[T kernel.Number](v View, cells Cells[T], values []float64) ([]byte, error) {
	if _, err := clearAs(v, cells, Rows{All: true}); err != nil {
		return nil, err
	}
	at, first := v.At(), v.Meta().ColLo
	for r := at.Rows.Lo; r < at.Rows.Hi && first+r < at.Cols.Hi; r++ {
		value := T(1)
		if values != nil {
			value = T(values[r])
		}
		err := columns(v, cells, r, []int64{first + r}, func(c *Chunk[T]) error {
			c.Rows[0][0] = value
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
