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
	features []tree.Feature
	table    *feature.Transform // nil: features are columns
	fields   []viewed           // of the table, in the order of their ids
	slots    []int32            // of each feature, -1: none
	absent   float32            // of columns: what a row has where it has none
	empty    []float32          // by slot, what an example without values has
}

// viewed is a field of a table as features.
type viewed struct {
	first, size int64
	feature     int // its first
	how         how
	shift       float32 // of numbers of levels
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
		p := viewed{first: f.First, size: f.Size, feature: len(v.features)}
		more := []tree.Feature{{Name: f.Name}}
		switch f.Kind {
		case feature.Numeric:
			p.how = asNumber
		case feature.Buckets:
			p.how = asOrder
		case feature.Multi:
			if f.Size > tree.FeatureLimit {
				return nil, fmt.Errorf("column %q has %d levels, each a feature, want at most %d in all", f.Name, f.Size, tree.FeatureLimit)
			}
			p.how, more = asMany, make([]tree.Feature, f.Size)
			for k := range more {
				more[k].Name = t.Name(f.First + int64(k))
			}
		default:
			if f.Size > tree.LevelLimit {
				return nil, fmt.Errorf("column %q has %d levels, want at most %d in trees (for a hashed one: a smaller size)",
					f.Name, f.Size, tree.LevelLimit)
			}
			more[0].Categorical = true
			if p.how = asLevel; foreign {
				p.how, p.shift = asOrder, -1
				more[0].Levels = f.Levels
			} else if f.Kind == feature.Categorical {
				more[0].Levels = append([]string{otherOf(f.Levels)}, f.Levels...)
			}
		}
		if v.features = append(v.features, more...); len(v.features) > tree.FeatureLimit {
			return nil, fmt.Errorf("more than %d features, up to column %q", tree.FeatureLimit, f.Name)
		}
		v.fields = append(v.fields, p)
	}
	v.all()
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
func NewColumns(n int, absent float32) *View {
	v := &View{features: make([]tree.Feature, n), absent: absent}
	v.all()
	return v
}

// all gives all features slots.
func (v *View) all() {
	v.slots = make([]int32, len(v.features))
	for i := range v.slots {
		v.slots[i] = int32(i)
	}
	v.clear(len(v.slots))
}

// clear makes the row of an example without values.
func (v *View) clear(width int) {
	v.empty = make([]float32, width)
	for s := range v.empty {
		if v.fields == nil {
			v.empty[s] = v.absent
		}
	}
	for _, f := range v.fields {
		if s := v.slots[f.feature]; f.how != asMany && s >= 0 {
			v.empty[s] = float32(math.NaN())
		}
	}
}

// Features are all features, with their names; of columns that are no table they have none. They are the View's.
func (v *View) Features() []tree.Feature { return v.features }

// Width is how many values a row has: the slots.
func (v *View) Width() int { return len(v.empty) }

// Use is a view whose rows have only the features that the trees ask for, and the ensemble that scores them: its feature i is feature
// from[i] of e. The ensembles share what they do not differ in.
func (v *View) Use(e *tree.Ensemble) (use *View, narrow *tree.Ensemble, from []int32, err error) {
	if len(e.Features) != len(v.features) {
		return nil, nil, nil, fmt.Errorf("%w: it has %d features, and the examples have %d", tree.ErrTrees, len(e.Features), len(v.features))
	}
	slots := make([]int32, len(v.features))
	for i := range e.Trees {
		for _, f := range e.Trees[i].Feature {
			slots[f] = 1
		}
	}
	for f, is := range slots {
		if slots[f] = -1; is > 0 {
			slots[f], from = int32(len(from)), append(from, int32(f))
		}
	}
	one := *e
	one.Features, one.Trees = make([]tree.Feature, len(from)), slices.Clone(e.Trees)
	for i, f := range from {
		one.Features[i] = e.Features[f]
	}
	for i := range one.Trees {
		t := &one.Trees[i]
		t.Feature = slices.Clone(t.Feature)
		for k, f := range t.Feature {
			t.Feature[k] = slots[f]
		}
	}
	use = &View{features: v.features, table: v.table, fields: v.fields, slots: slots, absent: v.absent}
	use.clear(len(from))
	return use, &one, from, nil
}

// Fill makes rows of the examples lo to hi of a batch, one after the other in out, which has Width values for each.
func (v *View) Fill(b *data.Batch, lo, hi int, out []float32) {
	w := len(v.empty)
	if w == 0 {
		return
	}
	x := b.Rows()
	for i := lo; i < hi; i++ {
		row := out[(i-lo)*w:][:w]
		copy(row, v.empty)
		from, to := x.Ptr[i], x.Ptr[i+1]
		switch {
		case v.fields == nil:
			for k, col := range x.Idx[from:to] {
				if uint64(col) < uint64(len(v.slots)) {
					if s := v.slots[col]; s >= 0 {
						row[s] = x.Val[from+k]
					}
				}
			}
		case b.Field != nil:
			for k := from; k < to; k++ {
				v.set(row, int(b.Field[k]), x.Idx[k], x.Val[k])
			}
		default:
			for k := from; k < to; k++ {
				v.set(row, -1, x.Idx[k], x.Val[k])
			}
		}
	}
}

// set sets what one id says; at is probably its field.
func (v *View) set(row []float32, at int, id int64, value float32) {
	f, value := v.feature(at, id, value)
	if f < 0 {
		return
	}
	if s := v.slots[f]; s >= 0 {
		row[s] = value
	}
}

// feature is the feature that an id is of, and the value that it has then; -1: none. at is probably its field.
func (v *View) feature(at int, id int64, value float32) (int, float32) {
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
		return f.feature, float32(math.NaN())
	}
	return f.feature, float32(id) + f.shift
}
