package gbdt

import (
	"cmp"
	"slices"
	"sync"

	"thole.example/data"
	"thole.example/tree"
)

// Examples are the rows of a set as a view has them.
type Examples struct {
	Set  *data.Set
	View *View

	free sync.Pool // of *data.Gatherer, whose memory the next Read uses again
}

// Len implements Rows.
func (e *Examples) Len() int { return e.Set.Len() }

// Features implements Rows.
func (e *Examples) Features() tree.Features { return e.View.Features() }

// Missing implements Rows.
func (e *Examples) Missing(feature int) bool { return e.View.Missing(feature) }

// Read implements Rows.
func (e *Examples) Read(lo, hi int, into *Block) {
	g, ok := e.free.Get().(*data.Gatherer)
	if !ok {
		g = &data.Gatherer{}
	}
	e.View.Pairs(g.Slice(e.Set, lo, hi), into)
	e.free.Put(g)
}

// Missing reports whether an example without the feature lacks it, or else has the value 0.
func (v *View) Missing(feature int) bool {
	if v.fields == nil {
		return v.absent != v.absent
	}
	s := v.slot(feature)
	return s >= 0 && v.empty[s] != v.empty[s]
}

// Pairs appends the examples of a batch to the block: what they have of the features, by the numbers of these. Of what an example says
// twice of a feature the last counts, as in Fill.
func (v *View) Pairs(b *data.Batch, into *Block) {
	x := b.Rows()
	if len(into.Ptr) == 0 {
		into.Ptr = append(into.Ptr, 0)
	}
	n := x.Ptr[b.Len()] - x.Ptr[0]
	into.Ptr = slices.Grow(into.Ptr, b.Len())
	features, values := slices.Grow(into.Feature, n), slices.Grow(into.Value, n)
	for i := range b.Len() {
		first, last, ascending := len(features), -1, true
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			f, value := -1, data.At(x.Val, b.Exact, k)
			switch col := x.Idx[k]; {
			case v.fields != nil && b.Field != nil:
				f, value = v.feature(int(b.Field[k]), col, value)
			case v.fields != nil:
				f, value = v.feature(-1, col, value)
			case uint64(col) < uint64(v.features.Width):
				f = int(col)
			}
			if f >= 0 {
				features, values = append(features, int32(f)), append(values, value)
				ascending, last = ascending && f > last, f
			}
		}
		if !ascending { // as columns of fields that were written one by one
			into.Feature, into.Value = features, values
			into.order(first)
			features, values = into.Feature, into.Value
		}
		into.Ptr = append(into.Ptr, len(features))
	}
	into.Feature, into.Value = features, values
}

// order sorts what the row that begins at the place says, and keeps the last of what it says of a feature.
func (b *Block) order(first int) {
	type pair struct {
		feature int32
		value   float64
	}
	row := make([]pair, 0, len(b.Feature)-first)
	for k := len(b.Feature) - 1; k >= first; k-- {
		row = append(row, pair{b.Feature[k], b.Value[k]})
	}
	slices.SortStableFunc(row, func(a, b pair) int { return cmp.Compare(a.feature, b.feature) })
	row = slices.CompactFunc(row, func(a, b pair) bool { return a.feature == b.feature })
	b.Feature, b.Value = b.Feature[:first], b.Value[:first]
	for _, p := range row {
		b.Feature, b.Value = append(b.Feature, p.feature), append(b.Value, p.value)
	}
}
