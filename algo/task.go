package algo

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/graph"
)

// TaskOf is what a network learns, judged by its loss: losses of squared or absolute differences belong to regression.
func TaskOf(f *graph.File) Task {
	for i := range f.Layers {
		if l := &f.Layers[i]; endsInLoss(l) {
			last := first(l.LossFunc, f.DefaultLossFunc)
			for _, recipe := range Algos() {
				for _, own := range recipe.File().Layers {
					if last != nil && own.LossFunc != nil && strings.EqualFold(own.LossFunc.Type, last.Type) {
						return recipe.Task
					}
				}
			}
		}
	}
	return Classification
}

// NameOf is the algorithm whose network f describes, "" if it is that of none.
func NameOf(f *graph.File) string {
	for _, recipe := range Algos() {
		if slices.Equal(kinds(recipe.File()), kinds(f)) {
			return recipe.Name
		}
	}
	return ""
}

// kinds are the layers of a network by what they compute, whatever their names and rules, in order.
func kinds(f *graph.File) []string {
	all := make([]string, len(f.Layers))
	for i := range f.Layers {
		e := &f.Layers[i]
		kind, last := strings.ToLower(e.Type), (*graph.Choice)(nil)
		if endsInLoss(e) {
			kind = "loss"
			if last = first(e.LossFunc, f.DefaultLossFunc); last == nil {
				last = graph.Named("logloss") // as in Angel
			}
		} else if last = first(e.TransFunc, f.DefaultTransFunc); last == nil {
			last = graph.Named("identity")
		}
		all[i] = fmt.Sprintf("%s %d %s", kind, e.OutputDim, strings.ToLower(last.Type))
	}
	slices.Sort(all)
	return all
}

// Growing are the matrices of a network that have a column for each feature.
func Growing(f *graph.File) ([]string, error) {
	var names []string
	one, err := Compose(f, Conf{Dim: 1})
	if err != nil {
		return nil, err
	}
	two, err := Compose(f, Conf{Dim: 2})
	if err != nil {
		return nil, err
	}
	wide := two.Params()
	for i, m := range one.Params() {
		if wide[i].Cols > m.Cols {
			names = append(names, m.Name)
		}
	}
	return names, nil
}
