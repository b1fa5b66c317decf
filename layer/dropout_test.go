package layer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thole.example/graph"
)

// dropping is a layer that drops ones, for rows of n.
func dropping(t *testing.T, name string, n int, proba float64) graph.Layer {
	t.Helper()
	l, err := newDropout(Spec{Name: name, In: []graph.Shape{{Cols: n}}, Transfer: Choice{Set: map[string]float64{"proba": proba}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// masked is what the layer makes of ones.
func masked(t *testing.T, l graph.Layer, rows int, x graph.Input) []float32 {
	t.Helper()
	n := l.Shape().Cols
	x.Ptr = make([]int, rows+1)
	ones := &graph.Tensor{Rows: rows, Cols: n, Val: slices.Repeat([]float32{1}, rows*n)}
	out, err := l.Forward(&x, nil, []*graph.Tensor{ones})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out.Val)
}

// As many outputs are dropped as asked for, of all columns alike, and the others scaled so that the mean stays.
func TestDropout(t *testing.T) {
	const rows, n = 2000, 5
	for _, proba := range []float64{0, 0.1, 0.5, 0.9} {
		l := dropping(t, "d", n, proba)
		out := masked(t, l, rows, graph.Input{Train: true, Salt: 7})
		var mean [n]float64
		for i, v := range out {
			if v != 0 && math.Abs(float64(v)*(1-proba)-1) > 1e-6 {
				t.Fatalf("proba %v: output %v", proba, v)
			}
			mean[i%n] += float64(v) / rows
		}
		within := 4 * math.Sqrt(proba/(1-proba)/rows) // deviations
		for c, m := range mean {
			if math.Abs(m-1) > within+1e-6 {
				t.Errorf("proba %v: column %d has mean %v, want 1 within %v", proba, c, m, within)
			}
		}
		if plain := masked(t, l, rows, graph.Input{Salt: 7}); slices.ContainsFunc(plain, func(v float32) bool { return v != 1 }) {
			t.Errorf("proba %v: prediction drops", proba)
		}
	}
}

// What is dropped is a function of salt, layer and the example's place in the batch: blocks of a batch drop what the whole does.
func TestDropoutMasks(t *testing.T) {
	const rows, n = 64, 3
	l := dropping(t, "d", n, 0.5)
	whole := masked(t, l, rows, graph.Input{Train: true, Salt: 7})
	var blocks []float32
	for first := 0; first < rows; first += 16 {
		blocks = append(blocks, masked(t, dropping(t, "d", n, 0.5), 16, graph.Input{Train: true, Salt: 7, First: first})...)
	}
	if !slices.Equal(whole, blocks) {
		t.Error("blocks of a batch drop something else than the whole batch")
	}
	for what, other := range map[string][]float32{
		"salt":  masked(t, l, rows, graph.Input{Train: true, Salt: 8}),
		"layer": masked(t, dropping(t, "e", n, 0.5), rows, graph.Input{Train: true, Salt: 7}),
		"place": masked(t, l, rows, graph.Input{Train: true, Salt: 7, First: 1}),
	} {
		same := 0
		for i, v := range other {
			if v == whole[i] {
				same++
			}
		}
		if fair := rows * n / 2; same < fair-40 || same > fair+40 {
			t.Errorf("with another %s %d of %d outputs share their fate, want about half", what, same, rows*n)
		}
	}
}

// A transfer function with dropout is the function and a dropout layer behind it, forward and backward.
func TestTransferWithDropout(t *testing.T) {
	for _, name := range []string{"sigmoid", "tanh", "relu"} {
		in := []graph.Shape{{Cols: 3}}
		one := setUp(t, build(t, "fclayer", Spec{OutputDim: 4, In: in, Transfer: Choice{name + "withdropout", map[string]float64{"proba": 0.3}}}), in, each, 9)
		two := setUp(t, build(t, "fclayer", Spec{OutputDim: 4, In: in, Transfer: Choice{Name: name}}), in, each, 9)
		drop := dropping(t, "l", 4, 0.3)
		one.x.Train, two.x.Train = true, true
		one.value(t)
		mid := two.forward(t)
		out, err := drop.Forward(two.x, nil, []*graph.Tensor{mid})
		if err != nil {
			t.Fatal(err)
		}
		check(t, name, one.forward(t).Val, wide(out.Val), 1e-6)
		two.up = graph.NewTensor(9, 4)
		up := &graph.Tensor{Rows: 9, Cols: 4, Val: slices.Clone(one.up.Val)}
		if err := drop.Backward(two.x, nil, nil, up, []*graph.Tensor{two.up}); err != nil {
			t.Fatal(err)
		}
		one.backward(t)
		two.backward(t)
		for i := range one.grads {
			check(t, fmt.Sprintf("%s, gradient %d", name, i), one.grads[i].Val, wide(two.grads[i].Val), 1e-5)
		}
	}
}
