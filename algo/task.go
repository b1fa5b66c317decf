package algo

import (
	"strings"

	"thole.example/graph"
)

// TaskOf is what a network learns, judged by its loss: losses of squared or absolute differences belong to regression.
func TaskOf(f *graph.File) Task {
	for i := range f.Layers {
		if l := &f.Layers[i]; endsInLoss(l) && l.LossFunc != nil {
			for _, recipe := range Algos() {
				for _, own := range recipe.File().Layers {
					if own.LossFunc != nil && strings.EqualFold(own.LossFunc.Type, l.LossFunc.Type) {
						return recipe.Task
					}
				}
			}
		}
	}
	return Classification
}
