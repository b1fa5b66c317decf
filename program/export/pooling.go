package export

import (
	"fmt"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/program"
)

// concat puts what it reads side by side.
func (b *builder) concat(e *graph.Entry, from []*value) (*value, error) {
	width, args := int64(0), []string{}
	for _, v := range from {
		b.flat(v)
		if width += v.width; width > featureLimit {
			return nil, fmt.Errorf("more than %d values side by side: %w", int64(featureLimit), format.ErrLimit)
		}
		args = append(args, v.name)
	}
	if said := int64(e.OutputDim); said > 0 && said != width {
		return nil, fmt.Errorf("outputdim %d, want %d, the sum of what it reads", said, width)
	}
	out := b.temp(e.Name+".concat", -1, width)
	b.op("concat", []program.Slot{{Name: "X", Args: args}}, in("Out", out), integer("axis", 1))
	return &value{name: out, width: width}, nil
}

// fold combines all that a layer reads, which must be of one width, by an elementwise operator.
func (b *builder) fold(op string, e *graph.Entry, from []*value) (*value, error) {
	for _, v := range from {
		b.flat(v)
		if v.width != from[0].width {
			return nil, fmt.Errorf("reads %q of width %d and %q of width %d, want one width",
				from[0].layer, from[0].width, v.layer, v.width)
		}
	}
	out := &value{name: from[0].name, width: from[0].width}
	for _, v := range from[1:] {
		out.name = b.combine(op, out.name, v.name, e.Name+".pooled", []int64{-1, out.width})
	}
	return out, nil
}

// sum adds what it reads.
func (b *builder) sum(e *graph.Entry, from []*value) (*value, error) {
	return b.fold("elementwise_add", e, from)
}

// product multiplies what it reads, element by element.
func (b *builder) product(e *graph.Entry, from []*value) (*value, error) {
	return b.fold("elementwise_mul", e, from)
}

// dot is the sum of that product.
func (b *builder) dot(e *graph.Entry, from []*value) (*value, error) {
	v, err := b.product(e, from)
	if err != nil {
		return nil, err
	}
	return &value{name: b.apply("reduce_sum", v.name, e.Name+".dot", []int64{-1, 1}, fold(1, true)...), width: 1}, nil
}

// steepest is the score beyond which exp does not rise, as in training. Below -2*steepest it is 0 in float32, as it is there.
const steepest = 80

// finish adds the prediction and what is fetched. Where the score is the prediction it passes through a scale by 1, as
// in programs that Paddle saves, so that the output has its name.
func (b *builder) finish(v *value, h head) error {
	switch {
	case h.width != 0 && v.width != h.width:
		return fmt.Errorf("layer %q has %d outputs, want %d for the loss", v.layer, v.width, h.width)
	case h.width == 0 && v.width < 2:
		return fmt.Errorf("layer %q has %d outputs, want 2 or more for the loss, one for each class", v.layer, v.width)
	}
	b.width = v.width
	dims := []int64{-1, v.width}
	one := []program.Attr{number("scale", 1), number("bias", 0), truth("bias_after_scale", true)}
	outs := []string{b.declare(tensorVar("prediction", program.VarType_FP32, dims))}
	switch h.op {
	case "":
		b.op("scale", in("X", v.name), in("Out", "prediction"), one...)
	default:
		b.op("scale", in("X", v.name), in("Out", b.declare(tensorVar("score", program.VarType_FP32, dims))), one...)
		from, attrs := "score", []program.Attr(nil)
		switch h.op {
		case "softmax":
			attrs = []program.Attr{integer("axis", -1)}
		case "exp":
			from = b.apply("clip", from, "score.bounded", dims, number("min", -2*steepest), number("max", steepest))
		}
		b.op(h.op, in("X", from), in("Out", "prediction"), attrs...)
		outs = append(outs, "score")
	}
	for i, name := range outs {
		b.op("fetch", in("X", name), in("Out", "fetch"), integer("col", int64(i)))
	}
	return nil
}
