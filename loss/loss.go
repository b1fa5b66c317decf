// Package loss compares scores with labels, one file for each loss. Sums run in float64; gradients are by the score and
// not divided by the number of rows.
package loss

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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
	// Start is the scores for all examples alike that are about the best ones, for all settings of Hyper, labels that Check takes and
	// their weights (nil: all 1), width of them: what models begin with, because steps that suit how labels differ take long to the base
	// rate, and where steps become smaller do not reach it. nil: 0.
	Start func(set map[string]float64, label, weight []float32, width int) []float64
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

// weightOf is the weight of an example, 1 where there are none.
func weightOf(weight []float32, i int) float64 {
	if len(weight) == 0 {
		return 1
	}
	return float64(weight[i])
}

// mean is the mean of the labels by their weights; of none it is 0.
func mean(label, weight []float32) float64 {
	sum, all := 0.0, 0.0
	for i, y := range label {
		w := weightOf(weight, i)
		sum += float64(w * float64(y))
		all += w
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// middle is the median of the labels by their weights, which no outliers move: the smallest label up to which there is half of the
// weight.
func middle(label, weight []float32) float64 {
	order := make([]int, 0, len(label))
	all := 0.0
	for i := range label {
		if w := weightOf(weight, i); w > 0 {
			order = append(order, i)
			all += w
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(label[a], label[b]) })
	below := 0.0
	for _, i := range order {
		if below += weightOf(weight, i); below >= all/2 {
			return float64(label[i])
		}
	}
	return 0
}

// shares are the shares of the classes in the weight of all examples. A class without examples counts as half an example, so that
// every share has a logarithm.
func shares(label, weight []float32, classes int, of func(label float32) int) []float64 {
	by, all := make([]float64, classes), 0.0
	for i, y := range label {
		w := weightOf(weight, i)
		by[of(y)] += w
		all += w
	}
	for k := range by {
		if by[k] == 0 {
			by[k] = all / float64(2*max(1, len(label)))
		}
	}
	return by
}

// odds are the logarithms of the odds of labels above zero; 0 without examples that count.
func odds(label, weight []float32) float64 {
	by := shares(label, weight, 2, func(y float32) int { return int(side(y)+1) / 2 })
	if by[0] == 0 {
		return 0
	}
	return rounded(math.Log(by[1] / by[0]))
}

// rounded is a number without the bits that are not the same on every machine.
func rounded(v float64) float64 { return float64(float32(v)) }
