// Package export turns a trained network into an inference program that Paddle runs: a graph.json in the grammar of
// Angel and the matrices that were saved with it become a ProgramDesc and its parameters.
//
// # Feeds
//
// Examples are fed in one of two forms:
//
//	dense    x     float32  [batch, features]
//	sparse   ids   int64    [batch, fields]   columns of the features of an example, counted from 0, ascending as in Angel;
//	                                          or numbers of columns, where these are hashed keys (IDsNumbered)
//	         vals  float32  [batch, fields]   their values
//
// Shorter examples are filled up with id 0 and value 0, which add nothing. A network with an embedding takes the sparse
// form. Where the outputs of an embedding go side by side into another layer, the number of fields is fixed by the
// network; else it may differ from batch to batch.
//
// # Outputs
//
//	prediction   what the loss makes of the scores: sigmoid (logloss), softmax (softmaxloss), exp (poissonloss; of scores up
//	               to 80, as in training), else the score itself
//	score        the scores, where they are not the prediction
//
// # Layers
//
//	layer                 parameters, from the matrix of that name        operators
//	simpleinputlayer      <name>_weight [features, outputs], <name>_bias  dense: matmul_v2; sparse: lookup_table_v2,
//	                                                                      elementwise_mul, reduce_sum; elementwise_add
//	embedding             <name>_embedding [features, factors]            lookup_table_v2, elementwise_mul
//	fieldawareembedding   <name>_embedding [features, fields * factors],  lookup_table_v2, gather, elementwise_mul, reduce_sum;
//	                      <name>_left, <name>_right, int64 made up        the place of a value is its field
//	fclayer               <name>_0, _1, ..., <name>: _weight, _bias       matmul_v2, elementwise_add
//	biinnersumcross       none                                            square, reduce_sum, elementwise_sub, scale
//	biinteractioncross    none                                            the same, without the sum over factors
//	biinnercross          <name>_left, <name>_right, int64 made up        gather, elementwise_mul, reduce_sum
//	bioutercross          the same                                        gather, elementwise_mul
//	crosslayer            <name>_0, _1, ..., <name>: _weight, or _left    matmul_v2, elementwise_add, elementwise_mul
//	                      and _right; _bias
//	batchnormlayer        <name>_weight, _bias, _mean, _var               elementwise_sub, scale, rsqrt, elementwise_mul, elementwise_add
//	dropoutlayer          none                                            none
//	concatlayer           none                                            concat
//	sumpooling            none                                            elementwise_add
//	mulpooling            none                                            elementwise_mul
//	dotpooling            none                                            elementwise_mul, reduce_sum
//
// Transfer functions are identity, sigmoid, tanh, relu and softmax; dropout does nothing to a trained network, so
// sigmoidwithdropout is sigmoid. Of saved matrices the first rows are taken: those behind are state of the optimizer.
// Cells that a sparse matrix does not store are zero.
//
// Parameters are float32. Weights of features are turned, from a row for each output to a row for each feature; the
// others lie as they were saved.
//
// # Forms
//
// What is built is a ProgramDesc. Where PIR is asked for, a table gives each of its operators the new name, and the
// operators before it that give what has become operands: axes, shapes, factors.
package export

import (
	"context"
	"fmt"
	"strings"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/program"
)

// Version is the release that exported programs name: the first with all operators that they use.
const Version = 2_000_000

// Feed is the form in which examples are fed.
type Feed string

// The forms of feeds.
const (
	FeedAuto   Feed = "auto" // sparse if there is an embedding, or more than DenseLimit features
	FeedDense  Feed = "dense"
	FeedSparse Feed = "sparse"
)

// DenseLimit is the largest number of features that FeedAuto feeds in the dense form.
const DenseLimit = 1 << 16

// Order is how the weights of a fully connected layer lie in their row.
type Order string

// The orders of weights. Angel keeps all outputs of the first input, then those of the second; Angel's later library
// keeps all inputs of the first output. Nothing in the matrices tells them apart.
const (
	OrderAuto  Order = "auto" // by the spelling of the loss layer: losslayer is the library's
	OrderInOut Order = "in-out"
	OrderOutIn Order = "out-in"
)

// Options are what a user may choose. The zero value means auto, and nothing may be lost.
type Options struct {
	Feed  Feed
	IDs   IDs
	Order Order
	// Form is that of the program: program.FormDesc, which is meant if nothing is said, or program.FormPIR.
	Form program.Form
	// Lossy allows to round values that are no float32. Lost, if it is set, is told of it.
	Lossy bool
	Lost  func(what string)
}

// check refuses spellings that mean nothing.
func (o *Options) check() error {
	switch o.Feed {
	case "", FeedAuto, FeedDense, FeedSparse:
	default:
		return fmt.Errorf("feed %q, want auto, dense or sparse", o.Feed)
	}
	switch o.IDs {
	case "", IDsAuto, IDsColumns, IDsNumbered:
	default:
		return fmt.Errorf("ids %q, want auto, columns or numbered", o.IDs)
	}
	switch o.Order {
	case "", OrderAuto, OrderInOut, OrderOutIn:
	default:
		return fmt.Errorf("order of weights %q, want auto, in-out or out-in", o.Order)
	}
	switch o.Form {
	case "", program.FormDesc, program.FormPIR:
		return nil
	}
	return fmt.Errorf("form %q, want %s or %s", o.Form, program.FormDesc, program.FormPIR)
}

// Model is an inference program and where its parameters come from.
type Model struct {
	Program *program.Program
	Width   int    // how many scores an example has
	Loss    string // name of the loss, in small letters
	// Notes say what was decided without being told.
	Notes []string
	// Rows is how many rows the tables have that ids name, 0 if the feed is dense. Keys are the columns that ids number, ascending,
	// nil if ids are the columns; the row behind those of all keys is zero. Nobody changes them.
	Rows int64
	Keys []int64

	src     format.Reader
	tensors []tensor
	opts    Options
}

// New translates the network. It fails where a layer, a matrix or a size is not as the network says; values are not read
// before Reader's, but for the columns where ids number them. r must stay open as long as the Model is used.
func New(ctx context.Context, f *graph.File, r format.Reader, o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &builder{file: f, src: r, opts: o, block: program.Block{Parent: -1}, taken: map[string]bool{},
		entries: map[string]*graph.Entry{}, kinds: map[string]*kind{}, built: map[string]*value{}, rows: map[string]int64{}}
	loss, err := b.entry()
	if err != nil {
		return nil, err
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	if err := b.whole(loss); err != nil {
		return nil, err
	}
	if err := b.slots(); err != nil {
		return nil, err
	}
	p, err := b.program()
	if err != nil {
		return nil, err
	}
	if n := f.Data.Hash; n > 0 {
		b.notes = append(b.notes, fmt.Sprintf("features were hashed to %d columns in training: ids are of those columns, not of features", n))
	}
	if n := len(f.Data.Scaling); n > 0 {
		b.notes = append(b.notes, fmt.Sprintf("training scaled the values of columns (%d): feed values scaled as data.scaling of graph.json says",
			n))
	}
	m := &Model{Program: p, Width: int(b.width), Loss: b.loss, Notes: b.notes, Keys: b.keys, src: r, tensors: b.tensors, opts: o}
	if b.sparse {
		m.Rows = b.features
	}
	return m, nil
}

// program is what was built, in the form asked for.
func (b *builder) program() (*program.Program, error) {
	if b.opts.Form == program.FormPIR {
		return modernize(b.block)
	}
	return program.New([]program.Block{b.block}, Version)
}

// layerLimit is the largest number of layers of a network.
const layerLimit = 10000

// entry notes the layers by name and finds the loss layer.
func (b *builder) entry() (*graph.Entry, error) {
	if n := len(b.file.Layers); n > layerLimit {
		return nil, fmt.Errorf("%d layers, want at most %d: %w", n, layerLimit, format.ErrLimit)
	}
	var loss *graph.Entry
	for i := range b.file.Layers {
		e := &b.file.Layers[i]
		if b.entries[e.Name] != nil || e.Name == "" {
			return nil, fmt.Errorf("layer %d is called %q, want a name that no other layer has", i, e.Name)
		}
		b.entries[e.Name] = e
		k, err := findKind(e)
		if err != nil {
			return nil, err
		}
		b.kinds[e.Name] = k
		if !isLoss(e) {
			continue
		}
		if loss != nil {
			return nil, fmt.Errorf("two loss layers, %q and %q, want one", loss.Name, e.Name)
		}
		loss = e
	}
	if loss == nil {
		return nil, fmt.Errorf("no layer of type simplelosslayer, want one")
	}
	b.library = strings.EqualFold(loss.Type, "losslayer")
	return loss, nil
}

func isLoss(e *graph.Entry) bool {
	return strings.EqualFold(e.Type, "simplelosslayer") || strings.EqualFold(e.Type, "losslayer")
}
