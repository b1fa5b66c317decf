package psf

import (
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
)

// Functions that bring values for cells of a row.
var (
	put       = bringing("put", "cells of a row = values")
	increment = bringing("increment", "cells of a row += values")
	maxA      = bringing("maxa", "cells of a row = the larger of them and values")
	minA      = bringing("mina", "cells of a row = the lesser of them and values")
)

func bringing(name, help string) Func {
	return Func{
		Name: name, Help: help,
		Params: []Param{
			{Name: "row", Kind: Row}, {Name: "values", Kind: Numbers, Help: "one for each column"},
			{Name: "cols", Kind: Columns, Optional: true, Help: "the columns (default: the first ones)"},
		},
		Bind: func(a Args, m *matrix.Meta) (*Call, error) {
			b := brought{how: name, at: map[int64]int{}, exact: a.whole("values")}
			var err error
			if b.row, err = a.Row("row", m); err != nil {
				return nil, err
			}
			b.values = a.Numbers("values")
			values := b.values
			cols, given, err := a.Columns("cols", m)
			switch {
			case err != nil:
				return nil, err
			case given && len(cols) != len(values):
				return nil, fmt.Errorf("%d values for %d columns, want as many", len(values), len(cols))
			case int64(len(values)) > m.Cols:
				return nil, fmt.Errorf("%d values, want at most %d, one for each column", len(values), m.Cols)
			}
			if err := a.checkNumbers("values", m); err != nil {
				return nil, err
			}
			for i := range values {
				col := m.ColLo + int64(i)
				if given {
					col = cols[i]
				}
				b.cols = append(b.cols, col)
				b.at[col] = i
			}
			row := RowSet(b.row)
			return &Call{Reads: row, Writes: row, Makes: b.cols, Part: func(v View) ([]byte, error) { return bring(v, b) }}, nil
		},
	}
}

// brought is values for cells of a row.
type brought struct {
	how    string
	row    int64
	cols   []int64
	at     map[int64]int // of a column the position of its value
	values []float64
	exact  map[int]int64 // by position: integers that no float64 holds
}

var bring = typed(bringAs[float64], bringAs[float32], bringAs[int64], bringAs[int32])

func bringAs[T kernel.Number](v View, cells Cells[T], b brought) ([]byte, error) {
	return nil, columns(v, cells, b.row, b.cols, func(c *Chunk[T]) error {
		row := c.Rows[0]
		for i := range row {
			x := numberAt[T](b.values, b.exact, b.at[c.Column(i)])
			switch b.how {
			case "put":
				row[i] = x
			case "increment":
				row[i] += x
			case "maxa":
				row[i] = max(row[i], x)
			case "mina":
				row[i] = min(row[i], x)
			}
		}
		return nil
	})
}
