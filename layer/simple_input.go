package layer

import (
	"fmt"
	"math"
	"slices"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
)

// simpleInput is the layer that reads sparse features: for a batch of B rows, Dim features and K outputs
//
//	out = f(X*W' + b)              // X: [B, Dim] sparse; W: [K, Dim] <name>_weight; b: [1, K] <name>_bias; out: [B, K]
//	D   = grad * f'(out)           // [B, K], element by element
//	dW  = D'*X,  db = sum of the rows of D
//
// Small weight matrices (AllLimit) travel whole, of others each batch takes the columns that occur in it.
var simpleInput = Kind{
	Name: "simpleinputlayer",
	Help: "f(XW+b) over sparse features",
	New:  newInput,
}

type input struct {
	spec     Spec
	transfer *Transfer
	weight   matrix.Meta
	bias     matrix.Meta
	all      bool // weights travel whole

	seen [2]index // columns of the batches last asked for: the next one may be, while this one is computed
	next int

	// Of the batch that went forward.
	x     *matrix.CSR[float32]
	at    []int32 // for each stored value the place of its column, if not all
	cols  []int64 // those columns
	out   graph.Tensor
	delta []float32
	sum   []float64
}

func newInput(s Spec) (graph.Layer, error) {
	if s.Name == "" || s.OutputDim < 1 || s.OutputDim > OutputLimit {
		return nil, fmt.Errorf("simpleinputlayer %q: output dimension %d, want a name and 1 to %d",
			s.Name, s.OutputDim, OutputLimit)
	}
	transfer, err := FindTransfer(s.Transfer)
	if err != nil {
		return nil, fmt.Errorf("simpleinputlayer %q: %w", s.Name, err)
	}
	known := s.Dim > 0
	if !known {
		s.Dim = math.MaxInt64
		if s.ColLo > 0 {
			s.Dim -= s.ColLo
		}
	}
	layout := matrix.RowDense
	if s.Sparse || !known || s.Dim > DenseLimit {
		layout = matrix.RowSparse
	}
	l := &input{spec: s, transfer: transfer, sum: make([]float64, s.OutputDim)}
	rows := int64(s.OutputDim)
	l.weight = meta(s.Name+"_weight", "simpleinput", rows, s.ColLo, s.Dim, layout, s.Weight, s.Init)
	l.bias = meta(s.Name+"_bias", "simpleinput", 1, 0, rows, matrix.RowDense, s.Bias, matrix.Init{})
	l.weight.Storage = s.Storage
	cells, ok := matrix.Cells(rows, s.Dim)
	l.all = layout == matrix.RowDense && ok && cells <= AllLimit
	if l.weight.Keep = s.Keep; s.Keep != (matrix.Keep{}) && layout != matrix.RowSparse {
		return nil, fmt.Errorf("simpleinputlayer %q: all %d columns are stored, want sparse weights to admit or expire some", s.Name, s.Dim)
	}
	if err := l.weight.Check(); err != nil {
		return nil, fmt.Errorf("simpleinputlayer %q: %w", s.Name, err)
	}
	return l, nil
}

// Name implements graph.Layer.
func (l *input) Name() string { return l.spec.Name }

// Params implements graph.Layer.
func (l *input) Params() []matrix.Meta { return []matrix.Meta{l.weight.Clone(), l.bias.Clone()} }

// Lookups implements graph.Layer.
func (l *input) Lookups(b *data.Batch) []graph.Lookup {
	lookups := []graph.Lookup{{Matrix: l.weight.Name}, {Matrix: l.bias.Name}}
	if l.all {
		return lookups
	}
	l.next = 1 - l.next
	x := &l.seen[l.next]
	x.build(entries(b.Rows()))
	lookups[0].Cols = slices.Clone(x.cols)
	if lookups[0].Cols == nil {
		lookups[0].Cols = []int64{} // nil would mean all
	}
	return lookups
}

// Forward implements graph.Layer. It refuses features outside the columns of the layer.
func (l *input) Forward(b *data.Batch, params []matrix.Block, _ []*graph.Tensor) (*graph.Tensor, error) {
	bias, ok := params[1].Data.(*matrix.Dense[float32])
	if !ok || len(bias.Val) != l.spec.OutputDim {
		return nil, fmt.Errorf("%s: got %T of %d values, want dense f32 of %d",
			l.bias.Name, params[1].Data, params[1].Data.NNZ(), l.spec.OutputDim)
	}
	l.x = b.Rows()
	if err := l.inside(); err != nil {
		return nil, err
	}
	l.out.Resize(b.Len(), l.spec.OutputDim)
	for i := range b.Len() {
		copy(l.out.Row(i), bias.Val)
	}
	if err := l.multiply(params[0]); err != nil {
		return nil, err
	}
	l.transfer.Apply(l.out.Val)
	return &l.out, nil
}

// entries are the columns of the stored values of x; a CSR may hold more than its rows use.
func entries(x *matrix.CSR[float32]) []int64 { return x.Idx[x.Ptr[0]:x.Ptr[len(x.Ptr)-1]] }

// inside checks that the batch has no feature outside the columns of the layer.
func (l *input) inside() error {
	rows := matrix.Range{Lo: l.weight.ColLo, Hi: l.weight.ColLo + l.weight.Cols}
	for i := range len(l.x.Ptr) - 1 {
		row := l.x.Idx[l.x.Ptr[i]:l.x.Ptr[i+1]]
		if n := len(row); n > 0 && (row[0] < rows.Lo || row[n-1] >= rows.Hi) { // ascending
			bad := row[0]
			if bad >= rows.Lo {
				bad = row[n-1]
			}
			return fmt.Errorf("row %d of the batch has feature %d, want features within %v", i, bad, rows)
		}
	}
	return nil
}

// multiply adds X*W' to the outputs.
func (l *input) multiply(block matrix.Block) error {
	rows := l.spec.OutputDim
	switch w := block.Data.(type) {
	case *matrix.Dense[float32]:
		if l.all && int64(len(w.Val)) == l.weight.Rows*l.weight.Cols {
			l.at, l.cols = nil, nil
			l.forwardAll(w.Val)
			return nil
		}
	case *matrix.Cols[float32]:
		if l.all {
			break
		}
		x := l.find()
		if !slices.Equal(w.Idx, x.cols) || len(w.Val) != len(w.Idx)*rows {
			return fmt.Errorf("%s: got %d columns and %d values, want the %d columns of the lookup and %d rows",
				l.weight.Name, len(w.Idx), len(w.Val), len(x.cols), rows)
		}
		l.at, l.cols = x.at, x.cols
		l.forwardCols(w.Val)
		return nil
	}
	return fmt.Errorf("%s: got %T of %d values, want the columns of the lookup, f32", l.weight.Name, block.Data, block.Data.NNZ())
}

// find is the index of the batch that goes forward, built again if other batches were asked for in between.
func (l *input) find() *index {
	idx := entries(l.x)
	for i := range l.seen {
		if l.seen[i].fits(idx) {
			return &l.seen[i]
		}
	}
	l.next = 1 - l.next
	l.seen[l.next].build(idx)
	return &l.seen[l.next]
}

// Backward implements graph.Layer.
func (l *input) Backward(grad *graph.Tensor) ([]*graph.Tensor, []matrix.Block, error) {
	if l.x == nil || len(grad.Val) != len(l.out.Val) {
		return nil, nil, fmt.Errorf("gradient of %d x %d, want %d x %d", grad.Rows, grad.Cols, l.out.Rows, l.out.Cols)
	}
	l.delta = slices.Grow(l.delta[:0], len(grad.Val))[:len(grad.Val)]
	l.transfer.Slope(l.out.Val, grad.Val, l.delta)

	clear(l.sum)
	rows := l.spec.OutputDim
	for i := range grad.Rows {
		for o, d := range l.delta[i*rows : (i+1)*rows] {
			l.sum[o] += float64(d)
		}
	}
	bias := make([]float32, rows)
	for o, s := range l.sum {
		bias[o] = float32(s)
	}
	at := l.weight.Rect()
	var weight matrix.Data
	if l.all {
		w := make([]float32, l.weight.Rows*l.weight.Cols)
		l.backwardAll(w)
		weight = &matrix.Dense[float32]{Val: w}
	} else {
		w := make([]float32, len(l.cols)*rows)
		l.backwardCols(w)
		weight = &matrix.Cols[float32]{Idx: slices.Clone(l.cols), Val: w}
	}
	return nil, []matrix.Block{{At: at, Data: weight}, {At: l.bias.Rect(), Data: &matrix.Dense[float32]{Val: bias}}}, nil
}
