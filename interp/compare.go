package interp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"thole.example/matrix"
)

// unknownSize is what dimensions of any size have in made-up inputs.
const unknownSize = 3

// Compare runs both machines on rounds made-up inputs and reports the first output whose bits differ. Inputs depend on
// nothing but their shapes; ids are 0 and 1. An error that wraps ErrRun says that a could not be run on them.
func Compare(ctx context.Context, a, b *Machine, rounds int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		feeds := map[string]*Tensor{}
		for _, in := range a.inputs {
			t, err := in.sample(rng)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrRun, err)
			}
			feeds[in.Name] = t
		}
		want, err := a.Run(ctx, feeds)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRun, err)
		}
		got, err := b.Run(ctx, feeds)
		if err != nil {
			return err
		}
		if err := same(got, want); err != nil {
			return err
		}
	}
	return nil
}

// ErrRun says that a comparison could not be made.
var ErrRun = errors.New("no run on made-up inputs")

// sample makes an input of the port's shape.
func (p *Port) sample(rng *rand.Rand) (*Tensor, error) {
	if p.Dims == nil {
		return nil, fmt.Errorf("input %q of unknown shape", p.Name)
	}
	dims := make([]int, len(p.Dims))
	for i, d := range p.Dims {
		dims[i] = unknownSize
		if d >= 0 {
			dims[i] = int(min(d, maxElems+1))
		}
	}
	t, err := (&Tensor{Type: p.Type}).like(dims)
	if err != nil {
		return nil, err
	}
	for i := range t.F {
		t.F[i] = float32(rng.NormFloat64())
	}
	for i := range t.I {
		t.I[i] = int64(rng.IntN(2))
	}
	return t, nil
}

// same compares results by name, shape and bits.
func same(got, want []Result) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.Tensor.Type != w.Tensor.Type || fmt.Sprint(g.Tensor.Dims) != fmt.Sprint(w.Tensor.Dims) {
			return fmt.Errorf("output %d is %q %s, want %q %s", i, g.Name, g.Tensor.text(), w.Name, w.Tensor.text())
		}
		for k := range w.Tensor.Len() {
			if w.Tensor.Type == matrix.F32 {
				if math.Float32bits(g.Tensor.F[k]) != math.Float32bits(w.Tensor.F[k]) {
					return fmt.Errorf("output %q, value %d is %v, want %v", w.Name, k, g.Tensor.F[k], w.Tensor.F[k])
				}
			} else if g.Tensor.I[k] != w.Tensor.I[k] {
				return fmt.Errorf("output %q, value %d is %v, want %v", w.Name, k, g.Tensor.I[k], w.Tensor.I[k])
			}
		}
	}
	return nil
}
