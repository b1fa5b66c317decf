package main

import (
	"fmt"
	"strings"

	"thole.example/algo"
	"thole.example/gbdt"
	"thole.example/internal/spell"
	"thole.example/loss"
)

// withLoss is the algorithm with a loss (empty: its own) and settings of it. Errors of the name say what to use instead.
func withLoss(recipe *algo.Algo, name string, set map[string]float64) (*algo.Algo, error) {
	named, err := recipe.WithLoss(nil, name, nil)
	if err == nil && named.Task == algo.Multiclass && recipe.Task != algo.Multiclass {
		err = fmt.Errorf("--loss %s: %s has one score, want one for each class", name, recipe.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, lossAdvice(recipe, name))
	}
	return recipe.WithLoss(nil, name, set)
}

// lossAdvice says what to use in place of a loss that a network does not have by that name, or that its scores do not fit: the name that it
// has here, or the algorithm that has it; "" if the error asks about a name already, or none is known.
func lossAdvice(recipe *algo.Algo, name string) string {
	var names []string
	for _, k := range loss.Losses() {
		names = append(names, k.Name)
	}
	here, trees := algo.LossElsewhere(name), objectiveOf(name)
	_, unfit := recipe.WithLoss(nil, here, nil)
	switch kind, err := loss.Find(nil, here); {
	case here == "":
		return ""
	case err != nil && trees != "": // no network has it
		return "; trees have it: --algo gbdt --loss " + trees
	case err != nil:
		return ""
	case kind.Width == 0 && recipe.Task != algo.Multiclass:
		return "; for classes use --algo softmax, or --algo gbdt --loss " + trees
	case unfit != nil || strings.EqualFold(here, name) || len(spell.Near(name, names)) > 0:
		return ""
	}
	return spell.Ask([]string{here})
}

// objectiveOf is the loss of trees that a network, or another program, knows by that name; "" if they have none.
func objectiveOf(name string) string {
	here := algo.LossElsewhere(name)
	for _, o := range gbdt.Objectives() {
		if here != "" && algo.LossElsewhere(o.Name) == here {
			return o.Name
		}
	}
	return ""
}
