// Package layer holds the layers that networks are made of, one file for each kind, in the table [Kinds]. A layer keeps
// its parameters in matrices whose columns are features and whose rows are outputs; their names are the layer's name
// and what they are, as in Angel: input_weight, input_bias.
package layer

import (
	"fmt"
	"maps"
	"strings"

	"thole.example/graph"
	"thole.example/matrix"
)

// Kind is a kind of layer.
type Kind struct {
	Name string // as graph.json spells it, in small letters
	Help string
	New  func(Spec) (graph.Layer, error)
}

// Kinds is the table of layers, a new slice on every call.
func Kinds() []Kind { return []Kind{simpleInput} }

// Find is the kind of that name in the table, in letters of any case; the error lists the names there are. nil is the table
// Kinds.
func Find(all []Kind, name string) (*Kind, error) {
	if all == nil {
		all = Kinds()
	}
	names := make([]string, len(all))
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("layer type %q, want one of %s", name, strings.Join(names, " "))
}

// Update is the update rule of a matrix and its settings.
type Update struct {
	Rule  string
	Hyper map[string]float64
}

// Spec describes a layer. Which fields mean something depends on the kind.
type Spec struct {
	Name      string
	OutputDim int
	Transfer  string // transfer function; "": identity

	Dim    int64 // feature columns; 0 or less: not known, any key from ColLo on
	ColLo  int64 // the first feature column
	Sparse bool  // store only the columns that occurred, even if Dim is small

	Weight Update      // rule of the weights
	Bias   Update      // rule of the bias
	Init   matrix.Init // values of weights before the first push; biases start at 0
	Keep   matrix.Keep // which columns of sparse weights are made, and which go again

	Storage matrix.DType // in which servers keep the weights; Invalid: float32
}

const (
	// AllLimit is the largest number of weights of a layer that are pulled and pushed whole; of larger matrices each
	// batch takes the columns that occur in it.
	AllLimit = 1 << 16
	// DenseLimit is the largest number of columns of a matrix that is stored dense.
	DenseLimit = 1 << 24
	// OutputLimit is the largest output dimension of a layer.
	OutputLimit = 1 << 20
)

// meta describes a parameter matrix of the layer kind that Angel calls kind.
func meta(name, kind string, rows, colLo, cols int64, layout matrix.Layout, u Update, init matrix.Init) matrix.Meta {
	return matrix.Meta{
		Name: name, Rows: rows, Cols: cols, ColLo: colLo,
		DType: matrix.F32, Layout: layout,
		Rule: u.Rule, Hyper: maps.Clone(u.Hyper), Init: init,
		Attrs: map[string]string{"angel.layer": kind},
	}
}
