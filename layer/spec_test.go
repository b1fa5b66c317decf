package layer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/matrix"
)

// Matrices of features are stored whole if they are small, and by columns if the user says so or there are too many.
func TestFeatureMatrices(t *testing.T) {
	up := Update{Rule: "adagrad", Hyper: map[string]float64{"l2": 1}, Rate: 3}
	l := build(t, "simpleinputlayer", Spec{Dim: 123, OutputDim: 1, Weight: up, Bias: Update{Rule: "sgd"}})
	w, b := l.Params()[0], l.Params()[1]
	if w.Name != "l_weight" || w.Rows != 1 || w.Cols != 123 || w.Layout != matrix.RowDense || w.Rule != "adagrad" || w.Rate != 3 ||
		w.Hyper["l2"] != 1 || w.Attrs["angel.layer"] != "simpleinput" || w.DType != matrix.F32 || !w.Features || !w.Whole() {
		t.Errorf("weight %+v", w)
	}
	if b.Name != "l_bias" || b.Rows != 1 || b.Cols != 1 || b.Rule != "sgd" || b.Layout != matrix.RowDense || b.Features || !b.Whole() {
		t.Errorf("bias %+v", b)
	}
	for _, c := range []struct {
		spec   Spec
		layout matrix.Layout
	}{
		{Spec{}, matrix.RowSparse}, {Spec{Dim: 123, Sparse: true}, matrix.RowSparse}, {Spec{Dim: DenseLimit + 1}, matrix.RowSparse},
		{Spec{Dim: DenseLimit + 1, Dense: true}, matrix.RowSparse}, {Spec{ColLo: 7}, matrix.RowSparse}, {Spec{ColLo: math.MinInt64}, matrix.RowSparse},
		{Spec{Dim: graph.WholeLimit / 4}, matrix.RowDense}, {Spec{Dim: graph.WholeLimit/4 + 1}, matrix.RowSparse},
		{Spec{Dim: graph.WholeLimit/4 + 1, Dense: true}, matrix.RowDense},
	} {
		for _, kind := range []string{"simpleinputlayer", "embedding"} {
			s := c.spec
			if s.OutputDim = 4; kind == "embedding" {
				s.Factors = 4
			}
			if w := build(t, kind, s).Params()[0]; w.Layout != c.layout || w.Rows != 4 || w.Check() != nil {
				t.Errorf("%s %+v: weight %+v, want %v", kind, c.spec, w, c.layout)
			}
		}
	}
}

// Weights start as each kind says, or as the user does, but for biases and the scales of batch normalisation.
func TestInit(t *testing.T) {
	in := []graph.Shape{{Cols: 16}}
	for _, c := range []struct {
		kind string
		spec Spec
		want []matrix.Init
	}{
		{"simpleinputlayer", Spec{OutputDim: 2}, []matrix.Init{{}, {}}},
		{"simpleinputlayer", Spec{OutputDim: 2, Transfer: Choice{Name: "relu"}}, []matrix.Init{{Kind: "uniform", Scale: 0.1, Seed: 9}, {}}},
		{"embedding", Spec{Factors: 4}, []matrix.Init{{Kind: "normal", Scale: 0.05, Seed: 9}}},
		{"fieldawareembedding", Spec{Factors: 4, Fields: 4}, []matrix.Init{{Kind: "uniform", Scale: 0.125, Seed: 9}}},
		{"fclayer", Spec{OutputDim: 2, In: in}, []matrix.Init{{Kind: "uniform", Scale: 0.25, Seed: 9}, {}}},
		{"crosslayer", Spec{In: in}, []matrix.Init{{Kind: "uniform", Scale: 0.25, Seed: 9}, {}}},
		{"crosslayer", Spec{In: in, Rank: 4}, []matrix.Init{{Kind: "uniform", Scale: 0.25, Seed: 9}, {Kind: "uniform", Scale: 0.5, Seed: 9}, {}}},
		{"batchnormlayer", Spec{In: in}, []matrix.Init{{Kind: "constant", Scale: 1, Seed: 9}, {}, {}, {Kind: "constant", Scale: 1, Seed: 9}}},
	} {
		c.spec.Init.Seed = 9
		for i, p := range build(t, c.kind, c.spec).Params() {
			if !p.Init.Equal(c.want[i]) {
				t.Errorf("%s: %s starts %+v, want %+v", c.kind, p.Name, p.Init, c.want[i])
			}
		}
		c.spec.Init = matrix.Init{Kind: "normal", Scale: 2, Seed: 9}
		for i, p := range build(t, c.kind, c.spec).Params() {
			want := c.spec.Init
			if strings.HasSuffix(p.Name, "_bias") || c.kind == "batchnormlayer" {
				want = c.want[i]
			}
			if !p.Init.Equal(want) {
				t.Errorf("%s with the user's: %s starts %+v, want %+v", c.kind, p.Name, p.Init, want)
			}
		}
	}
}

// Specs that no layer can be of are refused, and the error says what would do.
func TestSpecErrors(t *testing.T) {
	flat := func(n ...int) (in []graph.Shape) {
		for _, n := range n {
			in = append(in, graph.Shape{Cols: n})
		}
		return in
	}
	ragged, vector := []graph.Shape{{Factors: 4, Ragged: true}}, []graph.Shape{{Cols: 4, Factors: 4}}
	proba := func(name string, p float64) Choice { return Choice{name, map[string]float64{"proba": p}} }
	for _, c := range []struct {
		kind string
		spec Spec
		want string
	}{
		{"simpleinputlayer", Spec{}, "0 outputs, want 1 to"},
		{"simpleinputlayer", Spec{OutputDim: OutputLimit + 1}, "want 1 to 1048576"},
		{"simpleinputlayer", Spec{OutputDim: 1, Transfer: Choice{Name: "swish"}}, `transfer function "swish", want one of identity sigmoid tanh relu softmax dropout`},
		{"simpleinputlayer", Spec{OutputDim: 1, ColLo: math.MaxInt64 - 5, Dim: 100}, "beyond int64"},
		{"simpleinputlayer", Spec{OutputDim: 1, Dim: 10, Keep: matrix.Keep{AdmitAfter: 2}}, "want sparse weights to admit or expire"},
		{"simpleinputlayer", Spec{OutputDim: 1, Transfer: proba("relu", 0.5)}, `relu has no setting "proba"`},
		{"simpleinputlayer", Spec{OutputDim: 1, Transfer: proba("dropout", 1)}, "proba 1, want one in [0, 1)"},
		{"simpleinputlayer", Spec{OutputDim: 1, Transfer: proba("tanhwithdropout", math.NaN())}, "proba NaN, want one in [0, 1)"},
		{"embedding", Spec{}, "numfactors 0, want 1 to"},
		{"embedding", Spec{Factors: -1}, "numfactors -1, want 1 to"},
		{"embedding", Spec{Factors: 4, OutputDim: 6}, "outputdim 6, want a multiple of numfactors = 4: one vector for each field"},
		{"embedding", Spec{Factors: 4, OutputDim: OutputLimit + 4}, "want at most"},
		{"fieldawareembedding", Spec{Factors: 4}, "0 fields of numfactors 4, want at least 2 and 1"},
		{"fieldawareembedding", Spec{Factors: 1 << 16, Fields: 1 << 16}, "at most 1048576 numbers for a feature"},
		{"fclayer", Spec{In: flat(3)}, "0 outputs, want 1 to"},
		{"fclayer", Spec{In: ragged, OutputDim: 2}, "set the embedding's outputdim to fields x numfactors"},
		{"fclayer", Spec{In: flat(OutputLimit), OutputDim: OutputLimit}, "1048576 x 1048576 weights, want at most"},
		{"biinnersumcross", Spec{In: flat(3)}, "reads 3 numbers, want the vectors of an embedding"},
		{"biinteractioncross", Spec{In: ragged, OutputDim: 3}, "outputdim 3, want 4 by the layers that it reads"},
		{"embedding", Spec{Factors: 4, Mean: true}, "pooling mean without an outputdim, want one of fields x numfactors"},
		{"simpleinputlayer", Spec{OutputDim: 1, Init: matrix.Init{Kind: "normal"}, Own: true}, "init normal without a scale, want one"},
		{"biinnercross", Spec{In: ragged}, "an embedding of any number of values, want one of known fields"},
		{"biinnercross", Spec{In: vector}, "reads 1 vector, want at least 2 for pairs"},
		{"biinnercross", Spec{In: []graph.Shape{{Cols: 12, Factors: 4}}, OutputDim: 4}, "outputdim 4, want 3"},
		{"bioutercross", Spec{In: []graph.Shape{{Cols: 1 << 20, Factors: 1}}}, "outputs, want 1 to"},
		{"crosslayer", Spec{In: flat(3, 4)}, "reads layers of 3 and 4 outputs, want the same of both"},
		{"crosslayer", Spec{In: flat(3), Rank: 4}, "rank 4, want 1 to 3, or none for full rank"},
		{"crosslayer", Spec{In: flat(3), Rank: -1}, "rank -1, want 1 to 3"},
		{"crosslayer", Spec{In: flat(3), OutputDim: 2}, "outputdim 2, want 3"},
		{"concatlayer", Spec{In: flat(3, 4), OutputDim: 8}, "outputdim 8, want 7"},
		{"concatlayer", Spec{In: append(flat(3), ragged...)}, "any number of values"},
		{"sumpooling", Spec{In: flat(3, 4)}, "reads layers of 3 and 4 outputs, want the same of all"},
		{"mulpooling", Spec{In: flat(3, 3), OutputDim: 1}, "outputdim 1, want 3"},
		{"dotpooling", Spec{In: flat(3, 3), OutputDim: 3}, "outputdim 3, want 1"},
		{"batchnormlayer", Spec{In: ragged}, "any number of values"},
		{"batchnormlayer", Spec{In: flat(3), OutputDim: 2}, "outputdim 2, want 3"},
		{"dropoutlayer", Spec{In: flat(3), Transfer: proba("", -0.1)}, "proba -0.1, want one in [0, 1)"},
		{"dropoutlayer", Spec{In: flat(3), Transfer: Choice{Name: "relu"}}, "transfer function relu, want none"},
	} {
		k, err := Find(nil, c.kind)
		if err != nil {
			t.Fatal(err)
		}
		c.spec.Name = "l"
		if _, err := k.New(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.kind, c.spec, err, c.want)
		}
	}
	for _, c := range cases() {
		k, err := Find(nil, c.kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.New(c.spec); err == nil || !strings.Contains(err.Error(), "without name") {
			t.Errorf("%s without name: %v", c.name(), err)
		}
	}
}

// Batches that a layer cannot take are refused with the row.
func TestBatchErrors(t *testing.T) {
	for _, c := range []struct {
		kind     string
		spec     Spec
		examples examples
		want     string
	}{
		{"embedding", Spec{Factors: 2, OutputDim: 6, Dim: 100}, each, "row 3 of the batch has 4 features, want 3: one for each field"},
		{"embedding", Spec{Factors: 2, OutputDim: 6, Dim: 100}, places, "examples of 4 fields, want at most 3"},
		{"fieldawareembedding", Spec{Factors: 2, Fields: 5, Dim: 100}, each, "row 3 of the batch has 4 features, want 5"},
		{"fieldawareembedding", Spec{Factors: 2, Fields: 3, Dim: 100}, loose, "examples of 4 fields, want at most 3"},
	} {
		s := setUp(t, build(t, c.kind, c.spec), nil, c.examples, 2)
		if _, err := s.Forward(s.x, s.params, s.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.kind, err, c.want)
		}
	}
}

// Kinds are found by all their spellings, and no spelling is of two.
func TestFind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		for _, name := range append(k.Also, k.Name) {
			got, err := Find(nil, strings.ToUpper(name))
			if lower := strings.ToLower(name); err != nil || got.Name != k.Name || seen[lower] {
				t.Errorf("%s is found as %v, %v; seen before: %v", name, got, err, seen[lower])
			}
			seen[strings.ToLower(name)] = true
		}
		if k.Help == "" || k.Least > k.Most || k.Reads() == "" {
			t.Errorf("kind %+v", k)
		}
	}
	_, err := Find(nil, "kmeansinputlayer")
	if err == nil || !strings.Contains(err.Error(), `layer type "kmeansinputlayer", want one of simpleinputlayer embedding fieldawareembedding fclayer`) {
		t.Errorf("got %v", err)
	}
}

// A batch of one example learns as it would be scored, and leaves the running means alone.
func TestNormOfOne(t *testing.T) {
	l, err := newBatchNorm(Spec{Name: "n", In: []graph.Shape{{Cols: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	params := []graph.Values{{Val: []float32{2, 3}}, {Val: []float32{0, 1}}, {Val: []float32{1, 1}}, {Val: []float32{4, 9}}}
	grads := make([]graph.Values, 4)
	for i := range grads {
		grads[i].Val = make([]float32, 2)
	}
	x := &graph.Input{Ptr: []int{0, 0}, Train: true}
	out, err := l.Forward(x, params, []*graph.Tensor{{Rows: 1, Cols: 2, Val: []float32{3, 7}}})
	if err != nil {
		t.Fatal(err)
	}
	back := graph.NewTensor(1, 2)
	if err := l.Backward(x, params, grads, &graph.Tensor{Rows: 1, Cols: 2, Val: []float32{1, 1}}, []*graph.Tensor{back}); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{2, 7}, {1, 1}, {1, 2}, {1, 1}, {0, 0}, {0, 0}} { // to the variance's eps
		got := [][]float32{out.Val, back.Val, grads[0].Val, grads[1].Val, grads[2].Val, grads[3].Val}[i]
		for c := range want {
			if d := got[c] - want[c]; d > 1e-4 || d < -1e-4 {
				t.Errorf("%d: %v, want %v", i, got, want)
			}
		}
	}
}

// TestNoFeatures: examples that all lack a value of each field are examples of zero vectors, as one of them among others is.
func TestNoFeatures(t *testing.T) {
	for _, c := range []struct {
		kind string
		spec Spec
		cols int
	}{
		{"embedding", Spec{Factors: 2, OutputDim: 2 * fields, Dim: 100}, 2 * fields},
		{"embedding", Spec{Factors: 2, OutputDim: 2 * fields, Dim: 100, Mean: true}, 2 * fields},
		{"fieldawareembedding", Spec{Factors: 2, Fields: fields, Dim: 100}, 1},
	} {
		for _, e := range []examples{each, loose} {
			s := setUp(t, build(t, c.kind, c.spec), nil, e, 3)
			if _, err := s.Forward(s.x, s.params, nil); err != nil {
				t.Fatal(err)
			}
			x := &graph.Input{Ptr: []int{2, 2, 2}, Idx: s.x.Idx, Val: s.x.Val, Label: []float32{0, 0}}
			params := s.params
			out, err := s.Forward(x, params, nil)
			if err != nil {
				t.Errorf("%s: %v", c.kind, err)
				continue
			}
			if want := make([]float32, 2*c.cols); !slices.Equal(out.Val, want) {
				t.Errorf("%s: %v, want %v", c.kind, out.Val, want)
			}
			grads := []graph.Values{{At: s.grads[0].At, Val: slices.Clone(s.grads[0].Val)}}
			if err := s.Backward(x, params, grads, out, nil); err != nil {
				t.Errorf("%s: %v", c.kind, err)
			}
			if !slices.Equal(grads[0].Val, s.grads[0].Val) {
				t.Errorf("%s: examples without features change gradients", c.kind)
			}
		}
	}
}
