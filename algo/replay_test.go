package algo

import (
	"testing"

	"thole.example/data"
	"thole.example/optim"
)

// The replays repeat trainings of which every number was worked out elsewhere, in float64, following Angel's trainer:
// every 10th row held out, 10 batches in file order, biases by plain gradient descent, penalties as in our rules.
type replay struct {
	name, algo, rule string
	hyper            map[string]float64
	rate             float64
	schedule         string
	want             map[int]expect
}

type expect struct {
	last, valid, auc, acc float64 // 0: not known
	weights               []float64
	bias                  float64
}

func TestReplays(t *testing.T) {
	a9a := examples(t, "a9a/a9a_123d_train.dummy")
	test := examples(t, "a9a/a9a_123d_test.dummy")
	held, rest := folds(a9a, 10)
	batches := cut(rest, 2931, true)
	for _, r := range []replay{
		{"lr momentum", "lr", "momentum", map[string]float64{"l2": 0.001}, 0.5, "standard", map[int]expect{
			0: {.403619136, .386745005, .871595501, .816395456, []float64{-.545954112, -.239843252, .094975837}, -.080117851},
			1: {.358181851, .365838443, .886520416, .833589193, []float64{-.829455432, -.383288899, .157771220}, -.039438170},
			4: {.328843322, .342485031, .898681550, .837887627, []float64{-.993108634, -.405503139, .138627505}, -.062495835},
			9: {.329101031, .339249041, .900653559, .842186061, []float64{-1.045324833, -.400999013, .125241558}, -.068543934},
		}},
		{"lr sgd", "lr", "sgd", nil, 0.5, "constant", map[int]expect{
			0: {valid: .442082138, weights: []float64{-.193274028}},
			1: {valid: .404327789, weights: []float64{-.285425911}},
			2: {valid: .387490516, weights: []float64{-.349358427}},
		}},
		{"svm momentum", "svm", "momentum", map[string]float64{"l2": 0.01}, 0.1, "standard", map[int]expect{
			0: {valid: .517008985, acc: .760822843, weights: []float64{-.263261199}},
			9: {valid: .374021579, acc: .835738410, weights: []float64{-.364742790}},
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			j := r.play(t, batches, held)
			if r.name == "lr momentum" {
				s := j.score(test)
				near(t, "test logloss", s.loss, .325147, 1e-6)
				near(t, "test auc", s.auc, .902045, 1e-6)
				near(t, "test accuracy", s.acc, .851729, 2e-4)
			}
		})
	}
}

func (r replay) play(t *testing.T, batches []*data.Batch, held *data.Batch) *job {
	t.Helper()
	a, err := Find(r.algo)
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.Build(Conf{Dim: 123, Rule: r.rule, Hyper: r.hyper, Bias: "sgd"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := optim.FindSchedule(r.schedule)
	if err != nil {
		t.Fatal(err)
	}
	rate, err := s.Bind(r.rate, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, m)
	last := 0
	for e := range r.want {
		last = max(last, e)
	}
	for e := range last + 1 {
		loss := j.epoch(batches, rate(e+1))
		want, ok := r.want[e]
		if !ok {
			continue
		}
		got := j.score(held)
		near(t, "validation loss", got.loss, want.valid, 1e-6)
		for i, w := range want.weights {
			near(t, "weight", float64(j.weights("input_weight")[i]), w, 1e-6)
		}
		if want.last != 0 {
			near(t, "loss of the last batch", loss, want.last, 1e-6)
			near(t, "auc", got.auc, want.auc, 1e-6)
			near(t, "bias", float64(j.weights("input_bias")[0]), want.bias, 1e-6)
		}
		if want.acc != 0 {
			near(t, "accuracy", got.acc, want.acc, 4e-4) // one row of 3257 is 3.1e-4
		}
	}
	return j
}

// Linear regression on abalone: 10 batches of 376 rows, rate 0.05.
func TestReplayAbalone(t *testing.T) {
	held, rest := folds(examples(t, "abalone/abalone_8d_train.libsvm"), 10)
	m, err := linreg.Build(Conf{Dim: 8, Rule: "sgd"})
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, m)
	batches := cut(rest, 376, true)
	for e := range 10 {
		j.epoch(batches, 0.05)
		if s := j.score(held); e == 0 {
			near(t, "mse", s.mse, 21.940692211, 2e-5)
		} else if e == 9 {
			near(t, "mse", s.mse, 8.176198610, 1e-5)
			near(t, "r2", s.r2, .252147308, 1e-6)
			near(t, "bias", float64(j.weights("input_bias")[0]), 4.860069897, 5e-6)
		}
	}
}
