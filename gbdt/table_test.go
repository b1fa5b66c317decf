package gbdt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"thole.example/tree"
)

// grid is rows whose values are all there: NaN is missing. Of what is usual for a feature rows say nothing, unless it is aloud.
type grid struct {
	features []tree.Feature
	rows     [][]float32
	lacks    []bool // a row that does not mention the feature lacks it; else its value is 0
	aloud    []bool // of features, those of which every row mentions the value
}

// gridOf is rows of numbers that are all mentioned.
func gridOf(rows ...[]float32) *grid {
	n := len(rows[0])
	g := &grid{features: make([]tree.Feature, n), rows: rows, lacks: make([]bool, n), aloud: make([]bool, n)}
	for f := range g.aloud {
		g.aloud[f] = true
	}
	return g
}

func (g *grid) Len() int                 { return len(g.rows) }
func (g *grid) Features() tree.Features  { return tree.FeaturesOf(g.features...) }
func (g *grid) Missing(feature int) bool { return g.lacks[feature] }
func (g *grid) Read(lo, hi int, into *Block) {
	for _, row := range g.rows[lo:hi] {
		for f, v := range row {
			usual := v == 0 && !g.lacks[f] || v != v && g.lacks[f]
			if !usual || g.aloud[f] {
				into.Feature, into.Value = append(into.Feature, int32(f)), append(into.Value, float64(v))
			}
		}
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}

// doubles are numbers as float64.
func doubles(v ...float32) []float64 {
	all := make([]float64, len(v))
	for i, x := range v {
		all[i] = float64(x)
	}
	return all
}

// part is some of the rows.
func (g *grid) part(lo, hi int) *grid {
	p := *g
	p.rows = g.rows[lo:hi]
	return &p
}

// single is the values of a feature.
func single(values ...float32) *grid {
	rows := make([][]float32, len(values))
	for i, v := range values {
		rows[i] = []float32{v}
	}
	return gridOf(rows...)
}

// random is a grid of few values, of features of every sort, and labels that depend on some of them.
func random(r *rand.Rand, n, features int) (*grid, []float32) {
	g := &grid{features: make([]tree.Feature, features), rows: make([][]float32, n), lacks: make([]bool, features),
		aloud: make([]bool, features)}
	values, missing, zeros := make([]int, features), make([]float64, features), make([]float64, features)
	for f := range g.features {
		g.features[f].Categorical = r.IntN(3) == 0
		g.lacks[f], g.aloud[f] = r.IntN(3) == 0, r.IntN(2) == 0
		values[f] = 1 + r.IntN(12)
		missing[f], zeros[f] = max(0, r.Float64()-0.6), max(0, r.Float64()*1.6-0.6)
	}
	exclusive := r.IntN(3) == 0 // a row has at most one of the features: they are bundled
	if exclusive {
		clear(g.lacks)
		clear(g.aloud)
		clear(missing)
	}
	labels := make([]float32, n)
	for i := range g.rows {
		only := r.IntN(features)
		g.rows[i] = make([]float32, features)
		for f := range features {
			v := float32(r.IntN(values[f]))
			if !g.features[f].Categorical {
				v = v/2 - 1
			}
			if r.Float64() < zeros[f] || exclusive && f != only {
				v = 0
			}
			labels[i] += v * float32(f%3-1)
			if r.Float64() < missing[f] {
				v = nan()
				labels[i]++
			}
			g.rows[i][f] = v
		}
		labels[i] += float32(r.NormFloat64())
	}
	return g, labels
}

// failer is a test, or one of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// binned is the rows in bins.
func binned(t failer, rows, held Rows, bins int) *Binned {
	t.Helper()
	b, err := Bin(context.Background(), rows, held, bins, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trained is trees of the rows; they are held to be well-formed.
func trained(t failer, b *Binned, y *Labels, c Config, opt Options) *tree.Ensemble {
	t.Helper()
	c.Cores = max(1, c.Cores)
	e, err := Train(context.Background(), b, y, c, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e
}

// settings are Defaults with an objective, and so many trees.
func settings(t failer, objective string, trees int) Config {
	t.Helper()
	o, err := FindObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	c := Defaults()
	c.Objective, c.Trees, c.MaxStep, c.Classes = o, trees, o.Step, 3
	return c
}

// scoresOf are the scores of rows by their class.
func scoresOf(e *tree.Ensemble, g *grid) [][]float64 {
	all, one := make([][]float64, e.Classes), make([]float64, e.Classes)
	for _, row := range g.rows {
		e.Score(doubles(row...), one)
		for k, s := range one {
			all[k] = append(all[k], s)
		}
	}
	return all
}

// near reports whether two numbers are the same but for rounding.
func near(a, b, within float64) bool { return math.Abs(a-b) <= within*(1+math.Abs(a)+math.Abs(b)) }

// zipped is the elements of a, each so many times, in their order.
func zipped[T any](a []T, times func(i int) int) (out []T) {
	for i, v := range a {
		out = append(out, slices.Repeat([]T{v}, times(i))...)
	}
	return out
}

// differ says in what two ensembles are not the same to the bit; "": in nothing.
func differ(a, b *tree.Ensemble) string {
	if text := tree.Differ(a, b, 0); text != "" {
		return text
	}
	for i := range a.Trees {
		if !reflect.DeepEqual(a.Trees[i], b.Trees[i]) {
			return fmt.Sprintf("tree %d has other statistics: %+v and %+v", i, a.Trees[i], b.Trees[i])
		}
	}
	return ""
}
