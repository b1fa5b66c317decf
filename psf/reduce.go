package psf

import (
	"fmt"
	"math"
	"strconv"

	"thole.example/kernel"
)

// Number reads the answer of a get function that answers with one number.
func Number(answer []byte) (float64, error) { return strconv.ParseFloat(string(answer), 64) }

func number(v float64) []byte { return strconv.AppendFloat(nil, v, 'g', -1, 64) }

// selected calls f for every cell of the selected rows.
func selected(v View, arg []byte, f func(x float64)) error {
	var rows selection
	if err := parse(arg, map[string]any{"rows": &rows}); err != nil {
		return err
	}
	if err := rows.pick(v); err != nil {
		return err
	}
	v.Each(func(row, _ int64, val []float64) {
		if rows.has(row) {
			for _, x := range val {
				f(x)
			}
		}
	})
	return nil
}

// sum is a get function that adds something of all selected cells up, exactly: its result has the same bits however the
// matrix is cut.
func sum(name, help string, add func(e *kernel.Exact, x float64), finish func(float64) float64) Get {
	return Get{
		Name: name,
		Help: help,
		Part: func(v View, arg []byte) ([]byte, error) {
			e := &kernel.Exact{}
			if err := selected(v, arg, func(x float64) { add(e, x) }); err != nil {
				return nil, err
			}
			return e.Append(nil), nil
		},
		Merge: func(parts [][]byte) ([]byte, error) {
			all := &kernel.Exact{}
			for _, p := range parts {
				e, rest, err := kernel.ParseExact(p)
				if err != nil {
					return nil, err
				}
				if len(rest) > 0 {
					return nil, fmt.Errorf("%d bytes after a sum, want none", len(rest))
				}
				all.Merge(e)
			}
			return number(finish(all.Value())), nil
		},
	}
}

// sumGet adds all stored values. Argument: rows.
var sumGet = sum("sum", `sum of the stored values; argument {"rows":[0]} for some rows`, (*kernel.Exact).Add,
	func(v float64) float64 { return v })

// normGet is the Euclidean norm of the stored values. Argument: rows.
var normGet = sum("norm", `Euclidean norm of the stored values; argument {"rows":[0]} for some rows`, addSquare, math.Sqrt)

func addSquare(e *kernel.Exact, x float64) { e.AddProduct(x, x) }

// maxGet is the largest stored value, -Inf if there is none. Argument: rows.
var maxGet = Get{
	Name: "max",
	Help: `largest stored value; argument {"rows":[0]} for some rows`,
	Part: func(v View, arg []byte) ([]byte, error) {
		most := math.Inf(-1)
		if err := selected(v, arg, func(x float64) { most = math.Max(most, x) }); err != nil {
			return nil, err
		}
		return number(most), nil
	},
	Merge: func(parts [][]byte) ([]byte, error) {
		most := math.Inf(-1)
		for _, p := range parts {
			v, err := Number(p)
			if err != nil {
				return nil, err
			}
			most = math.Max(most, v)
		}
		return number(most), nil
	},
}
