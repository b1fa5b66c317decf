package graph

// Wide is a Loss that takes scores of float64 as they are, such as that of trees.
type Wide interface {
	Loss
	// LossWide is the loss of a row of scores.
	LossWide(score []float64, label float32) float64
	// PredictWide is Predict.
	PredictWide(to, score []float64) []float64
}

// Several is a Wide of models with several outputs for each row that are not classes: quantiles of the label, or targets.
type Several interface {
	Wide
	// Outputs are their names.
	Outputs() []string
	// Measured reports whether the label of a row measures all of them; if not, losses are NaN.
	Measured() bool
	// OutputLoss is the loss of one output of a row.
	OutputLoss(k int, score []float64, label float32) float64
}

// PredictWide is Predict of a row of scores of float64, which are rounded to float32 unless the loss takes them as they are.
func PredictWide(l Loss, to, score []float64) []float64 {
	if w, ok := l.(Wide); ok {
		return w.PredictWide(to, score)
	}
	var room [8]float32
	row := room[:0]
	for _, s := range score {
		row = append(row, float32(s))
	}
	return l.Predict(to, row)
}
