package algo

import (
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/loss"
)

// TaskOf is what a network learns, judged by its loss.
func TaskOf(f *graph.File) Task {
	if kind, err := loss.Find(nil, LossOf(f)); err == nil {
		if l, err := kind.Bind(nil); err == nil {
			return l.Task()
		}
	}
	return Classification
}

// LossOf names the loss of the network that f describes, "" if it has no loss layer.
func LossOf(f *graph.File) string {
	for i := range f.Layers {
		if l := &f.Layers[i]; endsInLoss(l) {
			return lossOf(f, l).Type
		}
	}
	return ""
}

// lossOf is the loss that the loss layer of f names.
func lossOf(f *graph.File, l *graph.Entry) *graph.Choice {
	return first(l.LossFunc, f.DefaultLossFunc, graph.Named("logloss")) // the last as in Angel
}

// NameOf is the algorithm whose network f describes, "" if it is that of none. Networks over embedded features have the name also with
// another loss than the recipe's; linear models are told apart by it.
func NameOf(f *graph.File) string {
	for _, recipe := range Algos() {
		own := recipe.File(recipe.Sizes)
		if recipe.Task == Multiclass {
			WithClasses(own, widthOf(f))
		}
		if slices.Equal(kinds(own, !recipe.Network()), kinds(f, !recipe.Network())) {
			return recipe.Name
		}
	}
	return ""
}

// widthOf is how many outputs the layer has that the loss of f reads, 0 if there is none.
func widthOf(f *graph.File) int {
	for _, last := range f.Layers {
		for _, e := range f.Layers {
			if endsInLoss(&last) && slices.Contains(last.Inputs(), e.Name) {
				return e.OutputDim
			}
		}
	}
	return 0
}

// kinds are the layers of a network by what they compute, whatever their names and rules, in order; the loss by its name, if that counts.
func kinds(f *graph.File, byLoss bool) []string {
	all := make([]string, len(f.Layers))
	for i := range f.Layers {
		e := &f.Layers[i]
		kind, last := strings.ToLower(e.Type), first(e.TransFunc, f.DefaultTransFunc, graph.Named("identity"))
		if endsInLoss(e) {
			kind, last = "loss", lossOf(f, e)
		}
		all[i] = kind
		if kind == "loss" && byLoss || strings.HasSuffix(kind, "inputlayer") { // others may be of any size and form
			all[i] += " " + strings.ToLower(last.Type)
		}
	}
	slices.Sort(all)
	return all
}

// Growing are the matrices of a network that have a column for each feature.
func Growing(f *graph.File) ([]string, error) {
	m, err := Compose(f, Conf{Dim: 1})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range m.Params() {
		if p.Features {
			names = append(names, p.Name)
		}
	}
	return names, nil
}
