package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/interp"
	"thole.example/matrix"
	"thole.example/program"
	"thole.example/program/export"
)

// The networks of the tests have so many features, fields and factors.
const (
	features = 12
	fields   = 4
	factors  = 3
	pairs    = fields * (fields - 1) / 2
)

// example is the features of an example.
type example struct {
	ids  []int
	vals []float64
}

// network is a graph.json and what it computes, in plain loops over the matrices.
type network struct {
	name   string
	layers string
	save   func(s *saved)
	score  func(s *saved, x example) []float64
	head   func(score []float64) []float64 // nil: the score is the prediction
	dense  bool                            // can be fed densely
	open   bool                            // the number of fields may be any
}

const (
	wide = `{"name":"input","type":"SimpleInputLayer","outputdim":1,"transfunc":{"type":"Identity"}}`
	emb  = `{"name":"embedding","type":"Embedding","outputdim":12,"numfactors":3,"optimizer":{"type":"Momentum","momentum":0.9}}`
	fc   = `{"name":"fclayer","type":"FCLayer","outputdims":[5,4,1],"inputlayer":%q,` +
		`"transfuncs":[{"type":"Relu"},{"type":"tanh"},{"type":"Identity"}]}`
	end = `{"name":"loss","type":"SimpleLossLayer","outputdim":-1,"inputlayer":%q,"lossfunc":{"type":%q}}`
)

func pool(names ...string) string {
	list, _ := json.Marshal(names)
	return fmt.Sprintf(`{"name":"sumPooling","type":"SumPooling","outputdim":1,"inputlayers":%s}`, list)
}

func saveWide(s *saved) {
	s.add("input_weight", 3, features) // rows 1 and 2 are state of the optimizer
	s.add("input_bias", 1, 1)
}

func saveFC(inputs int64) func(s *saved) {
	return func(s *saved) {
		saveWide(s)
		s.add("embedding_embedding", 2*factors, features).Saved = []matrix.Range{{Hi: factors}} // the others are slots
		width := inputs
		for i, n := range []int64{5, 4, 1} {
			name := []string{"fclayer_0", "fclayer_1", "fclayer"}[i]
			s.add(name+"_weight", 2, width*n)
			s.add(name+"_bias", 1, n)
			width = n
		}
	}
}

// linear is the wide part.
func linear(s *saved, x example) float64 {
	sum := s.at("input_bias", 0, 0)
	for i, id := range x.ids {
		sum += s.at("input_weight", 0, id) * x.vals[i]
	}
	return sum
}

// vectors are the embedded features, each times its value.
func vectors(s *saved, x example) [][]float64 {
	all := make([][]float64, len(x.ids))
	for i, id := range x.ids {
		for f := range factors {
			all[i] = append(all[i], s.at("embedding_embedding", f, id)*x.vals[i])
		}
	}
	return all
}

// products are the inner products of all pairs.
func products(u [][]float64) (all []float64) {
	for i := range u {
		for j := i + 1; j < len(u); j++ {
			p := 0.0
			for f := range u[i] {
				p += u[i][f] * u[j][f]
			}
			all = append(all, p)
		}
	}
	return all
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// affine is one fully connected layer, whose weights lie input by input.
func affine(s *saved, name string, x []float64, width int) []float64 {
	out := make([]float64, width)
	for o := range out {
		out[o] = s.at(name+"_bias", 0, o)
		for i, v := range x {
			out[o] += v * s.at(name+"_weight", 0, i*width+o)
		}
	}
	return out
}

// deep is the three fully connected layers.
func deep(s *saved, x []float64) float64 {
	a := affine(s, "fclayer_0", x, 5)
	for i, v := range a {
		a[i] = max(v, 0)
	}
	b := affine(s, "fclayer_1", a, 4)
	for i, v := range b {
		b[i] = math.Tanh(v)
	}
	return affine(s, "fclayer", b, 1)[0]
}

func one(v float64) []float64 { return []float64{v} }

func sigmoid(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = 1 / (1 + math.Exp(-x))
	}
	return out
}

func softmax(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Exp(x)
	}
	sum := total(out)
	for i := range out {
		out[i] /= sum
	}
	return out
}

// several is a simple input of several outputs whose weights have a row for each.
func several(s *saved, name string, x example, n int) []float64 {
	out := make([]float64, n)
	for o := range out {
		out[o] = s.at(name+"_bias", 0, o)
		for i, id := range x.ids {
			out[o] += s.at(name+"_weight", o, id) * x.vals[i]
		}
	}
	return out
}

func networks() []network {
	list := func(parts ...string) string { return strings.Join(parts, ",") }
	score := func(s *saved, x example) []float64 { return one(linear(s, x)) }
	return []network{
		{"lr", list(wide, fmt.Sprintf(end, "input", "LogLoss")), saveWide, score, sigmoid, true, true},
		{"linreg", list(wide, fmt.Sprintf(end, "input", "L2Loss")), saveWide, score, nil, true, true},
		{"robust", list(wide, fmt.Sprintf(end, "input", "HuberLoss")), saveWide, score, nil, true, true},
		{"svm", list(wide, fmt.Sprintf(end, "input", "HingeLoss")), saveWide, score, nil, true, true},
		{"softmax", list(`{"name":"input","type":"simpleinputlayer","outputdim":3,"transfunc":"identity"}`, fmt.Sprintf(end, "input", "softmaxloss")),
			func(s *saved) { s.add("input_weight", 3, features); s.add("input_bias", 1, 3) },
			func(s *saved, x example) []float64 { return several(s, "input", x, 3) }, softmax, true, true},
		{"mlr", list(`{"name":"sg","type":"sparseinputlayer","outputdim":3,"transfunc":"sigmoid"}`,
			`{"name":"sm","type":"sparseinputlayer","outputdim":3,"transfunc":"softmax"}`,
			`{"name":"dot","type":"DotPooling","outputdim":1,"inputlayers":["sg","sm"]}`, fmt.Sprintf(end, "dot", "crossentropyloss")),
			func(s *saved) {
				for _, n := range []string{"sg", "sm"} {
					s.add(n+"_weight", 3, features)
					s.add(n+"_bias", 1, 3)
				}
			},
			func(s *saved, x example) []float64 {
				p, sum := sigmoid(several(s, "sg", x, 3)), 0.0
				for i, w := range softmax(several(s, "sm", x, 3)) {
					sum += p[i] * w
				}
				return one(sum)
			}, nil, true, true},
		{"dnn", list(`{"name":"input","type":"simpleinputlayer","outputdim":6,"transfunc":"relu"}`, fmt.Sprintf(fc, "input"), fmt.Sprintf(end, "fclayer", "logloss")),
			func(s *saved) {
				saveFC(6)(s)
				s.metas = s.metas[3:]
				s.add("input_weight", 6, features)
				s.add("input_bias", 1, 6)
			},
			func(s *saved, x example) []float64 {
				h := several(s, "input", x, 6)
				for i, v := range h {
					h[i] = max(v, 0)
				}
				return one(deep(s, h))
			}, sigmoid, true, true},
		{"fm", list(wide, emb, `{"name":"cross","type":"BiInnerSumCross","inputlayer":"embedding","outputdim":13}`, pool("input", "cross"), fmt.Sprintf(end, "sumPooling", "logloss")),
			saveFC(1), func(s *saved, x example) []float64 { return one(linear(s, x) + total(products(vectors(s, x)))) }, sigmoid, false, true},
		{"deepfm", list(wide, emb, `{"name":"innerSumPooling","type":"BiInnerSumCross","inputlayer":"embedding","outputdim":1}`, fmt.Sprintf(fc, "embedding"),
			pool("input", "innerSumPooling", "fclayer"), fmt.Sprintf(end, "sumPooling", "LogLoss")),
			saveFC(fields * factors), func(s *saved, x example) []float64 {
				u := vectors(s, x)
				return one(linear(s, x) + total(products(u)) + deep(s, slices.Concat(u...)))
			}, sigmoid, false, false},
		{"wide&deep", list(fmt.Sprintf(end, "sumPooling", "LogLoss"), pool("input", "fclayer"), fmt.Sprintf(fc, "embedding"), emb, wide),
			saveFC(fields * factors), func(s *saved, x example) []float64 {
				return one(linear(s, x) + deep(s, slices.Concat(vectors(s, x)...)))
			}, sigmoid, false, false},
		{"nfm", list(wide, emb, `{"name":"bi","type":"BiInteractionCross","inputlayer":"embedding","outputdim":3}`, fmt.Sprintf(fc, "bi"),
			pool("input", "fclayer"), fmt.Sprintf(end, "sumPooling", "LogLoss")),
			saveFC(factors), func(s *saved, x example) []float64 {
				u, bi := vectors(s, x), make([]float64, factors)
				for i := range u {
					for j := i + 1; j < len(u); j++ {
						for f := range bi {
							bi[f] += u[i][f] * u[j][f]
						}
					}
				}
				return one(linear(s, x) + deep(s, bi))
			}, sigmoid, false, true},
		{"pnn", list(wide, emb, `{"name":"ip","type":"BiInnerCross","inputlayer":"embedding","outputdim":6}`,
			`{"name":"cat","type":"ConcatLayer","outputdim":18,"inputlayers":["embedding","ip"]}`, fmt.Sprintf(fc, "cat"),
			pool("input", "fclayer"), fmt.Sprintf(end, "sumPooling", "LogLoss")),
			saveFC(fields*factors + pairs), func(s *saved, x example) []float64 {
				u := vectors(s, x)
				return one(linear(s, x) + deep(s, append(slices.Concat(u...), products(u)...)))
			}, sigmoid, false, false},
		{"product", list(wide, `{"name":"other","type":"simpleinputlayer","outputdim":1,"transfunc":"sigmoid"}`,
			`{"name":"mul","type":"MulPooling","outputdim":1,"inputlayers":["input","other","input"]}`, fmt.Sprintf(end, "mul", "l2loss")),
			func(s *saved) { saveWide(s); s.add("other_weight", 1, features); s.add("other_bias", 1, 1) },
			func(s *saved, x example) []float64 {
				l := linear(s, x)
				return one(l * sigmoid(several(s, "other", x, 1))[0] * l)
			}, nil, true, true},
	}
}

// examples are made-up examples of n fields; the first ids are 0 and the last ones the largest.
func examples(n int) []example {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	all := make([]example, 5)
	for i := range all {
		ids := rng.Perm(features)[:n]
		slices.Sort(ids)
		all[i].ids = ids
		for range ids {
			all[i].vals = append(all[i].vals, float64(float32(rng.NormFloat64())))
		}
	}
	all[0].ids[0], all[1].ids[n-1] = 0, features-1
	return all
}

// feeds puts examples into the form that the machine wants; in the sparse form one more place is filled up if open.
func feeds(m *interp.Machine, all []example, open bool) map[string]*interp.Tensor {
	if m.Inputs()[0].Name == "x" {
		x := make([]float32, len(all)*features)
		for i, e := range all {
			for k, id := range e.ids {
				x[i*features+id] = float32(e.vals[k])
			}
		}
		return map[string]*interp.Tensor{"x": interp.Floats(x, len(all), features)}
	}
	width := len(all[0].ids)
	if open {
		width++
	}
	ids, vals := make([]int64, len(all)*width), make([]float32, len(all)*width)
	for i, e := range all {
		for k, id := range e.ids {
			ids[i*width+k], vals[i*width+k] = int64(id), float32(e.vals[k])
		}
	}
	return map[string]*interp.Tensor{"ids": interp.Ints(ids, len(all), width), "vals": interp.Floats(vals, len(all), width)}
}

// machine runs what an export gives, after its bytes were written and read.
func machine(t testing.TB, m *export.Model) *interp.Machine {
	t.Helper()
	ctx := context.Background()
	r, err := m.Reader("__model__")
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Decode(r.Files()["__model__"])
	if err != nil {
		t.Fatal(err)
	}
	params, err := interp.Params(ctx, r, p)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := interp.New(p, params)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

func parse(t testing.TB, layers string) *graph.File {
	t.Helper()
	f, err := graph.ParseJSON([]byte(`{"data":{"format":"dummy","indexrange":12,"numfield":4},"layers":[` + layers + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// near holds values to those of the plain loops.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 1e-6*(1+math.Abs(w)) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// TestNetworks compares what programs give with the same computed in plain loops.
func TestNetworks(t *testing.T) {
	for _, n := range networks() {
		t.Run(n.name, func(t *testing.T) {
			s := &saved{}
			n.save(s)
			var score, prediction []float64
			all := examples(fields)
			for _, x := range all {
				one := n.score(s, x)
				score = append(score, one...)
				if n.head != nil {
					one = n.head(one)
				}
				prediction = append(prediction, one...)
			}
			kinds := []export.Feed{export.FeedSparse}
			if n.dense {
				kinds = append(kinds, export.FeedDense)
			}
			for _, feed := range kinds {
				var machines []*interp.Machine
				for _, form := range []program.Form{program.FormDesc, program.FormPIR} {
					model, err := export.New(context.Background(), parse(t, n.layers), s, export.Options{Feed: feed, Form: form})
					if err != nil {
						t.Fatal(err)
					}
					if model.Program.Form != form {
						t.Fatalf("a %s, want a %s", model.Program.Form, form)
					}
					m := machine(t, model)
					machines = append(machines, m)
					width := int64(features)
					if feed == export.FeedSparse {
						if width = fields; n.open {
							width = -1
						}
					}
					for _, in := range m.Inputs() {
						if !slices.Equal(in.Dims, []int64{-1, width}) {
							t.Errorf("input %s of shape %v, want any number of examples and %d values", in.Name, in.Dims, width)
						}
					}
					got, err := m.Run(context.Background(), feeds(m, all, n.open))
					if err != nil {
						t.Fatal(err)
					}
					if got[0].Name != "prediction" || (len(got) == 2) != (n.head != nil) {
						t.Fatalf("outputs %v", m.Outputs())
					}
					near(t, string(feed)+" prediction", got[0].Tensor.F, prediction)
					if n.head != nil {
						near(t, string(feed)+" score", got[1].Tensor.F, score)
					}
				}
				if err := interp.Compare(context.Background(), machines[0], machines[1], 3); err != nil && !errors.Is(err, interp.ErrRun) {
					t.Errorf("%s: PIR computes other bits: %v", feed, err)
				}
			}
		})
	}
}
