package tree

import "math"

// gauss is the rule of Gauss and Legendre on 0 to 1: exact for polynomials below the degree of twice its points.
type gauss struct{ at, weight []float64 }

// newGauss finds the points as zeros of a polynomial of Legendre, by Newton's method.
func newGauss(n int) *gauss {
	g := &gauss{make([]float64, n), make([]float64, n)}
	for i := range n {
		x, slope := math.Cos(math.Pi*(float64(i)+0.75)/(float64(n)+0.5)), 0.0
		for range 100 {
			p, before := 1.0, 0.0
			for k := 1; k <= n; k++ {
				p, before = (float64(2*k-1)*x*p-float64(k-1)*before)/float64(k), p
			}
			slope = float64(n) * (x*p - before) / (x*x - 1)
			step := p / slope
			x -= step
			if math.Abs(step) < 1e-15 {
				break
			}
		}
		g.at[i], g.weight[i] = (1-x)/2, 1/((1-x*x)*slope*slope)
	}
	return g
}

// shapWalk is a walk over all of a tree with one row.
type shapWalk struct {
	*shapTree
	t      *Tree
	e      *Ensemble
	row    []float64
	out    []float64
	levels []shapLevel
}

// shapLevel is what holds on the path below a split of this level, at each point of the rule.
type shapLevel struct {
	factor  []float64 // (1-t) z + t o of the feature of the split
	product []float64 // of the factors of all features of the path
	sum     []float64 // over the leaves below, of value times product times weight of the point
	z, o    float64
}

func newShapWalk(deep, points int) *shapWalk {
	w := &shapWalk{levels: make([]shapLevel, deep+1)}
	all := make([]float64, 3*points*(deep+1))
	for i := range w.levels {
		for _, p := range []*[]float64{&w.levels[i].factor, &w.levels[i].product, &w.levels[i].sum} {
			*p, all = all[:points:points], all[points:]
		}
	}
	return w
}

// start walks over the tree.
func (w *shapWalk) start() {
	last := &w.levels[len(w.levels)-1] // of no split
	for q := range last.product {
		last.product[q] = 1
	}
	w.split(0, last.product, last.sum)
}

// split goes both ways at an inner node, to which the product of the path is given. It adds the sums of the leaves below to into, and
// what they say of the feature to its contribution.
func (w *shapWalk) split(node int32, product, into []float64) {
	t, f, v := w.t, w.t.Feature[node], 0.0
	if int(f) < len(w.row) {
		v = w.e.Numbers.Value(w.row[f])
	}
	goes := 1
	if t.GoesLeft(int(node), v) {
		goes = 0
	}
	l := &w.levels[w.level[node]]
	var old *shapLevel // of the same feature
	if up := w.above[node]; up >= 0 {
		old = &w.levels[up]
	}
	points := len(w.rule.at)
	for which, child := range [2]int32{t.Left[node], t.Right[node]} {
		l.z, l.o = w.parts[which][node], 0
		if which == goes && (old == nil || old.o == 1) {
			l.o = 1
		}
		if l.z == 0 && l.o == 0 {
			continue // neither this row comes here nor one of training
		}
		w.extend(l, old, product[:points])
		if child < 0 {
			value := t.LeafValue[^child]
			for q, p := range l.product[:points] {
				l.sum[q] = value * p * w.rule.weight[q]
			}
		} else {
			clear(l.sum[:points])
			w.split(child, l.product, l.sum)
		}
		w.out[f] += l.part(l.sum[:points])
		if old != nil { // which takes these leaves for its own, too
			w.out[f] -= old.part(l.sum[:points])
		}
		for q, s := range l.sum[:points] {
			into[q] += s
		}
	}
}

// extend makes the product of the path one with the split of l in it, in place of what there was of its feature.
func (w *shapWalk) extend(l, old *shapLevel, product []float64) {
	factor, to := l.factor[:len(product)], l.product[:len(product)]
	for q, t := range w.rule.at[:len(product)] {
		factor[q] = (1-t)*l.z + t*l.o
		to[q] = product[q] * factor[q]
	}
	if old != nil {
		for q, f := range old.factor[:len(product)] {
			to[q] /= f
		}
	}
}

// part is the contribution of the feature of l to leaves of these sums, whose products have the factors of l.
func (l *shapLevel) part(sums []float64) float64 {
	all := 0.0
	for q, f := range l.factor[:len(sums)] {
		all += sums[q] / f
	}
	return (l.o - l.z) * all
}
