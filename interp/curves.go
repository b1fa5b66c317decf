package interp

import (
	"fmt"
	"math"
)

// simple are curves without settings, called the same in both forms.
func simple() map[string]func(v float64) float64 {
	return map[string]func(v float64) float64{
		"erf": math.Erf, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "log1p": math.Log1p, "log2": math.Log2, "log10": math.Log10, "expm1": math.Expm1,
		"trunc": math.Trunc, "sign": sign,
		"softsign":    func(v float64) float64 { return v / (1 + math.Abs(v)) },
		"tanh_shrink": func(v float64) float64 { return v - math.Tanh(v) },
		"logsigmoid":  func(v float64) float64 { return min(v, 0) - math.Log1p(math.Exp(-math.Abs(v))) },
	}
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v
}

func kept(v float64, yes bool) float64 {
	if yes {
		return v
	}
	return 0
}

// curveOps are operators that compute element by element in float64, norms, and what came with them.
func curveOps() []op {
	x, out := unary, []string{"Out"}
	list := []op{
		{"selu", x, out, []setting{{"scale", 1.0507009873554805, ""}, {"alpha", 1.6732632423543772, ""}},
			curve(func(v float64, set []float64) float64 { return set[0] * elu(v, set[1:]) }, "scale", "alpha")},
		{"celu", x, out, []setting{{"alpha", 1.0, ""}}, curve(func(v float64, set []float64) float64 {
			return max(v, 0) + min(0, set[0]*math.Expm1(v/set[0]))
		}, "alpha")},
		{"mish", x, out, []setting{{"threshold", 20.0, ""}}, curve(func(v float64, set []float64) float64 {
			return v * math.Tanh(softplus(v, []float64{1, set[0]}))
		}, "threshold")},
		{"brelu", x, out, []setting{{"t_min", 0.0, ""}, {"t_max", 24.0, ""}}, curve(clip, "t_min", "t_max")},
		{"softshrink", x, out, []setting{{"lambda", 0.5, ""}}, curve(func(v float64, set []float64) float64 {
			return sign(v) * max(math.Abs(v)-set[0], 0)
		}, "lambda")},
		{"hard_shrink", x, out, []setting{{"threshold", 0.5, ""}}, curve(func(v float64, set []float64) float64 {
			return kept(v, math.Abs(v) > set[0])
		}, "threshold")},
		{"hardshrink", x, out, []setting{{"threshold", 0.5, ""}}, curve(func(v float64, set []float64) float64 {
			return kept(v, math.Abs(v) >= set[0]) // of PIR only: release 3 keeps the threshold itself, 2.6 does not
		}, "threshold")},
		{"thresholded_relu", x, out, []setting{{"threshold", 1.0, ""}}, curve(func(v float64, set []float64) float64 {
			return kept(v, v > set[0])
		}, "threshold")},
		{"prelu", []string{"X", "Alpha"}, out, []setting{{"mode", "all", ""}, {"data_format", only{"NCHW"}, ""}}, prelu},
		{"p_norm", x, out, []setting{{"porder", 2.0, ""}, {"axis", int64(-1), ""}, {"epsilon", 1e-12, ""}, {"keepdim", false, ""},
			{"asvector", false, ""}}, norm},
		{"dot", []string{"X", "Y"}, out, nil, dot},
		{"mv", []string{"X", "Vec"}, out, nil, timesVector},
	}
	for name, f := range simple() {
		list = append(list, op{name, x, out, nil, curve(func(v float64, _ []float64) float64 { return f(v) })})
	}
	return list
}

// curvePIR is how PIR calls them.
func curvePIR() []pirOp {
	x, out := unary, []string{"Out"}
	list := []pirOp{
		{"pd_op.selu", "selu", x, out, nil},
		{"pd_op.celu", "celu", x, out, nil},
		{"pd_op.mish", "mish", x, out, map[string]string{"lambda": "threshold"}},
		{"pd_op.hardtanh", "brelu", x, out, nil},
		{"pd_op.softshrink", "softshrink", x, out, map[string]string{"threshold": "lambda"}},
		{"pd_op.hardshrink", "hardshrink", x, out, nil},
		{"pd_op.thresholded_relu", "thresholded_relu", x, out, nil},
		{"pd_op.prelu", "prelu", []string{"X", "Alpha"}, out, nil},
		{"pd_op.p_norm", "p_norm", x, out, nil},
		{"pd_op.dot", "dot", []string{"X", "Y"}, out, nil},
		{"pd_op.mv", "mv", []string{"X", "Vec"}, out, nil},
		{"pd_op.mean_all", "mean", x, out, nil},
	}
	for name := range simple() {
		list = append(list, pirOp{"pd_op." + name, name, x, out, nil})
	}
	return list
}

// prelu multiplies what is below 0 by a factor: one for all, one for each channel, or one for each element of an example.
func prelu(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	alpha, err := c.floats("Alpha")
	if err != nil {
		return err
	}
	of, n := func(int) int { return 0 }, 1
	switch mode := c.str("mode"); {
	case mode == "all":
	case mode == "channel" && len(x.Dims) > 1:
		n = x.Dims[1]
		inner := span(x.Dims[2:])
		of = func(i int) int { return i / inner % n }
	case mode == "element" && len(x.Dims) > 0:
		n = span(x.Dims[1:])
		of = func(i int) int { return i % n }
	default:
		return fmt.Errorf("mode %q of X of shape %v: %w", mode, x.Dims, ErrOp)
	}
	if len(alpha.F) != n {
		return fmt.Errorf("alpha of shape %v, want %d values: %w", alpha.Dims, n, ErrShape)
	}
	out := x.zeros(x.Type)
	for i, v := range x.F {
		if out.F[i] = v; v < 0 {
			out.F[i] = v * alpha.F[of(i)]
		}
	}
	c.give(out)
	return nil
}
