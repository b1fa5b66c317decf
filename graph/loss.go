package graph

import "fmt"

// Task is what a loss is made for: it says how labels are read and which metrics make sense.
type Task string

// The tasks.
const (
	Classification Task = "classification" // two classes: labels above zero, and the others
	Multiclass     Task = "multiclass"     // the classes 0 to K-1
	Regression     Task = "regression"     // real numbers
	Ranking        Task = "ranking"        // the order within groups: labels are grades from 0 on
)

// Classes reports whether labels are classes, and no numbers.
func (t Task) Classes() bool { return t == Classification || t == Multiclass }

// LabelError is a label that a loss has no value for.
type LabelError struct {
	Example int // which of those at hand, from 1 on
	Label   float32
	Want    string
}

// Error implements error.
func (e *LabelError) Error() string { return fmt.Sprintf("example %d: %s", e.Example, e.Text()) }

// Text is the error without the example, for who knows the line.
func (e *LabelError) Text() string {
	return fmt.Sprintf("label %v, want %s (--labels maps labels)", e.Label, e.Want)
}

// Loss compares the scores of a network, Width of them for each row, with labels. It has no state: any number of
// goroutines may use it.
type Loss interface {
	Name() string
	Task() Task
	// Check reports the first label that the loss has no value for, beside width scores, as a LabelError.
	Check(label []float32, width int) error
	// Loss is the sum of the losses of all rows, NaN or infinite if a score is; grad (same shape as score) is set to the
	// gradient of that sum. There is one label for each row; one that Check refuses makes the sum NaN. So is that of a ranking,
	// whose rows have no losses by themselves: it is measured by the order in groups.
	Loss(score *Tensor, label []float32, grad *Tensor) (sum float64)
	// Predict appends what users read of a row of scores: first the prediction (a probability, a value, the number of a
	// class), and with several classes the probability of each after it.
	Predict(to []float64, score []float32) []float64
	// Threshold is the score above which a row is of the positive class, of two.
	Threshold() float64
}

// Weighted is the sum of the losses of all rows, each times its weight, and sets grad to the gradient of that sum. Without weights
// (nil) it is Loss, to the last bit; with them each row is compared on its own.
func Weighted(l Loss, score *Tensor, label, weight []float32, grad *Tensor) (sum float64) {
	if weight == nil {
		return l.Loss(score, label, grad)
	}
	one, by := Tensor{Rows: 1, Cols: score.Cols}, Tensor{Rows: 1, Cols: score.Cols}
	for i, w := range weight {
		one.Val, by.Val = score.Row(i), grad.Row(i)
		sum += float64(w) * l.Loss(&one, label[i:i+1], &by) // no number stays none, also times 0
		for k := range by.Val {
			by.Val[k] *= w
		}
	}
	return sum
}
