package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/rpc/tcp"
)

// weigh gives the examples weights that are not whole, and some of 0.
func weigh(s *data.Set, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 11))
	for range s.Len() {
		s.Weight = append(s.Weight, float32(rng.IntN(5))*0.37)
	}
	return s
}

// An example of weight n is n copies of it: whole batches lead to the same model, but for rounding, and to the same losses. The rule is
// one that does not make much of gradients that are nothing but rounding.
func TestWeightsAreCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"lr", "linreg", "svm", "softmax", "poisson", "fm", "deepfm", "dnn"} {
		for trial := range 4 {
			w := world{servers: 1 + trial%2, tasks: 1, algo: name, conf: algo.Conf{Rule: "sgd"}}
			o := Options{Epochs: 4, Batch: 1 << 20, Rate: rate(0.05), Seed: 3, InOrder: true, Clip: []float64{0, 0.1}[trial%2]}
			o.Data = set(examples(5+rng.IntN(50), rng.Uint64()))
			recipe, err := algo.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			if recipe.Network() {
				o.Data = set(fielded(o.Data.Len(), rng.Uint64()))
				w.conf.Dim, w.conf.Size = 32, algo.Size{Fields: 4, Factors: 2}
				if recipe.Sizes.Hidden != nil {
					w.conf.Size.Hidden = []int{4}
				}
			}
			switch name {
			case "softmax":
				w.conf.Classes = 3
				classed(o.Data, 3)
			case "poisson":
				classed(o.Data, 3)
			default:
				o.Offset = float64(trial / 2)
			}
			copied := o
			var numbers []int
			for i := range o.Data.Len() {
				n := rng.IntN(4)
				o.Data.Weight = append(o.Data.Weight, float32(n))
				numbers = append(numbers, slices.Repeat([]int{i}, n)...)
			}
			if copied.Data, err = o.Data.Choose(numbers); err != nil {
				t.Fatal(err)
			}
			copied.Data.Weight = nil
			weighted, bits := w.trained(t, o)
			plain, want := w.trained(t, copied)
			for i := range want {
				if d := math.Abs(float64(bits[i] - want[i])); !(d <= 1e-5*max(1, math.Abs(float64(want[i])))) {
					t.Fatalf("%s: parameter %d is %v by weights, want %v as by copies", name, i, bits[i], want[i])
				}
			}
			a, b := weighted[0], plain[0]
			for _, v := range [][2]float64{{a.Null, b.Null}, {a.Losses[0], b.Losses[0]}, {a.Losses[3], b.Losses[3]}, {a.Train[0].Value, b.Train[0].Value}} {
				if !(math.Abs(v[0]-v[1]) <= 1e-5*max(1, math.Abs(v[1]))) {
					t.Fatalf("%s: report %+v by weights, want %+v as by copies", name, a, b)
				}
			}
		}
	}
}

// Weights that are all 1 are none, but for how sums are rounded.
func TestWeightsOfOne(t *testing.T) {
	w := world{servers: 1, tasks: 2}
	o := Options{Data: set(examples(100, 1)), Epochs: 3, Batch: 20, Rate: rate(0.3), Seed: 7}
	plain, want := w.trained(t, o)
	o.Data.Weight = slices.Repeat([]float32{1}, 100)
	got, bits := w.trained(t, o)
	if !slices.Equal(bits, want) {
		t.Errorf("weights of 1 lead to %v, want %v", bits, want)
	}
	near(t, "losses", Metrics{{"last", got[0].Losses[2]}}, Metrics{{"last", plain[0].Losses[2]}})
}

// With weights, too, a model has the same bits on any servers and network, with batch normalisation and with dropout.
func TestWeightedBits(t *testing.T) {
	own, err := graph.ParseJSON([]byte(normed))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []world{{}, {conf: algo.Conf{Sparse: true, Rule: "ftrl"}}, {file: own, conf: algo.Conf{Dim: 32}}} {
		for _, tasks := range []int{1, 2, 3} {
			var first *Report
			var bits []float32
			for _, servers := range []int{1, 2, 3, -2} { // below 0: by TCP
				w.tasks, w.net = tasks, nil
				if w.servers = servers; servers < 0 {
					w.servers, w.net = -servers, &tcp.Network{}
				}
				o := Options{Data: set(examples(200, 1)), Valid: set(examples(90, 2)), Epochs: 4, Batch: 12, Rate: rate(0.1), Seed: 7, Clip: 3,
					Offset: 0.4}
				if w.file != nil {
					o.Data, o.Valid = set(fielded(200, 1)), set(fielded(90, 2))
				}
				weigh(o.Data, 1)
				weigh(o.Valid, 2)
				reports, weights := w.trained(t, o)
				if first == nil {
					first, bits = reports[0], weights
				}
				for task, r := range reports {
					if !reflect.DeepEqual(r, first) {
						t.Errorf("%d servers, task %d of %d reports %+v, want %+v", servers, task, tasks, r, first)
					}
				}
				if !slices.Equal(weights, bits) {
					t.Errorf("%d tasks, %d servers: other weights", tasks, servers)
				}
			}
			if first.Losses[3] >= first.Losses[0] {
				t.Errorf("%d tasks: losses %v: nothing was learned", tasks, first.Losses)
			}
		}
	}
}

// All weights times the same number lead to the same model, also if their sum is far from the number of examples, where layers keep
// running means.
func TestWeightsAreRelative(t *testing.T) {
	own, err := graph.ParseJSON([]byte(normed))
	if err != nil {
		t.Fatal(err)
	}
	w := world{servers: 1, tasks: 2, file: own, conf: algo.Conf{Dim: 32}}
	var want []float32
	for _, by := range []float32{1, 0x1p-14, 0x1p10} {
		o := Options{Data: weigh(set(fielded(200, 1)), 1), Epochs: 4, Batch: 40, Rate: rate(0.1), Seed: 7}
		for i := range o.Data.Weight {
			o.Data.Weight[i] *= by
		}
		_, got := w.trained(t, o)
		if want == nil {
			want = got
		}
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*max(1, math.Abs(float64(want[i])))) {
				t.Fatalf("weights times %v: parameter %d is %v, want %v", by, i, got[i], want[i])
			}
		}
	}
}

// The offset is of training examples: the model learns what has to be added to it, and the others are predicted without.
func TestOffset(t *testing.T) {
	w := world{servers: 1, tasks: 2}
	b := examples(400, 1)
	for i := range b.Label {
		b.Label[i] = float32(1 - 2*btoi(i%4 > 0)) // a quarter is positive, whatever the features
	}
	o := Options{Data: set(b), Epochs: 200, Batch: 400, Rate: rate(0.5), Offset: 2}
	o.Data, o.Valid = featureless(t, b), featureless(t, b)
	reports, weights := w.trained(t, o)
	bias := float64(weights[len(weights)-1])
	if want := math.Log(1./3) - 2; math.Abs(bias-want) > 0.01 {
		t.Errorf("bias %v, want %v: the log-odds of a quarter less the offset", bias, want)
	}
	quarter := -(math.Log(0.25) + 3*math.Log(0.75)) / 4
	if got := reports[0].Train[0].Value; math.Abs(got-quarter) > 1e-3 {
		t.Errorf("loss of the training examples %v, want %v, which is with the offset", got, quarter)
	}
	alone := (math.Log1p(math.Exp(-bias)) + 3*math.Log1p(math.Exp(bias))) / 4
	if got := reports[0].Valid[0].Value; math.Abs(got-alone) > 1e-3 {
		t.Errorf("loss of the held-out examples %v, want %v, which is without", got, alone)
	}
}

// featureless is the labels of examples that have no features.
func featureless(t *testing.T, b *data.Batch) *data.Set {
	t.Helper()
	bare := examples(b.Len(), 1)
	x := bare.Rows()
	clear(x.Ptr)
	x.Idx, x.Val = nil, nil
	bare.Label = b.Label
	return set(bare)
}

func TestWrongWeights(t *testing.T) {
	for _, c := range []struct {
		weight []float32
		want   string
	}{
		{[]float32{1, 2}, "2 weights of 5 examples"},
		{[]float32{1, 2, -1, 0, 0}, "example 3 has weight -1"},
		{[]float32{1, 2, 1, 0, float32(math.NaN())}, "example 5 has weight NaN"},
		{[]float32{float32(math.Inf(1)), 2, 1, 0, 0}, "example 1 has weight +Inf"},
		{[]float32{0, 0, 0, 0, 0}, "the weights of all 5 examples are 0"},
	} {
		o := Options{Data: set(examples(5, 1)), Epochs: 1, Batch: 5, Rate: rate(1)}
		o.Data.Weight = c.weight
		_, _, errs := world{servers: 1, tasks: 1}.job(t, o)
		if errs[0] == nil || !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("weights %v: %v, want %q", c.weight, errs[0], c.want)
		}
	}
}

// A training with weights that diverges ends with the step and what to do, as others do.
func TestWeightedDivergence(t *testing.T) {
	o := Options{Data: weigh(set(examples(100, 1)), 1), Epochs: 60, Batch: 100, Rate: rate(1e9)}
	_, _, errs := world{servers: 1, tasks: 1, algo: "linreg", conf: algo.Conf{Rule: "sgd"}}.job(t, o)
	if !errors.Is(errs[0], graph.ErrDiverged) || !strings.Contains(errs[0].Error(), "step 1 of 1") {
		t.Errorf("%v, want %v with the step", errs[0], graph.ErrDiverged)
	}
	if fmt.Sprint(errs[0]) == graph.ErrDiverged.Error() {
		t.Error("nothing is said of where")
	}
}
