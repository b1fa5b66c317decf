// Package layer holds the layers that networks are made of, one file for each kind, in the table [Kinds]. A layer keeps
// its parameters in matrices; those of features have a column for each feature and a row for each output or factor. Their
// names are the layer's name and what they are, as in Angel: input_weight, input_bias, embedding_embedding.
package layer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/matrix"
)

// Kind is a kind of layer.
type Kind struct {
	Name string   // as graph.json spells it, in small letters
	Also []string // other spellings
	Help string
	// Least and Most are how many layers it reads.
	Least, Most int
	// Stacks says that a layer with several output dimensions is as many layers, each of which reads the one before it.
	Stacks bool
	// Keys are those of an entry of graph.json that mean something to it, beside its name, its type, what it reads and how many outputs
	// it has.
	Keys []string
	Free bool // its weights have no penalties
	// Bound is what is known of its outputs by those that it reads; nil: what its transfer function says, if it has one.
	Bound func(in []Bound) Bound
	New   func(Spec) (graph.Layer, error)
}

// Reads says how many layers it reads.
func (k *Kind) Reads() string {
	switch {
	case k.Most == 0:
		return "none"
	case k.Most == Many:
		return fmt.Sprintf("at least %d", k.Least)
	case k.Least == k.Most:
		return fmt.Sprint(k.Least)
	}
	return fmt.Sprintf("%d to %d", k.Least, k.Most)
}

// Many is as many layers as one likes, in Kind.Most.
const Many = math.MaxInt

// Kinds is the table of layers, a new slice on every call.
func Kinds() []Kind {
	return []Kind{
		simpleInput, embedding, fieldAware, connected,
		innerSumCross, innerCross, interactionCross, outerCross, cross,
		concat, sumPooling, mulPooling, dotPooling,
		batchNorm, dropout,
	}
}

// Find is the kind of that name in the table, in letters of any case; the error lists the names there are. nil is the table
// Kinds.
func Find(all []Kind, name string) (*Kind, error) {
	if all == nil {
		all = Kinds()
	}
	names := make([]string, len(all))
	for i := range all {
		for _, spelling := range append(all[i].Also, all[i].Name) {
			if strings.EqualFold(spelling, name) {
				return &all[i], nil
			}
		}
		names[i] = all[i].Name
	}
	return nil, spell.Unknown("layer type", name, names)
}

// Update is the update rule of a matrix, its settings, and by what the learning rate is multiplied for it; 0 counts as 1.
type Update struct {
	Rule  string
	Hyper map[string]float64
	Rate  float64
}

// Spec describes a layer. Which fields mean something depends on the kind.
type Spec struct {
	Name      string
	In        []graph.Shape // what the layers that it reads give
	OutputDim int
	Factors   int    // numbers of a vector
	Fields    int    // of the examples; 0: not known
	Rank      int    // of weights that are a product of two; 0: they are not
	Mean      bool   // several values of a field are averaged, not added up
	Transfer  Choice // transfer function; the zero value is the identity

	Dim    int64 // feature columns; 0 or less: not known, any key from ColLo on
	ColLo  int64 // the first feature column
	Sparse bool  // store only the columns that occurred, even if there are few
	Dense  bool  // store all columns, even if there are many

	Weight Update      // rule of the weights
	Bias   Update      // rule of the bias
	Init   matrix.Init // values of weights before the first push, over those of the kind
	Own    bool        // the scale of Init is that of the kind
	Start  []float64   // values of biases before the first push, one for each output; nil: 0
	Keep   matrix.Keep // which columns of sparse weights are made, and which go again

	// Widths are how many factors features have, where that is not Factors: vectors are filled up with zeros. Embeddings alone have them.
	Widths  []matrix.Width
	Storage matrix.DType // in which servers keep the weights of features; Invalid: float32
	Format  string       // Angel's format in which the matrices are saved, by its short or full class name; "": that of the kind
}

// Choice is a function by name, with its settings.
type Choice struct {
	Name string
	Set  map[string]float64
}

const (
	// DenseLimit is the largest number of columns of a matrix that is stored dense.
	DenseLimit = 1 << 24
	// OutputLimit is the largest number of outputs of a layer.
	OutputLimit = 1 << 20
	// WeightLimit is the largest number of weights between two layers.
	WeightLimit = 1 << 28
)

// features describes a matrix with a column for each feature and the given rows, of the layer kind that Angel calls kind.
func (s *Spec) features(what, kind string, rows int, init matrix.Init) (graph.Param, error) {
	cols, known := s.Dim, s.Dim > 0
	if !known {
		cols = math.MaxInt64
		if s.ColLo > 0 {
			cols -= s.ColLo
		}
	}
	p, err := s.param(what, kind, int64(rows), s.Weight, init)
	if err != nil {
		return p, err
	}
	p.Cols, p.ColLo, p.Features = cols, s.ColLo, true
	p.Keep, p.Storage = s.Keep, s.Storage
	if p.Layout = matrix.RowDense; s.Sparse || !known || cols > DenseLimit || !s.Dense && !p.Whole() {
		p.Layout = matrix.RowSparse
	}
	if s.Keep != (matrix.Keep{}) && p.Layout != matrix.RowSparse {
		return p, fmt.Errorf("all %d columns are stored, want sparse weights to admit or expire some", cols)
	}
	return p, p.Check()
}

// weights describes a matrix that is pulled whole.
func (s *Spec) weights(what, kind string, rows, cols int, u Update, init matrix.Init) (graph.Param, error) {
	if n, ok := matrix.Cells(int64(rows), int64(cols)); !ok || n > WeightLimit {
		return graph.Param{}, fmt.Errorf("%d x %d weights, want at most %d", rows, cols, WeightLimit)
	}
	p, err := s.param(what, kind, int64(rows), u, init)
	if err != nil {
		return p, err
	}
	p.Cols, p.Layout = int64(cols), matrix.RowDense
	return p, p.Check()
}

func (s *Spec) param(what, kind string, rows int64, u Update, init matrix.Init) (graph.Param, error) {
	if s.Init.Kind != "" {
		if init.Kind = s.Init.Kind; !s.Own {
			init.Scale = s.Init.Scale
		}
	}
	if what == "bias" {
		init = startOf(s.Start)
	}
	if init.Kind == "zero" {
		init = matrix.Init{}
	}
	if init.Kind != "" {
		if init.Seed = s.Init.Seed; s.Own && init.Scale == 0 {
			return graph.Param{}, fmt.Errorf("init %s without a scale, want one: the weights begin with zero else", init.Kind)
		}
	}
	attrs := map[string]string{"angel.layer": kind}
	if s.Format != "" {
		attrs["angel.format"] = s.Format
	}
	return graph.Param{Rate: u.Rate, Meta: matrix.Meta{
		Name: s.Name + "_" + what, Rows: rows, DType: matrix.F32,
		Rule: u.Rule, Hyper: maps.Clone(u.Hyper), Init: init, Attrs: attrs,
	}}, nil
}

// startOf is the initial values of biases.
func startOf(start []float64) matrix.Init {
	switch {
	case len(start) == 1 && start[0] != 0:
		return matrix.Init{Kind: "constant", Scale: start[0]}
	case slices.ContainsFunc(start, func(v float64) bool { return v != 0 }):
		return matrix.Init{Kind: "constant", Values: start}
	}
	return matrix.Init{}
}

// bias describes a bias of n outputs.
func (s *Spec) bias(kind string, n int) (graph.Param, error) {
	if len(s.Start) > 0 && len(s.Start) != n {
		return graph.Param{}, fmt.Errorf("%d values of biases to begin with, want %d", len(s.Start), n)
	}
	return s.weights("bias", kind, 1, n, s.Bias, matrix.Init{})
}

// check refuses a layer that has no name or not the outputs that are wanted of it; 0 outputs mean those.
func (s *Spec) check(outputs int) error {
	switch {
	case s.Name == "":
		return fmt.Errorf("a layer without name")
	case outputs < 1 || outputs > OutputLimit:
		return fmt.Errorf("%d outputs, want 1 to %d", outputs, OutputLimit)
	case s.OutputDim != 0 && s.OutputDim != outputs:
		return fmt.Errorf("outputdim %d, want %d by the layers that it reads", s.OutputDim, outputs)
	}
	return nil
}

// flat is the layer's only input, if that has the same number of outputs for all examples.
func (s *Spec) flat(i int) (graph.Shape, error) {
	if in := s.In[i]; !in.Ragged {
		return in, nil
	}
	return graph.Shape{}, fmt.Errorf("reads an embedding of any number of values, want one of known fields: " +
		"set the embedding's outputdim to fields x numfactors")
}

// vectors is the layer's only input, if that is vectors.
func (s *Spec) vectors() (graph.Shape, error) {
	if in := s.In[0]; in.Factors > 0 {
		return in, nil
	}
	return graph.Shape{}, fmt.Errorf("reads %d numbers, want the vectors of an embedding", s.In[0].Cols)
}

// plain is what layers without parameters share.
type plain struct {
	name  string
	shape graph.Shape
	out   graph.Tensor
}

// Name implements graph.Layer.
func (l *plain) Name() string { return l.name }

// Params implements graph.Layer.
func (l *plain) Params() []graph.Param { return nil }

// Shape implements graph.Layer.
func (l *plain) Shape() graph.Shape { return l.shape }

// tooMany is the error of weights between so many inputs and outputs.
func tooMany(inputs, outputs int) error {
	return fmt.Errorf("%d x %d weights, want at most %d", inputs, outputs, WeightLimit)
}
