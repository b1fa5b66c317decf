package export

import "thole.example/graph"

// normEps is added to variances, as in training.
const normEps = 1e-5

// batchNorm is (x - mean) / sqrt(variance + eps) * weight + bias, with the running means of the training.
func (b *builder) batchNorm(e *graph.Entry, from []*value) (*value, error) {
	v := from[0]
	b.flat(v)
	params := map[string]string{}
	for _, what := range []string{"mean", "var", "weight", "bias"} {
		m, err := b.find(e.Name + "_" + what)
		if err != nil {
			return nil, err
		}
		if params[what], err = b.param(tensor{name: m.Name, dims: []int64{v.width}, from: m}); err != nil {
			return nil, err
		}
	}
	dims, row := []int64{-1, v.width}, []int64{v.width}
	x := b.combine("elementwise_sub", v.name, params["mean"], e.Name+".centered", dims)
	spread := b.apply("scale", params["var"], e.Name+".spread", row,
		number("scale", 1), number("bias", normEps), truth("bias_after_scale", true))
	x = b.combine("elementwise_mul", x, b.apply("rsqrt", spread, e.Name+".inverse", row), e.Name+".normal", dims)
	x = b.combine("elementwise_mul", x, params["weight"], e.Name+".weighed", dims)
	x = b.combine("elementwise_add", x, params["bias"], e.Name+".out", dims)
	out := &value{name: x, width: v.width, factors: v.factors}
	if v.vectors != "" { // a cross may read them
		out.vectors = b.temp(e.Name+".vectors", -1, b.fields, v.factors)
		b.op("reshape2", in("X", x), in("Out", out.vectors, "XShape", b.shapeOf(e.Name, -1, v.width)),
			ints("shape", 0, b.fields, v.factors))
	}
	return out, nil
}

// dropout is what it reads: a trained network drops nothing.
func (b *builder) dropout(_ *graph.Entry, from []*value) (*value, error) {
	v := *from[0]
	return &v, nil
}
