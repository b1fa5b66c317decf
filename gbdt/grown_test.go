package gbdt

import (
	"math"
	"math/rand/v2"
	"slices"
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
		c.Order = []LevelOrder{ByTree, ByNode}[r.IntN(2)]
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
	o.weight = y.Weight
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

// TestByHand has Angel's six examples (data/gbt/heart-small): of labels 1, 0, 0, 1, 0, 1 and scores 0, g is -1/2 or 1/2 and h 1/4. Features
// 0 and 2 tell the classes apart, with the gain 2 (3/2)^2 / (3/4+1) = 18/7 and leaves of 3/2 / (3/4+1) = 6/7; the first one is asked.
func TestByHand(t *testing.T) {
	g := gridOf([]float32{0.5, 1.5, -2.5, 0}, []float32{5.5, 0, -3.5, 3.6}, []float32{5.6, 0, -3.6, 3.5}, []float32{0.6, 0, -2.6, 3.6},
		[]float32{5.4, 1.5, -3.4, 0}, []float32{0, 1.5, -2.4, 0})
	y := &Labels{Label: []float32{1, 0, 0, 1, 0, 1}}
	conf := settings(t, "binary", 1)
	conf.Depth, conf.MinWeight, conf.Rate, conf.Objective.Start = 1, 0, 1, nil
	for _, c := range []struct {
		rows      *grid
		feature   int32
		gain      float64
		threshold float32
		left      float64
	}{
		{g, 0, 18.0 / 7, 3, 6.0 / 7},
		// Without it, by the other one: those of class 0 are below.
		{without(g, 0), 2, 18.0 / 7, -3, -6.0 / 7},
		// Without both, features 1 and 3 are left: feature 3 at 3.5 or less against the two above (g 0), feature 1 at 0 (g 1/2, h 3/4)
		// against 1.5 (g -1/2): 2 (1/2)^2 / (7/4) = 2/7.
		{without(g, 0, 2), 1, 2.0 / 7, 0.75, -2.0 / 7},
	} {
		m := trained(t, binned(t, c.rows, nil, 255), y, conf, Options{}).Trees[0]
		if m.Feature[0] != c.feature || !near(m.Gain[0], c.gain, 1e-7) || float32(m.Threshold[0]) != c.threshold ||
			!near(m.LeafValue[0], c.left, 1e-7) ||
			!near(m.LeafValue[1], -c.left, 1e-7) {
			t.Errorf("%+v, want %+v", m, c)
		}
	}
}

// without is the rows with features that are all 0.
func without(g *grid, features ...int) *grid {
	var rows [][]float32
	for _, row := range g.rows {
		row = slices.Clone(row)
		for _, f := range features {
			row[f] = 0
		}
		rows = append(rows, row)
	}
	return gridOf(rows...)
}
