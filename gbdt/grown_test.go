package gbdt

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"thole.example/tree"
)

// TestOracle grows trees with random settings on random rows, and has the oracle follow them.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g, y := random(r, 1+r.IntN(120), 1+r.IntN(5))
		c := Defaults()
		c.Trees, c.Rate = 1+r.IntN(3), 0.1+r.Float64()
		c.Depth, c.Leaves = r.IntN(6), []int{0, 2 + r.IntN(3), 2 + r.IntN(20)}[r.IntN(3)]
		if c.Depth == 0 && c.Leaves == 0 {
			c.Depth = 3
		}
		c.Growth = []Growth{ByDepth, ByLeaf}[r.IntN(2)]
		some := func(most float64) float64 { return []float64{0, most * r.Float64()}[r.IntN(2)] }
		c.L1, c.L2, c.Gamma, c.MinWeight, c.MaxStep = some(3), some(3), some(3), some(10), some(1)
		c.OneHot, c.MaxLevels, c.Smooth, c.Level2, c.LevelWeight = r.IntN(8), 1+r.IntN(10), 0.1+some(10), some(10), some(3)
		if r.IntN(3) == 0 {
			c.Monotone = make([]int8, len(g.features))
			for f := range c.Monotone {
				if !g.features[f].Categorical {
					c.Monotone[f] = int8(r.IntN(3) - 1)
				}
			}
		}
		labels := &Labels{Label: y, Start: make([]float64, len(y))}
		for range y { // of random weights no two levels are alike
			labels.Weight = append(labels.Weight, float32(0.5+r.Float64()))
		}
		name := []string{"l2", "binary", "huber"}[r.IntN(3)]
		if c.Objective, _ = FindObjective(name); name == "binary" {
			for i, v := range y {
				y[i] = float32(math.Copysign(1, float64(v)))
			}
		}
		e, err := Train(t.Context(), binned(t, g, nil, 255), labels, c, Options{})
		if err != nil || e.Check() != nil {
			t.Fatal(err, e.Check())
		}
		followAll(t, &c, g, labels, e)
	})
}

// derive is the derivatives by hand.
func derive(name string, s, y, alpha float64) (g, h float64) {
	switch name {
	case "binary":
		p := 1 / (1 + math.Exp(-s))
		return p - max(y, 0), p * (1 - p)
	case "huber":
		return max(-alpha, min(alpha, s-y)), 1
	}
	return s - y, 1
}

// followAll has the oracle follow all trees.
func followAll(t failer, c *Config, rows *grid, y *Labels, e *tree.Ensemble) {
	o, n := newOracle(c, rows), len(rows.rows)
	o.g, o.h = make([]float64, n), make([]float64, n)
	scores := make([]float64, n)
	copy(scores, y.Start)
	for k := range e.Trees {
		for i := range scores {
			o.g[i], o.h[i] = derive(c.Objective.Name, scores[i], float64(y.Label[i]), c.Objective.Settings["alpha"])
			if y.Weight != nil {
				w := float64(y.Weight[i])
				o.g[i], o.h[i] = o.g[i]*w, o.h[i]*w
			}
		}
		m := &e.Trees[k]
		o.follow(t, m)
		for i, row := range rows.rows {
			scores[i] += m.LeafValue[m.Leaf(func(f int32) float64 { return float64(row[f]) })]
		}
	}
}
