package edit

import "thole.example/matrix"

// number is a value in two parts, whose sum it is: the nearest float64, and what an integer beyond 2^53 has besides.
// Numbers are equal if both parts are.
type number struct{ val, rest float64 }

// split takes the values of a block apart. There is no rest if all are float64.
func split(b matrix.Block) (wide matrix.Block, rest *matrix.Block) {
	wide, exact := b.Cast(matrix.F64)
	if exact {
		return wide, nil
	}
	c := wide.Clone() // the places are the same
	left := c.Data.Values().([]float64)
	switch v := b.Data.Values().(type) {
	case []int64:
		for i, x := range v {
			left[i] = float64(int64(uint64(x) - wrap(left[i])))
		}
	case []uint64:
		for i, x := range v {
			left[i] = float64(int64(x - wrap(left[i])))
		}
	default:
		return wide, nil // floats, which only a NaN makes inexact
	}
	return wide, &c
}

// wrap is a whole number between -2^63 and 2^64 modulo 2^64: differences to its neighbours are right in the end.
func wrap(v float64) uint64 {
	switch {
	case v < 0:
		return uint64(int64(v))
	case v >= 1<<64:
		return 0
	}
	return uint64(v)
}
