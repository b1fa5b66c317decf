package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"thole.example/algo"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/internal/spell"
	"thole.example/matrix"
)

// vectors are the columns of a stored matrix in memory, one for each feature, by their ids: 4 bytes for each value.
type vectors struct {
	matrix.Meta
	keys []int64 // ascending
	val  []float32
}

// of is the vector in place i.
func (v *vectors) of(i int) []float32 {
	n := int(v.Rows)
	return v.val[i*n : (i+1)*n]
}

// find is the place of the vector of a feature.
func (v *vectors) find(key int64) (i int, ok bool) { return slices.BinarySearch(v.keys, key) }

// vectorsOf reads a matrix. Columns of which nothing is stored are not there.
func vectorsOf(ctx context.Context, r format.Reader, name string) (*vectors, error) {
	m, err := format.Find(r, name)
	if err != nil {
		return nil, err
	}
	v := &vectors{Meta: m}
	var parts []matrix.Block
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return nil, err
		}
		if b, _ = b.Cast(matrix.F32); b.Data.NNZ() > 0 {
			parts = append(parts, b)
			v.keys = append(v.keys, columnsIn(b)...)
		}
		if len(v.keys) > 1<<20 { // bands of rows have the same ones
			slices.Sort(v.keys)
			v.keys = slices.Compact(v.keys)
		}
	}
	slices.Sort(v.keys)
	v.keys = slices.Compact(v.keys)
	v.val = make([]float32, len(v.keys)*int(m.Rows))
	for _, b := range parts {
		v.put(b)
	}
	return v, ctx.Err()
}

// columnsIn are the columns that a block has.
func columnsIn(b matrix.Block) []int64 {
	if keyed, ok := b.Data.(matrix.Keyed); ok {
		return keyed.Keys()
	}
	all := make([]int64, b.At.Cols.Len())
	for i := range all {
		all[i] = b.At.Cols.Lo + int64(i)
	}
	return all
}

// put takes the values of a block.
func (v *vectors) put(b matrix.Block) {
	cell := func(row, col int64, x float32) {
		i, _ := v.find(col)
		v.val[int64(i)*v.Rows+row] = x
	}
	lo := b.At.Rows.Lo
	switch d := b.Data.(type) {
	case *matrix.Dense[float32]:
		first, _ := v.find(b.At.Cols.Lo) // the columns of a dense block follow one another
		cols := int(b.At.Cols.Len())
		for k, x := range d.Val {
			v.val[int64(first+k%cols)*v.Rows+lo+int64(k/cols)] = x
		}
	case *matrix.Cols[float32]:
		rows := int(b.At.Rows.Len())
		for k, col := range d.Idx {
			i, _ := v.find(col)
			copy(v.of(i)[lo:], d.Val[k*rows:(k+1)*rows])
		}
	case *matrix.CSR[float32]:
		for r := range b.At.Rows.Len() {
			for k := d.Ptr[r]; k < d.Ptr[r+1]; k++ {
				cell(lo+r, d.Idx[k], d.Val[k])
			}
		}
	case *matrix.COO[float32]:
		for k, x := range d.Val {
			cell(lo+d.Row[k], d.Col[k], x)
		}
	}
}

// naming is what the features of a model are called.
type naming struct{ *feature.Transform } // nil: features are numbers

// name is what people call a feature.
func (n naming) name(id int64) string {
	if n.Transform == nil {
		return strconv.FormatInt(id, 10)
	}
	return n.Name(id)
}

// hintNames is among how many names the nearest one to a wrong one is looked for.
const hintNames = 1 << 16

// find is the feature that a user names, by its number or its name.
func (n naming) find(text string) (int64, error) {
	if n.Transform != nil {
		if id, ok := n.Find(text); ok {
			return id, nil
		}
	}
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id >= 0 {
		return id, nil
	}
	if n.Transform == nil {
		return 0, usageError{fmt.Errorf("feature %q, want a number: the model says no names of features", text)}
	}
	return 0, usageError{fmt.Errorf("no feature %q, want a name such as %s, or a number%s", text, n.name(0),
		spell.Hint(text, n.Names(hintNames)))}
}

// featureMatrix is the matrix of a model that has a column for each feature, with one row for each score (linear) or several (vectors).
func (m *storedModel) featureMatrix(named string, linear bool) (string, error) {
	if m.trees != nil {
		return "", fmt.Errorf("%s: %w", m.path, errTrees)
	}
	if named != "" {
		_, err := m.find(named)
		return named, err
	}
	var all []string
	if m.file != nil {
		growing, err := algo.Growing(m.file)
		if err != nil {
			return "", err
		}
		for _, name := range growing {
			s, err := m.find(name)
			if err == nil && (linear && (s.Rows == 1 || len(growing) == 1) || !linear && s.Rows > 1) {
				all = append(all, name)
			}
		}
	} else {
		for _, s := range m.Matrices() {
			all = append(all, s.Name)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	what := "vectors of features"
	if linear {
		what = "a weight for each feature"
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%s: no matrix with %s (--matrix names one)", m.path, what)
	}
	return "", usageError{fmt.Errorf("%s: several matrices may have %s, want --matrix and one of %v", m.path, what, all)}
}
