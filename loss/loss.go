// Package loss compares scores with labels, one file for each loss. Sums run in float64; gradients are by the score and
// not divided by the number of rows.
package loss

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/kernel"
	"thole.example/psf"
)

// Kind is a loss that a network can end in.
type Kind struct {
	Name string // as graph.json spells it, in small letters
	Help string
	// Width is the number of scores of a row that the loss works on; 0: one for each class, 2 or more.
	Width int
	Unit  bool        // the score has to be a probability, from 0 to 1
	Hyper []psf.Hyper // settings
	Odds  bool        // scores are the logarithms of the odds of the positive class
	Log   bool        // scores are logarithms of what is predicted
	// Start is a score for all examples alike that is about the best one, for labels that Check takes: what models for numbers
	// begin with, because steps that suit how labels differ take long to where they lie. nil: 0.
	Start func(label []float32) float64
	// New makes the loss from all settings of Hyper.
	New func(set map[string]float64) graph.Loss
}

// Losses is the table of losses, a new slice on every call.
func Losses() []Kind {
	return []Kind{logLoss, l2Loss, hingeLoss, huberLoss, crossEntropyLoss, softmaxLoss, poissonLoss}
}

// Find is the loss of that name in the table, in letters of any case; the error lists the names there are. nil is the table
// Losses.
func Find(all []Kind, name string) (*Kind, error) {
	if all == nil {
		all = Losses()
	}
	names := make([]string, len(all))
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, spell.Unknown("loss function", name, names)
}

// Bind makes the loss with the settings, defaults where there are none; it refuses settings that the loss does not have and
// values out of range.
func (k *Kind) Bind(set map[string]float64) (graph.Loss, error) {
	if len(k.Hyper) == 0 && len(set) > 0 {
		return nil, fmt.Errorf("loss function %s: no setting %q: it has none", k.Name, slices.Sorted(maps.Keys(set))[0])
	}
	full, err := psf.Fill(k.Hyper, set)
	if err != nil {
		return nil, fmt.Errorf("loss function %s: %w", k.Name, err)
	}
	return k.New(full), nil
}

// Fits reports whether the loss works on width scores of a row, or else what it wants.
func (k *Kind) Fits(width int) error {
	switch {
	case k.Width == 0 && width < 2:
		return fmt.Errorf("%d outputs, want 2 or more for %s, one for each class", width, k.Name)
	case k.Width > 0 && width != k.Width:
		return fmt.Errorf("%d outputs, want %d for %s", width, k.Width, k.Name)
	}
	return nil
}

// TwoClasses is what losses of one score for two classes have in common, to be embedded: any label will do, and scores above
// zero are positive.
type TwoClasses struct{}

// Task implements graph.Loss.
func (TwoClasses) Task() graph.Task { return graph.Classification }

// Check implements graph.Loss.
func (TwoClasses) Check([]float32, int) error { return nil }

// Threshold implements graph.Loss.
func (TwoClasses) Threshold() float64 { return 0 }

// Numbers is what losses for regression have in common, to be embedded: any label will do.
type Numbers struct{}

// Task implements graph.Loss.
func (Numbers) Task() graph.Task { return graph.Regression }

// Check implements graph.Loss.
func (Numbers) Check([]float32, int) error { return nil }

// Threshold implements graph.Loss, which has none.
func (Numbers) Threshold() float64 { return 0 }

// side is +1 for labels above zero and -1 for the others, so that 0/1 labels mean what -1/+1 labels do.
func side(label float32) float64 {
	if label > 0 {
		return 1
	}
	return -1
}

// unsound is 0 for a finite score and NaN for others. Added to a loss, it shows a score that the loss would hide: infinitely
// far on the right side there is nothing to lose.
func unsound(score float32) float64 { return 0 * float64(score) }

// Sigmoid is 1/(1+exp(-s)), without overflow for any s.
func Sigmoid(s float64) float64 {
	if s >= 0 {
		return 1 / (1 + kernel.Exp(-s))
	}
	e := kernel.Exp(s)
	return e / (1 + e)
}

// mean is the mean of the labels.
func mean(label []float32) (sum float64) {
	for _, y := range label {
		sum += float64(y)
	}
	return sum / float64(max(1, len(label)))
}

// middle is the median of the labels, which no outliers move; of an even number the lower one of the two in the middle.
func middle(label []float32) float64 {
	if len(label) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(label))
	return float64(sorted[(len(sorted)-1)/2])
}
