package gbdt

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"thole.example/data"
	"thole.example/feature"
	"thole.example/tree"
)

// View is how examples become rows of the features that trees ask for. A feature is
//
//	of a numeric field       the number; NaN where it is missing
//	of buckets, date parts   the number of the bucket, from 1 on; NaN where it is missing
//	of texts, hashed texts   the number of the level: 0 is any that has none of its own
//	of several texts         one for each level: 1 if the cell has it, else 0
//	of a column (no table)   the value; where a row has none it is 0, or missing where the view says so
//
// Each has a place in the rows, its slot. A View is read-only, and any number of goroutines may use it.
type View struct {
	features tree.Features
	table    *feature.Transform // nil: features are columns
	fields   []viewed           // of the table, in the order of their ids
	slots    *tree.Numbering    // of features; nil: each has the slot of its number
	absent   float64            // of columns: what a row has where it has none
	empty    []float64          // of fields: by slot, what an example without values has
}

// viewed is a field of a table as features.
type viewed struct {
	first, size int64
	feature     int // its first
	how         how
	shift       float64 // of numbers of levels
}

// how an id of a field becomes the value of a feature.
type how uint8

const (
	asNumber how = iota // id 0 is the value, id 1 missing
	asOrder             // the id, 0 is missing
	asLevel             // the id
	asMany              // 1 in the feature of the id
)

// NewView is that of the examples of a table.
func NewView(t *feature.Transform) (*View, error) { return newView(t, false) }

// newView is a view of fields; foreign levels count from the first that is known, and others are missing.
func newView(t *feature.Transform, foreign bool) (*View, error) {
	v := &View{table: t}
	for i := range t.Fields() {
		f := t.Field(i)
		p := viewed{first: f.First, size: f.Size, feature: v.features.Width}
		one := tree.Feature{Name: f.Name}
		switch f.Kind {
		case feature.Numeric:
			p.how = asNumber
		case feature.Buckets:
			p.how = asOrder
		case feature.Multi:
			if f.Size > tree.FeatureLimit {
				return nil, fmt.Errorf("column %q has %d levels, each a feature, want at most %d in all", f.Name, f.Size, tree.FeatureLimit)
			}
			p.how = asMany
		default:
			if f.Size > tree.LevelLimit {
				return nil, fmt.Errorf("column %q has %d levels, want at most %d in trees (for a hashed one: a smaller size)",
					f.Name, f.Size, tree.LevelLimit)
			}
			one.Categorical = true
			if p.how = asLevel; foreign {
				p.how, p.shift = asOrder, -1
				one.Levels = f.Levels
			} else if f.Kind == feature.Categorical {
				one.Levels = append([]string{otherOf(f.Levels)}, f.Levels...)
			}
		}
		if p.how == asMany {
			for k := range f.Size {
				v.features.Add(tree.Feature{Name: t.Name(f.First + k)})
			}
		} else {
			v.features.Add(one)
		}
		if v.features.Width > tree.FeatureLimit {
			return nil, fmt.Errorf("more than %d features, up to column %q", tree.FeatureLimit, f.Name)
		}
		v.fields = append(v.fields, p)
	}
	v.clear()
	return v, nil
}

// otherOf is what any other level than those is called.
func otherOf(levels []string) string {
	name := "(other)"
	for slices.Contains(levels, name) {
		name = "(" + name + ")"
	}
	return name
}

// NewColumns is the view of examples that are no table: n columns are the features. What a row does not have is the value absent: 0, or
// NaN as XGBoost takes it.
func NewColumns(n int, absent float64) *View {
	return &View{features: tree.Features{Width: n}, absent: absent}
}

// clear makes the row of an example without values, of fields.
func (v *View) clear() {
	v.empty = make([]float64, v.Width())
	for _, f := range v.fields {
		if s := v.slot(f.feature); f.how != asMany && s >= 0 {
			v.empty[s] = math.NaN()
		}
	}
}

// slot is that of a feature; -1: it has none.
func (v *View) slot(feature int) int {
	switch {
	case v.slots != nil:
		return v.slots.Of(feature)
	case uint(feature) < uint(v.features.Width):
		return feature
	}
	return -1
}

// Features are all features, with their names; of columns that are no table they have none. They are the View's.
func (v *View) Features() tree.Features { return v.features }

// Width is how many values a row has: the slots.
func (v *View) Width() int {
	if v.slots != nil {
		return v.slots.Count()
	}
	return v.features.Width
}

// Columns reports whether features are the columns of examples as they are, and what a row has where it has none. Then the numbers and
// values of an example can be scored without making a row of it.
func (v *View) Columns() (absent float64, ok bool) { return v.absent, v.fields == nil }

// Use is a view whose rows have only the features that the trees ask for, and the ensemble that scores them: its feature i is feature
// from[i] of e. The ensembles share what they do not differ in.
func (v *View) Use(e *tree.Ensemble) (use *View, narrow *tree.Ensemble, from []int32, err error) {
	if n := v.features.Width; e.Features.Width != n {
		return nil, nil, nil, fmt.Errorf("%w: it has %d features, and the examples have %d", tree.ErrTrees, e.Features.Width, n)
	}
	slots := tree.NewNumbering(v.features.Width)
	for i := range e.Trees {
		for _, f := range e.Trees[i].Feature {
			slots.Add(int(f))
		}
	}
	from = slots.Number().Features()
	one := *e
	one.Features, one.Trees = tree.Features{}, slices.Clone(e.Trees)
	for _, f := range from {
		one.Features.Add(e.Features.At(int(f)))
	}
	for i := range one.Trees {
		t := &one.Trees[i]
		t.Feature = slices.Clone(t.Feature)
		for k, f := range t.Feature {
			t.Feature[k] = int32(slots.Of(int(f)))
		}
	}
	use = &View{features: v.features, table: v.table, fields: v.fields, slots: slots, absent: v.absent}
	if v.fields != nil {
		use.clear()
	}
	return use, &one, from, nil
}

// Fill makes rows of the examples lo to hi of a batch, one after the other in out, which has Width values for each.
func (v *View) Fill(b *data.Batch, lo, hi int, out []float64) {
	w := v.Width()
	if w == 0 {
		return
	}
	x := b.Rows()
	for i := lo; i < hi; i++ {
		row := out[(i-lo)*w:][:w]
		if v.fields != nil {
			copy(row, v.empty)
		} else {
			for s := range row {
				row[s] = v.absent
			}
		}
		from, to := x.Ptr[i], x.Ptr[i+1]
		switch {
		case v.fields == nil:
			for k, col := range x.Idx[from:to] {
				if s := v.slot(int(col)); s >= 0 {
					row[s] = data.At(x.Val, b.Exact, from+k)
				}
			}
		case b.Field != nil:
			for k := from; k < to; k++ {
				v.set(row, int(b.Field[k]), x.Idx[k], data.At(x.Val, b.Exact, k))
			}
		default:
			for k := from; k < to; k++ {
				v.set(row, -1, x.Idx[k], data.At(x.Val, b.Exact, k))
			}
		}
	}
}

// set sets what one id says; at is probably its field.
func (v *View) set(row []float64, at int, id int64, value float64) {
	f, value := v.feature(at, id, value)
	if f < 0 {
		return
	}
	if s := v.slot(f); s >= 0 {
		row[s] = value
	}
}

// feature is the feature that an id is of, and the value that it has then; -1: none. at is probably its field.
func (v *View) feature(at int, id int64, value float64) (int, float64) {
	if uint(at) >= uint(len(v.fields)) || uint64(id-v.fields[at].first) >= uint64(v.fields[at].size) {
		at = sort.Search(len(v.fields), func(i int) bool { return v.fields[i].first > id }) - 1
		if at < 0 || id-v.fields[at].first >= v.fields[at].size {
			return -1, 0
		}
	}
	f := &v.fields[at]
	switch id -= f.first; {
	case f.how == asMany:
		return f.feature + int(id), 1
	case f.how == asNumber && id == 0:
		return f.feature, value
	case f.how == asNumber, f.how == asOrder && id == 0:
		return f.feature, math.NaN()
	}
	return f.feature, float64(id) + f.shift
}
