package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/data"
	"thole.example/tree"
)

// libsvmName is the format whose indices count from 1 here, and from 0 in other programs.
const libsvmName = "libsvm"

// decideBase finds out what indices of libsvm lines count from for trees that another program wrote: LightGBM and XGBoost take indices as
// they stand, as columns from 0 on, also those of files that count from 1, which leaves column 0 without a value. What is decided is
// reported; what cannot be decided is refused.
func (j *job) decideBase(ctx context.Context, e *env, trees *tree.Ensemble, paths []string) error {
	if trees.Origin == "" || j.base != "" && j.base != "auto" || j.hash > 0 {
		return nil
	}
	files, err := data.Files(ctx, e.paths, paths)
	if err != nil || len(files) == 0 {
		return err
	}
	source, err := data.FindSource(j.format, files[0])
	if err != nil || source.Name != libsvmName {
		return err
	}
	least, most, err := int64(0), int64(math.MaxInt64), error(nil)
	stream := slices.Contains(files, data.Stdin)
	if !stream {
		if least, most, err = j.indices(ctx, e, files); err != nil {
			return err
		}
	}
	width, unused := int64(trees.Features.Width), unusedFirst(trees)
	where := strings.Join(paths, ", ")
	switch {
	case !stream && least == 0:
		j.base = "0"
		fmt.Fprintf(e.err, "%s: indices count from 0, as there is index 0\n", where)
	case !stream && unused && (most == width-1 || most < width && rangesKnown(trees)):
		j.base = "0"
		fmt.Fprintf(e.err, "%s: indices %d to %d are taken as columns counted from 0: the model has %d and nothing in column 0, as %s read "+
			"such lines (--index-base 1 counts from 1)\n", where, least, most, width, trees.Origin)
	case !stream && !unused && most == width:
		j.base = "1"
		fmt.Fprintf(e.err, "%s: indices count from 1: the largest is %d, and the model has so many columns (--index-base 0 takes indices as "+
			"columns counted from 0)\n", where, most)
	default:
		found := fmt.Sprintf("indices %d to %d", least, most)
		if stream {
			found = "indices that can be read only once"
		}
		return usageError{fmt.Errorf("%s: %s may count from 0 (as %s reads such lines) or from 1 (as after reading with scikit-learn): the "+
			"model has %d columns, and nothing decides; name it: --index-base 0 or --index-base 1", where, found, trees.Origin, width)}
	}
	return nil
}

// indices are the least and the largest index in files of libsvm lines.
func (j *job) indices(ctx context.Context, e *env, files []string) (least, most int64, err error) {
	o, err := j.dataOptions("")
	if err != nil {
		return 0, 0, err
	}
	o.Base, o.Labels, o.Classes, o.Dim, o.Fields = data.Base0, data.NoTrans, nil, 0, data.Fields{}
	least, most = math.MaxInt64, -1
	for b, err := range data.ReadFiles(ctx, files, e.in, o) {
		if err != nil {
			return 0, 0, err
		}
		for _, i := range b.Rows().Idx {
			least, most = min(least, i), max(most, i)
		}
	}
	if most < 0 {
		return 1, 0, nil // no values: the base does not matter
	}
	return least, most, nil
}

// unusedFirst reports whether training had no value in column 0, as far as the model says: no split asks for it, and no range is known.
func unusedFirst(trees *tree.Ensemble) bool {
	if trees.Features.Width == 0 {
		return false
	}
	f := trees.Features.At(0)
	return f.Least == f.Most && len(f.Levels) == 0 && !slices.ContainsFunc(trees.Trees, func(t tree.Tree) bool {
		return slices.Contains(t.Feature, 0)
	})
}

// rangesKnown reports whether the model has the ranges of features that training had values of, as LightGBM's do: a column without one
// had none. Other models do not say whether a column that no split asks for was empty.
func rangesKnown(trees *tree.Ensemble) bool {
	for i := range trees.Features.Width {
		if f := trees.Features.At(i); f.Least != f.Most {
			return true
		}
	}
	return false
}

// withoutFolders are the columns that the folders of a file do not name.
func withoutFolders(columns []string, file string) []string {
	of := data.FolderColumns(file)
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return slices.Contains(of, name) })
}

// byPosition gives features without names of their own, such as Column_0 and f0, the names of the columns of a table that has as many
// besides the other columns, and reports it.
func (p *prediction) byPosition(ctx context.Context, e *env, trees *tree.Ensemble, files []string, others []string) (tree.Features, error) {
	f := trees.Features
	if f.Width == 0 || len(files) == 0 || files[0] == data.Stdin || !unnamed(f) {
		return f, nil
	}
	o, err := p.tableOptions(ctx, e)
	if err != nil {
		return f, err
	}
	header, err := data.HeaderOf(ctx, files[0], o)
	if err != nil {
		return f, err
	}
	if slices.Contains(header, f.At(0).Name) {
		return f, nil
	}
	columns := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return slices.Contains(others, name) })
	if bare := withoutFolders(columns, files[0]); len(columns) != f.Width && len(bare) == f.Width {
		columns = bare // the model knows nothing of folders
	}
	if len(columns) != f.Width {
		return f, usageError{fmt.Errorf("%s: %d columns of features, and %s has %d features without names, which tables have by position; "+
			"want as many (--label-column, --weight-column and --group-column name columns that are none)", files[0], len(columns),
			p.job.model, f.Width)}
	}
	named := f.Clone()
	for i, name := range columns {
		one := named.At(i)
		one.Name = name
		named.Set(i, one)
	}
	fmt.Fprintf(e.err, "%s: the features of %s have no names; columns are taken by position: %s\n", files[0], p.job.model,
		escaped(shortList(columns)))
	return named, nil
}

// unnamed reports whether all names of features are their numbers, as LightGBM and XGBoost write them for arrays.
func unnamed(f tree.Features) bool {
	for i := range f.Width {
		name := f.At(i).Name
		if name != "" && name != fmt.Sprintf("Column_%d", i) && name != fmt.Sprintf("f%d", i) && name != fmt.Sprint(i) {
			return false
		}
	}
	return true
}
