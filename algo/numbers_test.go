package algo

import (
	"math"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/optim"
)

// changed are the examples with labels a*y + c.
func changed(b *data.Batch, a, c float64) *data.Batch {
	other := *b
	other.Label = make([]float32, len(b.Label))
	for i, y := range b.Label {
		other.Label[i] = float32(a*float64(y) + c)
	}
	return &other
}

// Labels of any size are learned as well as those around 10, by every rule.
func TestLabelsOfAnySize(t *testing.T) {
	_, b := values(valueRows, 3)
	for _, a := range []Algo{linreg, robust} {
		for _, rule := range optim.Rules() {
			for _, c := range [][2]float64{{1, 0}, {8000, 0}, {1. / 700, 0}, {30, 1e5}, {1. / 700, -8}} {
				if scaled := c[0] != 1 && a.Name == "robust"; scaled && !rule.Rates.Steady {
					continue // a step is at most the rate times huberloss's delta, which is a difference between labels
				}
				other := changed(b, c[0], c[1])
				own := *a.ForLabels(nil, other.Label)
				m, err := own.Build(Conf{Dim: b.Dim(), Rule: rule.Name})
				if err != nil {
					t.Fatal(err)
				}
				j := begin(t, m)
				j.fit(other, own.For(nil, rule.Name))
				if s := j.score(other); !(s.r2 > 0.597) { // the least squares have 0.604
					t.Errorf("%s by %s of %v*y + %v: %v", a.Name, rule.Name, c[0], c[1], s)
				}
			}
		}
	}
}

// Counts of any size, too.
func TestCountsOfAnySize(t *testing.T) {
	_, b := counts(valueRows, 3)
	least := math.Inf(1)
	for _, c := range []float64{1, 5000} {
		other := changed(b, c, 0)
		s := train(t, *poisson.ForLabels(nil, other.Label), other, b.Dim(), nil, nil).score(other)
		if least = min(least, s.r2); s.r2 < least-1e-3 {
			t.Errorf("%v*y: %v, want r2 %v as for y", c, s, least)
		}
	}
}

// Before the first step the scores of every recipe lie in the midst of labels that are numbers, whatever the network.
func TestStart(t *testing.T) {
	b := changed(twofold(200, 1), 50, 7000)
	for _, a := range Algos() {
		other, err := a.WithLoss(nil, "l2loss", nil)
		if err != nil || a.Task == Multiclass {
			continue
		}
		m, err := other.ForLabels(nil, b.Label).Build(Conf{Dim: 24, Size: Size{Fields: 4}})
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for _, y := range b.Label {
			mean += float64(y) / float64(len(b.Label))
		}
		if s := begin(t, m).score(b); math.Abs(m.Start-mean) > 1e-6 || math.Abs(s.r2) > 1e-3 {
			t.Errorf("%s starts at %v with %v, want %v and r2 0", a.Name, m.Start, s, mean)
		}
	}
}

// Recipes for classes, and what a user says, stay as they are; labels that are all the same say nothing of rates.
func TestForLabels(t *testing.T) {
	label := []float32{-70000, 90000, 30000}
	for _, a := range Algos() {
		own := a.ForLabels(nil, label)
		d, was := own.For(nil, ""), a.For(nil, "")
		linear := a.Name == "linreg" || a.Name == "robust"
		if got := d.Rate != was.Rate; got != linear {
			t.Errorf("%s: rate %v, was %v", a.Name, d.Rate, was.Rate)
		}
		same := a.ForLabels(nil, []float32{5, 5}).For(nil, "")
		if same.Rate != was.Rate {
			t.Errorf("%s, all labels alike: rate %v, want %v", a.Name, same.Rate, was.Rate)
		}
		m, err := own.Build(Conf{Dim: 3, Size: Size{Fields: 3}, Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"linreg": 50000. / 3, "robust": 30000}[a.Name]
		if math.Abs(m.Start-want) > 1e-6 {
			t.Errorf("%s starts at %v, want %v", a.Name, m.Start, want)
		}
		if i := slices.IndexFunc(m.Params(), func(p graph.Param) bool { return p.Init.Kind == "constant" }); (i < 0) == (want != 0) {
			t.Errorf("%s: the start is that of parameter %d", a.Name, i)
		}
	}
	if d := linreg.ForLabels(nil, label).For(nil, "adamw"); d.Hyper["decay"]*d.Rate != 1e-4 {
		t.Errorf("adamw decays by %v at rate %v, want a ten-thousandth together", d.Hyper["decay"], d.Rate)
	}
}
