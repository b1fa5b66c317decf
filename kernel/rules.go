package kernel

// ruleKind is a rule in one of its forms.
type ruleKind int

const (
	noRule ruleKind = iota
	addition
	sgdPlain
	sgdL1
	momentumPlain
	nesterovPlain
	adagradPlain
	adagradL1
	rmspropPlain
	adadeltaPlain
	adamPlain
	adamwPlain
	amsgradPlain
	ftrlTaken // alpha is the rate of the step
	ftrlFixed // alpha is a setting
	ruleKinds
)

// plainRules are the rules in pure Go, which the others are held to.
func plainRules[T Float]() [ruleKinds]cellRule[T] {
	return [ruleKinds]cellRule[T]{
		addition: addCells[T], sgdPlain: sgdCells[T], sgdL1: sgdCells[T],
		momentumPlain: momentumCells[T], nesterovPlain: nesterovCells[T],
		adagradPlain: adagradCells[T], adagradL1: adagradCells[T],
		rmspropPlain: rmspropCells[T], adadeltaPlain: adadeltaCells[T],
		adamPlain: adamCells[T], adamwPlain: adamwCells[T], amsgradPlain: amsgradCells[T],
		ftrlTaken: ftrlTakenCells[T], ftrlFixed: ftrlFixedCells[T],
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

// Nesterov is a step with velocity, its one slot, by the gradient of where the velocity leads.
func Nesterov(rate, mu, l2 float64) Rule {
	return Rule{nesterovPlain, [8]float64{rate, mu, l2}}
}

func nesterovCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	step, keep, decay := k[0], k[1], k[2]
	g, v := g[:len(w)], slots[0][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		v[i] = T(keep*v[i]) + grad
		w[i] = x - T(step*(grad+T(keep*v[i])))
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
