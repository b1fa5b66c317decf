package server_test

import (
	"thole.example/matrix"
	"thole.example/psf"
)

// everywhere is a function of all rows: an update function if merge is nil.
func everywhere(name string, part func(v psf.View) ([]byte, error), merge func(parts [][]byte) (psf.Answer, error)) psf.Func {
	all := psf.Rows{All: true}
	return psf.Func{Name: name, Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) {
		return &psf.Call{Reads: all, Writes: all, Part: part, Merge: merge}, nil
	}}
}

// changing is an update function of all cells.
func changing(name string, f func(x float64) float64) psf.Func {
	return everywhere(name, func(v psf.View) ([]byte, error) { return nil, changeAll(v, f) }, nil)
}

// changeAll changes all cells.
func changeAll(v psf.View, f func(x float64) float64) error {
	return psf.Each(v, psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			for i, x := range row {
				row[i] = f(x)
			}
		}
		return nil
	})
}

// asking is a get function whose partitions answer with a text; the answer is that of the first.
func asking(name string, part func(v psf.View) ([]byte, error)) psf.Func {
	return everywhere(name, part, func(parts [][]byte) (psf.Answer, error) { return parts[0], nil })
}
