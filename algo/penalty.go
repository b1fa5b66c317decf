package algo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/layer"
)

// penalise gives layers of f the penalties of Conf.Penalties, beside their other settings: first those of a kind, then those by name.
func penalise(f *graph.File, c *Conf) error {
	found, known := map[string]bool{}, []string{}
	for _, byName := range []bool{false, true} {
		for i := range f.Layers {
			e := &f.Layers[i]
			kind, err := layer.Find(c.Layers, e.Type)
			if err != nil || endsInLoss(e) || kind.Free || !slices.Contains(kind.Keys, "optimizer") {
				continue // of which the first is an error later
			}
			name := kind.Name
			if byName {
				name = e.Name
			}
			known = append(known, name)
			for said, set := range c.Penalties {
				if !strings.EqualFold(said, name) || byName && said != name {
					continue
				}
				found[said] = true
				e.Optimizer = penalised(first(e.Optimizer, f.DefaultOptimizer), set)
			}
		}
	}
	for _, said := range slices.Sorted(maps.Keys(c.Penalties)) {
		if !found[said] {
			slices.Sort(known)
			return fmt.Errorf("penalty of %w", spell.Unknown("no layer or kind of layers", said, slices.Compact(known)))
		}
	}
	return nil
}

// penalised is the optimizer with other penalties.
func penalised(o *graph.Choice, set map[string]float64) *graph.Choice {
	own := *o
	if own.Num = maps.Clone(o.Num); own.Num == nil {
		own.Num = map[string]float64{}
	}
	for penalty, v := range set {
		delete(own.Num, penalty)
		own.Num[spelt(strings.ToLower(o.Type), penalty)] = v
	}
	return &own
}
