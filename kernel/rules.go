package kernel

import "math"

// ruleKind is a rule in one of its forms.
type ruleKind int

const (
	noRule ruleKind = iota
	addition
	sgdPlain
	sgdL1
	momentumPlain
	adagradPlain
	adagradL1
	adamPlain
	ftrlTaken // alpha is the rate of the step
	ftrlFixed // alpha is a setting
	ruleKinds
)

// plainRules are the rules in pure Go, which the others are held to.
func plainRules[T Float]() [ruleKinds]cellRule[T] {
	return [ruleKinds]cellRule[T]{
		addition: addCells[T], sgdPlain: sgdCells[T], sgdL1: sgdCells[T],
		momentumPlain: momentumCells[T],
		adagradPlain:  adagradCells[T], adagradL1: adagradCells[T],
		adamPlain: adamCells[T], ftrlTaken: ftrlTakenCells[T], ftrlFixed: ftrlFixedCells[T],
	}
}

func addCells[T Float](w, g []T, _ [][]T, _ T, _ *settings[T]) {
	for i, x := range w {
		w[i] = x + g[i]
	}
}

// SGD is a step of gradient descent with l1 and l2 as proximal steps. It has no slots.
func SGD(rate, l1, l2 float64) Rule {
	r := Rule{sgdPlain, [8]float64{rate, rate * l1, 1 / (1 + rate*l2)}}
	if float32(r.k[1]) != 0 {
		r.kind = sgdL1
	}
	return r
}

func sgdCells[T Float](w, g []T, _ [][]T, scale T, k *settings[T]) {
	step, by, keep := k[0], k[1], k[2]
	g = g[:len(w)]
	if by == 0 {
		for i, v := range w {
			w[i] = (v - T(step*mean(g[i], scale))) * keep
		}
		return
	}
	for i, v := range w {
		w[i] = shrink(v-T(step*mean(g[i], scale)), by) * keep
	}
}

// Momentum is a step with velocity, its one slot.
func Momentum(rate, mu, l2 float64) Rule {
	return Rule{momentumPlain, [8]float64{rate, mu, l2}}
}

func momentumCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	step, keep, decay := k[0], k[1], k[2]
	g, v := g[:len(w)], slots[0][:len(w)]
	for i, x := range w {
		v[i] = T(keep*v[i]) + (mean(g[i], scale) + T(decay*x))
		w[i] = x - T(step*v[i])
	}
}

// Adagrad is a step divided by the root of the sum of squared gradients, its one slot.
func Adagrad(rate, eps, l1, l2 float64) Rule {
	r := Rule{adagradPlain, [8]float64{rate, eps, l1, l2}}
	if float32(l1) != 0 {
		r.kind = adagradL1
	}
	return r
}

func adagradCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	step, tiny, sparse, decay := k[0], k[1], k[2], k[3]
	g, n := g[:len(w)], slots[0][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		n[i] += T(grad * grad)
		if n[i] == 0 {
			continue
		}
		s := step / (root(n[i]) + tiny)
		if w[i] = x - T(s*grad) + 0; sparse != 0 {
			w[i] = shrink(w[i], T(s*sparse))
		}
	}
}

// Adam is the t-th step from running means of the gradient and of its square, its two slots.
func Adam(rate, beta1, beta2, eps, l2 float64, t int64) Rule {
	step := rate / (1 - math.Pow(beta1, float64(t)))
	wide := 1 / math.Sqrt(1-math.Pow(beta2, float64(t))) // takes the correction of the second mean out of the root
	return Rule{adamPlain, [8]float64{beta1, beta2, 1 - beta1, 1 - beta2, step, wide, eps, l2}}
}

func adamCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	keep1, keep2, add1, add2 := k[0], k[1], k[2], k[3]
	step, wide, eps, decay := k[4], k[5], k[6], k[7]
	g, m, s := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		m[i] = T(keep1*m[i]) + T(add1*grad)
		s[i] = T(keep2*s[i]) + T(add2*T(grad*grad))
		if m[i] == 0 {
			continue // also keeps 0/0 away if eps is 0
		}
		w[i] = x - T(step*m[i])/(T(root(s[i])*wide)+eps)
	}
}

// FTRL is a step of FTRL-Proximal with the slots z and n. alpha 0 takes the rate of the step for alpha; warm counts with
// another alpha alone.
func FTRL(rate, alpha, beta, l1, l2 float64, warm bool) Rule {
	kind, begin := ftrlFixed, 0.0
	switch {
	case alpha != 0:
		rate = alpha
	case rate == 0:
		return Rule{}
	default:
		kind = ftrlTaken
	}
	if warm {
		begin = 1
	}
	return Rule{kind, [8]float64{rate, l1, beta/rate + l2, begin}}
}

func ftrlTakenCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	alpha, sparse, first := k[0], k[1], k[2]
	g, z, n := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale)
		if grad == 0 {
			continue
		}
		n[i] += T(grad * grad)
		pull := first + root(n[i])/alpha
		if x == 0 {
			z[i] += grad
		} else {
			z[i] = grad - T(sign(x)*sparse) - T(pull*x)
		}
		w[i] = -shrink(z[i], sparse) / pull
	}
}

func ftrlFixedCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	alpha, sparse, first, warm := k[0], k[1], k[2], k[3] != 0
	g, z, n := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale)
		if grad == 0 {
			continue
		}
		square, before := T(grad*grad), root(n[i])
		if warm && x != 0 && n[i] == 0 && z[i] == 0 {
			z[i] = T(-x*first) - T(sign(x)*sparse)
		}
		n[i] += square
		after := root(n[i])
		z[i] += grad
		if x != 0 && after > 0 { // the difference of the roots, without cancellation
			z[i] -= T(square / T((after+before)*alpha) * x)
		}
		w[i] = -shrink(z[i], sparse) / (first + after/alpha)
	}
}
