package layer

import (
	"fmt"
	"slices"

	"thole.example/graph"
)

// sumPooling adds up the outputs of layers, element by element: out = a + b + ..., da = db = grad.
var sumPooling = Kind{
	Name: "sumpooling", Also: []string{"sumpoolinglayer"}, Least: 1, Most: Many,
	Help: "sum of outputs, element by element",
	New:  func(s Spec) (graph.Layer, error) { return newPooling(s, false, false) },
}

// mulPooling multiplies the outputs of layers, element by element: out = a * b * ..., da = grad times the others. No output is
// divided by, so zeros do no harm.
var mulPooling = Kind{
	Name: "mulpooling", Also: []string{"mulpoolinglayer"}, Least: 1, Most: Many,
	Help: "product of outputs, element by element", Bound: product,
	New: func(s Spec) (graph.Layer, error) { return newPooling(s, true, false) },
}

// dotPooling adds up what mulPooling gives: out = sum over columns of a * b * ..., one number.
var dotPooling = Kind{
	Name: "dotpooling", Also: []string{"dotpolling", "dotpoolinglayer"}, Least: 1, Most: Many,
	Help: "sum over columns of the product of outputs", Bound: dot,
	New: func(s Spec) (graph.Layer, error) { return newPooling(s, true, true) },
}

type pool struct {
	plain
	times, dot bool
	width      int // of the inputs
	in         []*graph.Tensor
	rest       []float32 // scratch: of a product, what comes after each input
}

func newPooling(s Spec, times, dot bool) (graph.Layer, error) {
	l := &pool{plain: plain{name: s.Name}, times: times, dot: dot}
	for i := range s.In {
		in, err := s.flat(i)
		if err != nil {
			return nil, err
		}
		if i > 0 && in.Cols != l.width {
			return nil, fmt.Errorf("reads layers of %d and %d outputs, want the same of all", l.width, in.Cols)
		}
		l.width = in.Cols
	}
	l.shape.Cols = l.width
	if dot {
		l.shape.Cols = 1
	}
	return l, s.check(l.shape.Cols)
}

// Forward implements graph.Layer.
func (l *pool) Forward(x *graph.Input, _ []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.in = append(l.in[:0], in...)
	l.out.Resize(x.Len(), l.shape.Cols)
	switch {
	case !l.times:
		copy(l.out.Val, in[0].Val)
		for _, t := range in[1:] {
			addTo(l.out.Val, t.Val)
		}
	case !l.dot:
		copy(l.out.Val, in[0].Val)
		for _, t := range in[1:] {
			multiply(l.out.Val, t.Val)
		}
	default:
		l.rest = resize(l.rest, l.width)
		for row := range x.Len() {
			copy(l.rest, in[0].Row(row))
			for _, t := range in[1:] {
				multiply(l.rest, t.Row(row))
			}
			sum := float32(0)
			for _, v := range l.rest {
				sum += v
			}
			l.out.Val[row] = sum
		}
	}
	return &l.out, nil
}

// multiply multiplies t by v, element by element.
func multiply(t, v []float32) {
	for i, f := range v[:len(t)] {
		t[i] *= f
	}
}

// Backward implements graph.Layer.
func (l *pool) Backward(x *graph.Input, _, _ []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	if !l.times {
		for _, t := range back {
			addTo(t.Val, grad.Val)
		}
		return nil
	}
	n := l.width
	l.rest = resize(l.rest, n*len(l.in))
	before := make([]float32, n)
	for row := range x.Len() {
		g := grad.Row(row)
		if l.dot {
			g = slices.Repeat(g, n)
		}
		after := l.rest[(len(l.in)-1)*n:]
		copy(after, g)
		for i := len(l.in) - 1; i > 0; i-- { // products of the gradient with all inputs behind one
			at := l.rest[(i-1)*n:]
			copy(at[:n], after[:n])
			multiply(at[:n], l.in[i].Row(row))
			after = at
		}
		for i, t := range back {
			to, rest := t.Row(row), l.rest[i*n:][:n]
			for c := range to {
				if i == 0 {
					before[c] = 1
				}
				to[c] += float32(before[c] * rest[c])
				before[c] *= l.in[i].Row(row)[c]
			}
		}
	}
	return nil
}
