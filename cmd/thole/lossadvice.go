package main

import (
	"strings"

	"thole.example/algo"
	"thole.example/gbdt"
	"thole.example/internal/spell"
	"thole.example/loss"
)

// lossAdvice says what to use in place of a loss that a network does not have by that name, or that its scores do not fit: the name that it
// has here, or the algorithm that has it; "" if the error asks about a name already, or none is known.
func lossAdvice(name string) string {
	var names []string
	for _, k := range loss.Losses() {
		names = append(names, k.Name)
	}
	here := algo.LossElsewhere(name)
	switch kind, err := loss.Find(nil, here); {
	case here == "":
		return ""
	case err != nil: // no network has it
		return "; trees have it: --algo gbdt --loss " + objectiveOf(here)
	case kind.Width == 0:
		return "; for classes use --algo softmax, or --algo gbdt --loss multiclass"
	case strings.EqualFold(here, name) || len(spell.Near(name, names)) > 0:
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
