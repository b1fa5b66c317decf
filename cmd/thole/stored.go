package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/matrix"
	"thole.example/tree"
)

// storedModel is a trained model at a path: its matrices, and what its graph.json says.
type storedModel struct {
	format.Reader
	path   string
	format string
	file   *graph.File // nil without a graph.json

	transform *feature.Transform // of the columns of tables, nil if it learned from none
	trees     *tree.Ensemble     // nil if it is none of trees
}

func openModel(ctx context.Context, in *blob.Paths, path, from string, set map[string]string) (*storedModel, error) {
	b, name, err := bucketAt(in, path)
	if err != nil {
		return nil, err
	}
	r, codec, err := codecs().Open(ctx, b, name, from, format.Options{Set: set})
	if err != nil {
		return nil, err
	}
	m := &storedModel{Reader: r, path: path, format: codec.Info().Name}
	if src := r.Files()[graph.FileName]; src != nil {
		if m.file, err = graph.ParseJSON(src); err != nil {
			r.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if src := r.Files()[feature.FileName]; src != nil {
		if m.transform, err = feature.Parse(src); err != nil {
			r.Close()
			return nil, fmt.Errorf("%s: %s: %w", path, feature.FileName, err)
		}
	}
	if m.trees, err = treesOf(ctx, r); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t := m.transform; t != nil && m.file != nil && m.file.Data.IndexRange > 0 && m.file.Data.IndexRange != t.Dim() {
		r.Close()
		return nil, fmt.Errorf("%s: %s has %d features and %s %d, want those of one training", path, feature.FileName, t.Dim(),
			graph.FileName, m.file.Data.IndexRange)
	}
	return m, nil
}

// check refuses a model that is another than the algorithm's.
func (m *storedModel) check(algorithm string) error {
	if m.file == nil {
		return nil
	}
	switch name := algo.NameOf(m.file); name {
	case algorithm:
		return nil
	case "":
		return usageError{fmt.Errorf("%s has a network of its own (%s), and not that of --algo %s", m.path, graph.FileName, algorithm)}
	default:
		return usageError{fmt.Errorf("%s is a model of %s (%s), and --algo is %s; want --algo %s", m.path, name, graph.FileName, algorithm, name)}
	}
}

// network is the network of the model: what its graph.json says, which --algo must not contradict, or what --algo names.
func (m *storedModel) network(algorithm string) (*graph.File, algo.Task, error) {
	if m.trees != nil {
		return nil, "", fmt.Errorf("%s: %w", m.path, errTrees)
	}
	if algorithm == "" {
		if m.file == nil {
			return nil, "", usageError{fmt.Errorf("%s does not say what it is: it has no %s; name the algorithm, "+
				"--algo NAME (thole algos lists them)", m.path, graph.FileName)}
		}
		return m.file, algo.TaskOf(m.file), nil
	}
	recipe, err := algo.Find(algorithm)
	if err != nil {
		return nil, "", usageError{err}
	}
	if recipe.Trees != "" {
		return nil, "", usageError{fmt.Errorf("%s is no model of trees, which --algo %s says: it has no %s", m.path, algorithm, tree.FileName)}
	}
	if err := m.check(recipe.Name); err != nil {
		return nil, "", err
	}
	if m.file != nil { // which also has the sizes, and may have another loss
		return m.file, algo.TaskOf(m.file), nil
	}
	return m.recipe(recipe), recipe.Task, nil
}

// recipe is the network of a recipe as the matrices have it: with as many outputs as the model has biases where there is one for each
// class, and, where features are embedded, with the fields, factors and hidden layers that they tell of.
func (m *storedModel) recipe(a *algo.Algo) *graph.File {
	size := m.size(a)
	f := a.File(size)
	f.Data.NumField = size.Fields
	if a.Task == algo.Multiclass {
		for i := range f.Layers {
			if bias, err := m.find(f.Layers[i].Name + "_bias"); err == nil {
				algo.WithClasses(f, int(bias.Cols))
			}
		}
	}
	return f
}

// mostFields is up to how many fields a network is tried with that does not say how many it has.
const mostFields = 1 << 10

// size is how large the network of a recipe is by its matrices; those of ffm do not tell fields from factors, which are taken to be as
// many as the recipe has. If no size fits, it is the recipe's.
func (m *storedModel) size(a *algo.Algo) algo.Size {
	table, err := m.find("embedding_embedding")
	if !a.Network() || err != nil {
		return a.Sizes
	}
	s := algo.Size{Factors: int(min(table.Rows, layer.OutputLimit))}
	for bias, err := m.find("fclayer_0_bias"); err == nil && a.Sizes.Hidden != nil; {
		s.Hidden = append(s.Hidden, int(min(bias.Cols, layer.OutputLimit)))
		bias, err = m.find(fmt.Sprintf("fclayer_%d_bias", len(s.Hidden)))
	}
	for _, one := range m.Matrices() {
		if strings.HasPrefix(one.Name, "crosslayer") && strings.HasSuffix(one.Name, "_bias") {
			s.Depth++
		}
	}
	if a.Sizes.Fields == 0 {
		return a.Sized(s)
	}
	for _, s.Factors = range []int{s.Factors, a.Sizes.Factors} {
		for s.Fields = 1; s.Fields <= mostFields; s.Fields++ {
			if model, err := a.Build(algo.Conf{Size: s, Dim: 1}); err == nil && !slices.ContainsFunc(model.Params(), func(p graph.Param) bool {
				has, err := m.find(p.Name)
				return err != nil || has.Rows != p.Rows || !p.Features && has.Cols != p.Cols
			}) {
				return s
			}
		}
	}
	return a.Sizes
}

// classes are the labels that the model of so many scores was trained with, nil if it does not say.
func (m *storedModel) classes(width int, task algo.Task) (data.Classes, error) {
	var c data.Classes
	said := graph.FileName
	switch {
	case m.trees != nil && len(m.trees.Labels) > 0:
		c, said = m.trees.Labels, tree.FileName
	case m.trees != nil, m.file == nil:
		return nil, nil
	default:
		c = m.file.Data.Classes
	}
	switch {
	case task == algo.Multiclass && len(c) == 0:
		return data.Numbered(width), nil
	case task == algo.Multiclass && (len(c) != width || c.Check() != nil):
		return nil, fmt.Errorf("%s: %s: classes %v, want %d different whole numbers, one for each output", m.path, said, c, width)
	case task == algo.Multiclass:
		return c, nil
	case len(c) == 0:
		return data.Standard(), nil
	case len(c) != 2 || c[0] == c[1]:
		return nil, fmt.Errorf("%s: %s: classes %v, want two labels, that of negative examples first", m.path, said, c)
	}
	return c, nil
}

// find is the stored matrix of the name.
func (m *storedModel) find(name string) (matrix.Meta, error) {
	var names []string
	for _, s := range m.Matrices() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return matrix.Meta{}, fmt.Errorf("%s: no matrix %s, which the network has; there is %s", m.path, name, strings.Join(names, ", "))
}

// conf is the columns of the matrices that have one for each feature.
func (m *storedModel) conf(file *graph.File) (algo.Conf, error) {
	conf := algo.Conf{}
	growing, err := algo.Growing(file)
	if err != nil {
		return conf, fmt.Errorf("%s: %w", m.path, err)
	}
	for i, name := range growing {
		s, err := m.find(name)
		if err != nil {
			return conf, err
		}
		if i == 0 || s.ColLo < conf.ColLo {
			conf.ColLo = s.ColLo
		}
		conf.Dim = max(conf.Dim, s.Cols)
		conf.Sparse = conf.Sparse || s.Layout == matrix.RowSparse
	}
	return conf, nil
}

// build is the network with the sizes of the stored matrices, each of which must be as the others want it.
func (m *storedModel) build(file *graph.File) (*graph.Model, error) {
	conf, err := m.conf(file)
	if err != nil {
		return nil, err
	}
	model, err := algo.Compose(file, conf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	growing, err := algo.Growing(file)
	if err != nil {
		return nil, err
	}
	var used []format.Used
	for _, want := range model.Params() {
		s, err := m.find(want.Name)
		if err != nil {
			return nil, err
		}
		if s.Cols == want.Cols && (s.Rows == want.Rows || m.format == "angel" && s.Rows > want.Rows) { // Angel keeps slots in rows below
			if !strings.HasSuffix(want.Name, "_bias") || s.Rows != want.Rows {
				used = append(used, format.Used{Meta: s, Rows: want.Rows})
			}
			continue
		}
		columns := fmt.Sprint(want.Cols)
		if slices.Contains(growing, want.Name) {
			columns = "one column for each feature"
		}
		err = fmt.Errorf("%s: matrix %s is %d x %d, want %d x %s", m.path, want.Name, s.Rows, s.Cols, want.Rows, columns)
		if s.Cols == want.Rows {
			err = fmt.Errorf("%w: it lies transposed, as thole export writes it; score the model that it was made from", err)
		}
		return nil, err
	}
	if err := format.CheckSlots(used); err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return model, nil
}

// columns are those that the model has: all between two, or the keys of matrices that keep columns by key.
func (m *storedModel) columns(ctx context.Context, file *graph.File) (*data.Columns, error) {
	conf, err := m.conf(file)
	if err != nil {
		return nil, err
	}
	c := &data.Columns{Lo: conf.ColLo, Hi: conf.ColLo + conf.Dim}
	if !conf.Sparse {
		return c, nil
	}
	c.Keys = []int64{}
	growing, err := algo.Growing(file)
	if err != nil {
		return nil, err
	}
	for _, name := range growing {
		if s, err := m.find(name); err != nil || s.Layout != matrix.RowSparse {
			continue // it has all columns, whichever occurred
		}
		err := format.Look(ctx, m.Reader, name, func(b matrix.Block) error {
			if keyed, ok := b.Data.(matrix.Keyed); ok {
				c.Keys = append(c.Keys, keyed.Keys()...)
				return ctx.Err()
			}
			if b.Data.NNZ() > 0 {
				for col := b.At.Cols.Lo; col < b.At.Cols.Hi; col++ {
					c.Keys = append(c.Keys, col)
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(c.Keys)
		c.Keys = slices.Compact(c.Keys)
	}
	c.Keys = slices.Clip(c.Keys)
	return c, nil
}

// table has the weights of the network in memory.
func (m *storedModel) table(ctx context.Context, model *graph.Model, columns *data.Columns) (*graph.Table, error) {
	t, err := graph.NewTable(model, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	for _, p := range model.Params() {
		err := format.Look(ctx, m.Reader, p.Name, func(b matrix.Block) error { return errors.Join(t.Set(p.Name, b), ctx.Err()) })
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// rounded says which matrices of the network do not hold float32, in which scores are computed.
func (m *storedModel) rounded(model *graph.Model) string {
	var all []string
	for _, want := range model.Params() {
		if s, err := m.find(want.Name); err == nil && s.DType == matrix.F64 {
			all = append(all, want.Name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s: f64, rounded to f32, in which scores are computed", m.path, strings.Join(all, ", "))
}
