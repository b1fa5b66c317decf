package curve

import "thole.example/metric"

// MatrixLimit is how many classes a matrix of confusion is made for.
const MatrixLimit = 30

// Class is what becomes of one of several classes.
type Class struct {
	Actual, Predicted, Hits float64 // weights of the examples that are of it, that are predicted to be, and both
	Precision, Recall, F1   float64 // NaN where nothing is predicted to be of it, nothing is, or both
}

// Classes are what becomes of each class, and of up to MatrixLimit classes the confusion: row by row the weight of the examples that
// are of a class and are predicted to be of each. Labels that are no class are left out.
func Classes(in *metric.Input) (all []Class, confusion [][]float64) {
	all = make([]Class, in.Classes)
	if in.Classes <= MatrixLimit {
		for range all {
			confusion = append(confusion, make([]float64, in.Classes))
		}
	}
	for i, y := range in.Label {
		was, said := int(y), int(in.Score[i])
		if was < 0 || was >= len(all) || said < 0 || said >= len(all) {
			continue
		}
		w := weightOf(in, i)
		all[was].Actual += w
		all[said].Predicted += w
		if was == said {
			all[was].Hits += w
		}
		if confusion != nil {
			confusion[was][said] += w
		}
	}
	for k := range all {
		c := &all[k]
		c.Precision, c.Recall, c.F1 = c.Hits/c.Predicted, c.Hits/c.Actual, 2*c.Hits/(c.Predicted+c.Actual)
	}
	return all, confusion
}
