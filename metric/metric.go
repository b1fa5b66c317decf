// Package metric measures how well scores fit labels. Scores and labels are float64, one for each example, in the same
// order; a label above zero is positive, so both 0/1 and -1/+1 serve. No function changes its arguments.
//
// [Metrics] is the table of them; each is a function of an [Input], which has scores, labels and, where there are any, weights
// and groups. What several need, such as the order of the scores, is computed once and kept in the input. Sums are made of
// portions of equal size that are added in their order: the bits of a result do not depend on how many processors there are.
//
// A quantity that is not defined on the examples is NaN without an error: everything on no examples, AUC where one class
// is missing, R2 where all labels are equal. An error says that the arguments are wrong: lengths that differ, or NaN
// among scores or labels.
package metric

import (
	"slices"

	"thole.example/internal/spell"
)

// Task is what is predicted.
type Task string

// The tasks, spelled as package graph does.
const (
	Classification Task = "classification" // two classes: labels above zero, and the others
	Multiclass     Task = "multiclass"     // the classes 0 to K-1
	Regression     Task = "regression"     // real numbers
	Ranking        Task = "ranking"        // the order within groups: labels are grades from 0 on
)

// Better says which values of a metric are the better ones.
type Better string

// What is better.
const (
	Larger  Better = "larger"
	Smaller Better = "smaller"
	NearOne Better = "near 1"
)

// Metric is a measure of quality.
type Metric struct {
	Name        string
	Help        string // one line: what it is
	Tasks       []Task
	Better      Better
	Usual       bool // it is told where nobody asked for certain metrics
	Probability bool // it needs probabilities
	Groups      bool // it needs groups
	// Of is the value on examples that Check accepts, NaN where it is not defined.
	Of func(*Input) float64
}

// Metrics is the table of metrics in the order in which people read them, a new slice on every call.
func Metrics() []Metric {
	return []Metric{auc, accuracy, logLoss, aupr, precision, recall, f1, gauc, calibrationError, calibrationRatio, multiLogLoss,
		rmse, mae, r2, ndcg, ndcg5, ndcg10, meanAP, map10}
}

// Find is the metric of that name, also of any number of places (ndcg@7); the error lists the names there are.
func Find(name string) (*Metric, error) {
	all := Metrics()
	names := make([]string, len(all))
	for i := range all {
		if names[i] = all[i].Name; names[i] == name {
			return &all[i], nil
		}
	}
	if m := atPlaces(name); m != nil {
		return m, nil
	}
	return nil, spell.Unknown("metric", name, names)
}

// For reports whether the metric is one of the task.
func (m *Metric) For(t Task) bool { return slices.Contains(m.Tasks, t) }
