// Package algotest knows what linear models can reach at best, for tests of those that train them. It finds the least
// regularised loss in float64 by other means than training does: Newton's method, or ascent in the dual where the loss has a
// kink. How far from the least an answer can be follows from the answer alone, so that no test has to believe the search.
package algotest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// Draw is n examples of dim columns, each made by row, which sets columns in ascending order and answers with the label.
func Draw(n int, dim int64, seed uint64, row func(rng *rand.Rand, set func(col int64, v float32)) (label float32)) *data.Batch {
	rng := rand.New(rand.NewPCG(seed, 9))
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{X: matrix.Block{At: matrix.At(0, int64(n), 0, dim), Data: x}}
	for range n {
		b.Label = append(b.Label, row(rng, func(col int64, v float32) { x.Idx, x.Val = append(x.Idx, col), append(x.Val, v) }))
		x.Ptr = append(x.Ptr, len(x.Idx))
	}
	return b
}

// Loss is the loss of a score by the label.
type Loss struct {
	// of is the loss and its first and second derivative by the score.
	of   func(score, label float64) (value, slope, curve float64)
	kink bool // somewhere there is no second derivative
}

// The losses of the linear recipes. Labels of Log and Hinge are -1 and +1.
var (
	Log     = Loss{of: logistic}          // ln(1+exp(-y*s))
	Squares = Loss{of: square}            // (s-y)^2/2
	Hinge   = Loss{of: hinge, kink: true} // max(0, 1-y*s)
	Huber   = Loss{of: huber}             // (s-y)^2/2, or |s-y|-1/2 where that is less
	Counts  = Loss{of: counts}            // exp(s)-y*s, less what it is at exp(s) = y
)

// Losses are the losses by the names of the recipes with one score.
func Losses() map[string]Loss {
	return map[string]Loss{"lr": Log, "linreg": Squares, "svm": Hinge, "robust": Huber, "poisson": Counts}
}

func logistic(s, y float64) (value, slope, curve float64) {
	p := Sigmoid(-y * s) // of being wrong
	return max(0, -y*s) + math.Log1p(math.Exp(-math.Abs(s))), -y * p, p * (1 - p)
}

func square(s, y float64) (value, slope, curve float64) { return (s - y) * (s - y) / 2, s - y, 1 }

// huber has the curvature of the parabola that touches it at s and at the mirror image of s, and is nowhere below: it leads
// to the least value from everywhere.
func huber(s, y float64) (value, slope, curve float64) {
	d := s - y
	if far := math.Abs(d); far > 1 {
		return far - 0.5, math.Copysign(1, d), 1 / far
	}
	return d * d / 2, d, 1
}

func counts(s, y float64) (value, slope, curve float64) {
	e, least := math.Exp(s), y
	if y > 0 {
		least -= y * math.Log(y)
	}
	return e - y*s - least, e - y, e
}

func hinge(s, y float64) (value, slope, curve float64) {
	if y*s < 1 {
		return 1 - y*s, -y, 0
	}
	return 0, 0, 0
}

// Sigmoid is 1/(1+exp(-s)).
func Sigmoid(s float64) float64 { return 1 / (1 + math.Exp(-s)) }

// Scores are those of the examples.
func Scores(b *data.Batch, w []float64) []float64 {
	x, s := b.Rows(), make([]float64, b.Len())
	for i := range s {
		s[i] = w[len(w)-1]
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			s[i] += w[x.Idx[k]] * float64(x.Val[k])
		}
	}
	return s
}

// Problem asks for the least mean loss of examples by the score w*x + b, beside the penalties L1*|w| and L2/2*|w|^2, of which
// the bias is free. Where weights are a slice, that of the bias comes after those of the columns.
type Problem struct {
	Data   *data.Batch
	Loss   Loss
	L1, L2 float64
}

// within is the share of the least value that a search may leave open.
const within = 1e-3

// Least is a number that no weights have a value below, and that some come near. L1 must be 0.
func (p *Problem) Least(t testing.TB) float64 {
	t.Helper()
	var w []float64
	var least float64
	switch {
	case p.Loss.kink:
		w, least = p.ascend()
	case p.L2 == 0:
		return p.Value(p.Newton()) // which is exact for squares, and has no bound for others
	default:
		w = p.Newton()
		least = p.Value(w) - p.Gap(w)
	}
	if value := p.Value(w); !(value-least <= within*value) {
		t.Fatalf("the least loss is between %v and %v, want to know it better", least, value)
	}
	return least
}

// Value is the mean loss with the penalties.
func (p *Problem) Value(w []float64) float64 {
	sum, n := 0.0, float64(p.Data.Len())
	for i, s := range Scores(p.Data, w) {
		v, _, _ := p.Loss.of(s, float64(p.Data.Label[i]))
		sum += v / n
	}
	for _, v := range w[:len(w)-1] {
		sum += p.L1*math.Abs(v) + p.L2/2*v*v
	}
	return sum
}

// derivatives are the slope and, as its rows, the curvature of the mean loss and the square penalty, by weights and bias.
func (p *Problem) derivatives(w []float64) (slope []float64, curve [][]float64) {
	d, n, x := len(w), float64(p.Data.Len()), p.Data.Rows()
	slope, curve = make([]float64, d), make([][]float64, d)
	for j := range curve {
		curve[j] = make([]float64, d)
		if j < d-1 {
			slope[j], curve[j][j] = p.L2*w[j], p.L2
		}
	}
	for i, s := range Scores(p.Data, w) {
		_, by, twice := p.Loss.of(s, float64(p.Data.Label[i]))
		idx, val := x.Idx[x.Ptr[i]:x.Ptr[i+1]], x.Val[x.Ptr[i]:x.Ptr[i+1]]
		slope[d-1] += by / n
		curve[d-1][d-1] += twice / n
		for j, c := range idx {
			v := float64(val[j])
			slope[c] += by * v / n
			curve[c][d-1] += twice * v / n
			curve[d-1][c] += twice * v / n
			for k, other := range idx {
				curve[c][other] += twice * v * float64(val[k]) / n
			}
		}
	}
	return slope, curve
}

// Gap bounds how much the value of the weights is above the least: a function that curves by at least L2 cannot fall by more
// than |slope|^2/(2*L2). The bias, whose curvature has no such bound, is moved to its best place first, and weights to zero that
// a proximal step would take there. Needs a loss without kinks and L2; with L1 the slope is the smallest that the kink of |w| at
// zero allows.
func (p *Problem) Gap(w []float64) float64 {
	slope, curve := p.derivatives(w)
	best := slices.Clone(w)
	for j, v := range w[:len(w)-1] {
		if by := curve[j][j]; math.Abs(v*by-slope[j]) <= p.L1 {
			best[j] = 0
		}
	}
	p.settle(best)
	slope, _ = p.derivatives(best)
	square := 0.0
	for j, v := range best[:len(w)-1] {
		by := slope[j]
		switch {
		case v > 0:
			by += p.L1
		case v < 0:
			by -= p.L1
		default:
			by = max(0, math.Abs(by)-p.L1)
		}
		square += by * by
	}
	return p.Value(w) - p.Value(best) + square/(2*p.L2)
}

// settle moves the bias of the weights to its best place.
func (p *Problem) settle(w []float64) {
	for range 50 {
		sum, curve := 0.0, 0.0
		for i, s := range Scores(p.Data, w) {
			_, by, twice := p.Loss.of(s, float64(p.Data.Label[i]))
			sum, curve = sum+by, curve+twice
		}
		w[len(w)-1] -= sum / curve
		if math.Abs(sum/curve) < 1e-12 {
			break
		}
	}
}

// Newton is the weights of the least value, if the loss has no kinks and L1 is 0: steps of Newton's method, shortened until
// they help.
func (p *Problem) Newton() []float64 {
	w := make([]float64, p.Data.Dim()+1)
	best := p.Value(w)
	for before := math.Inf(1); best < before-1e-12*math.Abs(best); {
		before = best
		slope, curve := p.derivatives(w)
		for j := range curve {
			curve[j] = append(curve[j], slope[j])
		}
		step := solve(curve)
		for length := 1.0; length > 1e-6 && best == before; length /= 2 {
			try := make([]float64, len(w))
			for j := range try {
				try[j] = w[j] - length*step[j][0]
			}
			if v := p.Value(try); v < best {
				w, best = try, v
			}
		}
	}
	return w
}

// Errors are the standard errors of weights near the least, if the examples were drawn from a logistic model, or from a linear
// one with noise of variance 1: roots of the diagonal of the inverse curvature of the sum of the losses.
func (p *Problem) Errors(w []float64) []float64 {
	_, curve := p.derivatives(w)
	d := len(w)
	for j := range curve {
		unit := make([]float64, d)
		unit[j] = 1
		curve[j] = append(curve[j], unit...)
	}
	out := make([]float64, d)
	for j, row := range solve(curve) {
		out[j] = math.Sqrt(row[j] / float64(p.Data.Len()))
	}
	return out
}

// solve eliminates in the rows of a symmetric positive matrix with right sides beside it, and answers with the solutions in
// the columns of the result. A column of which nothing is known has the solution 0.
func solve(a [][]float64) [][]float64 {
	n := len(a)
	for p := range n {
		for q := range n {
			if q == p || a[p][p] < 1e-14 {
				continue
			}
			if f := a[q][p] / a[p][p]; f != 0 {
				for k := p; k < len(a[q]); k++ {
					a[q][k] -= f * a[p][k]
				}
			}
		}
	}
	out := make([][]float64, n)
	for p := range n {
		out[p] = make([]float64, len(a[p])-n)
		if a[p][p] < 1e-14 {
			continue
		}
		for k := range out[p] {
			out[p][k] = a[p][n+k] / a[p][p]
		}
	}
	return out
}
