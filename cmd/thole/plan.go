package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ssp"
	"thole.example/train"
	"thole.example/tree"
)

// plan is a job with everything read and chosen: what all of its tasks share.
type plan struct {
	*job
	recovery
	recipe       *algo.Algo
	forest       *forest        // of trees; nil: a network
	before       *storedModel   // trees to go on from; nil: none
	train, valid *data.Examples // valid may be nil
	digest       uint32         // of the examples
	conf         algo.Conf
	rateOf       func(epoch, step int) float64
	bound        ssp.Bound
	decays       map[string]float64 // settings of the schedule
	loadPath     string             // of the model to go on from, in the servers' bucket
	loaded       loaded             // that model
	sets         []train.HeldOut    // of valid, where there are several
	compares     graph.Loss         // the network's scores with labels
	asked        asked              // what the user chose of the training
	counted      bool               // epochs were counted by the examples that the recipe wants to see
	mayHoldOut   bool               // there may be a default hold-out; once the examples are known: there is one
	open         bool               // the user left open how long to train
	pace         *train.Pace        // when to stop, if so
	says         *graph.File        // the job, as far as the grammar has keys for it
	warmup       int                // steps of it at most, where the schedule is the recipe's
	settings     []byte             // of the job, as they are saved with the model; nil: not
	ends         bool               // the schedule is bound to the number of epochs
	mine         []int              // tasks of this process; nil: all
	mineOf       train.Options      // their examples,
	parted       bool               // if this was settled
	rows         int                // training examples of all tasks
	cut          bool               // the held-out examples have no features but those of training
	moment       string             // where the servers keep the best epoch, if there is one
	about        time.Duration      // all epochs take, on the machine of docs/measurements.md

	// Of trees that workers grow: reads the examples, once the servers know of the process of task 0; nil: they are read.
	later func(ctx context.Context) error
}

// asked is what a user chose of what recipes have defaults for; zero is nothing.
type asked struct {
	rule, schedule, per string
	rate                float64
	batch, epochs       int
	decay               map[string]string
}

// plan chooses the settings and reads the examples.
func (j *job) plan(ctx context.Context, e *env) (*plan, error) {
	p, err := j.choose(ctx)
	if err == nil {
		err = p.read(ctx, e)
	}
	return p, err
}

// read reads the examples, and chooses what depends on them.
func (p *plan) read(ctx context.Context, e *env) error {
	if p.before != nil && p.before.transform == nil {
		if err := p.decideBase(ctx, e, p.before.trees, p.data); err != nil {
			return err
		}
	}
	o, err := p.readTraining(ctx, e)
	if err == nil && p.sample > 0 {
		err = p.draw(p.sample)
	}
	if err == nil {
		err = p.settle(ctx, e, o)
	}
	return err
}

// readTraining reads the training examples, and holds some of them out.
func (p *plan) readTraining(ctx context.Context, e *env) (o data.Options, err error) {
	j := p.job
	p.bounded(ctx)
	if o, err = j.dataOptions(p.recipe.Task); err != nil {
		return o, err
	}
	if p.loaded.classes != nil {
		o.Classes = p.loaded.classes
	}
	if p.forest != nil {
		if p.before != nil {
			p.forest.Numbers = p.before.trees.Numbers
		} else if p.to == "xgboost" { // which compares float32
			p.forest.Numbers = tree.Float32
		}
		o.Exact = p.forest.Numbers != tree.Float32
	}
	var hints []string
	if o.Table, err = p.columnsOf(ctx, e); err != nil {
		return o, err
	}
	o.Table.Found = func(f *feature.Fit) { hints = f.Hints() }
	if p.forest == nil && p.fields == "" && !namesFields(ctx, p.paths, p.format, j.data) {
		o.Fields = p.likelyFields()
	}
	width := 1
	if p.recipe.Task == algo.Multiclass {
		width = data.ClassLimit // how many there are is known when all labels are
	}
	o.Takes, o.Ranked = taking(p.compares, width), p.recipe.Task == algo.Ranking
	if o.Weight, err = readWeights(ctx, e, j.weights); err != nil {
		return o, err
	}
	if o.Start, err = readStarts(ctx, e, j.starts); err != nil {
		return o, err
	}
	if o.Limit, o.Scratch = p.forExamples(), p.scratch; p.mine != nil && kernel.CanBack {
		o.Limit = 1 // those of its tasks alone come into memory, when all have been seen
	} else {
		p.sayReading(ctx, e, j.data)
	}
	thinned := p.thinning()
	if thinned != nil {
		o.Drop = thinned.drop
	}
	if p.holdoutShare() > 0 {
		o.Table.Held = p.heldRows(thinned)
	}
	if p.train, err = j.examples(ctx, e, j.data, o); err != nil {
		return o, err
	}
	o.Weight, o.Start, o.Drop = nil, nil, nil
	p.decideHoldout(p.train.Label)
	if p.train.Len() == 0 {
		return o, fmt.Errorf("%s: no examples", strings.Join(j.data, ", "))
	}
	if p.train.Transform != nil && j.load != "" && p.loaded.transform == nil {
		return o, fmt.Errorf("%s: a table, and --load %s has no %s that says what its features are (a worker does not see it: thole train does)",
			strings.Join(j.data, ", "), j.load, feature.FileName)
	}
	if err := cmp.Or(p.checkTable(), p.checkTexts(o.Labels)); err != nil {
		return o, err
	}
	sayTable(e.err, p.train.Transform)
	for _, hint := range hints {
		fmt.Fprintf(e.err, "%s: %s\n", strings.Join(j.data, ", "), escaped(hint))
	}
	if err := p.checkClasses(thinned); err != nil {
		return o, err
	}
	if err := p.checkGroups(); err != nil {
		return o, err
	}
	if j.holdout > 0 || thinned != nil {
		if err := p.holdOut(thinned); err != nil {
			return o, err
		}
		p.checkHeldOut(e)
		p.sayHeldOut(e)
	}
	thinned.tell(e.err)
	p.sayBare(e)
	if err := p.scale(ctx, e, o); err != nil {
		return o, err
	}
	o.Scale = p.train.Scaling
	p.countClasses()
	return o, p.weighClasses(e) // once, as several trainings may share the examples
}

// settle chooses what depends on the training examples, which are there, and reads those of --validate, unless they are, too.
func (p *plan) settle(ctx context.Context, e *env, o data.Options) error {
	if p.forest != nil {
		return p.settleTrees(ctx, e, o)
	}
	j := p.job
	p.sayClasses(e)
	p.countClasses()
	p.digest, p.rows = p.train.Checksum(), p.train.Len()
	if err := p.countFields(); err != nil {
		return err
	}
	p.sayColumns(e)
	if p.conf.Dim = p.train.Dim(); p.conf.Dim < p.loaded.dim {
		p.conf.Dim = p.loaded.dim
	} else if p.loaded.dim > 0 && p.conf.Dim > p.loaded.dim {
		fmt.Fprintf(e.err, "%s has %d columns: %d more are added, with the values that new ones begin with\n", j.load, p.loaded.dim,
			p.conf.Dim-p.loaded.dim)
	}
	least := p.recipe.Defaults.Hyper["l2"]
	if err := p.suit(); err != nil {
		return err
	}
	p.sayPenalty(e, least)
	if offset := p.offset(); offset != 0 { // the training begins where it would with all examples
		p.recipe = p.recipe.Shift(-offset)
	}
	if by := p.recipe.Far(); by != 0 {
		fmt.Fprintf(e.err, "warning: the labels differ by much more or less than those that rates of networks suit: divide them by about %g\n",
			by)
	}
	switch {
	case j.updates > 0:
		p.batch = max(1, (p.train.Len()+j.updates-1)/j.updates)
	case p.batch > 0:
	case j.asAngel:
		p.batch = (p.train.Len() + angelUpdates - 1) / angelUpdates
	default:
		p.batch = algo.BatchOf(p.train.Len())
	}
	p.conf.Batch = p.batch
	if err := p.fieldWidths(); err != nil {
		return err
	}
	model, err := p.build(p.conf)
	if err != nil {
		return err
	}
	if err := p.checkOutputs(model); err != nil {
		return err
	}
	if err := p.arrange(e.err, model); err != nil {
		return err
	}
	if err := p.readHoldout(ctx, e, o, model.Metas()); err != nil {
		return err
	}
	p.allow(model.Metas())
	if err := p.schedules(); err != nil || p.settings == nil {
		return err
	}
	p.settings, err = p.resolved() // now with what the examples decide
	return err
}

// suit takes the recipe's defaults for these examples: for labels of any size, and for many features.
func (p *plan) suit() error {
	if p.asAngel {
		return nil
	}
	p.recipe = p.recipe.ForLabels(nil, p.train.Label, p.train.Weight, p.conf.Classes)
	if p.widens() {
		p.recipe.Defaults = *p.recipe.Wide // p.recipe is a copy
		if p.recipe.Network() && p.recipe.Task == algo.Classification && p.minority() < p.recipe.Defaults.Minor {
			p.recipe.Defaults.Most = 1
		}
	} else if d := &p.recipe.Defaults; d.Rare > 0 && p.recipe.Task.Classes() && d.EpochsOf(p.train.Len()) > algo.RareMost {
		if p.mostlyRare(d.Rare) {
			d.Most = algo.RareMost
		}
	}
	p.recipe = p.recipe.ForRows(p.effectiveRows(), p.penalty())
	j, asked := p.job, p.asked
	j.rule, j.rate, j.schedule, j.per, j.batch, j.epochs = asked.rule, asked.rate, asked.schedule, asked.per, asked.batch, asked.epochs
	dim, classes, fields := p.conf.Dim, p.conf.Classes, p.conf.Size.Fields
	err := p.chooseRule()
	p.conf.Dim, p.conf.Classes, p.conf.Size.Fields = dim, classes, fields
	return err
}

// penalty is the least l2 of a linear model times the number of examples: 1, or more where most features are rare. The recipe of
// regressions has an l2 only there.
func (p *plan) penalty() float64 {
	least, has := p.recipe.Defaults.Hyper["l2"]
	if !has || p.recipe.Network() {
		return 1
	}
	if !p.recipe.Task.Classes() {
		return p.recipe.Noise(p.train.Set)
	}
	if half := p.train.Size() / 2; half > least*float64(p.effectiveRows()) && p.mostlyRare(fewExamples) {
		return half
	}
	return 1
}

// effectiveRows is how many examples the training examples count as: the sum of their weights, so that a weight of 2 is as two rows. Small
// weights do not make a penalty larger than that of as many rows.
func (p *plan) effectiveRows() int {
	if p.train.Weight == nil {
		return p.train.Len()
	}
	sum, n := 0.0, 0
	for _, w := range p.train.Weight {
		sum += float64(w)
		n += btoi(w > 0)
	}
	return max(n, int(math.Round(min(sum, math.MaxInt32))))
}

// sayPenalty says that the penalty follows the number of examples, where it is not the recipe's, least.
func (p *plan) sayPenalty(e *env, least float64) {
	l2 := p.recipe.For(nil, p.job.rule).Hyper["l2"]
	if _, given := p.conf.Hyper["l2"]; !given && l2 > least {
		why := "as most features have few examples"
		if n := p.effectiveRows(); l2 == 1/float64(n) {
			why = fmt.Sprintf("1/%d training examples", n)
			if n != p.train.Len() {
				why = fmt.Sprintf("1/%d, as the weights of the training examples count", n)
			}
		}
		fmt.Fprintf(e.err, "l2: %.3g, %s (--l2 sets another)\n", l2, why)
	}
}

// minority is the share of the rarer of two classes among the training examples.
func (p *plan) minority() float64 {
	positive := 0
	for _, y := range p.train.Label {
		positive += btoi(y > 0)
	}
	return float64(min(positive, p.train.Len()-positive)) / float64(max(1, p.train.Len()))
}

// rareBelow is how many examples a feature wants for a weight without penalty, by the rule of ten that statisticians have for
// regressions (Peduzzi and others, A simulation study of the number of events per variable in logistic regression analysis, 1996).
// Fewer rare features than rareFrom are those of examples written by hand, which are to be learned as they are.
const rareBelow, rareFrom = 10, 100

// fewExamples is how many examples a feature wants for the usual penalty of a linear classifier.
const fewExamples = 100

// mostlyRare reports whether at least half of the features have fewer examples than that.
func (p *plan) mostlyRare(examples uint32) bool {
	occur, rare := p.train.Rare(examples)
	return rare >= max(rareFrom, occur/2)
}

// manyShare times the root of the number of examples is how many features are few for a network; only those count that two examples or more
// have. Tables have no others, so that the same rows have the same settings as lines. Features with a heavy tail, most of which are rare
// however many examples there are, grow faster than the root.
const manyShare = 45

// manyFeatures reports whether features are many, so that the recipe's defaults for that fit. Of classifying networks those count that
// occur, of other models those that there may be, as whole matrices are trained in another way; regressions also take these defaults for
// few features of which most are rare.
func (p *plan) manyFeatures() bool {
	switch {
	case p.recipe.Network() && p.recipe.Task.Classes():
		return p.train.SharedMoreThan(int(manyShare * math.Sqrt(float64(p.train.Len()))))
	case p.conf.Dim > 0 && p.conf.Dim <= graph.WholeLimit:
		return p.recipe.Task == algo.Regression && p.mostlyRare(rareBelow) // which have no penalty
	}
	return true
}

// widens reports whether the recipe's defaults for many features are taken. Those with another update rule are taken by a user who chose
// that one, or nothing of the rule and the schedule.
func (p *plan) widens() bool {
	j, asked := p.job, p.asked
	d := p.recipe.Wide
	if d == nil || !p.manyFeatures() {
		return false
	}
	return d.Rule == p.recipe.Defaults.Rule || d.Rule == asked.rule || asked.rule == "" && asked.rate == 0 && asked.schedule == "" &&
		asked.per == "" && len(j.decay)+len(j.hyper) == 0 && j.l2 == 0 && !j.given("l1") && !j.given("l2")
}

// sayColumns says when more columns occur than --conf or the network's file expects.
func (p *plan) sayColumns(e *env) {
	key, want := "ml.model.size", p.expected
	if want <= 0 && p.network != nil {
		key, want = "model.modelsize", p.network.Model.ModelSize
	}
	if want <= 0 {
		return
	}
	if n := int64(len(p.train.Keys())); n > want {
		fmt.Fprintf(e.err, "%s is %d, and the training examples have %d different columns\n", key, want, n)
	}
}

// allow finds how many epochs there may be, where the user left that open.
func (p *plan) allow(params []matrix.Meta) {
	if p.epochs == 0 {
		p.counted = true
		d := p.recipe.For(nil, p.rule)
		p.epochs = d.EpochsOf(p.train.Len())
		if s, err := optim.FindSchedule(p.schedule); err == nil && p.mayHoldOut && !hasSetting(s.Hyper, "calls") {
			p.epochs = max(p.epochs, holdoutEpochs) // no rate falls towards the last one
		}
	}
	if !p.open {
		return
	}
	var weights int64
	for _, m := range params {
		if cells, ok := m.Rect().Cells(); ok && m.Layout == matrix.RowDense {
			weights += cells
		}
	}
	p.epochs, p.pace, p.about = train.Allowance(p.train.Set, weights, p.tasks, p.batch, p.epochs)
	p.pace.Null = p.posNeg == 0 // else other odds are learned, of which the loss is larger
}

// schedules binds the learning rate to the length of the job.
func (p *plan) schedules() error {
	if p.forest != nil {
		p.forest.Trees = p.epochs
		return nil
	}
	s, err := optim.FindSchedule(p.schedule)
	if err != nil {
		return usageError{err}
	}
	calls := p.epochs
	if p.per == "batch" {
		steps := train.Steps(p.train.Len(), p.tasks, p.batch)
		calls *= steps
		if p.warmup > 0 && len(p.decay) == 0 {
			p.decays = map[string]float64{"warmup": float64(min(p.warmup, steps/10))}
			p.job.decay = map[string]string{"warmup": strconv.Itoa(min(p.warmup, steps/10))} // as the saved job says it
		}
	}
	rate, err := s.Bind(p.rate, calls, p.decays)
	if err != nil {
		return usageError{err}
	}
	p.ends = hasSetting(s.Hyper, "calls")
	if p.pace == nil {
		if p.pace, err = train.PaceOf(s, p.decays); err != nil {
			return usageError{err}
		}
	}
	p.rateOf = func(epoch, step int) float64 {
		if p.per == "batch" {
			return rate(step)
		}
		return rate(epoch)
	}
	return nil
}

// draw keeps a share of the training examples, or of their groups, which depends on their number and the seed alone.
func (p *plan) draw(share float64) (err error) {
	n, g := p.train.Len(), p.groups()
	if g != nil {
		n = g.Count
	}
	drawn := rand.New(rand.NewPCG(p.seed, 0)).Perm(n)[:max(1, int(share*float64(n)+0.5))]
	if g != nil {
		drawn = g.Members(drawn)
	}
	slices.Sort(drawn)
	p.train.Set, err = p.train.Choose(drawn)
	return err
}
