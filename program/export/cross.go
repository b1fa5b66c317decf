package export

import (
	"fmt"

	"thole.example/graph"
	"thole.example/program"
)

// vectors is the value of an embedding, which crosses read; another layer has none.
func vectors(in []*value) (*value, error) {
	if in[0].vectors == "" {
		return nil, fmt.Errorf("reads %q, want an embedding", in[0].layer)
	}
	return in[0], nil
}

// pairs is the sum of the products of all pairs of vectors, for each factor: half of what the square of the sum has more
// than the sum of the squares. scale is applied at the end.
func (b *builder) pairs(v *value, layer string) string {
	dims := []int64{-1, v.factors}
	sum := b.apply("reduce_sum", v.vectors, layer+".sum", dims, fold(1, false)...)
	squared := b.apply("square", sum, layer+".squared", dims)
	squares := b.combine("elementwise_mul", v.vectors, v.vectors, layer+".squares", []int64{-1, b.fields, v.factors})
	total := b.apply("reduce_sum", squares, layer+".total", dims, fold(1, false)...)
	return b.combine("elementwise_sub", squared, total, layer+".twice", dims)
}

// half is x/2.
func (b *builder) half(x, layer string, width int64) string {
	return b.apply("scale", x, layer+".half", []int64{-1, width},
		number("scale", 0.5), number("bias", 0), truth("bias_after_scale", true))
}

// innerSum is the sum of the inner products of all pairs of vectors. What the entry says of its width is not looked at:
// it is 1.
func (b *builder) innerSum(e *graph.Entry, from []*value) (*value, error) {
	v, err := vectors(from)
	if err != nil {
		return nil, err
	}
	twice := b.apply("reduce_sum", b.pairs(v, e.Name), e.Name+".all", []int64{-1, 1}, fold(1, true)...)
	return &value{name: b.half(twice, e.Name, 1), width: 1}, nil
}

// interaction is the sum of the products of all pairs of vectors, factor by factor.
func (b *builder) interaction(e *graph.Entry, from []*value) (*value, error) {
	v, err := vectors(from)
	if err != nil {
		return nil, err
	}
	if n := int64(e.OutputDim); n != 0 && n != v.factors {
		return nil, fmt.Errorf("outputdim %d, want the %d factors of %q", n, v.factors, v.layer)
	}
	return &value{name: b.half(b.pairs(v, e.Name), e.Name, v.factors), width: v.factors}, nil
}

// pairLimit is the largest number of fields whose pairs are listed.
const pairLimit = 4096

// inner is the inner products of all pairs of vectors: (0,1), (0,2), ..., (1,2) and so on. Both sides of the pairs are
// gathered by lists of field numbers, which are parameters.
func (b *builder) inner(e *graph.Entry, from []*value) (*value, error) {
	v, err := vectors(from)
	if err != nil {
		return nil, err
	}
	n := b.fields
	if n < 2 || n > pairLimit {
		return nil, fmt.Errorf("%d fields, want 2 to %d", n, pairLimit)
	}
	width := n * (n - 1) / 2
	if said := int64(e.OutputDim); said != 0 && said != width {
		return nil, fmt.Errorf("outputdim %d, want %d for the pairs of %d fields", said, width, n)
	}
	var left, right []int64
	for i := range n {
		for j := i + 1; j < n; j++ {
			left, right = append(left, i), append(right, j)
		}
	}
	dims := []int64{-1, width, v.factors}
	l := b.gather(v.vectors, e.Name+"_left", left, dims)
	r := b.gather(v.vectors, e.Name+"_right", right, dims)
	both := b.combine("elementwise_mul", l, r, e.Name+".products", dims)
	return &value{name: b.apply("reduce_sum", both, e.Name+".pairs", []int64{-1, width}, fold(2, false)...), width: width}, nil
}

// gather picks fields by a list that becomes a parameter.
func (b *builder) gather(x, name string, list []int64, dims []int64) string {
	index := b.free(name)
	b.tensors = append(b.tensors, tensor{name: index, dims: []int64{int64(len(list))}, list: list})
	v := tensorVar(index, program.VarType_INT64, []int64{int64(len(list))})
	v.Persistable, v.StopGradient = true, true
	b.declare(v)
	out := b.temp(name+".fields", dims...)
	b.op("gather", in("X", x, "Index", index), in("Out", out), integer("axis", 1))
	return out
}
