package graph

// Loss compares scores with labels.
type Loss interface {
	Name() string
	// Loss is the sum of the losses of all rows, NaN or infinite if a score is; grad (same shape as score) is set to the
	// gradient of that sum. There is one label for each row.
	Loss(score *Tensor, label []float32, grad *Tensor) (sum float64)
	// Predict turns a row of scores into what users read: a probability, a value.
	Predict(score []float32) float64
}
