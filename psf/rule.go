package psf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/internal/spell"
	"thole.example/kernel"
)

// Hyper is a setting of an update rule or a schedule: a finite number from 0 on.
type Hyper struct {
	Name    string  `json:"name"`
	Default float64 `json:"default"`
	Help    string  `json:"help"`
	Max     float64 `json:"max"`   // the largest value; 0: no limit
	Below   bool    `json:"below"` // Max itself is too large
	Above   bool    `json:"above"` // 0 itself is too small
	Like    string  `json:"like"`  // an earlier setting whose value it has by default, in place of Default; "": none
}

// Begins is the default in words: a number, or the name of the setting whose value it is.
func (h *Hyper) Begins() string {
	if h.Like != "" {
		return h.Like
	}
	return fmt.Sprintf("%g", h.Default)
}

// Check reports a value that the setting cannot have.
func (h *Hyper) Check(v float64) error {
	switch {
	case h.Above && v == 0:
		return fmt.Errorf("setting %s = 0, want a number above 0", h.Name)
	case h.Max > 0 && h.Below && !(v >= 0 && v < h.Max):
		return fmt.Errorf("setting %s = %v, want a number from 0 on and below %v", h.Name, v, h.Max)
	case h.Max > 0 && !(v >= 0 && v <= h.Max):
		return fmt.Errorf("setting %s = %v, want a number from 0 to %v", h.Name, v, h.Max)
	case !(v >= 0) || math.IsInf(v, 1):
		return fmt.Errorf("setting %s = %v, want a finite number from 0 on", h.Name, v)
	}
	return nil
}

// Fill is every setting of hypers with its value in h or else its default. A name that hypers do not have and a value
// out of its range are errors.
func Fill(hypers []Hyper, h map[string]float64) (map[string]float64, error) {
	full := map[string]float64{}
	for i := range hypers {
		hyper := &hypers[i]
		v, given := h[hyper.Name]
		if !given {
			if v = hyper.Default; hyper.Like != "" {
				v = full[hyper.Like]
			}
		}
		if err := hyper.Check(v); err != nil {
			return nil, err
		}
		full[hyper.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if _, ok := full[name]; !ok {
			return nil, spell.Unknown("no setting", name, Names(hypers))
		}
	}
	return full, nil
}

// Names are those of the settings.
func Names(hypers []Hyper) []string {
	all := make([]string, len(hypers))
	for i := range hypers {
		all[i] = hypers[i].Name
	}
	return all
}

// Rule turns a gradient into a change of the weights. It works element by element, so that it gives the same values
// however the matrix is cut into partitions.
type Rule struct {
	Name  string
	Help  string
	Slots int // values of state kept beside each weight, zero at the start
	Hyper []Hyper
	Rates Rates // zero: it has none, whoever trains has to give one
	// New binds the settings: every name of Hyper is in h.
	New func(h map[string]float64) Step
}

// Rates are the first learning rates of a rule that suit features around 1, with a schedule that falls to zero. They stand
// where the user gives none.
type Rates struct {
	Classes float64 `json:"classes"` // for losses of classes: gradients up to 1
	Numbers float64 `json:"numbers"` // for squares of differences from labels whose deviation is about 4
	Steady  bool    `json:"steady"`  // steps do not grow with gradients: Numbers has to grow with the deviation of the labels
}

// Step changes the weights w by the mean gradient g: w, g and every slot have the same length. rate is the learning
// rate of this step; t counts the steps of the matrix from 1 on. g may be overwritten. It works element by element: where
// the weights stand, and how many come at a time, does not matter.
//
// Rows, which may be nil, is the rule of package kernel that does the same, for rate and t, to rows of weights and slots where they
// lie beside each other, from sums of gradients that it scales itself; it has to give the same bits.
//
// Idle is for sparse matrices, whose steps go over the columns that gradients name: with it a column catches up on the steps
// that did not when it is read or named. nil: it stands still meanwhile, which is right where a
// gradient of zero changes nothing, and else all that can be done.
type Step struct {
	F32 func(w, g []float32, slots [][]float32, rate float64, t int64)
	F64 func(w, g []float64, slots [][]float64, rate float64, t int64)

	Rows func(rate float64, t int64) kernel.Rule

	Idle *kernel.Idle
}

// Bind fills in the defaults of h, refuses settings that the rule does not have or that are out of range, and binds them.
func (r *Rule) Bind(h map[string]float64) (Step, error) {
	full, err := Fill(r.Hyper, h)
	if err != nil {
		return Step{}, fmt.Errorf("update rule %s: %w", r.Name, err)
	}
	return r.New(full), nil
}
