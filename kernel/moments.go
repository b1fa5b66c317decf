package kernel

import "math"

// RMSProp is a step divided by the root of the running mean of squared gradients, its one slot.
func RMSProp(rate, rho, eps, l2 float64) Rule {
	return Rule{rmspropPlain, [8]float64{rate, rho, 1 - rho, eps, l2}}
}

func rmspropCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	step, keep, add, tiny, decay := k[0], k[1], k[2], k[3], k[4]
	g, s := g[:len(w)], slots[0][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		s[i] = T(keep*s[i]) + T(add*T(grad*grad))
		if s[i] == 0 {
			continue // also keeps 0/0 away if eps is 0
		}
		w[i] = x - T(step*grad)/(root(s[i])+tiny)
	}
}

// Adadelta is a step as long as earlier ones were, by its two slots: the running means of squared gradients and of squared
// steps, of which rho and rho2 are kept.
func Adadelta(rate, rho, rho2, eps, l2 float64) Rule {
	return Rule{adadeltaPlain, [8]float64{rate, rho, 1 - rho, eps, l2, rho2, 1 - rho2}}
}

func adadeltaCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	step, keep, add, tiny, decay, keep2, add2 := k[0], k[1], k[2], k[3], k[4], k[5], k[6]
	g, s, u := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		s[i] = T(keep*s[i]) + T(add*T(grad*grad))
		var by T
		if s[i] != 0 { // also keeps 0/0 away if eps is 0
			by = T(root(u[i]+tiny) / root(s[i]+tiny) * grad)
		}
		u[i] = T(keep2*u[i]) + T(add2*T(by*by))
		w[i] = x - T(step*by)
	}
}

// Adam is the t-th step from running means of the gradient and of its square, its two slots.
func Adam(rate, beta1, beta2, eps, l2 float64, t int64) Rule {
	return moments(adamPlain, rate, beta1, beta2, eps, l2, t)
}

// moments is a rule of the family; the last setting is its decay.
func moments(kind ruleKind, rate, beta1, beta2, eps, decay float64, t int64) Rule {
	step := rate / (1 - math.Pow(beta1, float64(t)))
	wide := 1 / math.Sqrt(1-math.Pow(beta2, float64(t))) // takes the correction of the second mean out of the root
	return Rule{kind, [8]float64{beta1, beta2, 1 - beta1, 1 - beta2, step, wide, eps, decay}}
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

// AdamW is the t-th step of Adam on weights that have decayed, whatever their gradients, by the part rate*decay.
func AdamW(rate, beta1, beta2, eps, decay float64, t int64) Rule {
	return moments(adamwPlain, rate, beta1, beta2, eps, 1-rate*decay, t)
}

func adamwCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	keep1, keep2, add1, add2 := k[0], k[1], k[2], k[3]
	step, wide, eps, keep := k[4], k[5], k[6], k[7]
	g, m, s := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)]
	for i := range w {
		x, grad := T(w[i]*keep), mean(g[i], scale)
		m[i] = T(keep1*m[i]) + T(add1*grad)
		s[i] = T(keep2*s[i]) + T(add2*T(grad*grad))
		if w[i] = x; m[i] == 0 {
			continue
		}
		w[i] = x - T(step*m[i])/(T(root(s[i])*wide)+eps)
	}
}

// AMSGrad is the t-th step of Adam with the largest mean square so far, its third slot, in place of the mean square.
func AMSGrad(rate, beta1, beta2, eps, l2 float64, t int64) Rule {
	return moments(amsgradPlain, rate, beta1, beta2, eps, l2, t)
}

func amsgradCells[T Float](w, g []T, slots [][]T, scale T, k *settings[T]) {
	keep1, keep2, add1, add2 := k[0], k[1], k[2], k[3]
	step, wide, eps, decay := k[4], k[5], k[6], k[7]
	g, m, s, h := g[:len(w)], slots[0][:len(w)], slots[1][:len(w)], slots[2][:len(w)]
	for i, x := range w {
		grad := mean(g[i], scale) + T(decay*x)
		m[i] = T(keep1*m[i]) + T(add1*grad)
		s[i] = T(keep2*s[i]) + T(add2*T(grad*grad))
		if s[i] > h[i] {
			h[i] = s[i]
		}
		if m[i] == 0 {
			continue
		}
		w[i] = x - T(step*m[i])/(T(root(h[i])*wide)+eps)
	}
}
