package train

import (
	"testing"

	"thole.example/algo"
	"thole.example/algo/algotest"
	"thole.example/data"
	"thole.example/optim"
)

// TestOptimum wants the defaults, on small data of five kinds, within 1 % of the least regularised loss that there is: also where a line
// divides the classes and the loss alone is long next to nothing. The hinge loss has edges, which the last steps leap over.
func TestOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector, of which it learns nothing: TestPacedBits has the same tasks")
	}
	for _, c := range []struct {
		name, algo string
		b          *data.Batch
		times      float64
	}{
		{"small", "lr", small(), 1.01}, {"rare", "lr", rare(), 1.01}, {"clear cut", "lr", clearCut(), 1.01}, {"apart", "lr", apart(), 1.01},
		{"seldom", "lr", seldom(), 1.01},
		{"small", "svm", small(), 1.01}, {"clear cut", "svm", clearCut(), 1.05},
		{"small", "linreg", valued(small()), 1.01}, {"clear cut", "linreg", valued(clearCut()), 1.01},
	} {
		r, p, w := defaults(t, c.algo, c.b)
		value, least := p.Value(w), p.Least(t)
		t.Logf("%s, %s: %.6f after %d epochs, optimum %.6f, %+.3f %%", c.algo, c.name, value, r.Epochs, least, 100*(value/least-1))
		if !(value <= c.times*least) || value < least*(1-1e-6) {
			t.Errorf("%s, %s: %v after %d epochs, want at most %v times %v", c.algo, c.name, value, r.Epochs, c.times, least)
		}
	}
}

// defaults trains as the recipe says and as long as the pace of Allowance lets it, and answers with the weights and the problem
// that they solve.
func defaults(t *testing.T, name string, b *data.Batch) (r *Report, p *algotest.Problem, w []float64) {
	t.Helper()
	recipe, err := algo.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d := recipe.For(nil, "")
	epochs, pace, _ := Allowance(set(b), b.Dim(), 1, d.Batch, d.Epochs)
	s, err := optim.FindSchedule(d.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	of, err := s.Bind(d.Rate, epochs*Steps(b.Len(), 1, d.Batch), nil)
	if err != nil {
		t.Fatal(err)
	}
	in := world{servers: 1, tasks: 1, algo: name, conf: algo.Conf{Dim: b.Dim()}}
	reports, weights := in.trained(t, Options{Data: set(b), Epochs: epochs, Batch: d.Batch, Pace: pace, Seed: 1,
		Rate: func(_, step int) float64 { return of(step) }})
	for _, v := range weights {
		w = append(w, float64(v))
	}
	return reports[0], &algotest.Problem{Data: b, Loss: algotest.Losses()[name], L2: d.Hyper["l2"]}, w
}
