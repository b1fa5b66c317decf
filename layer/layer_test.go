package layer

import (
	"math"
	"slices"
	"testing"
)

// Every kind has cases.
func TestCases(t *testing.T) {
	for _, k := range Kinds() {
		if !slices.ContainsFunc(cases(), func(c layerCase) bool { return c.kind == k.Name }) {
			t.Errorf("no cases of %s", k.Name)
		}
	}
}

// The gradients of every layer are the slopes of a weighted sum of its outputs, by all parameters and inputs, in training and
// without; they are added to what is there, and nothing else changes.
func TestGradient(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name(), func(t *testing.T) {
			for _, train := range []bool{false, true} {
				if c.train && !train {
					continue
				}
				s := setUp(t, build(t, c.kind, c.spec), c.spec.In, c.examples, 5)
				s.x.Train = train
				s.value(t)
				was := s.all()
				s.backward(t)
				if !slices.EqualFunc(was, s.all(), slices.Equal) {
					t.Fatal("parameters or inputs are changed")
				}
				slopes := func(what string, val, grad []float32) {
					for i := range val {
						got := float64(grad[i]) - before
						if want := s.slope(t, &val[i], got); math.Abs(got-want) > 3e-3*(1+math.Abs(want)) {
							t.Errorf("train %v, %s, value %d: gradient %v, slope %v", train, what, i, got, want)
						}
					}
				}
				for i, p := range s.Params() {
					if !p.Fixed {
						slopes(p.Name, s.params[i].Val, s.grads[i].Val)
					}
				}
				for i := range s.in {
					slopes("input", s.in[i].Val, s.back[i].Val)
				}
			}
		})
	}
}

// all is a copy of all parameters and inputs.
func (s *fixture) all() (all [][]float32) {
	for _, v := range s.params {
		all = append(all, slices.Clone(v.Val))
	}
	for _, in := range s.in {
		all = append(all, slices.Clone(in.Val))
	}
	return all
}

// The output has the shape that the layer says.
func TestShape(t *testing.T) {
	for _, c := range cases() {
		s := setUp(t, build(t, c.kind, c.spec), c.spec.In, c.examples, 3)
		shape, out := s.Shape(), s.forward(t)
		rows, cols := s.x.Len(), shape.Cols
		if shape.Ragged {
			rows, cols = s.x.Ptr[3]-s.x.Ptr[0], shape.Factors
		}
		if out.Rows != rows || out.Cols != cols || len(out.Val) != rows*cols || shape.Factors > 0 && cols%shape.Factors != 0 {
			t.Errorf("%s: output of %d x %d, shape %+v", c.name(), out.Rows, out.Cols, shape)
		}
	}
}

// No examples are no error, and what is no number stays so: outputs and gradients that it has a part in are none either.
func TestNoNumber(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range cases() {
		none := setUp(t, build(t, c.kind, c.spec), c.spec.In, c.examples, 0)
		if out := none.forward(t); len(out.Val) != 0 {
			t.Errorf("%s: outputs %v of no examples", c.name(), out.Val)
		}
		s := setUp(t, build(t, c.kind, c.spec), c.spec.In, c.examples, 5)
		s.x.Train = c.train
		s.value(t)
		good := s.forward(t)
		s.backward(t)
		again := setUp(t, s.Layer, c.spec.In, c.examples, 5)
		again.up, again.x.Train = s.up, s.x.Train
		again.forward(t)
		for i := range again.up.Val {
			again.up.Val[i] = nan
		}
		again.backward(t)
		wantNaN := func(what string, was, is []float32, idle float32) {
			for i, v := range was {
				if v != idle && is[i] == is[i] {
					t.Errorf("%s: %s %d is %v", c.name(), what, i, is[i])
				}
			}
		}
		for i, p := range s.Params() {
			if !p.Fixed {
				wantNaN("gradient by parameters", s.grads[i].Val, again.grads[i].Val, before)
			}
		}
		for i := range s.back {
			wantNaN("gradient by inputs", s.back[i].Val, again.back[i].Val, before)
		}
		for i := range s.params {
			copy(s.params[i].Val, slices.Repeat([]float32{nan}, len(s.params[i].Val)))
		}
		for i := range s.in {
			copy(s.in[i].Val, slices.Repeat([]float32{nan}, len(s.in[i].Val)))
		}
		wantNaN("output", good.Val, s.forward(t).Val, 0)
	}
}

// Weights of features compute the same whether all columns are there or those that occur.
func TestColumnsEqualAll(t *testing.T) {
	for _, c := range cases() {
		if c.spec.Dim != fields*span {
			continue
		}
		all := setUp(t, build(t, c.kind, c.spec), nil, c.examples, 30)
		some := setUp(t, build(t, c.kind, featured(c.spec, true)), nil, c.examples, 30)
		for i, p := range all.Params() {
			if !p.Features {
				copy(some.params[i].Val, all.params[i].Val)
				continue
			}
			n := int(p.Rows)
			for v, at := range some.params[i].At[2:] {
				copy(some.params[i].Val[int(at)*n:][:n], all.params[i].Val[int(all.params[i].At[v+2])*n:][:n])
			}
		}
		all.value(t)
		if some.up = all.up; some.value(t) != all.value(t) {
			t.Errorf("%s: other outputs", c.name())
		}
		all.backward(t)
		some.backward(t)
		for i, p := range all.Params() {
			n := int(p.Rows)
			for v, at := range some.params[i].At {
				a, b := all.grads[i].Val[int(all.grads[i].At[v])*n:][:n], some.grads[i].Val[int(at)*n:][:n]
				if v >= 2 && !slices.Equal(a, b) {
					t.Errorf("%s: gradient %v by one of the columns that occur, %v by one of all", c.name(), b, a)
				}
			}
		}
	}
}
