package kernel

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
