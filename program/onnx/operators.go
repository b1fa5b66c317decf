package onnx

import (
	"cmp"
	"fmt"
	"math"
)

// operators is the table of operators of a ProgramDesc: how each is said in ONNX.
func operators() map[string]func(b *builder, o *operator) {
	return map[string]func(b *builder, o *operator){
		"lookup_table_v2": lookup,
		"gather":          gather,
		"unsqueeze2":      unsqueeze,
		"reshape2":        reshape,
		"concat":          concat,
		"elementwise_add": elementwise("Add"),
		"elementwise_sub": elementwise("Sub"),
		"elementwise_mul": elementwise("Mul"),
		"matmul_v2":       multiply,
		"reduce_sum":      sum,
		"scale":           scale,
		"square":          square,
		"rsqrt":           inverseRoot,
		"sigmoid":         unary("Sigmoid"),
		"tanh":            unary("Tanh"),
		"relu":            unary("Relu"),
		"exp":             unary("Exp"),
		"softmax":         softmax,
		"clip":            clip,
	}
}

func unary(kind string) func(b *builder, o *operator) {
	return func(b *builder, o *operator) { b.node(kind, o.out(), []string{o.in("X")}) }
}

// elementwise is an operator whose operands spread along leading dimensions, as in ONNX.
func elementwise(kind string) func(b *builder, o *operator) {
	return func(b *builder, o *operator) {
		if axis := o.int("axis"); axis != -1 {
			o.fail(fmt.Errorf("axis %d, want -1", axis))
		}
		b.node(kind, o.out(), []string{o.in("X"), o.in("Y")})
	}
}

// lookup is the rows of a table.
func lookup(b *builder, o *operator) {
	if pad := o.int("padding_idx"); pad != -1 {
		o.fail(fmt.Errorf("padding_idx %d, want -1", pad))
	}
	b.node("Gather", o.out(), []string{o.in("W"), o.in("Ids")}, attr{name: "axis", i: 0})
}

func gather(b *builder, o *operator) {
	b.node("Gather", o.out(), []string{o.in("X"), o.in("Index")}, attr{name: "axis", i: o.int("axis")})
}

func unsqueeze(b *builder, o *operator) {
	b.node("Unsqueeze", o.out(), []string{o.in("X"), b.list(o.ints("axes")...)})
}

// reshape means the same by 0 and -1 in a shape.
func reshape(b *builder, o *operator) {
	b.node("Reshape", o.out(), []string{o.in("X"), b.list(o.ints("shape")...)})
}

func concat(b *builder, o *operator) {
	var in []string
	for _, s := range o.In {
		if s.Name == "X" {
			for _, arg := range s.Args {
				in = append(in, cmp.Or(o.as[arg], arg))
			}
		}
	}
	if len(in) == 0 {
		o.fail(fmt.Errorf("no variables in X, want at least one"))
	}
	b.node("Concat", o.out(), in, attr{name: "axis", i: o.int("axis")})
}

// multiply is the product of matrices, of which the second may be turned.
func multiply(b *builder, o *operator) {
	in := []string{o.in("X"), o.in("Y")}
	switch {
	case o.truth("trans_x"):
		o.fail(fmt.Errorf("trans_x, want the first matrix as it is"))
	case o.truth("trans_y"):
		b.node("Gemm", o.out(), in, attr{name: "transB", i: 1})
	default:
		b.node("MatMul", o.out(), in)
	}
}

func sum(b *builder, o *operator) {
	keep := int64(0)
	if o.truth("keep_dim") {
		keep = 1
	}
	if o.truth("reduce_all") {
		o.fail(fmt.Errorf("reduce_all, want the dimensions to add up"))
	}
	b.node("ReduceSum", o.out(), []string{o.in("X"), b.list(o.ints("dim")...)}, attr{name: "keepdims", i: keep})
}

// scale is x*scale + bias, of which what changes nothing is left out.
func scale(b *builder, o *operator) {
	x, by, add := o.in("X"), o.float("scale", 1), o.float("bias", 0)
	if add != 0 && by != 1 && !o.truth("bias_after_scale") {
		o.fail(fmt.Errorf("bias before scale, want it behind"))
	}
	switch out := o.out(); {
	case by == 1 && add == 0:
		b.node("Identity", out, []string{x})
	case add == 0:
		b.node("Mul", out, []string{x, b.number(by)})
	case by == 1:
		b.node("Add", out, []string{x, b.number(add)})
	default:
		scaled := b.fresh("scaled")
		b.node("Mul", scaled, []string{x, b.number(by)})
		b.node("Add", out, []string{scaled, b.number(add)})
	}
}

func square(b *builder, o *operator) {
	x := o.in("X")
	b.node("Mul", o.out(), []string{x, x})
}

func inverseRoot(b *builder, o *operator) {
	root := b.fresh("root")
	b.node("Sqrt", root, []string{o.in("X")})
	b.node("Reciprocal", o.out(), []string{root})
}

func softmax(b *builder, o *operator) {
	b.node("Softmax", o.out(), []string{o.in("X")}, attr{name: "axis", i: o.int("axis")})
}

func clip(b *builder, o *operator) {
	low, high := b.number(o.float("min", -math.MaxFloat32)), b.number(o.float("max", math.MaxFloat32))
	b.node("Clip", o.out(), []string{o.in("X"), low, high})
}
