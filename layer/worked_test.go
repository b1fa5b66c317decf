package layer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/graph"
)

// The worked values of crosses over three vectors, computed by hand.
func TestWorked(t *testing.T) {
	v := []float32{0.1, 0.2, -0.3, 0.4, 0.5, -0.1}
	for _, c := range []struct {
		x              []float32
		sum            float64
		vector, pairs  []float64
		slopes, outers []float64
	}{
		{[]float32{1, 1, 1}, -0.11, []float64{-0.13, 0.02}, []float64{0.05, 0.03, -0.19}, []float64{0.2, 0.3, 0.6, 0.1, -0.2, 0.6},
			[]float64{-0.03, 0.04, -0.06, 0.08, 0.05, -0.01, 0.1, -0.02, -0.15, 0.03, 0.2, -0.04}},
		{[]float32{0.5, 2, 1}, -0.315, []float64{-0.305, -0.01}, []float64{0.05, 0.015, -0.38}, []float64{-0.1, 0.7, 0.55, 0, -0.55, 0.9},
			[]float64{-0.03, 0.04, -0.06, 0.08, 0.025, -0.005, 0.05, -0.01, -0.3, 0.06, 0.4, -0.08}},
	} {
		x := &graph.Input{Ptr: []int{0, 3}, Idx: []int64{1, 5, 7}, Val: c.x, Label: []float32{0}}
		e := build(t, "embedding", Spec{Factors: 2, OutputDim: 6, Dim: 8})
		u, err := e.Forward(x, []graph.Values{{At: []uint32{0, 1, 2}, Val: v}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[string][]float64{
			"biinnersumcross": {c.sum}, "biinteractioncross": c.vector, "biinnercross": c.pairs, "bioutercross": c.outers,
		} {
			l := build(t, kind, Spec{In: []graph.Shape{e.Shape()}})
			out, err := l.Forward(x, nil, []*graph.Tensor{u})
			if err != nil {
				t.Fatal(err)
			}
			check(t, kind, out.Val, want, 1e-6)
			if kind != "biinnersumcross" {
				continue
			}
			back, one := graph.NewTensor(1, 6), &graph.Tensor{Rows: 1, Cols: 1, Val: []float32{1}}
			if err := l.Backward(x, nil, nil, one, []*graph.Tensor{back}); err != nil {
				t.Fatal(err)
			}
			check(t, "gradient of "+kind, back.Val, c.slopes, 1e-6)
		}
	}
}

// wide is the numbers as float64.
func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// affine is b + x*W in plain loops, W having outputs side by side.
func affine(x []float64, w, b []float32) []float64 {
	out := wide(b)
	for i, v := range x {
		for o := range out {
			out[o] += v * float64(w[i*len(b)+o])
		}
	}
	return out
}

// fieldOf is the field of stored value v of a row: as the examples say, or its place.
func fieldOf(x *graph.Input, row, v int) int {
	if x.Field == nil {
		return v - x.Ptr[row]
	}
	return int(x.Field[v])
}

// formulas are what layers compute, one row of outputs for one example, in float64 and straight from the papers.
var formulas = map[string]func(s *fixture, spec Spec, row int) []float64{
	"simpleinputlayer": func(s *fixture, spec Spec, row int) []float64 {
		out := wide(s.params[1].Val)
		for v := s.x.Ptr[row]; v < s.x.Ptr[row+1]; v++ {
			for o := range out {
				out[o] += float64(s.x.Val[v]) * float64(s.params[0].Val[int(s.params[0].At[v])*len(out)+o])
			}
		}
		return out
	},
	"fclayer": func(s *fixture, _ Spec, row int) []float64 {
		return affine(wide(s.in[0].Row(row)), s.params[0].Val, s.params[1].Val)
	},
	"embedding": func(s *fixture, spec Spec, row int) []float64 {
		k, out, count := spec.Factors, make([]float64, fields*spec.Factors), make([]float64, fields)
		for v := s.x.Ptr[row]; v < s.x.Ptr[row+1]; v++ {
			f := fieldOf(s.x, row, v)
			count[f]++
			for j := range k {
				out[f*k+j] += float64(s.x.Val[v]) * float64(s.params[0].Val[int(s.params[0].At[v])*k+j])
			}
		}
		for i := range out {
			if spec.Mean && count[i/k] > 0 {
				out[i] /= count[i/k]
			}
		}
		return out
	},
	"fieldawareembedding": func(s *fixture, spec Spec, row int) []float64 {
		sum, k := 0.0, spec.Factors
		number := func(v, field, j int) float64 { // of the vector that value v has for a field
			return float64(s.params[0].Val[(int(s.params[0].At[v])*fields+field)*k+j])
		}
		for a := s.x.Ptr[row]; a < s.x.Ptr[row+1]; a++ {
			for b := s.x.Ptr[row]; b < a; b++ {
				for j := range k {
					sum += number(a, fieldOf(s.x, row, b), j) * number(b, fieldOf(s.x, row, a), j) * float64(s.x.Val[a]) * float64(s.x.Val[b])
				}
			}
		}
		return []float64{sum}
	},
	"crosslayer": func(s *fixture, spec Spec, row int) []float64 {
		x0, x := wide(s.in[0].Row(row)), wide(s.in[len(s.in)-1].Row(row))
		bias := s.params[len(s.params)-1].Val
		low, w := x, s.params[0].Val
		if spec.Rank > 0 {
			low, w = affine(x, s.params[0].Val, make([]float32, spec.Rank)), s.params[1].Val
		}
		z := affine(low, w, bias)
		for i := range z {
			z[i] = x0[i]*z[i] + x[i]
		}
		return z
	},
	"batchnormlayer": func(s *fixture, _ Spec, row int) []float64 {
		out, b := wide(s.in[0].Row(row)), float64(s.x.Len())
		for c := range out {
			mean, square := float64(s.params[2].Val[c]), float64(s.params[3].Val[c])
			if s.x.Train {
				mean, square = 0, 0
				for r := range s.x.Len() {
					v := float64(s.in[0].Row(r)[c])
					mean, square = mean+v/b, square+v*v/b
				}
				square -= mean * mean
			}
			out[c] = float64(s.params[0].Val[c])*(out[c]-mean)/math.Sqrt(square+1e-5) + float64(s.params[1].Val[c])
		}
		return out
	},
	"concatlayer": func(s *fixture, _ Spec, row int) (out []float64) {
		for _, in := range s.in {
			out = append(out, wide(in.Row(row))...)
		}
		return out
	},
	"sumpooling": func(s *fixture, _ Spec, row int) []float64 {
		out := wide(s.in[0].Row(row))
		for _, in := range s.in[1:] {
			for i, v := range in.Row(row) {
				out[i] += float64(v)
			}
		}
		return out
	},
	"mulpooling": products,
	"dotpooling": func(s *fixture, spec Spec, row int) []float64 {
		sum := 0.0
		for _, v := range products(s, spec, row) {
			sum += v
		}
		return []float64{sum}
	},
	"dropoutlayer": func(s *fixture, _ Spec, row int) []float64 { return wide(s.in[0].Row(row)) }, // in prediction
}

func products(s *fixture, _ Spec, row int) []float64 {
	out := wide(s.in[0].Row(row))
	for _, in := range s.in[1:] {
		for i, v := range in.Row(row) {
			out[i] *= float64(v)
		}
	}
	return out
}

// Layers without transfer functions compute their formulas.
func TestFormulas(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range cases() {
		f := formulas[c.kind]
		if f == nil || c.spec.Transfer.Name != "" && c.spec.Transfer.Name != "identity" || c.kind == "embedding" && c.spec.OutputDim == 0 {
			continue
		}
		tried[c.kind] = true
		for _, train := range []bool{false, true} {
			s := setUp(t, build(t, c.kind, c.spec), c.spec.In, c.examples, 6)
			if s.x.Train = train; train && c.kind == "dropoutlayer" {
				continue
			}
			out := s.forward(t)
			for row := range s.x.Len() {
				check(t, c.name(), out.Row(row), f(s, c.spec, row), 1e-5)
			}
		}
	}
	for kind := range formulas {
		if !tried[kind] {
			t.Errorf("no case of %s was tried", kind)
		}
	}
}

// Transfer functions are their formulas, also far from zero.
func TestTransfers(t *testing.T) {
	v := []float64{-1000, -30, -1, -0.5, 0, 0.5, 2, 30, 1000}
	for name, f := range map[string]func(v float64) float64{
		"identity": func(v float64) float64 { return v }, "relu": func(v float64) float64 { return max(v, 0) }, "tanh": math.Tanh,
		"sigmoid": func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
	} {
		tr, err := FindTransfer(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		var want []float64
		for _, x := range v {
			got, want = append(got, float32(x)), append(want, f(x))
		}
		tr.Apply(got, len(got))
		check(t, name, got, want, 1e-6)
	}
	tr, err := FindTransfer("softmax")
	if err != nil {
		t.Fatal(err)
	}
	got := []float32{0, float32(math.Log(3)), 1000, 1000, -1000, 0}
	tr.Apply(got, 2)
	check(t, "softmax", got, []float64{0.25, 0.75, 0.5, 0.5, 0, 1}, 1e-6)
}

// Products with zeros among them have the gradients of products: with inputs 0, 3 and 0, all are 0 but none is infinite.
func TestZeroProducts(t *testing.T) {
	l := build(t, "mulpooling", Spec{In: slices.Repeat([]graph.Shape{{Cols: 2}}, 3)})
	s := setUp(t, l, slices.Repeat([]graph.Shape{{Cols: 2}}, 3), each, 1)
	for i, v := range [][]float32{{0, 0}, {3, 5}, {0, 7}} {
		copy(s.in[i].Val, v)
	}
	s.value(t)
	copy(s.up.Val, []float32{1, 1})
	s.backward(t)
	for i, want := range [][]float64{{0, 35}, {0, 0}, {0, 0}} {
		check(t, "gradient", s.back[i].Val, []float64{want[0] + before, want[1] + before}, 1e-6)
	}
}

// Batch normalisation moves its running means by a fixed part of the way to those of batches: after many steps over batches of
// columns of mean 3 and deviation 2 they are there, and prediction makes mean 0 and deviation 1 of such columns.
func TestRunningMeans(t *testing.T) {
	shape := []graph.Shape{{Cols: 1}}
	const n, steps = 64, 400
	s := setUp(t, build(t, "batchnormlayer", Spec{In: shape}), shape, each, n)
	for i, start := range []float32{1, 0, 0, 1} {
		s.params[i].Val[0] = start
	}
	s.up = graph.NewTensor(n, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func() {
		for i := range s.in[0].Val {
			s.in[0].Val[i] = float32(3 + 2*rng.NormFloat64())
		}
	}
	s.x.Train = true
	var mean float64 // as the paper has it, in float64
	square := 1.0
	for range steps {
		draw()
		s.forward(t)
		clear(s.grads[2].Val)
		clear(s.grads[3].Val)
		s.backward(t)
		for i, p := range s.Params()[2:] {
			if p.Rule != "sgd" || !p.Fixed || p.Rate != 0.1 {
				t.Fatalf("matrix %s: rule %s, rate %v, fixed %v; want steps of a tenth", p.Name, p.Rule, p.Rate, p.Fixed)
			}
			s.params[2+i].Val[0] -= float32(p.Rate) * s.grads[2+i].Val[0] / n // what servers do
		}
		var sum, squares float64
		for _, v := range s.in[0].Val {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		mean += 0.1 * (sum/n - mean)
		square += 0.1 * ((squares-sum*sum/n)/(n-1) - square)
	}
	check(t, "running mean", s.params[2].Val, []float64{mean}, 1e-4)
	check(t, "running variance", s.params[3].Val, []float64{square}, 1e-4)
	if math.Abs(mean-3) > 0.3 || math.Abs(square-4) > 1 {
		t.Errorf("running mean %v and variance %v, want near 3 and 4", mean, square)
	}
	s.x.Train = false
	draw()
	var sum, squares float64
	for _, v := range s.forward(t).Val {
		sum, squares = sum+float64(v)/n, squares+float64(v)*float64(v)/n
	}
	if math.Abs(sum) > 0.5 || math.Abs(squares-1) > 0.6 {
		t.Errorf("prediction has mean %v and mean square %v, want near 0 and 1", sum, squares)
	}
}

// Products of pairs of vectors that stay where they are have the bits of those of copies.
func TestForwardVectors(t *testing.T) {
	for _, kind := range []string{"biinnersumcross", "biinteractioncross"} {
		for _, k := range []int{1, 3, 8, 17} {
			e := setUp(t, build(t, "embedding", Spec{Factors: k}), nil, various, 20)
			if !e.Layer.(graph.Embedder).Vectors() {
				t.Fatal("the embedding does not give a vector for each value")
			}
			u, err := e.Forward(e.x, e.params, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := build(t, kind, Spec{In: []graph.Shape{e.Shape()}}).(graph.VectorReader)
			out, err := l.Forward(e.x, nil, []*graph.Tensor{u})
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(out.Val)
			if out, err = l.ForwardVectors(e.x, e.params[0]); err != nil || !slices.Equal(out.Val, want) || slices.Max(want) == slices.Min(want) {
				t.Errorf("%s of %d factors: %v (%v), want %v", kind, k, out.Val, err, want)
			}
		}
	}
	if build(t, "embedding", Spec{Factors: 2, OutputDim: 8}).(graph.Embedder).Vectors() {
		t.Error("an embedding by fields says that it gives a vector for each value")
	}
}
