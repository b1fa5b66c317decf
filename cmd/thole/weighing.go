package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/loss"
)

// weighing is the settings of how much examples count, and of which negative ones are trained on.
type weighing struct {
	weights, validWeights []string // paths
	classWeights          string   // LABEL=W,LABEL=W or balanced
	positiveWeight        float64  // of examples of the positive class; 0: as they are
	negatives             float64  // share of the negative examples that is trained on; 0: all
}

func (w *weighing) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&w.validWeights, "validate-weights", nil, "weights of the examples of --validate, as --weights has them")
	f.StringVar(&w.classWeights, "class-weights", "", "by what the weights of examples are multiplied, by their labels, such as 0=1,1=5, or "+
		"balanced: by examples/(classes*examples of the class)")
	f.Float64Var(&w.positiveWeight, "positive-weight", 0, "by what the weights of positive examples are multiplied (default: 1)")
	f.Float64Var(&w.negatives, "negatives", 0, "share of the negative examples to train on, drawn by the seed; what is predicted is that of "+
		"all (default: all)")
}

// checkWeighing checks what can be checked before there are examples.
func (p *plan) checkWeighing() error {
	j := p.job
	_, _, err := parseClassWeights(j.classWeights)
	switch task := p.recipe.Task; {
	case len(j.validWeights) > 0 && len(j.valid) == 0:
		return errors.New("--validate-weights without --validate, want both (examples that --holdout holds out keep their --weights)")
	case err != nil:
		return err
	case !finite(j.positiveWeight) || j.positiveWeight < 0 || j.positiveWeight == 0 && j.given("positive-weight"):
		return fmt.Errorf("--positive-weight %v, want a finite number above 0", j.positiveWeight)
	case j.positiveWeight > 0 && j.classWeights != "":
		return errors.New("--positive-weight and --class-weights, want one of them")
	case j.positiveWeight > 0 && task != algo.Classification:
		return fmt.Errorf("--positive-weight %v, want it with two classes: %s has none", j.positiveWeight, p.recipe.Name)
	case j.classWeights != "" && !task.Classes():
		return fmt.Errorf("--class-weights %s, want it with classes: %s has none", j.classWeights, p.recipe.Name)
	case !(j.negatives >= 0 && j.negatives <= 1) || j.negatives == 0 && j.given("negatives"):
		return fmt.Errorf("--negatives %v, want a share above 0, up to 1", j.negatives)
	case j.negatives > 0 && task != algo.Classification:
		return fmt.Errorf("--negatives %v, want it with two classes: %s has none", j.negatives, p.recipe.Name)
	}
	return nil
}

// checkOdds refuses to leave out negative examples where scores are no log-odds, which could be made those of all.
func (p *plan) checkOdds() error {
	if p.offset() == 0 {
		return nil
	}
	if kind, err := loss.Find(nil, p.compares.Name()); err == nil && kind.Odds {
		return nil
	}
	return usageError{fmt.Errorf("--negatives %v, want it with --loss logloss: by %s it is not known what all examples would have led to "+
		"(--class-weights gives classes weights)", p.negatives, p.compares.Name())}
}

// offset is what the scores of training examples are higher by than those of all: where a share of the negative ones is left, the
// odds of the others are so many times as high (He and others, Practical Lessons from Predicting Clicks on Ads at Facebook, 2014,
// section 6.3). As the training adds it, the model itself predicts for all, wherever it goes.
func (p *plan) offset() float64 {
	if p.negatives == 0 || p.negatives == 1 {
		return 0
	}
	return -math.Log(p.negatives)
}

// calibrates reports whether the bias is moved at the end until the mean prediction is the mean label: not where the training is to be
// continued as if it had not ended, where it is Angel's, and where positive examples are taken more often than they come.
func (p *plan) calibrates() bool { return !p.saveState && !p.asAngel && p.posNeg == 0 }

// balances reports whether the bias of the model to go on from is moved at the start: not that of a saved state, which train leaves.
func (p *plan) balances() bool { return p.loadPath != "" && !p.asAngel && p.posNeg == 0 }

// parseClassWeights reads what --class-weights says: the labels and their weights, none if it says balanced or nothing.
func parseClassWeights(text string) (labels []string, weights []float64, err error) {
	if text == "" || text == balanced {
		return nil, nil, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		at := max(0, strings.LastIndexByte(item, '='))
		label := strings.TrimSpace(item[:at])
		w, err := strconv.ParseFloat(strings.TrimSpace(item[min(at+1, len(item)):]), 64)
		if err != nil || label == "" || !(w >= 0 && w <= math.MaxFloat32) {
			return nil, nil, fmt.Errorf("--class-weights %s: %q, want LABEL=WEIGHT with a weight from 0 on, such as 0=1,1=5, or balanced",
				text, item)
		}
		if slices.Contains(labels, label) {
			return nil, nil, fmt.Errorf("--class-weights %s: label %s twice, want it once", text, label)
		}
		labels, weights = append(labels, label), append(weights, w)
	}
	return labels, weights, nil
}

const balanced = "balanced"

// classNumber is the number of the class that a label in the text is of, of n; -1 if of none.
func (p *plan) classNumber(text string, n int) int {
	y, err := strconv.ParseFloat(text, 32)
	if texts := p.labelTexts(); texts != nil { // whose numbers are their labels
		k := slices.Index(texts, text)
		if y, err = float64(k), nil; k < 0 {
			return -1
		}
	}
	if err != nil {
		return -1
	}
	label, c := float32(y), p.train.Classes
	switch {
	case c == nil && p.recipe.Task == algo.Classification: // --labels says what labels are
		return btoi(label > 0)
	case c == nil && label >= 0 && label < float32(n) && label == float32(int(label)):
		return int(label)
	case c.IsStandard() && label == 0:
		return 0
	}
	return slices.Index(c, label)
}

// labelTexts are the labels of a table where they are texts, the positive one of two last.
func (p *plan) labelTexts() []string {
	if p.train.Transform == nil {
		return nil
	}
	return p.train.Transform.LabelTexts()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// weighClasses multiplies the weights of the training examples by those of their classes, and tells of them.
func (p *plan) weighClasses(e *env) error {
	if p.classWeights == "" && p.positiveWeight == 0 {
		return nil
	}
	n, of := 2, func(y float32) int { return btoi(y > 0) }
	if p.recipe.Task == algo.Multiclass {
		n, of = max(2, p.conf.Classes), func(y float32) int { return int(y) }
	}
	by := slices.Repeat([]float64{1}, n)
	if p.positiveWeight > 0 {
		by[1] = p.positiveWeight
	}
	if p.classWeights == balanced {
		by = p.balance(n, of)
	}
	labels, weights, err := parseClassWeights(p.classWeights)
	if err != nil {
		return usageError{err}
	}
	said := make([]bool, n)
	for i, y := range labels {
		k := p.classNumber(y, n)
		if k < 0 || said[k] {
			return usageError{fmt.Errorf("--class-weights %s: %v is no label of a class of its own, want some of %v", p.classWeights, y,
				p.classLabels(n))}
		}
		by[k], said[k] = weights[i], true
	}
	if p.train.Weight == nil {
		p.train.Weight = slices.Repeat([]float32{1}, p.train.Len())
	}
	for i, y := range p.train.Label {
		p.train.Weight[i] *= float32(by[of(y)])
	}
	text := make([]string, 0, n)
	for k, y := range p.classLabels(n) {
		if text = append(text, fmt.Sprintf("%v %.4g", y, by[k])); len(text) == 20 && n > 20 {
			text = append(text, "and others")
			break
		}
	}
	fmt.Fprintf(e.err, "class weights: %s\n", strings.Join(text, ", "))
	if times := by[len(by)-1] / by[0]; p.recipe.Task == algo.Classification && times > 0 && times != 1 && !math.IsInf(times, 0) {
		fmt.Fprintf(e.err, "class weights: predicted odds are %.4g times those of the examples (margins are higher by %.4g); "+
			"--negatives trains on fewer negative examples and predicts the odds of all\n", times, math.Log(times))
	}
	return nil
}

// classLabels are the labels of the classes in the text.
func (p *plan) classLabels(n int) []string {
	if texts := p.labelTexts(); texts != nil {
		return texts
	}
	c := p.train.Classes
	switch {
	case c != nil:
	case p.recipe.Task == algo.Classification:
		c = data.Standard()
	default:
		c = data.Numbered(n)
	}
	all := make([]string, len(c))
	for i, y := range c {
		all[i] = fmt.Sprint(y)
	}
	return all
}

// balance is the weights by which all classes that occur count alike, with those that examples have.
func (p *plan) balance(n int, of func(float32) int) []float64 {
	by, sum := make([]float64, n), 0.0
	for i, y := range p.train.Label {
		w := 1.0
		if p.train.Weight != nil {
			w = float64(p.train.Weight[i])
		}
		by[of(y)] += w
		sum += w
	}
	occur := 0.0
	for _, w := range by {
		if w > 0 {
			occur++
		}
	}
	for k, w := range by {
		if by[k] = 1; w > 0 {
			by[k] = sum / (occur * w)
		}
	}
	return by
}

// readWeights reads the weights of the examples that the paths name beside them, nil if they name none.
func readWeights(ctx context.Context, e *env, paths []string) ([]float32, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	files, err := data.Files(ctx, e.paths, paths)
	if err != nil {
		return nil, err
	}
	return data.LoadWeights(ctx, e.paths, files, e.in)
}

// thinning draws the negative examples that are trained on, as they are read. Held-out examples stay as they come.
type thinning struct {
	share           float64
	seed            uint64
	mayHold         func(i int) bool // the example may be held out, which is known at the end; nil: none is
	seen            int64            // examples
	negative, given int64            // those that could be left out, and those that were
	waiting         []undecided      // examples that may be held out
}

// undecided is an example that may be held out.
type undecided struct {
	number, kept int // of all examples, of those that stayed
	negative     bool
}

// thinning is that of the plan, nil if all examples are trained on.
func (p *plan) thinning() *thinning {
	if p.offset() == 0 {
		return nil
	}
	t := &thinning{share: p.negatives, seed: p.seed}
	switch {
	case p.holdoutShare() == 0:
	case p.heldBy() == holdInterval:
		k := p.interval(math.MaxInt) // of fewer examples only the first is
		t.mayHold = func(i int) bool { return i%k == 0 }
	default:
		t.mayHold = func(i int) bool { return i < 2 || data.Candidate(p.drawSeed(), p.holdoutShare(), i) }
	}
	return t
}

// drop is Options.Drop of package data.
func (t *thinning) drop(at int64, label float32) bool {
	t.seen = at + 1
	if t.mayHold != nil && t.mayHold(int(at)) {
		t.waiting = append(t.waiting, undecided{int(at), int(at - t.given), label <= 0})
		return false
	}
	return label <= 0 && t.leave(at)
}

// stays reports whether a negative example is drawn.
func (t *thinning) stays(at int64) bool { return data.Uniform(t.seed, at) < t.share }

// leave reports whether a negative example is left out.
func (t *thinning) leave(at int64) bool {
	t.negative++
	if t.stays(at) {
		return false
	}
	t.given++
	return true
}

// apart selects which of the examples that stayed are held out, or will be left out at the end.
func (t *thinning) apart(held func(i int) bool) func(i int) bool {
	var all []int
	for _, w := range t.waiting {
		if held(w.number) || w.negative && !t.stays(int64(w.number)) {
			all = append(all, w.kept)
		}
	}
	return amongSorted(all)
}

// end leaves out the negative examples of the set that were waiting and are not held out, and selects those of the others that are.
func (t *thinning) end(s *data.Set, held func(i int) bool) (func(i int) bool, error) {
	var drop, hold []int
	for _, w := range t.waiting {
		switch {
		case held(w.number):
			hold = append(hold, w.kept-len(drop))
		case w.negative && t.leave(int64(w.number)):
			drop = append(drop, w.kept)
		}
	}
	t.waiting = nil
	if len(drop) > 0 {
		if _, err := s.Part(amongSorted(drop)); err != nil {
			return nil, err
		}
	}
	return amongSorted(hold), nil
}

// amongSorted reports which numbers are in the list, which is in order.
func amongSorted(list []int) func(i int) bool {
	return func(i int) bool {
		_, in := slices.BinarySearch(list, i)
		return in
	}
}

// tell tells how many there are.
func (t *thinning) tell(w io.Writer) {
	if t != nil {
		fmt.Fprintf(w, "--negatives %g: %d of %s are trained on\n", t.share, t.negative-t.given, number.Of(t.negative, "negative example"))
	}
}
