package metric

import "math"

var rmse = Metric{Name: "rmse", Help: "square root of the mean squared difference of value and label",
	Tasks: []Task{Regression}, Better: Smaller, Usual: true, Of: func(in *Input) float64 { return math.Sqrt(in.squares()) }}

var mae = Metric{Name: "mae", Help: "mean absolute difference of value and label",
	Tasks: []Task{Regression}, Better: Smaller, Usual: true, Of: func(in *Input) float64 {
		return in.mean(func(i int) float64 { return math.Abs(in.Score[i] - in.Label[i]) })
	}}

var r2 = Metric{Name: "r2",
	Help:  "1 − SS_res / SS_tot: 1 is perfect, 0 is no better than the mean of the labels",
	Tasks: []Task{Regression}, Better: Larger, Usual: true, Of: determination}

func (in *Input) squares() float64 {
	return in.mean(func(i int) float64 { d := in.Score[i] - in.Label[i]; return d * d })
}

// determination is 1 minus the mean squared difference over the variance of the labels.
func determination(in *Input) float64 {
	first, equal := -1, true
	for i, y := range in.Label {
		if in.weight(i) == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		equal = equal && y == in.Label[first]
	}
	if equal { // rounding may leave a variance that is not 0
		return math.NaN()
	}
	center := in.mean(func(i int) float64 { return in.Label[i] })
	return 1 - in.squares()/in.mean(func(i int) float64 { d := in.Label[i] - center; return d * d })
}

// MSE is the mean squared difference of score and label.
func MSE(score, label []float64) (float64, error) {
	in := &Input{Score: score, Label: label}
	if err := in.Check(); err != nil {
		return 0, err
	}
	return in.squares(), nil
}

// RMSE is the square root of MSE.
func RMSE(score, label []float64) (float64, error) {
	return plain(&rmse, &Input{Score: score, Label: label})
}

// MAE is the mean absolute difference of score and label.
func MAE(score, label []float64) (float64, error) {
	return plain(&mae, &Input{Score: score, Label: label})
}

// R2 is 1 minus the squared differences of score and label over those of the labels and their mean. It is NaN if all
// labels are equal.
func R2(score, label []float64) (float64, error) {
	return plain(&r2, &Input{Score: score, Label: label})
}
