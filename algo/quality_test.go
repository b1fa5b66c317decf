package algo

import (
	"math"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/metric"
	"thole.example/optim"
)

// train builds the algorithm for the columns of the data and trains it as its defaults say, changed by change.
func train(t *testing.T, a Algo, b *data.Batch, dim int64, hyper map[string]float64, change func(*Defaults)) *job {
	t.Helper()
	m, err := a.Build(Conf{Dim: dim, Hyper: hyper})
	if err != nil {
		t.Fatal(err)
	}
	d := a.For(nil, "")
	if change != nil {
		change(&d)
	}
	j := begin(t, m)
	j.fit(b, d)
	return j
}

func TestLRDefaults(t *testing.T) {
	for _, c := range []struct {
		train, test string
		dim         int64
		auc, loss   float64
	}{
		{"a9a/a9a_123d_train.dummy", "a9a/a9a_123d_test.dummy", 123, 0.9020, 0.3252},
		{"census/census_148d_train.dummy", "census/census_148d_test.dummy", 148, 0.9168, 0.3025},
	} {
		j := train(t, lr, examples(t, c.train), c.dim, nil, nil)
		s := j.score(examples(t, c.test))
		t.Log(c.test, s)
		if s.auc < c.auc || s.loss > c.loss {
			t.Errorf("%s: %v, want auc from %v on, loss to %v", c.test, s, c.auc, c.loss)
		}
	}
}

// byDefault trains a network as its defaults say, cut into batches as package train cuts an epoch.
func byDefault(t *testing.T, a *Algo, b *data.Batch, dim int64, fields int) *job {
	t.Helper()
	d := settled(a, b.Len())
	steps := b.Len() / d.Batch
	d.Batch = (b.Len() + steps - 1) / steps
	m, err := a.Build(Conf{Dim: dim, Batch: d.Batch, Size: Size{Fields: fields}})
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, m)
	j.fit(b, d)
	return j
}

// Networks are no worse than PyTorch with early stopping is on the same rows: logloss 0.30164 of fm, 0.29946 of deepfm, 0.30169 of wdl,
// 0.29950 of pnn, 0.30319 of nfm. Of agaricus, which rules of a few features divide, one row of 1611 may be wrong.
func TestNetworkDefaults(t *testing.T) {
	learned, test := examples(t, "census/census_148d_train.dummy"), examples(t, "census/census_148d_test.dummy")
	mushrooms, others := examples(t, "agaricus/agaricus_127d_train.libsvm"), sided(examples(t, "agaricus/agaricus_127d_test.libsvm"))
	for _, c := range []struct {
		algo Algo
		loss float64
	}{{fm, 0.3025}, {deepfm, 0.2995}, {wdl, 0.3015}, {pnn, 0.3}, {nfm, 0.303}} {
		s := byDefault(t, &c.algo, learned, 148, 13).score(test)
		t.Log(c.algo.Name, s)
		if !(s.loss <= c.loss) {
			t.Errorf("%s: %v, want loss to %v", c.algo.Name, s, c.loss)
		}
		s = byDefault(t, &c.algo, sided(mushrooms), 127, 22).score(others)
		t.Log(c.algo.Name, s)
		if !(s.acc >= 1610./1611) {
			t.Errorf("%s on agaricus: %v, want one error at most", c.algo.Name, s)
		}
	}
}

// sided is the examples with labels -1 and 1 for 0 and 1.
func sided(b *data.Batch) *data.Batch { return changed(b, 2, -1) }

// The optimum with C = 1: the mean of the losses plus |w|^2/(2n) is 0.323349.
func TestLROptimum(t *testing.T) {
	a9a := examples(t, "a9a/a9a_123d_train.dummy")
	l2 := 1 / float64(a9a.Len())
	j := train(t, lr, a9a, 123, map[string]float64{"l2": l2}, func(d *Defaults) { d.Epochs = 50 })
	near(t, "objective", j.score(a9a).loss+l2/2*j.norm2("input_weight"), 0.323349, 1e-4)
}

func TestSVM(t *testing.T) {
	a9a, test := examples(t, "a9a/a9a_123d_train.dummy"), examples(t, "a9a/a9a_123d_test.dummy")
	l2 := 10 / float64(a9a.Len()) // C = 0.1
	j := train(t, svm, a9a, 123, map[string]float64{"l2": l2}, nil)
	s := j.score(test)
	t.Log(s, j.score(a9a).loss)
	near(t, "mean hinge loss", s.loss, 0.3522, 5e-4)
	near(t, "accuracy", s.acc, 0.8501, 2e-3)
	s = train(t, svm, a9a, 123, nil, nil).score(test)
	t.Log("defaults", s)
	if s.acc < 0.848 || s.auc < 0.9 {
		t.Errorf("defaults: %v, want accuracy from 0.848 and auc from 0.9 on", s)
	}
}

func TestLinReg(t *testing.T) {
	abalone := examples(t, "abalone/abalone_8d_train.libsvm")
	s := train(t, linreg, abalone, 8, nil, nil).score(abalone)
	abalone.X.At.Cols.Hi = 8
	exact := measure(t, metric.R2, abalone, (&algotest.Problem{Data: abalone, Loss: algotest.Squares}).Newton())
	t.Log(s, exact)
	near(t, "r2 of the exact solution", exact, 0.5353, 5e-5)
	near(t, "r2", s.r2, exact, 5e-4)
}

// Whatever rule the user chooses, its defaults bring every recipe near the best.
func TestRules(t *testing.T) {
	a9a, test := examples(t, "a9a/a9a_123d_train.dummy"), examples(t, "a9a/a9a_123d_test.dummy")
	abalone := examples(t, "abalone/abalone_8d_train.libsvm")
	for _, rule := range optim.Rules() {
		for _, a := range Algos() {
			if a.Network() {
				continue // TestNetworks
			}
			b, held, dim := a9a, test, int64(123)
			switch a.Task {
			case Regression:
				b, dim = abalone, 8
			case Multiclass:
				b, held = numbered(a9a), numbered(test)
			}
			m, err := a.Build(Conf{Dim: dim, Rule: rule.Name})
			if err != nil {
				t.Fatal(err)
			}
			j := begin(t, m)
			j.fit(b, a.For(nil, rule.Name))
			if a.Task == Regression {
				t.Log(a.Name, rule.Name, j.score(b))
				least := map[string]float64{"linreg": 0.51, "robust": 0.43, "poisson": 0.46}[a.Name]
				if s := j.score(b); !(s.r2 > least) {
					t.Errorf("%s with %s: %v, want r2 above %v", a.Name, rule.Name, s, least)
				}
				continue
			}
			if s := j.score(held); a.Task == Classification && s.auc < 0.895 || s.acc < 0.845 {
				t.Errorf("%s with %s: %v, want auc from 0.895 and accuracy from 0.845 on", a.Name, rule.Name, s)
			}
			t.Log(a.Name, rule.Name, j.score(held))
		}
	}
}

// numbered is the examples with classes 0 and 1 for labels -1 and +1.
func numbered(b *data.Batch) *data.Batch {
	out := *b
	out.Label = make([]float32, b.Len())
	for i, y := range b.Label {
		out.Label[i] = max(0, y)
	}
	return &out
}

// FTRL goes over a9a once, row by row.
func TestFTRLOnePass(t *testing.T) {
	a9a, test := examples(t, "a9a/a9a_123d_train.dummy"), examples(t, "a9a/a9a_123d_test.dummy")
	for _, c := range []struct{ l1, progressive, loss, auc, acc float64 }{
		{0, 0.334472, 0.324198, 0.902295, 0.850992},
		{1, 0.335126, 0.324244, 0.902277, 0},
		{10, 0.339788, 0.324621, 0.902085, 0},
	} {
		m, err := lr.Build(Conf{Dim: 123, Rule: "ftrl", Hyper: map[string]float64{"l1": c.l1}})
		if err != nil {
			t.Fatal(err)
		}
		j, sum := begin(t, m), 0.0
		for _, b := range cut(a9a, 1, false) {
			sum += j.epoch([]*data.Batch{b}, 0.1)
		}
		s := j.score(test)
		t.Log(c.l1, sum/float64(a9a.Len()), s)
		near(t, "test logloss", s.loss, c.loss, 1e-4)
		near(t, "test auc", s.auc, c.auc, 1e-4)
		near(t, "progressive logloss", sum/float64(a9a.Len()), c.progressive, 2e-4)
		if c.acc != 0 {
			near(t, "accuracy", s.acc, c.acc, 4e-4)
		}
	}
}

// Every algorithm learns what a line separates; the weights are so many that batches take columns of them.
func TestSeparable(t *testing.T) {
	const dim = graph.WholeLimit + 1
	b := &data.Batch{}
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	for i := range 400 {
		u, v := float32(i%20)/10-1, float32(i/20)/10-1
		y := float32(-1)
		if u-v > 0.05 {
			y = 1
		}
		if math.Abs(float64(u-v)) < 0.15 {
			continue
		}
		b.Label = append(b.Label, y)
		x.Idx, x.Val = append(x.Idx, 3, dim-1), append(x.Val, u, v)
		x.Ptr = append(x.Ptr, len(x.Idx))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(b.Len()), 0, dim), Data: x}
	for _, a := range Algos() {
		of := b
		if a.Name == "poisson" || a.Network() {
			continue // margins of the one have no side, and the others are for fields
		}
		if a.Task == Multiclass {
			of = numbered(b)
		}
		j := train(t, a, of, dim, nil, func(d *Defaults) { d.Epochs, d.Batch = 20, 32 })
		if s := j.score(of); s.acc < 0.9999 {
			t.Errorf("%s: %v, want accuracy 1", a.Name, s)
		}
	}
}
