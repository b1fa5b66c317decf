package tree

import (
	"maps"
	"slices"

	"thole.example/internal/spell"
)

// Importance says how important features are to the trees that score.
type Importance struct {
	Name, Help string
	add        func(t *Tree, node int) float64
	mean       bool // over the splits of the feature
}

// Importances are the table of them.
func Importances() []Importance {
	return []Importance{
		{"split", "how many splits ask for the feature", func(*Tree, int) float64 { return 1 }, false},
		{"gain", "sum of what its splits gained", func(t *Tree, n int) float64 { return t.Gain[n] }, false},
		{"mean-gain", "mean of what its splits gained", func(t *Tree, n int) float64 { return t.Gain[n] }, true},
		{"cover", "mean weight (sum of second derivatives) of the rows at its splits", func(t *Tree, n int) float64 { return t.Weight[n] }, true},
		{"rows", "sum of the rows of training at its splits", func(t *Tree, n int) float64 { return float64(t.Count[n]) }, false},
	}
}

// Important is how important a feature is.
type Important struct {
	Feature int
	Value   float64
}

// Importance is that of the features that the trees ask for, ascending, of a kind by its name ([Importances]).
func (e *Ensemble) Importance(kind string) ([]Important, error) {
	var names []string
	for _, k := range Importances() {
		if k.Name == kind {
			return k.of(e), nil
		}
		names = append(names, k.Name)
	}
	return nil, spell.Unknown("importance", kind, names)
}

func (k *Importance) of(e *Ensemble) []Important {
	sums, splits := map[int32]float64{}, map[int32]float64{}
	trees := e.Scoring()
	for i := range trees {
		for n, f := range trees[i].Feature {
			sums[f] += k.add(&trees[i], n)
			splits[f]++
		}
	}
	all := make([]Important, 0, len(sums))
	for _, f := range slices.Sorted(maps.Keys(sums)) {
		if k.mean {
			sums[f] /= splits[f]
		}
		all = append(all, Important{int(f), sums[f]})
	}
	return all
}
