package interp

import (
	"fmt"
	"math"
)

// curve is an operator that computes element by element in float64, with settings that are numbers.
func curve(f func(v float64, set []float64) float64, names ...string) func(c *call) error {
	return func(c *call) error {
		x, err := c.floats("X")
		if err != nil {
			return err
		}
		set := make([]float64, len(names))
		for i, name := range names {
			v, err := c.float(name)
			if err != nil {
				return err
			}
			set[i] = float64(v)
		}
		return mapped(c, x, func(v float32) float32 { return float32(f(float64(v), set)) })
	}
}

func swish(v float64, set []float64) float64 { return v / (1 + math.Exp(-set[0]*v)) }

func elu(v float64, set []float64) float64 {
	if v > 0 {
		return v
	}
	return set[0] * math.Expm1(v)
}

func hardSigmoid(v float64, set []float64) float64 { return min(max(set[0]*v+set[1], 0), 1) }

func hardSwish(v float64, _ []float64) float64 { return v * min(max(v+3, 0), 6) / 6 }

// softplus is linear beyond the threshold.
func softplus(v float64, set []float64) float64 {
	if v*set[0] > set[1] {
		return v
	}
	return math.Log1p(math.Exp(v*set[0])) / set[0]
}

func power(v float64, set []float64) float64 { return math.Pow(v, set[0]) }

func clip(v float64, set []float64) float64 { return min(max(v, set[0]), set[1]) }

func rsqrt(v float64, _ []float64) float64 { return 1 / math.Sqrt(v) }

// gelu is x times the normal distribution's share below x, or an approximation of it.
func gelu(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	if c.bool("approximate") {
		return mapped(c, x, func(v float32) float32 {
			w := float64(v)
			return float32(w / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(w+0.044715*w*w*w))))
		})
	}
	return mapped(c, x, func(v float32) float32 { return float32(float64(v) / 2 * math.Erfc(-float64(v)/math.Sqrt2)) })
}

// logSoftmax subtracts the largest value before it takes the exponentials.
func logSoftmax(c *call) error { return normalized(c, logSoftmaxRow, 0) }

// logSoftmaxRow takes n values that lie step apart.
func logSoftmaxRow(x, y []float32, n, step int) {
	top, sum := math.Inf(-1), 0.0
	for k := range n {
		top = max(top, float64(x[k*step]))
	}
	for k := range n {
		sum += math.Exp(float64(x[k*step]) - top)
	}
	for k := range n {
		y[k*step] = float32(float64(x[k*step]) - top - math.Log(sum))
	}
}

// layerNorm gives the dimensions from begin_norm_axis on mean 0 and variance 1, then scale and bias.
func layerNorm(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	axis, err := c.int("begin_norm_axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	epsilon, err := c.float("epsilon")
	if err != nil {
		return err
	}
	n := span(x.Dims[at:])
	gain, bias := c.t("Scale"), c.t("Bias")
	for _, t := range []*Tensor{gain, bias} {
		if t != nil && len(t.F) != n {
			return fmt.Errorf("scale or bias is %s, want %d floats: %w", t.text(), n, ErrShape)
		}
	}
	out := x.zeros(x.Type)
	for at := 0; at < len(x.F); at += n {
		normalize(x.F[at:at+n], out.F[at:at+n], float64(epsilon))
		for i := range n {
			if gain != nil {
				out.F[at+i] *= gain.F[i]
			}
			if bias != nil {
				out.F[at+i] += bias.F[i]
			}
		}
	}
	c.give(out)
	return nil
}

// instanceNorm gives the values of each channel of each example mean 0 and variance 1, then scales and shifts them.
func instanceNorm(c *call) error {
	if x := c.t("X"); len(x.Dims) > 1 {
		return channelNorm(c, x.Dims[1])
	}
	return channelNorm(c, 1)
}

// groupNorm does the same to groups of channels.
func groupNorm(c *call) error {
	groups, err := c.int("groups")
	if err != nil {
		return err
	}
	return channelNorm(c, int(groups))
}

// channelNorm is that of so many groups of channels; scale and bias are those of the channels.
func channelNorm(c *call, groups int) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	if len(x.Dims) < 2 || groups < 1 || x.Dims[1]%groups != 0 {
		return fmt.Errorf("X of shape %v, want examples, channels in %d groups, and values: %w", x.Dims, groups, ErrShape)
	}
	epsilon, err := c.float("epsilon")
	if err != nil {
		return err
	}
	channels, n := x.Dims[1], span(x.Dims[2:])
	gain, bias := c.t("Scale"), c.t("Bias")
	for _, t := range []*Tensor{gain, bias} {
		if t != nil && len(t.F) != channels {
			return fmt.Errorf("scale or bias is %s, want %d floats: %w", t.text(), channels, ErrShape)
		}
	}
	out := x.zeros(x.Type)
	whole := channels / groups * n
	for at := 0; at < len(x.F); at += whole {
		normalize(x.F[at:at+whole], out.F[at:at+whole], float64(epsilon))
	}
	for i := range out.F {
		k := i / n % channels
		if gain != nil {
			out.F[i] *= gain.F[k]
		}
		if bias != nil {
			out.F[i] += bias.F[k]
		}
	}
	c.give(out)
	return nil
}

// normalize gives x mean 0 and variance 1.
func normalize(x, y []float32, epsilon float64) {
	mean := total(x) / float64(len(x))
	spread := 0.0
	for _, v := range x {
		spread += (float64(v) - mean) * (float64(v) - mean)
	}
	factor := 1 / math.Sqrt(spread/float64(len(x))+epsilon)
	for i, v := range x {
		y[i] = float32((float64(v) - mean) * factor)
	}
}
