package tree

import "testing"

func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		change func(*Ensemble)
		within float64
		want   string
	}{
		{func(*Ensemble) {}, 0, ""},
		{func(e *Ensemble) { e.Trees[0].Gain[0] = 99 }, 0, ""},
		{func(e *Ensemble) { e.Trees[0].Words = []uint32{4, 0}; e.Trees[0].Bounds[1] = 2 }, 0, ""},
		{func(e *Ensemble) { e.Objective.Link = Identity }, 0, "link: logistic and identity"},
		{func(e *Ensemble) { e.Start[0] = 0.5 }, 0, "start score 0: 0.25 and 0.5"},
		{func(e *Ensemble) { e.Start[0] = 0.5 }, 0.25, ""},
		{func(e *Ensemble) { e.NeedsStart = true }, 0, "start scores of rows: false and true"},
		{func(e *Ensemble) { e.Best = 1 }, 0, "iterations that score: 2 and 1"},
		{func(e *Ensemble) { e.Trees[0].Feature[0] = 1 }, 0, "tree 0: node 0: feature age and town"},
		{func(e *Ensemble) { e.Trees[0].Threshold[0] = 31 }, 0.1, "tree 0: node 0: age: threshold 30.5 and 31"},
		{func(e *Ensemble) { e.Trees[0].Threshold[0] = 31 }, 0.5, ""},
		{func(e *Ensemble) { e.Trees[0].Words[0] = 5 }, 0, "tree 0: node 1: town: another set of levels"},
		{func(e *Ensemble) { e.Trees[0].Kind[0] = NaNMissing }, 0,
			"tree 0: node 0: age: by a threshold, missing goes left and by a threshold, missing goes right"},
		{func(e *Ensemble) { e.Trees[0].Right[0], e.Trees[0].Left[1] = ^0, ^2 }, 0, "tree 0: node 0: age: children 1, -3 and 1, -1"},
		{func(e *Ensemble) { e.Trees[1].LeafValue[0] = 0 }, 0, "tree 1: leaf 0: 0.125 and 0"},
		{func(e *Ensemble) { e.Trees = e.Trees[:1] }, 0, "2 and 1 trees, of which the first 1 are the same"},
	} {
		e := two()
		c.change(e)
		if got := Differ(two(), e, c.within); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
