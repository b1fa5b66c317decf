package export

import (
	"fmt"

	"thole.example/graph"
	"thole.example/program"
)

// connected is a stack of fully connected layers: name_0, name_1 and so on, the last one name itself.
func (b *builder) connected(e *graph.Entry, from []*value) (*value, error) {
	dims := e.OutputDims
	if len(dims) == 0 && e.OutputDim > 0 {
		dims = []int{e.OutputDim}
	}
	if len(dims) == 0 {
		return nil, fmt.Errorf("no outputdims, want the number of outputs of each layer")
	}
	transfers, err := b.transfers(e, len(dims))
	if err != nil {
		return nil, err
	}
	v := from[0]
	b.flat(v)
	for i, n := range dims {
		name := e.Name
		if i < len(dims)-1 {
			name = fmt.Sprintf("%s_%d", e.Name, i)
		}
		if n < 1 {
			return nil, fmt.Errorf("outputdims %v, want all at least 1", dims)
		}
		if v, err = b.plain(name, v, int64(n), transfers[i]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// transfers are the transfer functions of n layers: one for each, one for all, or the default.
func (b *builder) transfers(e *graph.Entry, n int) ([]*graph.Choice, error) {
	all := make([]*graph.Choice, n)
	switch {
	case len(e.TransFuncs) == n:
		for i := range all {
			all[i] = &e.TransFuncs[i]
		}
	case len(e.TransFuncs) > 0:
		return nil, fmt.Errorf("%d transfuncs for %d outputdims, want one for each", len(e.TransFuncs), n)
	default:
		t := first(e.TransFunc, b.file.DefaultTransFunc)
		if t == nil {
			return nil, fmt.Errorf("no transfuncs and no default_transfunc, want one for each of %d outputdims", n)
		}
		for i := range all {
			all[i] = t
		}
	}
	return all, nil
}

// plain is one fully connected layer.
func (b *builder) plain(name string, v *value, width int64, t *graph.Choice) (*value, error) {
	m, err := b.find(name + "_weight")
	if err != nil {
		return nil, err
	}
	turned := b.outIn()
	p := tensor{name: m.Name, dims: []int64{v.width, width}, from: m}
	switch {
	case m.Cols == width && m.Rows == v.width: // saved as a matrix, inputs as rows
		p.square, turned = true, false
	case turned:
		p.dims = []int64{width, v.width}
	}
	if !p.square && width > 1 && v.width > 1 {
		b.guess(turned)
	}
	weight, err := b.param(p)
	if err != nil {
		return nil, err
	}
	bias, err := b.bias(name, width)
	if err != nil {
		return nil, err
	}
	sums := b.multiply(v.name, weight, name, width, turned)
	sums = b.combine("elementwise_add", sums, bias, name+".biased", []int64{-1, width})
	out, err := b.transfer(t, sums, name, width)
	return &value{name: out, width: width}, err
}

// multiply is the product of two matrices.
func (b *builder) multiply(x, weight, name string, width int64, turned bool) string {
	return b.combine("matmul_v2", x, weight, name+".product", []int64{-1, width},
		truth("trans_x", false), truth("trans_y", turned))
}

// bias is the parameter with the biases of a layer.
func (b *builder) bias(layer string, width int64) (string, error) {
	m, err := b.find(layer + "_bias")
	if err != nil {
		return "", err
	}
	return b.param(tensor{name: m.Name, dims: []int64{width}, from: m})
}

// outIn reports whether weights in one row lie by outputs.
func (b *builder) outIn() bool {
	if b.opts.Order == OrderInOut || b.opts.Order == OrderOutIn {
		return b.opts.Order == OrderOutIn
	}
	return b.library
}

// guess says, once, what the order of weights was taken for, unless the user said it.
func (b *builder) guess(turned bool) {
	if b.guessed || b.opts.Order == OrderInOut || b.opts.Order == OrderOutIn {
		return
	}
	b.guessed = true
	order, writer := OrderInOut, "Angel, which spells the loss layer simplelosslayer"
	if turned {
		order, writer = OrderOutIn, "Angel's later library, which spells the loss layer losslayer"
	}
	b.notes = append(b.notes, fmt.Sprintf("weights of fully connected layers are taken as %s, the order of %s", order, writer))
}

// transfer applies a transfer function.
func (b *builder) transfer(c *graph.Choice, x, layer string, width int64) (string, error) {
	op, err := transferOp(c)
	if err != nil || op == "" {
		return x, err
	}
	var attrs []program.Attr
	if op == "softmax" {
		attrs = []program.Attr{integer("axis", -1)}
	}
	return b.apply(op, x, layer+"."+op, []int64{-1, width}, attrs...), nil
}
