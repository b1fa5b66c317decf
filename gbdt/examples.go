package gbdt

import (
	"thole.example/data"
	"thole.example/tree"
)

// Examples are the rows of a set as a view has them.
type Examples struct {
	Set  *data.Set
	View *View
}

// Len implements Rows.
func (e *Examples) Len() int { return e.Set.Len() }

// Features implements Rows.
func (e *Examples) Features() []tree.Feature { return e.View.Features() }

// Missing implements Rows.
func (e *Examples) Missing(feature int) bool { return e.View.Missing(feature) }

// Read implements Rows.
func (e *Examples) Read(lo, hi int, into *Block) { e.View.Pairs(e.Set.Slice(lo, hi), into) }

// Missing reports whether an example without the feature lacks it, or else has the value 0.
func (v *View) Missing(feature int) bool {
	s := v.slots[feature]
	return s >= 0 && v.empty[s] != v.empty[s]
}

// Pairs appends the examples of a batch to the block: what they have of the features, by the numbers of these.
func (v *View) Pairs(b *data.Batch, into *Block) {
	x := b.Rows()
	if len(into.Ptr) == 0 {
		into.Ptr = append(into.Ptr, 0)
	}
	for i := range b.Len() {
		from, to := x.Ptr[i], x.Ptr[i+1]
		if v.fields == nil {
			for k := from; k < to; k++ {
				if col := x.Idx[k]; uint64(col) < uint64(len(v.features)) {
					into.Feature, into.Value = append(into.Feature, int32(col)), append(into.Value, x.Val[k])
				}
			}
			into.Ptr = append(into.Ptr, len(into.Feature))
			continue
		}
		for k := from; k < to; k++ {
			at := -1
			if b.Field != nil {
				at = int(b.Field[k])
			}
			if f, value := v.feature(at, x.Idx[k], x.Val[k]); f >= 0 {
				into.Feature, into.Value = append(into.Feature, int32(f)), append(into.Value, value)
			}
		}
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}
