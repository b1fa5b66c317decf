package psf

import (
	"math"
	"strconv"
)

// Number reads the answer of a get function that answers with one number.
func Number(answer []byte) (float64, error) { return strconv.ParseFloat(string(answer), 64) }

func number(v float64) []byte { return strconv.AppendFloat(nil, v, 'g', -1, 64) }

// reduce is a get function that folds all selected cells into one number, partition by partition. The partitions of a
// matrix do not depend on the servers, so neither does the rounding.
func reduce(name, help string, start float64, cell, merge func(acc, v float64) float64, finish func(float64) float64) Get {
	return Get{
		Name: name,
		Help: help,
		Part: func(v View, arg []byte) ([]byte, error) {
			var rows selection
			if err := parse(arg, map[string]any{"rows": &rows}); err != nil {
				return nil, err
			}
			if err := rows.pick(v); err != nil {
				return nil, err
			}
			acc := start
			v.Each(func(row, _ int64, val []float64) {
				if rows.has(row) {
					for _, x := range val {
						acc = cell(acc, x)
					}
				}
			})
			return number(acc), nil
		},
		Merge: func(parts [][]byte) ([]byte, error) {
			acc := start
			for _, p := range parts {
				v, err := Number(p)
				if err != nil {
					return nil, err
				}
				acc = merge(acc, v)
			}
			return number(finish(acc)), nil
		},
	}
}

func add(a, b float64) float64       { return a + b }
func same(v float64) float64         { return v }
func addSquare(a, v float64) float64 { return a + v*v }

// sumGet adds all stored values. Argument: rows.
var sumGet = reduce("sum", `sum of the stored values; argument {"rows":[0]} for some rows`, 0, add, add, same)

// maxGet is the largest stored value, -Inf if there is none. Argument: rows.
var maxGet = reduce("max", `largest stored value; argument {"rows":[0]} for some rows`, math.Inf(-1), math.Max, math.Max, same)

// normGet is the Euclidean norm of the stored values. Argument: rows.
var normGet = reduce("norm", `Euclidean norm of the stored values; argument {"rows":[0]} for some rows`, 0, addSquare, add, math.Sqrt)
