package layer

import (
	"fmt"
	"hash/fnv"
	"math"

	"thole.example/graph"
	"thole.example/kernel"
)

// dropout drops outputs at random in training, and scales the others so that their mean stays (Srivastava and others, Dropout: A
// Simple Way to Prevent Neural Networks from Overfitting, 2014, in the form that leaves prediction alone). With p = proba:
//
//	out = x * m / (1-p),  m = 0 with probability p, else 1     // in training; out = x otherwise
//	dx  = grad * m / (1-p)
//
// m is a function of the seed, the layer, the step, the example's place in the batch and the column.
var dropout = Kind{
	Name: "dropoutlayer", Also: []string{"dropout"}, Least: 1, Most: 1,
	Keys: []string{"proba"},
	Help: "drops outputs at random in training: proba",
	New:  newDropout,
}

type drop struct {
	plain
	mask mask
}

func newDropout(s Spec) (graph.Layer, error) {
	in, err := s.flat(0)
	if err != nil {
		return nil, err
	}
	if err := s.check(in.Cols); err != nil {
		return nil, err
	}
	if s.Transfer.Name != "" && s.Transfer.Name != identity.Name && s.Transfer.Name != "dropout" {
		return nil, fmt.Errorf("transfer function %s, want none", s.Transfer.Name)
	}
	proba, given := s.Transfer.Set["proba"]
	if !given {
		proba = 0.5
	}
	l := &drop{plain: plain{name: s.Name, shape: in}}
	l.mask, err = newMask(s.Name, proba)
	return l, err
}

// Forward implements graph.Layer.
func (l *drop) Forward(x *graph.Input, _ []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.out.Resize(in[0].Rows, in[0].Cols)
	copy(l.out.Val, in[0].Val)
	l.mask.apply(x, l.out.Val, l.out.Cols)
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *drop) Backward(x *graph.Input, _, _ []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	l.mask.apply(x, grad.Val, grad.Cols)
	addTo(back[0].Val, grad.Val)
	return nil
}

// mask is what is dropped of a layer's outputs. The zero value drops nothing.
type mask struct {
	proba float64
	layer uint64 // of the layer's name
	most  uint32 // numbers up to it are dropped
}

func newMask(name string, proba float64) (mask, error) {
	if !(proba >= 0 && proba < 1) {
		return mask{}, fmt.Errorf("proba %v, want one in [0, 1)", proba)
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return mask{proba, h.Sum64(), uint32(proba * math.MaxUint32)}, nil
}

// on reports whether something may be dropped of the examples.
func (m *mask) on(x *graph.Input) bool { return x.Train && m.proba > 0 }

// apply sets what is dropped to zero and scales the rest. Rows have n numbers.
func (m *mask) apply(x *graph.Input, v []float32, n int) {
	if !m.on(x) {
		return
	}
	state := kernel.SplitMix(kernel.Mix(x.Salt ^ m.layer)).Skip(x.First * n)
	kernel.Drop(v, state, m.most, float32(1/(1-m.proba)))
}
