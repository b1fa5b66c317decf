package export

import (
	"fmt"

	"thole.example/graph"
)

// crossing is a stack of layers of a cross network, x0*(x*W + b) + x: name_0, name_1 and so on, the last one name itself. Weights
// lie by inputs, whoever wrote the file: no other library has such layers.
func (b *builder) crossing(e *graph.Entry, from []*value) (*value, error) {
	x0, x := from[0], from[len(from)-1]
	b.flat(x0)
	b.flat(x)
	n, count := x0.width, max(1, len(e.OutputDims), e.Depth)
	if x.width != n {
		return nil, fmt.Errorf("reads %q of width %d and %q of width %d, want one width", x0.layer, n, x.layer, x.width)
	}
	for _, said := range append(e.OutputDims, e.OutputDim) {
		if said != 0 && int64(said) != n {
			return nil, fmt.Errorf("outputdim %d, want %d as what it reads", said, n)
		}
	}
	if count > layerLimit || e.Rank < 0 || int64(e.Rank) > n {
		return nil, fmt.Errorf("%d layers of rank %d, want at most %d of rank 0 to %d", count, e.Rank, layerLimit, n)
	}
	for i := range count {
		name := e.Name
		if i < count-1 {
			name = fmt.Sprintf("%s_%d", e.Name, i)
		}
		z, err := b.affine(name, x.name, n, int64(e.Rank))
		if err != nil {
			return nil, err
		}
		dims := []int64{-1, n}
		crossed := b.combine("elementwise_mul", x0.name, z, name+".crossed", dims)
		x = &value{name: b.combine("elementwise_add", crossed, x.name, name+".out", dims), width: n}
	}
	return x, nil
}

// affine is x*W + b for n inputs and outputs; with a rank W is the product of two matrices.
func (b *builder) affine(name, x string, n, rank int64) (string, error) {
	type part struct {
		what     string
		from, to int64
	}
	parts := []part{{"weight", n, n}}
	if rank > 0 {
		parts = []part{{"left", n, rank}, {"right", rank, n}}
	}
	for _, p := range parts {
		m, err := b.find(name + "_" + p.what)
		if err != nil {
			return "", err
		}
		weight, err := b.param(tensor{name: m.Name, dims: []int64{p.from, p.to}, from: m})
		if err != nil {
			return "", err
		}
		x = b.multiply(x, weight, name+"."+p.what, p.to, false)
	}
	bias, err := b.bias(name, n)
	if err != nil {
		return "", err
	}
	return b.combine("elementwise_add", x, bias, name+".biased", []int64{-1, n}), nil
}
