package state

import (
	"testing"

	"thole.example/matrix"
)

// What a matrix may go on from: constants that it begins with do not count where the checkpoint has all cells, and a dense one may become
// sparse. A sparse one does not become dense, and random numbers have to be the same.
func TestFits(t *testing.T) {
	dense := matrix.Meta{Name: "w", Rows: 2, Cols: 4, DType: matrix.F32, Rule: "adam"}
	with := func(change func(m *matrix.Meta)) matrix.Meta {
		m := dense.Clone()
		change(&m)
		return m
	}
	constant := func(v float64) matrix.Meta {
		return with(func(m *matrix.Meta) { m.Init = matrix.Init{Kind: "constant", Scale: v} })
	}
	values := with(func(m *matrix.Meta) { m.Init = matrix.Init{Kind: "constant", Values: []float64{1, 2, 3, 4}} })
	random := with(func(m *matrix.Meta) { m.Init = matrix.Init{Kind: "normal", Scale: 1, Seed: 3} })
	wide := with(func(m *matrix.Meta) { m.Cols = 9 })
	sparse := with(func(m *matrix.Meta) { m.Layout, m.Cols = matrix.RowSparse, 1<<62 })
	for name, c := range map[string]struct {
		from, to matrix.Meta
		fits     bool
	}{
		"the same":                 {dense, dense, true},
		"another constant":         {constant(3.5), constant(2), true},
		"a constant from zero":     {dense, constant(2), true},
		"constants of columns":     {values, dense, true},
		"random from zero":         {dense, random, false},
		"more columns":             {dense, wide, true},
		"fewer columns":            {wide, dense, false},
		"sparse from dense":        {dense, sparse, true},
		"sparse, other constants":  {constant(1), sparse, false},
		"sparse from dense beyond": {dense, with(func(m *matrix.Meta) { m.Layout, m.ColLo = matrix.RowSparse, 1 }), false},
		"dense from sparse":        {sparse, dense, false},
		"another rule":             {dense, with(func(m *matrix.Meta) { m.Rule = "sgd" }), false},
		"other rows":               {dense, with(func(m *matrix.Meta) { m.Rows = 3 }), false},
	} {
		if err := (&Matrix{Meta: c.from}).Fits(&c.to); (err == nil) != c.fits {
			t.Errorf("%s: %v, want fits %v", name, err, c.fits)
		}
	}
}
