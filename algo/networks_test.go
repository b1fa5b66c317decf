package algo

import (
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// twofold is n examples of four fields with six columns each; the label is the side of a product of two fields, of which a sum over
// columns knows nothing.
func twofold(n int, seed uint64) *data.Batch {
	const fields, levels = 4, 6
	rng := rand.New(rand.NewPCG(seed, 3))
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{Fields: fields}
	for range n {
		y := float32(1)
		for f := range fields {
			level := rng.IntN(levels)
			if f < 2 && level%2 == 0 {
				y = -y
			}
			x.Idx, x.Val, b.Field = append(x.Idx, int64(f*levels+level)), append(x.Val, 1), append(b.Field, int32(f))
		}
		x.Ptr, b.Label = append(x.Ptr, len(x.Idx)), append(b.Label, y)
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), 0, fields*levels), Data: x}
	return b
}

// Every network learns from two fields together what linear models cannot, and its file says which it is.
func TestNetworks(t *testing.T) {
	learned, held := twofold(4000, 1), twofold(2000, 2)
	for _, a := range Algos() {
		if a.Task != Classification {
			continue
		}
		m, err := a.Build(Conf{Dim: 24, Size: Size{Fields: 4, Hidden: hidden(a), Factors: min(a.Sizes.Factors, 4)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := NameOf(m.File); got != a.Name {
			t.Errorf("%s is taken for %q", a.Name, got)
		}
		if got := TaskOf(m.File); got != a.Task {
			t.Errorf("%s is taken for %s", a.Name, got)
		}
		j, d := begin(t, m), a.For(nil, "")
		d.Epochs, d.Batch = 30, 64
		j.fit(learned, d)
		switch s := j.score(held); {
		case !a.Network() && s.auc > 0.6:
			t.Errorf("%s: %v, want a model that cannot learn it", a.Name, s)
		case a.Network() && s.auc < 0.95:
			t.Errorf("%s: %v, want auc from 0.95 on", a.Name, s)
		}
	}
}

func hidden(a Algo) []int {
	if a.Sizes.Hidden == nil {
		return nil
	}
	return []int{16, 8}
}

// The default sizes are taken where none are given, and the optimizers keep their rates beside that of the job.
func TestNetworkRates(t *testing.T) {
	m, err := wdl.Build(Conf{Dim: 24, Size: Size{Fields: 4}})
	if err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for _, p := range m.Params() {
		rates = append(rates, p.Rate)
	}
	part := 0.002 / netDefaults.Rate
	if want := []float64{0, 0, 0, part, part, part, part, part, part}; !slices.Equal(rates, want) {
		t.Errorf("rates %v, want %v", rates, want)
	}
	m, err = wdl.Build(Conf{Dim: 24, Size: Size{Fields: 4}, Rule: "sgd"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params() {
		if p.Rate != 0 || p.Rule != "sgd" {
			t.Errorf("matrix %s has rule %s and rate %v, want the user's rule everywhere", p.Name, p.Rule, p.Rate)
		}
	}
}

// A training that goes on from a model has the rate and the rule of its features, not those of the layers above.
func TestOwnKeepsRate(t *testing.T) {
	m, err := wdl.Build(Conf{Dim: 24, Size: Size{Fields: 4}, Batch: 64})
	if err != nil {
		t.Fatal(err)
	}
	own, err := Own(m.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Defaults{own.Defaults, *own.Wide} {
		if d.Rate != netDefaults.Rate || d.Rule != "adagrad" || d.Hyper["eps"] != 1./64 {
			t.Errorf("%s, rate %v, settings %v; want adagrad at %v, eps 1/64", d.Rule, d.Rate, d.Hyper, netDefaults.Rate)
		}
	}
}
