package optim

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// torch is the state of one weight in PyTorch's optimizers, and oracles their steps as its documentation gives them, in
// its names: lr, lambda (weight_decay), mu, alpha or rho, beta1, beta2, eps; nothing is shared with ours.
type torch struct {
	theta, b, v, u, m, vmax float64
}

type oracle func(x *torch, grad, lr float64, t int, h set)

// moment is what adam, adamw and amsgrad have in common.
func (x *torch) moment(g, lr float64, t int, h set, greatest bool) {
	x.m = h["beta1"]*x.m + (1-h["beta1"])*g
	x.v = h["beta2"]*x.v + (1-h["beta2"])*math.Pow(g, 2)
	mHat := x.m / (1 - math.Pow(h["beta1"], float64(t)))
	v := x.v
	if greatest {
		x.vmax = math.Max(x.vmax, x.v)
		v = x.vmax
	}
	x.theta -= lr * mHat / (math.Sqrt(v/(1-math.Pow(h["beta2"], float64(t)))) + h["eps"])
}

var oracles = map[string]oracle{
	"sgd": func(x *torch, g, lr float64, _ int, _ set) { x.theta -= lr * g },
	"momentum": func(x *torch, g, lr float64, t int, h set) {
		g += h["l2"] * x.theta
		if x.b = h["mu"]*x.b + g; t == 1 {
			x.b = g
		}
		x.theta -= lr * x.b
	},
	"nesterov": func(x *torch, g, lr float64, t int, h set) {
		g += h["l2"] * x.theta
		if x.b = h["mu"]*x.b + g; t == 1 {
			x.b = g
		}
		x.theta -= lr * (g + h["mu"]*x.b)
	},
	"adagrad": func(x *torch, g, lr float64, _ int, h set) {
		g += h["l2"] * x.theta
		x.v += g * g
		x.theta -= lr * g / (math.Sqrt(x.v) + h["eps"])
	},
	"rmsprop": func(x *torch, g, lr float64, _ int, h set) {
		g += h["l2"] * x.theta
		x.v = h["rho"]*x.v + (1-h["rho"])*math.Pow(g, 2)
		x.theta -= lr * g / (math.Sqrt(x.v) + h["eps"])
	},
	"adadelta": func(x *torch, g, lr float64, _ int, h set) {
		g += h["l2"] * x.theta
		x.v = x.v*h["rho"] + math.Pow(g, 2)*(1-h["rho"])
		delta := math.Sqrt(x.u+h["eps"]) / math.Sqrt(x.v+h["eps"]) * g
		x.u = x.u*h["rho"] + math.Pow(delta, 2)*(1-h["rho"])
		x.theta -= lr * delta
	},
	"adam": func(x *torch, g, lr float64, t int, h set) {
		x.moment(g+h["l2"]*x.theta, lr, t, h, false)
	},
	"adamw": func(x *torch, g, lr float64, t int, h set) {
		x.theta -= lr * h["decay"] * x.theta
		x.moment(g, lr, t, h, false)
	},
	"amsgrad": func(x *torch, g, lr float64, t int, h set) {
		x.moment(g+h["l2"]*x.theta, lr, t, h, true)
	},
}

// ranges are from where settings are drawn.
var ranges = map[string][2]float64{
	"mu": {0, 0.99}, "rho": {0, 0.999}, "beta1": {0, 0.99}, "beta2": {0, 0.9999}, "eps": {1e-10, 0.1}, "l2": {0, 0.1},
	"decay": {0, 0.1},
}

// Every rule that PyTorch has makes PyTorch's steps, with any settings, rates and gradients, some of them zero. (Its sgd has
// another l2, which is a gradient and no proximal step.)
func TestTorch(t *testing.T) {
	for name, step := range oracles {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rule, err := Find(nil, name)
				if err != nil {
					t.Fatal(err)
				}
				h := set{}
				for _, hyper := range rule.Hyper {
					if r, ok := ranges[hyper.Name]; ok && name != "sgd" {
						h[hyper.Name] = rapid.Float64Range(r[0], r[1]).Draw(t, hyper.Name)
					}
				}
				ours, err := rule.Bind(h)
				if err != nil {
					t.Fatal(err)
				}
				w, s := []float64{rapid.Float64Range(-2, 2).Draw(t, "w")}, slots[float64](rule.Slots, 1)
				theirs := torch{theta: w[0]}
				for i, g := range rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-2, 2)), 1, 30).Draw(t, "g") {
					if math.Abs(g) < 1e-100 {
						g = 0 // squares that underflow are no gradient here
					}
					rate := rapid.Float64Range(0, 1).Draw(t, "rate")
					ours.F64(w, []float64{g}, s, rate, int64(i+1))
					step(&theirs, g, rate, i+1, h)
					if !(math.Abs(w[0]-theirs.theta) <= 1e-9*(1+math.Abs(theirs.theta))) {
						t.Fatalf("step %d with %v: %v, PyTorch %v", i+1, h, w[0], theirs.theta)
					}
				}
			})
		})
	}
	for _, rule := range Rules() {
		if oracles[rule.Name] == nil && rule.Name != "ftrl" {
			t.Errorf("%s: no oracle", rule.Name)
		}
	}
}
