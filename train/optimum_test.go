package train

import (
	"math"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/optim"
)

// TestOptimum wants the defaults, on small data of three kinds, within 1 % of the least regularised loss that there is.
func TestOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector, of which it learns nothing: TestPacedBits has the same tasks")
	}
	for _, c := range []struct {
		name, algo string
		b          *data.Batch
		optimum    func(b *data.Batch, l2 float64) float64
	}{
		{"small", "lr", small(), newton}, {"rare", "lr", rare(), newton}, {"clear cut", "lr", clearCut(), newton},
		{"small", "svm", small(), nil},
		{"small", "linreg", valued(small()), leastSquares},
		{"clear cut", "linreg", valued(clearCut()), leastSquares},
	} {
		r, objective, l2 := defaults(t, c.algo, c.b, 1, nil)
		if c.optimum == nil { // the hinge loss has no simple oracle: what much longer windows reach
			c.optimum = func(*data.Batch, float64) float64 {
				_, best, _ := defaults(t, c.algo, c.b, 1, &Pace{Window: 1000, Tolerance: 1e-4, Patience: 8})
				return best
			}
		}
		best := c.optimum(c.b, l2)
		t.Logf("%s, %s: %.6f after %d epochs, optimum %.6f, %+.3f %%", c.algo, c.name, objective, r.Epochs, best, 100*(objective/best-1))
		if !(objective <= 1.01*best) || objective < best*(1-1e-3) {
			t.Errorf("%s, %s: %v after %d epochs, want at most 1 %% above %v", c.algo, c.name, objective, r.Epochs, best)
		}
	}
}

// defaults trains as the recipe says and as long as the pace (nil: that of Allowance) lets it, and answers with the regularised loss.
func defaults(t *testing.T, name string, b *data.Batch, tasks int, other *Pace) (r *Report, objective, l2 float64) {
	t.Helper()
	recipe, err := algo.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d := recipe.Defaults
	epochs, pace, _ := Allowance(b, b.Dim(), tasks, d.Batch, d.Epochs)
	if other != nil {
		pace = other
	}
	s, err := optim.FindSchedule(d.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	of, err := s.Bind(d.Rate, epochs*Steps(b.Len(), tasks, d.Batch), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := world{servers: 1, tasks: tasks, algo: name, conf: algo.Conf{Dim: b.Dim()}}
	reports, weights := w.trained(t, Options{Data: b, Epochs: epochs, Batch: d.Batch, Pace: pace, Seed: 1,
		Rate: func(_, step int) float64 { return of(step) }})
	objective, l2 = reports[0].Train[0].Value, d.Hyper["l2"]
	for _, v := range weights[:len(weights)-1] {
		objective += l2 / 2 * float64(v) * float64(v)
	}
	return reports[0], objective, l2
}

// row is the columns of an example and their values, with the bias as the last column.
func row(b *data.Batch, i int, bias float64) (cols []int, vals []float64) {
	x := b.Rows()
	for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
		cols, vals = append(cols, int(x.Idx[k])), append(vals, float64(x.Val[k]))
	}
	return append(cols, int(b.Dim())), append(vals, bias)
}

func dot(w []float64, cols []int, vals []float64) (sum float64) {
	for k, c := range cols {
		sum += w[c] * vals[k]
	}
	return sum
}

// regularised is the mean loss of weights, of which the last is that of the bias, and the penalty on the others.
func regularised(b *data.Batch, w []float64, bias, l2 float64, loss func(score, label float64) float64) float64 {
	sum, last := 0.0, len(w)-1
	for i, y := range b.Label {
		cols, vals := row(b, i, bias)
		sum += loss(dot(w, cols, vals), float64(y)) / float64(b.Len())
	}
	for _, v := range w[:last] {
		sum += l2 / 2 * v * v
	}
	return sum
}

// newton is the least log loss: steps of Newton, shortened until they help.
func newton(b *data.Batch, l2 float64) float64 {
	n := int(b.Dim()) + 1
	w := make([]float64, n)
	objective := func(w []float64) float64 {
		return regularised(b, w, 1, l2, func(s, y float64) float64 {
			return max(0, -s*y) + math.Log1p(math.Exp(-math.Abs(s)))
		})
	}
	best := objective(w)
	for before := math.Inf(1); before-best > 1e-9*best; {
		before = best
		h := normal(b, l2, func(cols []int, vals []float64, y float64) (slope, curve float64) {
			p := sigmoid(y * dot(w, cols, vals))
			return (1 - p) * y, p * (1 - p)
		})
		for i := range n - 1 {
			h[i][n] -= l2 * w[i]
		}
		step := solve(h)
		for length := 1.0; length > 1e-6 && best == before; length /= 2 {
			try := make([]float64, n)
			for i := range try {
				try[i] = w[i] + length*step[i]
			}
			if f := objective(try); f < best {
				w, best = try, f
			}
		}
	}
	return best
}

// leastSquares is the least half squared difference.
func leastSquares(b *data.Batch, l2 float64) float64 {
	w := solve(normal(b, l2, func(_ []int, _ []float64, y float64) (slope, curve float64) { return y, 1 }))
	return regularised(b, w, 1, l2, func(s, y float64) float64 { return (s - y) * (s - y) / 2 })
}

// normal is the matrix of the second derivatives by weights and bias, with the slopes as one column more.
func normal(b *data.Batch, l2 float64, of func(cols []int, vals []float64, y float64) (slope, curve float64)) [][]float64 {
	n := int(b.Dim()) + 1
	h := make([][]float64, n)
	for i := range h {
		h[i] = make([]float64, n+1)
		h[i][i] = max(l2, 1e-12) // a column may be in no example
	}
	rows := float64(b.Len())
	for i, y := range b.Label {
		cols, vals := row(b, i, 1)
		slope, curve := of(cols, vals, float64(y))
		for j, c := range cols {
			h[c][n] += slope * vals[j] / rows
			for k, other := range cols {
				h[c][other] += curve * vals[j] * vals[k] / rows
			}
		}
	}
	h[n-1][n-1] -= l2
	return h
}

// solve eliminates in the rows of a symmetric positive matrix with the right side behind it.
func solve(a [][]float64) []float64 {
	n := len(a)
	for p := range n {
		for q := p + 1; q < n; q++ {
			if f := a[q][p] / a[p][p]; f != 0 {
				for k := p; k <= n; k++ {
					a[q][k] -= f * a[p][k]
				}
			}
		}
	}
	out := make([]float64, n)
	for p := n - 1; p >= 0; p-- {
		out[p] = a[p][n]
		for k := p + 1; k < n; k++ {
			out[p] -= a[p][k] * out[k]
		}
		out[p] /= a[p][p]
	}
	return out
}
