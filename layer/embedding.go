package layer

import (
	"fmt"
	"slices"

	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
)

// embedding is a vector v of k factors for each feature: for the stored values x of an example
//
//	out = x*v, one after the other       // V: [k, Dim] <name>_embedding
//	dv += x * grad                       // of the value's vector
//
// With F fields (outputdim = F*k) an example gives F vectors, one for each field: its value's, the sum or mean of those of
// several values, zeros of none. Where fields are not known, every example has to have F values, in ascending order of
// columns. Without an outputdim an example gives as many vectors as it has values, which only crosses take that sum over all
// of them. Features may have fewer factors (Spec.Widths): their vectors are filled up with zeros, which get no gradients. Vectors start
// normal with deviation 0.05: at a deviation of 1e-5, which is Angel's, networks never leave them.
var embedding = Kind{
	Name: "embedding", Also: []string{"embeddinglayer"},
	Keys: []string{"numfactors", "pooling", "optimizer", "init", "outputformat"},
	Help: "a vector of numfactors numbers for each feature",
	New:  newEmbedding,
}

type embed struct {
	name     string
	fields   int // 0: any number of values
	factors  int
	mean     bool
	weight   graph.Param
	out      graph.Tensor
	share    []float32 // by what each value counts
	mine     []float32 // memory of share, where that is not the values themselves
	to       []uint32  // the vector among the outputs that each value belongs to
	together bool      // the batch has one value in each field, in their order
}

func newEmbedding(s Spec) (graph.Layer, error) {
	k := s.Factors
	switch {
	case s.Name == "":
		return nil, fmt.Errorf("an embedding without name")
	case k < 1 || k > OutputLimit:
		return nil, fmt.Errorf("numfactors %d, want 1 to %d", k, OutputLimit)
	case s.OutputDim > OutputLimit:
		return nil, fmt.Errorf("outputdim %d, want at most %d", s.OutputDim, OutputLimit)
	case s.OutputDim > 0 && s.OutputDim%k != 0:
		return nil, fmt.Errorf("outputdim %d, want a multiple of numfactors = %d: one vector for each field", s.OutputDim, k)
	case s.OutputDim > 0 && s.Fields > 0 && s.OutputDim != s.Fields*k:
		return nil, fmt.Errorf("outputdim %d, want %d: %d numbers for each of %d fields", s.OutputDim, s.Fields*k, k, s.Fields)
	}
	if s.Mean && s.OutputDim <= 0 {
		return nil, fmt.Errorf("pooling mean without an outputdim, want one of fields x numfactors: the mean is of the values of a field, " +
			"and nothing says which those are")
	}
	l := &embed{name: s.Name, factors: k, mean: s.Mean}
	if s.OutputDim > 0 { // Angel takes a negative one, which says as little
		l.fields = s.OutputDim / k
	}
	s.Sparse = s.Sparse || len(s.Widths) > 0
	var err error
	l.weight, err = s.features("embedding", "embedding", k, matrix.Init{Kind: "normal", Scale: 0.05})
	if l.weight.Widths = s.Widths; err == nil {
		err = l.weight.Check()
	}
	return l, err
}

// Name implements graph.Layer.
func (l *embed) Name() string { return l.name }

// Params implements graph.Layer.
func (l *embed) Params() []graph.Param { return []graph.Param{l.weight} }

// Shape implements graph.Layer.
func (l *embed) Shape() graph.Shape {
	return graph.Shape{Cols: l.fields * l.factors, Factors: l.factors, Ragged: l.fields == 0}
}

// Vectors implements graph.Embedder.
func (l *embed) Vectors() bool { return l.fields == 0 }

// Forward implements graph.Layer.
func (l *embed) Forward(x *graph.Input, params []graph.Values, _ []*graph.Tensor) (*graph.Tensor, error) {
	lo, hi := x.Ptr[0], x.Ptr[x.Len()]
	at, val, k := params[0].At[lo:hi], x.Val[lo:hi], l.factors
	if l.fields == 0 {
		l.out.Resize(hi-lo, k)
		kernel.Embed(l.out.Val, params[0].Val, k, at, val)
		return &l.out, nil
	}
	if err := fits(x, l.fields); err != nil {
		return nil, err
	}
	l.out.Resize(x.Len(), l.fields*k)
	if l.together = together(x, l.fields); l.together {
		kernel.Embed(l.out.Val, params[0].Val, k, at, val)
		return &l.out, nil
	}
	l.weigh(x)
	l.aim(x)
	clear(l.out.Val)
	kernel.AxpyRows(l.out.Val, l.to, params[0].Val, at, k, l.share)
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *embed) Backward(x *graph.Input, _, grads []graph.Values, grad *graph.Tensor, _ []*graph.Tensor) error {
	lo, hi := x.Ptr[0], x.Ptr[x.Len()]
	at, k := grads[0].At[lo:hi], l.factors
	if l.fields == 0 || l.together {
		kernel.EmbedGrad(grads[0].Val, grad.Val, k, at, x.Val[lo:hi])
		return nil
	}
	kernel.AxpyRows(grads[0].Val, at, grad.Val, l.to, k, l.share)
	return nil
}

// aim finds to which vector each value goes.
func (l *embed) aim(x *graph.Input) {
	field := fieldsOf(x)
	l.to = slices.Grow(l.to[:0], len(field))[:len(field)]
	for row := range x.Len() {
		lo, hi := x.Ptr[row]-x.Ptr[0], x.Ptr[row+1]-x.Ptr[0]
		first, to := uint32(row*l.fields), l.to[lo:hi]
		for v, f := range field[lo:hi] {
			to[v] = first + uint32(f)
		}
	}
}

// weigh finds by what each value counts: its own number, or its share among those of its field.
func (l *embed) weigh(x *graph.Input) {
	if l.share = x.Val[x.Ptr[0]:x.Ptr[x.Len()]]; !l.mean {
		return
	}
	l.mine = append(l.mine[:0], l.share...)
	l.share = l.mine
	for row := range x.Len() {
		for v := x.Ptr[row]; v < x.Ptr[row+1]; {
			end := v + 1
			for end < x.Ptr[row+1] && x.Field[end] == x.Field[v] {
				end++
			}
			for n := float32(end - v); v < end; v++ {
				l.share[v-x.Ptr[0]] /= n
			}
		}
	}
}

// fits tells why examples do not have vectors for so many fields.
func fits(x *graph.Input, fields int) error {
	if x.Field != nil || none(x) {
		if x.Fields > fields {
			return fmt.Errorf("examples of %d fields, want at most %d", x.Fields, fields)
		}
		return nil
	}
	for row := range x.Len() {
		if n := x.Ptr[row+1] - x.Ptr[row]; n != fields {
			return fmt.Errorf("row %d of the batch has %d features, want %d: one for each field; if fields may be missing or have "+
				"several values, say which columns they have: --fields 0,9,18,...", x.First+row, n, fields)
		}
	}
	return nil
}

// none reports whether no example has any feature: then all lack a value of each field, whether fields are known or not.
func none(x *graph.Input) bool { return x.Ptr[x.Len()] == x.Ptr[0] }

// together reports whether all examples have one value in each field, in their order.
func together(x *graph.Input, fields int) bool {
	if x.Field == nil {
		return !none(x) // else fits has seen it
	}
	for row := range x.Len() {
		if x.Ptr[row+1]-x.Ptr[row] != fields {
			return false
		}
		for f, have := range x.Field[x.Ptr[row]:x.Ptr[row+1]] {
			if int(have) != f {
				return false
			}
		}
	}
	return true
}
