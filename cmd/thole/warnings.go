package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/algo"
	"thole.example/gbdt"
	"thole.example/train"
)

// squareLimit is the value from which on features make squares of gradients that float32 does not hold: the steps of rules that divide by
// the root of such a square are zero.
const squareLimit = 1e19

// standstill says why weights may not have moved, "" if nothing suggests that they did not: values of features are too large for the
// rule, or the loss stayed what it was before the first step.
func (p *plan) standstill(r *train.Report) string {
	if p.forest != nil {
		return p.treesStandstill(r)
	}
	still := len(r.Losses) > 1
	for _, loss := range r.Losses {
		still = still && loss == r.Null && loss != 0
	}
	moved := ""
	if still {
		moved = fmt.Sprintf("the loss never moved from %.5g; ", r.Null)
	}
	switch column, value := p.train.Largest(); {
	case math.Abs(float64(value)) >= squareLimit:
		return fmt.Sprintf("%scolumn %d has values as large as %.2g, whose squares float32 does not hold, so that its weight may not move: "+
			"divide them", moved, column, value)
	case still:
		return fmt.Sprintf("%snothing was learned: look whether features differ between labels, or try a larger --rate than %g", moved, p.rate)
	}
	return ""
}

// treesStandstill is standstill of trees, which the size of values does not matter to.
func (p *plan) treesStandstill(r *train.Report) string {
	still, moved := len(r.Losses) > 1 && flat(r.Losses) && r.Losses[0] != 0, ""
	if still {
		moved = fmt.Sprintf("the loss never moved from %.5g; ", r.Losses[0])
	}
	switch {
	case p.forest.varying == 0:
		return moved + "no feature has two values: there is nothing to split by"
	case still:
		child := fmt.Sprintf("a smaller --min-child-weight than %g", p.forest.MinWeight)
		if p.forest.raised {
			child = fmt.Sprintf("--min-child-weight %g", p.forest.MinWeight)
		}
		return fmt.Sprintf("%snothing was learned: look whether features differ between labels, or try %s", moved, child)
	}
	return ""
}

// flat reports whether losses differ by no more than rounding makes them: leaves of a start score that is right are not quite 0.
func flat(losses []float64) bool {
	least, most := slices.Min(losses), slices.Max(losses)
	return most-least <= 1e-6*math.Abs(most)
}

// lower is a rate to try where that of the user was too large: the default one if that is lower still than a tenth of it, else a tenth.
func (p *plan) lower() string {
	rate := p.rate / 10
	if usual := p.usualRate(); usual > 0 && usual < rate {
		rate = usual
	}
	return fmt.Sprintf("%.3g", rate)
}

// usualRate is the default of --rate, or 0 if the algorithm has no default.
func (p *plan) usualRate() float64 {
	if p.forest != nil {
		return gbdt.Defaults().Rate
	}
	if p.recipe == nil {
		return 0
	}
	d := p.recipe.For(nil, p.asked.rule)
	return d.Rate
}

// warnings are what is wrong with a training that came to its end, and how many parts of gradients were not finite.
func (p *plan) warnings(r *train.Report, nonFinite int64) []string {
	all := []string{}
	for _, g := range r.Gone {
		all = append(all, goneText(g))
	}
	try := fmt.Sprintf("the rate %g is too large: try --rate %s", p.rate, p.lower())
	if n := len(r.Losses); n > 1 && r.Losses[n-1] > r.Losses[0] && p.load == "" && !(p.forest != nil && flat(r.Losses)) {
		all = append(all, fmt.Sprintf("the loss rose from %.5g in the first %s to %.5g in the last; %s",
			r.Losses[0], p.round(), r.Losses[n-1], try))
	}
	if nonFinite > 0 {
		became := fmt.Sprintf("left out %d x", nonFinite)
		if p.nonFinite == "allow" {
			became = fmt.Sprintf("applied %d x, so that weights may be so, too", nonFinite)
		}
		all = append(all, fmt.Sprintf("gradients with values that are infinite or no number were %s (--non-finite %s): "+
			"look for large values in the examples, or try --rate %s", became, p.nonFinite, p.lower()))
	} else if text := p.standstill(r); text != "" {
		all = append(all, text)
	}
	if loss := r.Train[0].Value; p.above(loss, r.Null) {
		before := "one score for all"
		switch {
		case p.forest != nil:
			before = "no tree at all"
		case p.asAngel:
			before = "weights that are all zero"
		}
		all = append(all, fmt.Sprintf("the loss of %.5g is above %.5g, that of %s; %s", loss, r.Null, before, try))
	} else if p.valid != nil && len(r.Valid) > 0 && p.classWeights == "" && p.positiveWeight == 0 && p.posNeg == 0 {
		// else other odds were learned
		advice := fmt.Sprintf("try --%ss %d", p.round(), max(1, p.epochs/3))
		if p.epochs == 1 {
			advice = "try a smaller --rate, or --l2"
		}
		if loss, most := r.Valid[0].Value, ofOneScore(r.Valid[0].Name, p.valid.Label, p.valid.Weight); most > 0 && loss > most {
			all = append(all, fmt.Sprintf("the held-out loss of %.5g is above %.5g, that of one score for all: what was learned does not hold "+
				"for other examples; %s, or let them stop it: --early-stop %d", loss, most, advice, p.usualPatience()))
		}
	}
	if text := p.uncalibrated(r); text != "" {
		all = append(all, text)
	}
	return all
}

// above reports whether the loss is above that of one score for all because the rate is too large: not where positive examples are taken
// more often than they come, whose odds are learned, and not where there is one class, of which one score has no loss.
func (p *plan) above(loss, null float64) bool {
	one := p.recipe != nil && p.recipe.Task == algo.Classification && p.minority() == 0
	return p.posNeg == 0 && !one && loss-null > train.NearLeast*math.Abs(null)
}

// Ratios of the mean prediction to the mean label of the training examples outside these bounds cause a warning.
const ratioLeast, ratioMost = 0.9, 1.1

// uncalibrated says that a model predicts too much or too little in the sum, and what helps; "" if it does not.
func (p *plan) uncalibrated(r *train.Report) string {
	if r.Ratio == 0 || r.Ratio >= ratioLeast && r.Ratio <= ratioMost {
		return ""
	}
	advice := "the network has no bias that is added to its scores: add a layer that has one, such as simpleinputlayer, by sumpooling"
	switch {
	case p.asAngel:
		advice = "--compat angel begins with a bias of 0 and leaves it where the last step does: train without it, or more --epochs"
	case p.posNeg > 0:
		advice = "positive examples are taken more often than they come: --negatives does the same and corrects for it"
	case p.saveState:
		advice = "--save-state leaves the bias where the last step does: train without it, or more --epochs"
	case p.forest != nil:
		advice = fmt.Sprintf("more trees reach it: try --%ss %d", p.round(), 3*max(1, p.epochs))
	case len(r.Moved) > 0:
		advice = fmt.Sprintf("the scores are too far apart: try --rate %s", p.lower())
	}
	return fmt.Sprintf("the mean prediction of the training examples is %.3g times the mean label; %s", r.Ratio, advice)
}

// shiftText is by how much biases were moved.
func shiftText(by []float64) string {
	if len(by) == 1 {
		return fmt.Sprintf("%+.4g", by[0])
	}
	return fmt.Sprintf("%+.4g to %+.4g", slices.Min(by), slices.Max(by))
}

// ofClass says that one class of several is meant.
func ofClass(by []float64) string {
	if len(by) == 1 {
		return ""
	}
	return " of the class where they differed most"
}

// ofOneScore is the least loss that one score for all examples with these labels and weights can have; 0 if it is none of those that
// are here.
func ofOneScore(name string, label, weight []float32) (loss float64) {
	counts, n, sum := map[float32]float64{}, 0.0, 0.0
	by := func(i int) float64 {
		if len(weight) == 0 {
			return 1
		}
		return float64(weight[i])
	}
	for i, y := range label {
		counts[y] += by(i)
		n += by(i)
		sum += by(i) * float64(y)
	}
	switch name {
	case "logloss", "softmaxloss":
		for _, y := range slices.Sorted(maps.Keys(counts)) {
			if counts[y] > 0 {
				loss -= counts[y] / n * math.Log(counts[y]/n)
			}
		}
	case "hingeloss":
		loss = 2 * min(counts[-1], n-counts[-1]) / n
	case "l2loss":
		for i, y := range label {
			d := float64(y) - sum/n
			loss += by(i) * d * d / 2 / n
		}
	}
	return loss
}
