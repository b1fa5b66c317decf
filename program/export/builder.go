package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/program"
)

// builder puts a program together.
type builder struct {
	file    *graph.File
	src     format.Reader
	opts    Options
	entries map[string]*graph.Entry
	kinds   map[string]*kind
	built   map[string]*value // of each layer; nil while its inputs are being built
	path    []string          // layers being built
	notes   []string
	guessed bool // a note says which order weights were taken for

	rows     map[string]int64 // of the matrix of features of each layer that has one
	features int64            // feature columns, or numbers of them and one
	below    bool             // some columns are below 0
	keys     []int64          // the columns that ids number, nil if ids are columns
	sparse   bool             // examples are fed as ids and values
	library  bool             // the loss layer is spelled as Angel's later library does
	fields   int64            // features of an example, or anyFields
	width    int64            // scores of an example
	loss     string           // its name, in small letters
	spread   string           // variable with the values of the features, once there is one

	block   program.Block
	taken   map[string]bool
	tensors []tensor
}

// anyFields is the number of fields where it may differ from batch to batch, as a dimension of variables says it.
const anyFields = -1

// value is what a layer gives: a variable of [batch, width], or the vectors of the fields of an example, a variable of
// [batch, fields, factors], of which the flat form is made when it is asked for.
type value struct {
	layer   string
	name    string
	width   int64
	vectors string
	factors int64
}

// begin decides how examples are fed.
func (b *builder) begin(ctx context.Context) error {
	embedding := false
	b.fields = anyFields
	for i := range b.file.Layers {
		e := &b.file.Layers[i]
		k := b.kinds[e.Name]
		embedding = embedding || k.vectors != nil
		if k.weights != "" {
			if err := b.widen(e, k); err != nil {
				return fmt.Errorf("layer %q: %w", e.Name, err)
			}
		}
	}
	numbered := b.opts.IDs == IDsNumbered
	if b.opts.IDs != IDsColumns && b.opts.Feed != FeedDense {
		numbered = numbered || b.below || b.features > ColumnLimit
	}
	if numbered {
		b.sparse = true
		if b.opts.Feed == FeedDense {
			return fmt.Errorf("a dense feed of numbered columns, want a sparse one")
		}
		return b.number(ctx)
	}
	if b.below {
		return fmt.Errorf("columns below 0, which are no rows of a table, want numbered ids")
	}
	switch {
	case b.opts.Feed == FeedDense && embedding:
		return fmt.Errorf("a dense feed for a network with an embedding, want a sparse one")
	case b.opts.Feed == FeedDense, b.opts.Feed == FeedSparse:
		b.sparse = b.opts.Feed == FeedSparse
	default:
		b.sparse = embedding || b.features > DenseLimit && !strings.EqualFold(b.file.Data.Format, "dense")
	}
	return nil
}

// whole builds everything that the loss layer reads, and the head.
func (b *builder) whole(loss *graph.Entry) error {
	h, err := b.head(loss)
	if err != nil {
		return err
	}
	if n := len(loss.Inputs()); n != 1 {
		return fmt.Errorf("loss layer %q reads %d layers, want one", loss.Name, n)
	}
	for _, name := range []string{"feed", "fetch", "ids", "vals", "x", "score", "prediction"} {
		b.taken[name] = true
	}
	b.declare(program.Var{Name: "feed", Kind: program.VarType_FEED_MINIBATCH, Persistable: true})
	b.declare(program.Var{Name: "fetch", Kind: program.VarType_FETCH_LIST, Persistable: true})
	out, err := b.layer(loss.Inputs()[0], loss.Name)
	if err != nil {
		return err
	}
	for i := range b.file.Layers {
		if e := &b.file.Layers[i]; b.built[e.Name] == nil && e != loss {
			return fmt.Errorf("layer %q does not lead to the loss layer, want all to", e.Name)
		}
	}
	b.feed()
	b.flat(out)
	return b.finish(out, h)
}

// layer gives the value of a layer, which is built now unless it is already.
func (b *builder) layer(name, reader string) (*value, error) {
	if v := b.built[name]; v != nil {
		return v, nil
	}
	e := b.entries[name]
	if e == nil || isLoss(e) {
		return nil, fmt.Errorf("layer %q reads %q, want the name of a layer", reader, name)
	}
	if slices.Contains(b.path, name) {
		return nil, fmt.Errorf("layer %q reads itself by way of %q", name, reader)
	}
	b.path = append(b.path, name)
	defer func() { b.path = b.path[:len(b.path)-1] }()
	k := b.kinds[name]
	if n := len(e.Inputs()); n < k.least || n > k.most {
		return nil, fmt.Errorf("layer %q reads %d layers, want %s", name, n, k.wanted())
	}
	var in []*value
	for _, from := range e.Inputs() {
		v, err := b.layer(from, name)
		if err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	v, err := k.build(b, e, in)
	if err != nil {
		return nil, fmt.Errorf("layer %q: %w", name, err)
	}
	v.layer = name
	b.built[name] = v
	return v, nil
}

// flat makes sure that a value has its flat form. Its width is known, since fix looks for the layers that read that form.
func (b *builder) flat(v *value) {
	if v.name != "" {
		return
	}
	v.name = b.temp(v.layer+".flat", -1, v.width)
	b.op("reshape2", in("X", v.vectors), in("Out", v.name, "XShape", b.shapeOf(v.layer, -1, b.fields, v.factors)),
		ints("shape", 0, v.width))
}

// temp declares a float32 variable that lives for a run.
func (b *builder) temp(name string, dims ...int64) string {
	return b.declare(tensorVar(b.free(name), program.VarType_FP32, dims))
}

// shapeOf declares the variable that keeps the former shape of what an operator reshapes, which nothing reads.
func (b *builder) shapeOf(layer string, dims ...int64) string {
	return b.temp(layer+".xshape", append([]int64{0}, dims...)...)
}

// free is the name, or with a number behind it, that no other variable has.
func (b *builder) free(name string) string {
	free := name
	for i := 1; b.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	b.taken[free] = true
	return free
}

func (b *builder) declare(v program.Var) string {
	b.taken[v.Name] = true
	b.block.Vars = append(b.block.Vars, v)
	return v.Name
}

func tensorVar(name string, t program.VarType_Type, dims []int64) program.Var {
	return program.Var{Name: name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: t, Dims: dims}
}

// op appends an operator.
func (b *builder) op(kind string, in, out []program.Slot, attrs ...program.Attr) {
	b.block.Ops = append(b.block.Ops, program.Op{Type: kind, In: in, Out: out, Attrs: attrs})
}

// apply appends an operator with one input X and one output of the given name and shape.
func (b *builder) apply(kind, x, name string, dims []int64, attrs ...program.Attr) string {
	out := b.temp(name, dims...)
	b.op(kind, in("X", x), in("Out", out), attrs...)
	return out
}

// combine appends an elementwise operator, or another of two inputs.
func (b *builder) combine(kind, x, y, name string, dims []int64, attrs ...program.Attr) string {
	out := b.temp(name, dims...)
	if len(attrs) == 0 {
		attrs = []program.Attr{integer("axis", -1)}
	}
	b.op(kind, in("X", x, "Y", y), in("Out", out), attrs...)
	return out
}

// in are slots with one variable each, from pairs of slot and variable.
func in(pairs ...string) []program.Slot {
	var all []program.Slot
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, program.Slot{Name: pairs[i], Args: []string{pairs[i+1]}})
	}
	return all
}

func integer(name string, v int64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_INT, Value: v}
}

func long(name string, v int64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_LONG, Value: v}
}

func ints(name string, v ...int64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_INTS, Value: v}
}

func number(name string, v float64) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_FLOAT, Value: v}
}

func truth(name string, v bool) program.Attr {
	return program.Attr{Name: name, Type: program.AttrType_BOOLEAN, Value: v}
}
