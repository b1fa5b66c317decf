package gbdt

import (
	"context"
	"fmt"
	"math"
)

// largest is the size of the largest derivatives of rows of a class, in the bits of float32, which have its order: NaN is beyond all. root
// is that of first derivatives times the roots of weights, where sums of squares need it.
type largest struct{ g, h, root uint32 }

// derive writes the derivatives of all classes for the scores as they are, and rounds them.
func (t *trainer) derive(ctx context.Context) error {
	blocks := spans(t.learn)
	if t.groups != nil {
		blocks = len(t.groups)
	}
	classes := len(t.scores)
	t.scales, t.spreads = t.scales[:0], t.spreads[:0]
	buffers, most := make([][]float32, t.Cores), make([]largest, t.Cores*classes)
	err := each(ctx, t.Cores, blocks, func(worker, i int) error {
		lo, hi := i*blockRows, min((i+1)*blockRows, t.learn)
		if t.groups != nil {
			lo, hi = t.groups[i][0], t.groups[i][1]
		}
		t.block(lo, hi, &buffers[worker], most[worker*classes:][:classes])
		return nil
	})
	if err != nil {
		return err
	}
	all := make([]float32, 3*classes)
	for i, m := range most {
		k := 3 * (i % classes)
		for j, bits := range []uint32{m.g, m.h, m.root} {
			all[k+j] = max(all[k+j], math.Float32frombits(bits)) // which keeps NaN
		}
	}
	if t.workers != nil {
		if err := t.workers.Most(ctx, all); err != nil {
			return err
		}
	}
	for k := range classes {
		g, h, root := all[3*k], all[3*k+1], all[3*k+2]
		if !(g <= math.MaxFloat32 && h <= math.MaxFloat32) {
			return fmt.Errorf("iteration %d: derivatives that are no numbers; want a lower rate", t.out.Iterations()+1)
		}
		t.scales = append(t.scales, scale{math.Ldexp(1, exponent(float64(g))-wholeBits), math.Ldexp(1, exponent(float64(h))-wholeBits)})
		if t.weights == nil {
			root = g
		}
		t.spreads = append(t.spreads, math.Ldexp(1, exponent(float64(root))-wholeBits+squareBits))
	}
	return each(ctx, t.Cores, spans(t.learn), func(_, i int) error {
		for k, s := range t.scales {
			round(t.all[k][i*blockRows:min((i+1)*blockRows, t.learn)], scale{1 / s.g, 1 / s.h})
		}
		return nil
	})
}

// block writes the derivatives of some rows, times their weights, and what they are at most.
func (t *trainer) block(lo, hi int, buffer *[]float32, most []largest) {
	o, n, classes := &t.Objective, hi-lo, len(t.scores)
	if cap(*buffer) < 2*classes*n {
		*buffer = make([]float32, 2*classes*n)
	}
	scores, g, h := make([][]float64, classes), make([][]float32, classes), make([][]float32, classes)
	for k := range scores {
		scores[k], g[k], h[k] = t.scores[k][lo:hi], (*buffer)[2*k*n:][:n], (*buffer)[(2*k+1)*n:][:n]
	}
	switch label := t.labels.Label[lo:hi]; {
	case o.Several != nil:
		o.Several(scores, label, g, h)
	case o.Rank != nil:
		o.Rank(o, scores[0], label, g[0], h[0])
	default:
		o.Grad(o, scores[0], label, g[0], h[0])
	}
	t.weigh(lo, hi, g, h)
	for k := range scores {
		m, to := most[k], t.all[k][lo:hi]
		for i, g := range g[k] {
			g, h := math.Float32bits(g), math.Float32bits(h[k][i])
			to[i] = grad{G: int32(g), H: int32(h)}
			m.g, m.h = max(m.g, g&^(1<<31)), max(m.h, h&^(1<<31))
		}
		if t.orders && t.weights != nil {
			for i, w := range t.weights[lo:hi] {
				if w > 0 {
					m.root = max(m.root, math.Float32bits(float32(math.Abs(float64(g[k][i]))/math.Sqrt(float64(w)))))
				}
			}
		}
		most[k] = m
	}
}

// weigh multiplies derivatives by the weights of their rows.
func (t *trainer) weigh(lo, hi int, g, h [][]float32) {
	if t.labels.Weight == nil {
		return
	}
	for i, w := range t.labels.Weight[lo:hi] {
		for k := range g {
			g[k][i] *= w
			h[k][i] *= w
		}
	}
}

// wholeBits is the size of the largest derivative as a whole number: sums over all rows fit into 64 bits.
const wholeBits = 30

// round makes whole numbers of derivatives.
func round(grads []grad, up scale) {
	for i, d := range grads {
		g, h := math.Float32frombits(uint32(d.G)), math.Float32frombits(uint32(d.H))
		grads[i] = grad{G: int32(math.RoundToEven(float64(g) * up.g)), H: int32(math.RoundToEven(float64(h) * up.h))}
	}
}

// exponent is the least power of two that is at least v.
func exponent(v float64) int {
	if v == 0 {
		return 0
	}
	m, e := math.Frexp(v)
	if m == 0.5 {
		e--
	}
	return e
}
