package tree

import "thole.example/internal/spell"

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

// Importance is that of each feature, of a kind by its name ([Importances]).
func (e *Ensemble) Importance(kind string) ([]float64, error) {
	var names []string
	for _, k := range Importances() {
		if k.Name == kind {
			return k.of(e), nil
		}
		names = append(names, k.Name)
	}
	return nil, spell.Unknown("importance", kind, names)
}

func (k *Importance) of(e *Ensemble) []float64 {
	all, splits := make([]float64, len(e.Features)), make([]float64, len(e.Features))
	trees := e.Scoring()
	for i := range trees {
		for n, f := range trees[i].Feature {
			all[f] += k.add(&trees[i], n)
			splits[f]++
		}
	}
	for f := range all {
		if k.mean && splits[f] > 0 {
			all[f] /= splits[f]
		}
	}
	return all
}
