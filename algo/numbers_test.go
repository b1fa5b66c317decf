package algo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
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
				own := *a.ForLabels(nil, other.Label, nil, 0)
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
		s := train(t, *poisson.ForLabels(nil, other.Label, nil, 0), other, b.Dim(), nil, nil).score(other)
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
		m, err := other.ForLabels(nil, b.Label, nil, 0).Build(Conf{Dim: 24, Size: Size{Fields: 4}})
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for _, y := range b.Label {
			mean += float64(y) / float64(len(b.Label))
		}
		if s := begin(t, m).score(b); math.Abs(m.Start[0]-mean) > 1e-6 || math.Abs(s.r2) > 1e-3 {
			t.Errorf("%s starts at %v with %v, want %v and r2 0", a.Name, m.Start, s, mean)
		}
	}
}

// Recipes for classes, and what a user says, stay as they are; labels that are all the same say nothing of rates.
func TestForLabels(t *testing.T) {
	label := []float32{-70000, 90000, 30000}
	for _, a := range Algos() {
		own := a.ForLabels(nil, label, nil, 0)
		d, was := own.For(nil, ""), a.For(nil, "")
		linear := a.Name == "linreg" || a.Name == "robust"
		if got := d.Rate != was.Rate; got != linear {
			t.Errorf("%s: rate %v, was %v", a.Name, d.Rate, was.Rate)
		}
		same := a.ForLabels(nil, []float32{5, 5}, nil, 0).For(nil, "")
		if same.Rate != was.Rate {
			t.Errorf("%s, all labels alike: rate %v, want %v", a.Name, same.Rate, was.Rate)
		}
		m, err := own.Build(Conf{Dim: 3, Size: Size{Fields: 3}, Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := map[string]float64{"linreg": 50000. / 3, "robust": 30000}[a.Name]
		if a.Task == Classification {
			want, ok = math.Ln2, true
		}
		if a.Name == "svm" {
			want = 1
		}
		if ok != (m.Start != nil) || ok && math.Abs(m.Start[0]-want) > 1e-6 { // labels below 0 are no counts, and no classes of several
			t.Errorf("%s starts at %v, want %v", a.Name, m.Start, want)
		}
		if i := slices.IndexFunc(m.Params(), func(p graph.Param) bool { return p.Init.Kind == "constant" }); (i >= 0) != ok {
			t.Errorf("%s: the start is that of parameter %d", a.Name, i)
		}
	}
	if d := linreg.ForLabels(nil, label, nil, 0).For(nil, "adamw"); d.Hyper["decay"]*d.Rate != 1e-4 {
		t.Errorf("adamw decays by %v at rate %v, want a ten-thousandth together", d.Hyper["decay"], d.Rate)
	}
}

// pairs is n examples of one-hot fields whose labels, around 10, are sums of weights, of the products of vectors of all pairs, and of
// noise. Level k of a field, from 0 on, has a frequency of about 1/(k+1).
func pairs(n, fields, levels int) *data.Batch {
	const factors = 3
	rng, truth := rand.New(rand.NewPCG(1, 3)), rand.New(rand.NewPCG(77, 3))
	weight, vector := make([]float64, fields*levels), make([][factors]float64, fields*levels)
	for c := range weight {
		weight[c] = truth.NormFloat64()
		for k := range factors {
			vector[c][k] = 0.6 * truth.NormFloat64()
		}
	}
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{}
	for range n {
		y, sum := 10+noise*rng.NormFloat64(), [factors]float64{}
		for f := range fields {
			c := f*levels + min(int(math.Pow(float64(levels)+1, rng.Float64()))-1, levels-1)
			y += weight[c]
			for k, v := range vector[c] {
				y += sum[k] * v
				sum[k] += v
			}
			x.Idx, x.Val = append(x.Idx, int64(c)), append(x.Val, 1)
		}
		x.Ptr, b.Label = append(x.Ptr, len(x.Idx)), append(b.Label, float32(y))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), 0, int64(fields*levels)), Data: x}
	return b
}

// heldOutR2 is 1 less the mean square that heldOut leaves over that of the mean.
func heldOutR2(t *testing.T, a *Algo, b *data.Batch) float64 {
	a = a.ForLabels(nil, b.Label, nil, 0)
	return 1 - 2*heldOut(t, a, b, settled(a, b.Len()))/(deviation(b.Label)/float64(b.Len()))
}

// Networks learn numbers no worse than a line does, where pairs of features matter little, and what it cannot where they do.
func TestNumbersByNetworks(t *testing.T) {
	abalone := examples(t, "abalone/abalone_8d_train.libsvm")
	abalone.X.At.Cols.Hi = 8
	network, err := fm.WithLoss(nil, "l2loss", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		b     *data.Batch
		above float64 // what the line has
	}{{"abalone", abalone, 0}, {"pairs", pairs(4000, 6, 20), 0.15}, {"a third of abalone", changed(abalone, 1./3, 0), 0}} {
		line, got := heldOutR2(t, &linreg, c.b), heldOutR2(t, network, c.b)
		t.Logf("%s: r2 of held-out fifths %.4f, of a line %.4f", c.name, got, line)
		if !(got >= line+c.above) {
			t.Errorf("%s: r2 %.4f, want %.4f from %.4f of a line on", c.name, got, c.above, line)
		}
	}
}

// The weights of features beside vectors go as far as labels differ; with a rule of the user's, and with losses of classes and of
// logarithms, all have one rate.
func TestLinear(t *testing.T) {
	for _, c := range []struct {
		loss, rule string
		by         float64 // of the labels, around 10
		want       float64 // share of the rate
	}{{"l2loss", "", 1, 1.5}, {"huberloss", "", 1, 1.5}, {"l2loss", "", 64, 1.5 * 64}, {"l2loss", "adagrad", 1, 0}, {"l2loss", "sgd", 1, 0},
		{"poissonloss", "", 64, 0}, {"logloss", "", 1, 0}} {
		a, err := fm.WithLoss(nil, c.loss, nil)
		if err != nil {
			t.Fatal(err)
		}
		label := []float32{float32(6 * c.by), float32(10 * c.by), float32(14 * c.by)}
		m, err := a.ForLabels(nil, label, nil, 0).Build(Conf{Dim: 3, Rule: c.rule, Hyper: map[string]float64{"l2": 0.25}, Batch: 32})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			want := 0.0
			if p.Name == "input_weight" || p.Name == "input_bias" {
				want = c.want
			}
			if math.Abs(p.Rate-want) > 1e-9*want {
				t.Errorf("%s by %q, labels times %v: %s has %v times the rate, want %v", c.loss, c.rule, c.by, p.Name, p.Rate, want)
			}
			if p.Name == "input_weight" && p.Hyper["l2"] != 0.25 {
				t.Errorf("%s by %q: settings %v, want the l2 of the user", c.loss, c.rule, p.Hyper)
			}
		}
	}
}

// A loss of logarithms brings the lower rate to a recipe of another loss, whatever the labels, and one of numbers takes it away again.
func TestLogOfLoss(t *testing.T) {
	label := []float32{600, 1000, 1400}
	counts, err := linreg.WithLoss(nil, "poissonloss", nil)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := poisson.WithLoss(nil, "l2loss", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want *Algo }{{counts, &poisson}, {numbers, &linreg}} {
		got, want := c.got.ForLabels(nil, label, nil, 0).For(nil, "").Rate, c.want.ForLabels(nil, label, nil, 0).For(nil, "").Rate
		if got != want {
			t.Errorf("%s with the loss of %s has rate %v, want %v", c.got.Name, c.want.Name, got, want)
		}
	}
}
