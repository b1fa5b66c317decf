package export

import (
	"fmt"
	"slices"

	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/program"
)

// featureLimit is the largest number of values of a table of features, 16 GiB of them.
const featureLimit = 1 << 32

// widen notes how many features the layer has, by its matrix, and how many fields an example must have for it.
func (b *builder) widen(e *graph.Entry, k *kind) error {
	m, err := b.find(e.Name + k.weights)
	if err != nil {
		return err
	}
	b.rows[e.Name] = int64(e.OutputDim)
	if k.vectors != nil {
		if b.rows[e.Name], err = k.vectors(b, e); err != nil {
			return err
		}
	}
	n := m.ColLo + m.Cols
	if k.vectors == nil && flattened(&m, int64(e.OutputDim), b.file.Data.IndexRange) {
		n = m.Cols / int64(e.OutputDim)
	}
	b.below = b.below || m.ColLo < 0
	b.features = max(b.features, n, b.file.Data.IndexRange)
	return nil
}

// flattened reports whether the weights of several outputs lie in one row, as those of dense examples do.
func flattened(m *matrix.Meta, outputs, features int64) bool {
	if outputs < 2 || m.Cols%outputs != 0 || m.Layout == matrix.RowSparse || m.Cols == features {
		return false
	}
	return m.Rows < outputs || features > 0 && m.Cols/outputs == features
}

// fix is the factors of an embedding. It says how many fields an example has, if a layer reads the vectors side by side.
func (b *builder) fix(e *graph.Entry) (int64, error) {
	if e.NumFactors < 1 {
		return 0, fmt.Errorf("numfactors %d, want at least 1", e.NumFactors)
	}
	for i := range b.file.Layers {
		reader := &b.file.Layers[i]
		for _, name := range reader.Inputs() {
			if name != e.Name || b.kinds[reader.Name].open {
				continue
			}
			n := int64(e.OutputDim) / int64(e.NumFactors)
			if n < 1 || n*int64(e.NumFactors) != int64(e.OutputDim) {
				return 0, fmt.Errorf("outputdim %d, want numfactors (%d) x fields, since layer %q reads the fields side by side",
					e.OutputDim, e.NumFactors, reader.Name)
			}
			if err := b.fixFields(n); err != nil {
				return 0, err
			}
		}
	}
	return int64(e.NumFactors), nil
}

// fixFields says how many fields an example has.
func (b *builder) fixFields(n int64) error {
	if b.fields != anyFields && b.fields != n {
		return fmt.Errorf("%d fields, want the %d of another embedding", n, b.fields)
	}
	b.fields = n
	return nil
}

// feed puts the operators of the feeds before all others, the last feed first: so Paddle writes them, and its jit.load
// takes their order and not col for the order of the inputs.
func (b *builder) feed() {
	vars := []program.Var{tensorVar("x", program.VarType_FP32, []int64{-1, b.features})}
	if b.sparse {
		vars = []program.Var{
			tensorVar("ids", program.VarType_INT64, []int64{-1, b.fields}),
			tensorVar("vals", program.VarType_FP32, []int64{-1, b.fields}),
		}
	}
	var ops []program.Op
	for i := range vars {
		vars[i].NeedFeed, vars[i].StopGradient = true, true
		b.declare(vars[i])
		ops = append(ops, program.Op{Type: "feed", In: in("X", "feed"), Out: in("Out", vars[i].Name),
			Attrs: []program.Attr{integer("col", int64(i))}})
	}
	slices.Reverse(ops)
	b.block.Ops = append(ops, b.block.Ops...)
}

// weigh gives the rows of a table that the ids name, each times its value: [batch, fields, width].
func (b *builder) weigh(name, table string, width int64) string {
	rows := b.temp(name+".rows", -1, b.fields, width)
	b.op("lookup_table_v2", in("Ids", "ids", "W", table), in("Out", rows),
		long("padding_idx", -1), truth("is_sparse", false), truth("is_distributed", false))
	return b.combine("elementwise_mul", rows, b.column(), name+".weighed", []int64{-1, b.fields, width})
}

// column is the values of the features as [batch, fields, 1].
func (b *builder) column() string {
	if b.spread == "" {
		b.spread = b.temp("vals.column", -1, b.fields, 1)
		b.op("unsqueeze2", in("X", "vals"), in("Out", b.spread, "XShape", b.shapeOf("vals", -1, b.fields)), ints("axes", 2))
	}
	return b.spread
}

// input is f(XW+b) of the features.
func (b *builder) input(e *graph.Entry, _ []*value) (*value, error) {
	width := int64(e.OutputDim)
	if width < 1 {
		return nil, fmt.Errorf("outputdim %d, want at least 1", width)
	}
	m, err := b.find(e.Name + "_weight")
	if err != nil {
		return nil, err
	}
	t := tensor{name: m.Name, dims: []int64{b.features, width}, from: m, turned: true, keys: b.keys}
	if flattened(&m, width, b.file.Data.IndexRange) {
		if t.turned = b.outIn(); b.keys != nil {
			return nil, fmt.Errorf("matrix %q is of dense examples, whose columns are not numbered", m.Name)
		}
	}
	weight, err := b.param(t)
	if err != nil {
		return nil, err
	}
	bias, err := b.bias(e.Name, width)
	if err != nil {
		return nil, err
	}
	sums := ""
	if b.sparse {
		weighed := b.weigh(e.Name, weight, width)
		sums = b.apply("reduce_sum", weighed, e.Name+".sum", []int64{-1, width}, fold(1, false)...)
	} else {
		sums = b.multiply("x", weight, e.Name, width, false)
	}
	sums = b.combine("elementwise_add", sums, bias, e.Name+".biased", []int64{-1, width})
	name, err := b.transfer(first(e.TransFunc, b.file.DefaultTransFunc), sums, e.Name, width)
	return &value{name: name, width: width}, err
}

// embedding is the vectors of the features of an example, each times its value.
func (b *builder) embedding(e *graph.Entry, _ []*value) (*value, error) {
	m, err := b.find(e.Name + "_embedding")
	if err != nil {
		return nil, err
	}
	k := int64(e.NumFactors)
	table, err := b.param(tensor{name: m.Name, dims: []int64{b.features, k}, from: m, turned: true, keys: b.keys})
	if err != nil {
		return nil, err
	}
	return &value{vectors: b.weigh(e.Name, table, k), factors: k, width: b.fields * k}, nil
}

// fold are the attributes of a reduction of one dimension.
func fold(dim int64, keep bool) []program.Attr {
	return []program.Attr{ints("dim", dim), truth("keep_dim", keep), truth("reduce_all", false)}
}
