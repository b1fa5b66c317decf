package layer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/graph"
)

// examples says how examples look.
type examples int

const (
	various examples = iota // any number of values, fields are not known
	each                    // one value in each field, fields are not known
	places                  // one value in each field, which are known
	loose                   // fields are known; some are missing, some have several values
)

// fields is how many fields examples with fields have, each of span columns.
const (
	fields = 4
	span   = 5
)

// rows makes n examples, whose first stored value is not the first in memory.
func (e examples) rows(rng *rand.Rand, n int) *graph.Input {
	x := &graph.Input{Ptr: []int{2}, Idx: []int64{-1, -1}, Val: []float32{99, 99}, First: 3, Salt: 5}
	if e == places || e == loose {
		x.Field, x.Fields = []int32{9, 9}, fields
	}
	add := func(f int) {
		x.Idx = append(x.Idx, int64(f*span+rng.IntN(span)))
		x.Val = append(x.Val, float32(rng.NormFloat64()))
		if x.Field != nil {
			x.Field = append(x.Field, int32(f))
		}
	}
	for range n {
		for f := range fields {
			count := 1
			if e == various || e == loose {
				count = rng.IntN(3)
			}
			for range count {
				add(f)
			}
		}
		x.Ptr, x.Label = append(x.Ptr, len(x.Idx)), append(x.Label, 0)
	}
	return x
}

// fixture is a layer with everything that it computes with.
type fixture struct {
	graph.Layer
	x             *graph.Input
	params, grads []graph.Values
	in, back      []*graph.Tensor
	up            *graph.Tensor // gradient by the output
}

// before is what gradients are before Backward, which adds to them.
const before = 0.5

// fill sets all values to random ones.
func fill(rng *rand.Rand, v []float32) {
	for i := range v {
		v[i] = float32(rng.NormFloat64() / 2)
	}
}

// setUp makes a fixture of n examples with random parameters and inputs.
func setUp(t testing.TB, l graph.Layer, in []graph.Shape, e examples, n int) *fixture {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	s := &fixture{Layer: l, x: e.rows(rng, n)}
	for _, p := range l.Params() {
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		v := graph.Values{}
		cols := int(p.Cols)
		if p.Features {
			if v.At = columns(s.x.Idx, p.Whole()); !p.Whole() {
				cols = int(slices.Max(v.At)) + 1
			}
		}
		v.Val = make([]float32, int(p.Rows)*cols)
		fill(rng, v.Val)
		if p.Name == "l_var" {
			for i := range v.Val {
				v.Val[i] = 1 + v.Val[i]*v.Val[i]
			}
		}
		s.params = append(s.params, v)
		s.grads = append(s.grads, graph.Values{At: v.At, Val: slices.Repeat([]float32{before}, len(v.Val))})
	}
	for _, shape := range in {
		var a, b *graph.Tensor
		if shape.Ragged {
			a = graph.NewTensor(s.x.Ptr[n]-s.x.Ptr[0], shape.Factors)
		} else {
			a = graph.NewTensor(n, shape.Cols)
		}
		fill(rng, a.Val)
		b = &graph.Tensor{Rows: a.Rows, Cols: a.Cols, Val: slices.Repeat([]float32{before}, len(a.Val))}
		s.in, s.back = append(s.in, a), append(s.back, b)
	}
	return s
}

// columns is where columns are: among all of them, or among those that occur.
func columns(idx []int64, whole bool) []uint32 {
	at := make([]uint32, len(idx))
	if whole {
		for i, c := range idx {
			at[i] = uint32(max(c, 0))
		}
		return at
	}
	var x graph.Index
	x.Build(idx)
	return x.Positions(at[:0])
}

// forward is a copy of the output.
func (s *fixture) forward(t testing.TB) *graph.Tensor {
	t.Helper()
	out, err := s.Forward(s.x, s.params, s.in)
	if err != nil {
		t.Fatal(err)
	}
	return &graph.Tensor{Rows: out.Rows, Cols: out.Cols, Val: slices.Clone(out.Val)}
}

// value is the sum of the outputs, each times its number in up, which is made if there is none.
func (s *fixture) value(t testing.TB) (sum float64) {
	t.Helper()
	out := s.forward(t)
	if s.up == nil {
		s.up = graph.NewTensor(out.Rows, out.Cols)
		fill(rand.New(rand.NewPCG(3, 4)), s.up.Val)
	}
	for i, v := range out.Val {
		sum += float64(v) * float64(s.up.Val[i])
	}
	return sum
}

// backward goes back along up.
func (s *fixture) backward(t testing.TB) {
	t.Helper()
	up := &graph.Tensor{Rows: s.up.Rows, Cols: s.up.Cols, Val: slices.Clone(s.up.Val)} // which the layer may change
	if err := s.Backward(s.x, s.params, s.grads, up, s.back); err != nil {
		t.Fatal(err)
	}
}

// slope is how the value changes with v. Where that jumps, as at zero of a relu, it is the side that is nearer to want.
func (s *fixture) slope(t testing.TB, v *float32, want float64) float64 {
	t.Helper()
	const h = 1.0 / 512
	old := *v
	at := s.value(t)
	*v = old + h
	up := (s.value(t) - at) / h
	*v = old - h
	down := (at - s.value(t)) / h
	*v = old
	mean := (up + down) / 2
	if math.Abs(up-down) < 0.05*(1+math.Abs(mean)) {
		return mean
	}
	return max(min(want, max(up, down)), min(up, down))
}

// featured is the spec with weights of features that are stored whole, or column by column.
func featured(s Spec, sparse bool) Spec {
	if s.Dim, s.Sparse = fields*span, sparse; sparse {
		s.Dim = math.MaxInt64
	}
	return s
}

func check(t testing.TB, what string, got []float32, want []float64, within float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values %v, want %d: %v", what, len(got), got, len(want), want)
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= within*(1+math.Abs(w))) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// build makes a layer of a kind, called l.
func build(t testing.TB, kind string, s Spec) graph.Layer {
	t.Helper()
	k, err := Find(nil, kind)
	if err != nil {
		t.Fatal(err)
	}
	s.Name = "l"
	l, err := k.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
