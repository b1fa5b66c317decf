package algo

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
)

// choose names the recipes whose settings are tried out: go test ./algo -run Choose -choose lr,svm -v; fm/l2loss is fm with that loss.
var choose = flag.String("choose", "", "recipes, with commas between them, whose settings TestChoose compares")

const chooseFolds = 5

// The settings of the recipes are chosen by what this prints, and by nothing else: the loss of examples held out of the training
// examples, each fifth of them in turn, with one setting changed at a time. Losses are percent above the best of the line. The
// files of test examples are not opened.
func TestChoose(t *testing.T) {
	if *choose == "" {
		t.Skip("no recipes to try: -choose")
	}
	for _, name := range strings.Split(*choose, ",") {
		name, loss, other := strings.Cut(name, "/")
		a := recipe(t, name)
		if other {
			var err error
			if a, err = a.WithLoss(nil, loss, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, set := range chooseSets(t, a) {
			if a.Sizes.Fields > 0 && (set.name == "a9a" || set.name == "abalone") {
				continue // whose rows do not have a value of each field
			}
			if a.Network() {
				a = a.ForLabels(nil, set.b.Label, nil, 0)
			}
			d, epochs := settled(a, set.b.Len()), []float64{5, 10, 20, 50, 100, 200}
			if a.Network() {
				epochs = []float64{3, 5, 7, 10, 15}
			}
			for _, one := range []struct {
				setting string
				values  []float64
				change  func(d *Defaults, v float64)
			}{
				{"l2", []float64{0, 1e-6, 3e-6, 1e-5, 2e-5, 3e-5, 5e-5, 1e-4, 2e-4, 5e-4}, func(d *Defaults, v float64) { d.Hyper = map[string]float64{"l2": v} }},
				{"rate", []float64{d.Rate / 10, d.Rate / 5, d.Rate / 2, d.Rate, 2 * d.Rate, 5 * d.Rate}, func(d *Defaults, v float64) { d.Rate = v }},
				{"batch", []float64{64, 128, 256, 512, 1024}, func(d *Defaults, v float64) { d.Batch = int(v) }},
				{"epochs", epochs, func(d *Defaults, v float64) { d.Epochs = int(v) }},
				{"linear", []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5}, func(d *Defaults, v float64) { d.Linear = v }},
			} {
				if one.setting == "linear" && d.Linear == 0 {
					continue
				}
				best, losses := math.Inf(1), make([]float64, len(one.values))
				for i, v := range one.values {
					d := settled(a, set.b.Len())
					one.change(&d, v)
					losses[i] = heldOut(t, a, set.b, d)
					best = min(best, losses[i])
				}
				line := ""
				for i, v := range one.values {
					line += fmt.Sprintf("  %g: %.2f", v, 100*(losses[i]-best)/math.Abs(best))
				}
				t.Logf("%-8s %-8s %-7s best %.5f;%s", name, set.name, one.setting, best, line)
			}
		}
	}
}

// settled are the defaults for so many examples.
func settled(a *Algo, rows int) Defaults {
	d := a.For(nil, "")
	if d.Batch == 0 {
		d.Batch = BatchOf(rows)
	}
	if n := d.EpochsOf(rows); n > 0 {
		d.Epochs = n
	}
	return d
}

// heldOut is the mean loss of each fifth of the examples after training with the others.
func heldOut(t *testing.T, a *Algo, b *data.Batch, d Defaults) (loss float64) {
	for fold := range chooseFolds {
		var out, stay []int
		for i := range b.Len() {
			if i%chooseFolds == fold {
				out = append(out, i)
			} else {
				stay = append(stay, i)
			}
		}
		size := Size{}
		if a.Sizes.Fields > 0 {
			size.Fields = b.Rows().Ptr[1]
		}
		own := *a
		own.Defaults.Linear, own.of.spread = d.Linear, 0 // d suits the labels already
		m, err := own.Build(Conf{Dim: b.Dim(), Hyper: d.Hyper, Classes: classesOf(b), Batch: d.Batch, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		j, learned := begin(t, m), rows(b, stay)
		if a.Network() {
			j.shuffle(learned, d)
		} else {
			j.fit(learned, d)
		}
		loss += j.score(rows(b, out)).loss * float64(len(out)) / float64(b.Len())
	}
	return loss
}

func classesOf(b *data.Batch) int {
	top := float32(0)
	for _, y := range b.Label {
		top = max(top, y)
	}
	return int(top) + 1
}

type chooseSet struct {
	name string
	b    *data.Batch
}

// chooseSets are training examples for the task of the recipe.
func chooseSets(t *testing.T, a *Algo) []chooseSet {
	read := func(name string, dim int64) *data.Batch {
		b := examples(t, name)
		b.X.At.Cols.Hi = dim
		return b
	}
	if a.Network() && a.Task == Regression {
		return []chooseSet{{"abalone", read("abalone/abalone_8d_train.libsvm", 8)}, {"pairs", pairs(4000, 6, 20)},
			{"more", pairs(20_000, 10, 200)}}
	}
	switch a.Name {
	case "linreg", "robust":
		return []chooseSet{{"abalone", read("abalone/abalone_8d_train.libsvm", 8)}, {"drawn", drawn(a.Name, 0, 1)}}
	case "poisson":
		return []chooseSet{{"abalone", read("abalone/abalone_8d_train.libsvm", 8)}, {"drawn", drawn(a.Name, 0, 1)}}
	}
	// As thole data clicks --rows 100000 makes them.
	fields := []int64{2, 7, 24, 50, 12, 300, 1000, 5000, 20, 200, 2000, 100}
	made, err := data.NewClicks(data.Clicks{Seed: 1, Rows: 100_000, Dims: fields, Skew: 1.1, Spread: 0.6, Bias: -1.2})
	if err != nil {
		t.Fatal(err)
	}
	sets := []chooseSet{{"a9a", read("a9a/a9a_123d_train.dummy", 123)}, {"census", read("census/census_148d_train.dummy", 148)},
		{"clicks", made.Batch(0, made.Rows)}}
	if a.Task == Multiclass {
		for i := range sets {
			sets[i].b = numbered(sets[i].b)
		}
		_, b := kindred(clickRows, 1)
		sets = append(sets, chooseSet{"drawn", b})
	}
	return sets
}

// kindred are examples of the multinomial model of four classes: the laws of the classes, and what was drawn by them.
func kindred(n int, seed uint64) (laws []law, b *data.Batch) {
	for k := range 4 {
		w := newLaw(0.7, 0)
		for c := range w[:len(w)-1] {
			w[c] *= math.Sin(float64(k*c + k)) // of class 0 all are zero
		}
		laws = append(laws, w)
	}
	b = laws[0].draw(n, seed, func(*rand.Rand, float64) float64 { return 0 })
	rng := rand.New(rand.NewPCG(seed, 4))
	scores := make([][]float64, len(laws))
	for k, w := range laws {
		scores[k] = algotest.Scores(b, w)
	}
	for i := range b.Label {
		all, at := 0.0, 0
		for k := range laws {
			all += math.Exp(scores[k][i])
		}
		for u := rng.Float64() * all; at < len(laws)-1; at++ {
			if u -= math.Exp(scores[at][i]); u < 0 {
				break
			}
		}
		b.Label[i] = float32(at)
	}
	return laws, b
}
