package interp

import (
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
)

// lossOps are losses, which scores pass through in models that were saved with them, and running sums.
func lossOps() []op {
	x, out := unary, []string{"Out"}
	return []op{
		{"sigmoid_cross_entropy_with_logits", []string{"X", "Label"}, out,
			[]setting{{"normalize", only{false}, ""}, {"ignore_index", int64(-100), ""}}, sigmoidLoss},
		{"bce_loss", []string{"X", "Label"}, out, nil, binaryLoss},
		{"log_loss", []string{"Predicted", "Labels"}, []string{"Loss"}, []setting{{"epsilon", 1e-4, ""}}, logLoss},
		{"softmax_with_cross_entropy", []string{"Logits", "Label"}, []string{"Loss", "Softmax"},
			[]setting{{"axis", int64(-1), ""}, {"soft_label", false, ""}, {"ignore_index", int64(-100), ""},
				{"use_softmax", only{true}, ""}, {"numeric_stable_mode", true, ""}}, softmaxLoss},
		{"huber_loss", []string{"X", "Y"}, []string{"Out", "Residual?"}, []setting{{"delta", 1.0, ""}}, huberLoss},
		{"kldiv_loss", []string{"X", "Target"}, []string{"Loss"},
			[]setting{{"reduction", only{"none"}, ""}, {"log_target", only{false}, ""}}, divergence},
		{"label_smooth", x, out, []setting{{"epsilon", 0.0, ""}}, labelSmooth},
		{"cumsum", x, out, []setting{{"axis", int64(-1), ""}, {"flatten", false, ""}, {"exclusive", false, ""}, {"reverse", false, ""}}, cumsum},
	}
}

// lossPIR is how PIR calls them.
func lossPIR() []pirOp {
	out := []string{"Out"}
	return []pirOp{
		{"pd_op.sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits", []string{"X", "Label"}, out, nil},
		{"pd_op.bce_loss", "bce_loss", []string{"X", "Label"}, out, nil},
		{"pd_op.log_loss", "log_loss", []string{"Predicted", "Labels"}, []string{"Loss"}, nil},
		{"pd_op.cross_entropy_with_softmax", "softmax_with_cross_entropy", []string{"Logits", "Label"}, []string{"Softmax", "Loss"}, nil},
		{"pd_op.huber_loss", "huber_loss", []string{"X", "Y"}, []string{"Out"}, nil},
		{"pd_op.kldiv_loss", "kldiv_loss", []string{"X", "Target"}, []string{"Loss"}, nil},
		{"pd_op.label_smooth", "label_smooth", []string{"X"}, out, nil},
		{"pd_op.cumsum", "cumsum", []string{"X", "@axis"}, out, nil},
	}
}

// eachPair computes a loss of each score and its label, in float64.
func (c *call) eachPair(scores, labels string, f func(x, y float64) float64) error {
	x, err := c.floats(scores)
	if err != nil {
		return err
	}
	y, err := c.floats(labels)
	if err != nil {
		return err
	}
	if len(x.F) != len(y.F) {
		return fmt.Errorf("%s of shape %v, %s of shape %v, want as many: %w", scores, x.Dims, labels, y.Dims, ErrShape)
	}
	out := x.zeros(x.Type)
	for i, v := range x.F {
		out.F[i] = float32(f(float64(v), float64(y.F[i])))
	}
	c.give(out)
	return nil
}

// sigmoidLoss is the cross entropy of the sigmoid, 0 where the label is the one to ignore.
func sigmoidLoss(c *call) error {
	ignore, err := c.int("ignore_index")
	if err != nil {
		return err
	}
	return c.eachPair("X", "Label", func(x, y float64) float64 {
		if y == float64(ignore) {
			return 0
		}
		return max(x, 0) - x*y + math.Log1p(math.Exp(-math.Abs(x)))
	})
}

// binaryLoss is the cross entropy of a probability, whose logarithms are -100 or more.
func binaryLoss(c *call) error {
	return c.eachPair("X", "Label", func(x, y float64) float64 {
		return (y-1)*max(math.Log1p(-x), -100) - y*max(math.Log(x), -100)
	})
}

func logLoss(c *call) error {
	e, err := c.float("epsilon")
	if err != nil {
		return err
	}
	return c.eachPair("Predicted", "Labels", func(x, y float64) float64 {
		return -y*math.Log(x+float64(e)) - (1-y)*math.Log(1-x+float64(e))
	})
}

// huberLoss is half the square up to delta, and linear beyond. The residual is of training.
func huberLoss(c *call) error {
	delta, err := c.float("delta")
	if err != nil {
		return err
	}
	return c.eachPair("X", "Y", func(x, y float64) float64 {
		d, a := float64(delta), math.Abs(y-x)
		if a <= d {
			return a * a / 2
		}
		return d * (a - d/2)
	})
}

// divergence is that of Kullback and Leibler, of the logarithm of a probability, 0 where the target is.
func divergence(c *call) error {
	return c.eachPair("X", "Target", func(x, y float64) float64 {
		if y <= 0 {
			return 0
		}
		return y * (math.Log(y) - x)
	})
}

// labelSmooth gives every class of the last dimension a share of epsilon.
func labelSmooth(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	e, err := c.float("epsilon")
	if err != nil {
		return err
	}
	if len(x.Dims) == 0 {
		return fmt.Errorf("X of shape %v, want classes: %w", x.Dims, ErrShape)
	}
	share := float64(e) / float64(x.Dims[len(x.Dims)-1])
	return mapped(c, x, func(v float32) float32 { return float32((1-float64(e))*float64(v) + share) })
}

// softmaxLoss is the softmax along a dimension, and its cross entropy with a class, or with a probability for each.
func softmaxLoss(c *call) error {
	x, err := c.floats("Logits")
	if err != nil {
		return err
	}
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	outer, n, inner := around(x.Dims, at)
	label, soft := c.t("Label"), c.bool("soft_label")
	want := outer * inner
	if soft {
		want *= n
	}
	if n == 0 || label.Len() != want || soft != (label.Type == matrix.F32) {
		return fmt.Errorf("label is %s for logits of shape %v, soft_label=%v: %w", label.text(), x.Dims, soft, ErrShape)
	}
	chances := x.zeros(x.Type)
	dims := slices.Clone(x.Dims)
	dims[at] = 1
	out, err := newFloats(dims)
	if err != nil {
		return err
	}
	for o := range outer {
		for i := range inner {
			base, to := o*n*inner+i, o*inner+i
			softmaxRow(x.F[base:], chances.F[base:], n, inner)
			if out.F[to], err = c.crossEntropy(x.F[base:], label, base, to, n, inner); err != nil {
				return err
			}
		}
	}
	c.vars[c.out["Loss"][0]], c.vars[c.out["Softmax"][0]] = out, chances
	return nil
}

// crossEntropy is that of n logits that lie step apart, the first at base, with the class of label at place to, or the
// probabilities from base on.
func (c *call) crossEntropy(x []float32, label *Tensor, base, to, n, step int) (float32, error) {
	top, sum, loss := math.Inf(-1), 0.0, 0.0
	for k := range n {
		top = max(top, float64(x[k*step]))
	}
	for k := range n {
		sum += math.Exp(float64(x[k*step]) - top)
	}
	of := func(k int) float64 { return math.Log(sum) + top - float64(x[k*step]) }
	if label.Type != matrix.F32 {
		v := label.I[to]
		if ignore, err := c.int("ignore_index"); err != nil || v == ignore {
			return 0, err
		}
		if err := inRange(v, n); err != nil {
			return 0, err
		}
		return float32(of(int(v))), nil
	}
	for k := range n {
		loss += float64(label.F[base+k*step]) * of(k)
	}
	return float32(loss), nil
}

// cumsum adds up along a dimension, or over all values.
func cumsum(c *call) error {
	x := c.t("X")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	dims := x.Dims
	if c.bool("flatten") {
		dims, axis = []int{x.Len()}, 0
	}
	at, err := axisOf(axis, len(dims))
	if err != nil {
		return err
	}
	out, err := x.like(dims)
	if err != nil {
		return err
	}
	if x.Type == matrix.F32 {
		sums[float64](out.F, x.F, dims, at, c.bool("exclusive"), c.bool("reverse"))
	} else {
		sums[int64](out.I, x.I, dims, at, c.bool("exclusive"), c.bool("reverse"))
	}
	c.give(out)
	return nil
}

// sums adds up along a dimension, in the type S.
func sums[S float64 | int64, T float32 | int64](out, x []T, dims []int, at int, exclusive, reverse bool) {
	outer, n, inner := around(dims, at)
	for o := range outer {
		for i := range inner {
			sum := S(0)
			for k := range n {
				if reverse {
					k = n - 1 - k
				}
				p := (o*n+k)*inner + i
				before := sum
				sum += S(x[p])
				out[p] = T(sum)
				if exclusive {
					out[p] = T(before)
				}
			}
		}
	}
}
