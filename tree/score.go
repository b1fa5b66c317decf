package tree

// Score adds up what the trees say of one row, whose feature i has the value row[i] (features beyond it are 0; NaN is missing), into
// scores, one for each class: to the start scores in the order of the trees, in float32 if the ensemble is Single. It is the definition
// that faster ways are held to.
func (e *Ensemble) Score(row []float64, scores []float64) {
	at := func(f int32) float64 {
		if int(f) < len(row) {
			return e.Numbers.Value(row[f])
		}
		return 0
	}
	for c, start := range e.Start {
		scores[c] = start
		if e.Single {
			scores[c] = float64(float32(start))
		}
	}
	trees := e.Scoring()
	for i := range trees {
		t := &trees[i]
		v := t.LeafValue[t.Leaf(at)]
		if e.Single {
			scores[t.Class] = float64(float32(scores[t.Class]) + float32(v))
		} else {
			scores[t.Class] += v
		}
	}
	if e.Mean && len(trees) > 0 {
		for c := range scores {
			scores[c] /= float64(len(trees) / e.Group)
		}
	}
}
