package psf

import (
	"math"
	"strconv"
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
func sum(name, help string, add func(e *exact, x float64), finish func(float64) float64) Get {
	return Get{
		Name: name,
		Help: help,
		Part: func(v View, arg []byte) ([]byte, error) {
			e := &exact{}
			if err := selected(v, arg, func(x float64) { add(e, x) }); err != nil {
				return nil, err
			}
			return e.bytes(), nil
		},
		Merge: func(parts [][]byte) ([]byte, error) {
			all := &exact{}
			for _, p := range parts {
				e, err := readExact(p)
				if err != nil {
					return nil, err
				}
				all.merge(e)
			}
			return number(finish(all.value())), nil
		},
	}
}

// sumGet adds all stored values. Argument: rows.
var sumGet = sum("sum", `sum of the stored values; argument {"rows":[0]} for some rows`, (*exact).add,
	func(v float64) float64 { return v })

// normGet is the Euclidean norm of the stored values. Argument: rows.
var normGet = sum("norm", `Euclidean norm of the stored values; argument {"rows":[0]} for some rows`, (*exact).addSquare, math.Sqrt)

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
