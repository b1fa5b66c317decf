// Package loss compares scores with labels, one file for each loss. Sums run in float64; gradients are by the score and
// not divided by the number of rows.
package loss

import (
	"fmt"
	"math"
	"strings"

	"thole.example/graph"
)

// Kind is a loss that a network can end in.
type Kind struct {
	Name string // as graph.json spells it, in small letters
	Help string
	// Width is the number of scores of a row that the loss works on.
	Width int
	// New makes the loss from its settings and refuses those it does not have.
	New func(set map[string]float64) (graph.Loss, error)
}

// Losses is the table of losses, a new slice on every call.
func Losses() []Kind { return []Kind{logLoss, l2Loss, hingeLoss} }

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
	return nil, fmt.Errorf("loss function %q, want one of %s", name, strings.Join(names, " "))
}

// plain is the New of a loss without settings.
func plain(l graph.Loss) func(map[string]float64) (graph.Loss, error) {
	return func(set map[string]float64) (graph.Loss, error) {
		for name := range set {
			return nil, fmt.Errorf("loss function %s has no setting %q", l.Name(), name)
		}
		return l, nil
	}
}

// side is +1 for labels above zero and -1 for the others, so that 0/1 labels mean what -1/+1 labels do.
func side(label float32) float64 {
	if label > 0 {
		return 1
	}
	return -1
}

// Sigmoid is 1/(1+exp(-s)), without overflow for any s.
func Sigmoid(s float64) float64 {
	if s >= 0 {
		return 1 / (1 + math.Exp(-s))
	}
	e := math.Exp(s)
	return e / (1 + e)
}
