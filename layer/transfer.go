package layer

import (
	"fmt"
	"math"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/kernel"
)

// Transfer is a transfer function, applied to the sums of a layer.
type Transfer struct {
	Name string
	Help string
	// Drops says that outputs are dropped at random in training: setting proba.
	Drops bool
	// Bound is what is known of the outputs.
	Bound Bound
	// Apply changes the sums v, rows of n, into outputs.
	Apply func(v []float32, n int)
	// Slope multiplies the gradients g by the outputs out with the derivative, in place.
	Slope func(out, g []float32, n int)
	// Inverse is the sum that leads to an output, NaN if none does; nil: there is no such function.
	Inverse func(out float64) float64
}

// Transfers is the table of transfer functions, a new slice on every call.
func Transfers() []Transfer {
	all := []Transfer{identity, sigmoid, tanh, relu, softmax}
	for _, t := range []Transfer{identity, sigmoid, tanh, relu} {
		t.Name, t.Drops, t.Bound, t.Inverse = t.Name+"withdropout", true, Unbounded, nil // those that are kept are scaled
		if t.Name == "identitywithdropout" {
			t.Name = "dropout"
		}
		t.Help += ", dropped in training with probability proba"
		all = append(all, t)
	}
	return all
}

// FindTransfer is the transfer function of that name, in letters of any case; the empty name is the identity.
func FindTransfer(name string) (*Transfer, error) {
	if name == "" {
		return &identity, nil
	}
	all := Transfers()
	names := make([]string, len(all))
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, spell.Unknown("transfer function", name, names)
}

var identity = Transfer{
	Name: "identity", Help: "v",
	Apply: func([]float32, int) {},
	Slope: func(_, _ []float32, _ int) {},

	Inverse: func(out float64) float64 { return out },
}

var sigmoid = Transfer{
	Name: "sigmoid", Help: "1/(1+exp(-v))", Bound: Unit,
	Apply: func(v []float32, _ int) { kernel.Sigmoid(v, v) },
	Slope: func(out, g []float32, _ int) { kernel.SigmoidGrad(out, g, g) },

	Inverse: func(out float64) float64 { return math.Log(out / (1 - out)) },
}

var tanh = Transfer{
	Name: "tanh", Help: "the hyperbolic tangent",
	Apply: func(v []float32, _ int) { kernel.Tanh(v, v) },
	Slope: func(out, g []float32, _ int) { kernel.TanhGrad(out, g, g) },

	Inverse: math.Atanh,
}

var relu = Transfer{
	Name: "relu", Help: "max(v, 0), slope 0 at 0",
	Apply: func(v []float32, _ int) { kernel.Relu(v, v) },
	Slope: func(out, g []float32, _ int) { kernel.ReluGrad(out, g, g) },
}

// softmax is exp(v_j) / sum of exp(v_i) over the outputs of an example; the largest is taken off first, so that none is too
// large. With p the outputs, the gradient by v_j is p_j * (g_j - sum of p_i*g_i).
var softmax = Transfer{
	Name: "softmax", Help: "exp(v) over the sum of that of all outputs", Bound: Shares,
	Apply: func(v []float32, n int) {
		for ; len(v) > 0; v = v[n:] {
			most, sum := v[0], 0.0
			for _, x := range v[:n] {
				most = max(most, x)
			}
			for j, x := range v[:n] {
				e := kernel.Exp(float64(x - most))
				v[j] = float32(e)
				sum += e
			}
			for j, e := range v[:n] {
				v[j] = float32(float64(e) / sum)
			}
		}
	},
	Slope: func(out, g []float32, n int) {
		for ; len(out) > 0; out, g = out[n:], g[n:] {
			sum := 0.0
			for j, p := range out[:n] {
				sum += float64(p) * float64(g[j])
			}
			for j, p := range out[:n] {
				g[j] = p * (g[j] - float32(sum))
			}
		}
	},
}

// activation is a transfer function at work in a layer.
type activation struct {
	Transfer
	drop mask
}

// activation is the transfer function of the layer.
func (s *Spec) activation() (*activation, error) {
	t, err := FindTransfer(s.Transfer.Name)
	if err != nil {
		return nil, err
	}
	a := &activation{Transfer: *t}
	proba := 0.0
	for name, v := range s.Transfer.Set {
		if name != "proba" || !t.Drops {
			return nil, fmt.Errorf("transfer function %s has no setting %q", t.Name, name)
		}
		proba = v
	}
	if _, given := s.Transfer.Set["proba"]; t.Drops && !given {
		proba = 0.5
	}
	a.drop, err = newMask(s.Name, proba)
	return a, err
}

// apply changes sums into outputs.
func (a *activation) apply(x *graph.Input, t *graph.Tensor) {
	a.Apply(t.Val, t.Cols)
	a.drop.apply(x, t.Val, t.Cols)
}

// slope multiplies the gradients by the outputs with the derivative. Outputs that were not dropped have been scaled, which is
// undone for the function and done to the gradient.
func (a *activation) slope(x *graph.Input, out *graph.Tensor, g []float32) {
	if !a.drop.on(x) {
		a.Slope(out.Val, g, out.Cols)
		return
	}
	keep := float32(1 - a.drop.proba)
	for i := range out.Val {
		out.Val[i] *= keep
	}
	a.Slope(out.Val, g, out.Cols)
	a.drop.apply(x, g, out.Cols)
}
