package export

import (
	"fmt"

	"thole.example/format"
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

// inner is the inner products of all pairs of vectors: (0,1), (0,2), ..., (1,2) and so on. Both sides of the pairs are
// gathered by lists of field numbers, which are parameters.
func (b *builder) inner(e *graph.Entry, from []*value) (*value, error) {
	v, err := vectors(from)
	if err != nil {
		return nil, err
	}
	width, err := b.pairWidth(e, 1)
	if err != nil {
		return nil, err
	}
	var left, right []int64
	b.eachPair(func(i, j int64) { left, right = append(left, i), append(right, j) })
	both := b.products(v.vectors, e.Name, left, right, -1, width, v.factors)
	return &value{name: b.apply("reduce_sum", both, e.Name+".pairs", []int64{-1, width}, fold(2, false)...), width: width}, nil
}

// outer is the outer products of all pairs of vectors, in the same order, row by row.
func (b *builder) outer(e *graph.Entry, from []*value) (*value, error) {
	v, err := vectors(from)
	if err != nil {
		return nil, err
	}
	width, err := b.pairWidth(e, v.factors*v.factors)
	if err != nil {
		return nil, err
	}
	b.flat(v)
	var left, right []int64
	b.eachPair(func(i, j int64) {
		for f := range v.factors {
			for g := range v.factors {
				left, right = append(left, i*v.factors+f), append(right, j*v.factors+g)
			}
		}
	})
	return &value{name: b.products(v.name, e.Name, left, right, -1, width), width: width}, nil
}

// fixAware is the rows of a field-aware embedding, a vector for each field, which it fixes the number of.
func (b *builder) fixAware(e *graph.Entry) (int64, error) {
	d := &b.file.Data
	n := int64(max(d.NumField, 0))
	if f := d.Fields; n == 0 && f != nil {
		n = int64(max(f.Number, len(f.First)))
	}
	if k := int64(e.NumFactors); n < 2 || n > pairLimit || k < 1 || k > outerLimit/(n*n) {
		return 0, fmt.Errorf("%d fields of numfactors %d, want 2 to %d and at least 1: data.numfield says how many", n, k, pairLimit)
	}
	return n * int64(e.NumFactors), b.fixFields(n)
}

// aware is the sum of the products of all pairs of values: the vector that the first has for the field of the second times the
// one that the second has for the field of the first. Fields are places of values.
func (b *builder) aware(e *graph.Entry, _ []*value) (*value, error) {
	m, err := b.find(e.Name + "_embedding")
	if err != nil {
		return nil, err
	}
	n, k := b.fields, int64(e.NumFactors)
	table, err := b.param(tensor{name: m.Name, dims: []int64{b.features, n * k}, from: m, turned: true, keys: b.keys})
	if err != nil {
		return nil, err
	}
	v := &value{layer: e.Name, vectors: b.weigh(e.Name, table, n*k), factors: n * k, width: n * n * k}
	b.flat(v)
	var left, right []int64
	b.eachPair(func(i, j int64) {
		for f := range k {
			left, right = append(left, (i*n+j)*k+f), append(right, (j*n+i)*k+f)
		}
	})
	both := b.products(v.name, e.Name, left, right, -1, int64(len(left)))
	return &value{name: b.apply("reduce_sum", both, e.Name+".all", []int64{-1, 1}, fold(1, true)...), width: 1}, nil
}

const (
	// pairLimit is the largest number of fields whose pairs are listed.
	pairLimit = 4096
	// outerLimit is the largest number of products of an example that are listed one by one.
	outerLimit = 1 << 24
)

// pairWidth is how many numbers all pairs of vectors give, so many each.
func (b *builder) pairWidth(e *graph.Entry, each int64) (int64, error) {
	n := b.fields
	if n < 2 || n > pairLimit {
		return 0, fmt.Errorf("%d fields, want 2 to %d", n, pairLimit)
	}
	width := n * (n - 1) / 2
	if width > outerLimit/each {
		return 0, fmt.Errorf("%d pairs of %d products each, want at most %d products: %w", width, each, outerLimit, format.ErrLimit)
	}
	width *= each
	if said := int64(e.OutputDim); said != 0 && said != width {
		return 0, fmt.Errorf("outputdim %d, want %d for the pairs of %d fields", said, width, n)
	}
	return width, nil
}

// eachPair calls f for all pairs of fields.
func (b *builder) eachPair(f func(i, j int64)) {
	for i := range b.fields {
		for j := i + 1; j < b.fields; j++ {
			f(i, j)
		}
	}
}

// products are those of what two lists gather along the second dimension.
func (b *builder) products(x, layer string, left, right []int64, dims ...int64) string {
	l := b.gather(x, layer+"_left", left, dims)
	r := b.gather(x, layer+"_right", right, dims)
	return b.combine("elementwise_mul", l, r, layer+".products", dims)
}

// gather picks what lies at the places of a list, which becomes a parameter.
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
