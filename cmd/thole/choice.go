package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
)

// How many servers and tasks one process has at most: each pair is a connection. A job may have more tasks, in several
// workers.
const (
	serversLimit  = 1024
	tasksLimit    = 1024
	jobTasksLimit = 1 << 16
)

// given reports whether the user gave the flag, whatever the value.
func (j *job) given(flag string) bool { return j.command != nil && j.command.Flags().Changed(flag) }

// choose checks the settings, all before any example is read, and fills in the recipe's where the user gave none.
func (j *job) choose(ctx context.Context) (*plan, error) {
	before, err := j.treesBefore(ctx)
	if err != nil {
		return nil, err
	}
	if before == nil && j.load != "" && j.own == nil && !(j.far() && j.given("algo")) {
		if err := j.ofModel(ctx); err != nil {
			return nil, err
		}
	}
	if j.network != nil && j.ofConf != nil {
		j.ruleFile(j.network)
		var err error
		if j.own, err = algo.Own(j.network, nil); err != nil {
			return nil, err
		}
	}
	recipe := j.own
	if recipe == nil {
		var err error
		if recipe, err = algo.Find(j.algo); err != nil {
			return nil, usageError{err}
		}
		j.algo = recipe.Name // which is saved
	}
	if recipe.Trees == "" && (j.loss != "" || len(j.lossSet) > 0) {
		set, err := numbers("loss-set", j.lossSet)
		if err == nil {
			recipe, err = withLoss(recipe, j.loss, set)
		}
		if err != nil {
			return nil, usageError{err}
		}
	}
	if err := j.checkPaths("thole train --data train.libsvm --model out/lr"); err != nil {
		return nil, err
	}
	err = j.apart(ctx, "log", j.log)
	if err == nil && !j.atServers {
		err = j.apart(ctx, "model", j.model)
	}
	if err != nil {
		return nil, err
	}
	p := &plan{job: j, recipe: recipe}
	checks := []func() error{p.checkConf, p.checkKinds, p.configured, p.ruleLayers, p.checkNumbers, p.large.check, p.checkWeighing,
		p.checkClicks, p.checkNames, p.readFieldDims, p.chooseRule, p.chooseHoldout}
	if recipe.Trees != "" {
		p.before = before
		checks = []func() error{p.checkConf, p.checkKinds, p.chooseObjective, p.configured, p.checkNumbers, p.checkWeighing, p.checkStarts,
			p.checkNames, p.chooseTrees}
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return nil, usageError{err}
		}
	}
	if _, err = p.dataOptions(p.recipe.Task); err != nil {
		return nil, err
	}
	if err := p.checkTarget(ctx); err != nil {
		return nil, err
	}
	if err := p.checkOdds(); err != nil {
		return nil, err
	}
	if j.command != nil {
		p.settings, err = p.resolved()
	}
	return p, err
}

// tell tells of settings that have no effect: of those of trees, and of the network's file.
func (p *plan) tell(e *env) {
	if p.forest != nil && p.shared != byRows && p.tasks == 1 {
		fmt.Fprintf(e.err, "--share %s changes nothing with one task: want --tasks 2 or more, which share them\n", p.shared)
	}
	if p.network == nil {
		return
	}
	for _, text := range algo.Unused(p.network) {
		fmt.Fprintln(e.err, escaped(text))
	}
}

// checkTarget refuses a format that cannot write such models and options that it does not have: it begins to save a model
// of one feature.
func (p *plan) checkTarget(ctx context.Context) error {
	codec, ending, err := (&output{to: p.to}).codec(p.model, nil)
	if p.to == "" && err != nil && fileEnding(p.model) == "" {
		codec, err = codecs().Lookup("angel")
	}
	if err != nil {
		return usageError{err}
	}
	p.to = codec.Info().Name
	target := side{codec, p.set}
	for name, value := range ending {
		if _, said := target.set[name]; !said {
			if err := target.add(optionFlag{option: name}, value); err != nil {
				return err
			}
		}
	}
	if err := p.values.share(&target); err != nil {
		return err
	}
	p.set = target.set
	o := format.Options{Set: p.set, Lossy: p.lossy}
	if err := o.CheckSet(codec.Info()); err != nil {
		return usageError{err}
	}
	if codec.Info().Writes == "" {
		return usageError{fmt.Errorf("format %s is only read", p.to)}
	}
	if p.forest != nil {
		return p.checkTreeTarget(ctx, codec, o)
	}
	small := p.conf
	small.Dim = 1
	m, err := p.build(small)
	if err != nil {
		return usageError{err}
	}
	p.compares = m.Loss
	if err := p.checkHolds(ctx, m.Metas(), nil); err != nil {
		return err
	}
	return p.checkFormats(ctx, codec, m, o)
}

// build is the network; an error of a file's names the file.
func (p *plan) build(c algo.Conf) (*graph.Model, error) {
	m, err := p.recipe.Build(c)
	if err != nil && p.own != nil {
		err = fmt.Errorf("%s: %w", p.ownAt, err)
	}
	return m, err
}

// checkFormats refuses formats of layers that the target does not have.
func (p *plan) checkFormats(ctx context.Context, codec format.Codec, m *graph.Model, o format.Options) error {
	for i := range m.File.Layers {
		e := &m.File.Layers[i]
		if e.OutputFormat == "" {
			continue
		}
		at := fmt.Sprintf("%s: layers[%d].outputformat", p.ownAt, i)
		for _, k := range confKeys() {
			if p.job.conf[k.key] == e.OutputFormat && slices.Contains(k.formatOf, strings.ToLower(e.Type)) {
				at = "--conf " + k.key
			}
		}
		if p.to != "angel" {
			return usageError{fmt.Errorf("%s: %s is a format of Angel's folders, and the model is saved as %s", at, e.OutputFormat, p.to)}
		}
		one := o
		one.Set = map[string]string{"format": e.OutputFormat}
		own := slices.DeleteFunc(m.Metas(), func(m matrix.Meta) bool { return !strings.HasPrefix(m.Name, e.Name+"_") })
		w, err := format.Create(ctx, codec, &blob.Mem{}, "model", own, one)
		if err != nil {
			return usageError{fmt.Errorf("%s: %w", at, err)}
		}
		w.Abort(ctx)
	}
	return nil
}

// checkNumbers checks the numbers that the user gave.
func (p *plan) checkNumbers() error {
	j := p.job
	for _, n := range []struct {
		flag  string
		value int
	}{{"epochs", j.epochs}, {"batch", j.batch}, {"updates", j.updates}, {"factors", j.factors}} {
		if n.value < 1 && (n.value < 0 || j.given(n.flag)) {
			return fmt.Errorf("--%s %d, want at least 1", n.flag, n.value)
		}
	}
	for _, n := range []struct {
		flag  string
		value float64
	}{{"l1", j.l1}, {"l2", j.l2}, {"tolerance", j.tolerance}, {"init-scale", j.initScale},
		{"pos-neg", j.posNeg}, {"clip", j.clip}} {
		if !finite(n.value) || n.value < 0 {
			return fmt.Errorf("--%s %v, want a finite number from 0 on", n.flag, n.value)
		}
	}
	if err := p.checkWatching(); err != nil {
		return err
	}
	if err := p.checkScaling(); err != nil {
		return err
	}
	if err := j.checkLasting(); err != nil {
		return err
	}
	switch {
	case !finite(j.rate) || j.rate < 0 || j.rate == 0 && j.given("rate"):
		return fmt.Errorf("--rate %v, want a finite number above 0", j.rate)
	case j.tasks < 1 || j.tasks > jobTasksLimit:
		return fmt.Errorf("--tasks %d, want 1 to %d", j.tasks, jobTasksLimit)
	case !(j.sample >= 0 && j.sample <= 1) || j.sample == 0 && j.given("sample"):
		return fmt.Errorf("--sample %v, want a share above 0, up to 1", j.sample)
	case j.posNeg > 0 && p.recipe.Task != algo.Classification:
		return fmt.Errorf("--pos-neg %v, want it with two classes: %s has none", j.posNeg, p.recipe.Name)
	case j.updates > 0 && j.given("batch") && j.given("updates") && j.jobFile+j.graphFile == "":
		return errors.New("--batch and --updates, want one of them")
	case j.staleness < -1:
		return fmt.Errorf("--staleness %d, want -1 (ASP), 0 (BSP) or more", j.staleness)
	case !(j.holdout >= 0 && j.holdout < 1):
		return fmt.Errorf("--holdout %v, want a share from 0 up to, but not including, 1: the other examples are trained on", j.holdout)
	case j.holdBy != "" && j.holdBy != holdRandom && j.holdBy != holdInterval:
		return fmt.Errorf("--holdout-by %q, want %s or %s", j.holdBy, holdRandom, holdInterval)
	case j.holdout > intervalMost && j.heldBy() == holdInterval:
		return fmt.Errorf("--holdout %v, want a share up to %v where every k-th example is held out (--holdout-by %s draws any share)", j.holdout,
			intervalMost, holdRandom)
	case j.holdout > 0 && len(j.valid) > 0:
		return fmt.Errorf("--holdout %v and --validate, want one of them", j.holdout)
	case j.initKind == "" && j.given("init-scale"):
		return fmt.Errorf("--init-scale %v without --init, want --init normal or --init uniform, whose width it is", j.initScale)
	}
	return nil
}

// checkNames checks the names that the user gave.
func (p *plan) checkNames() error {
	j := p.job
	if j.per != "" && j.per != "epoch" && j.per != "batch" {
		return fmt.Errorf("--schedule-per %q, want epoch or batch", j.per)
	}
	if _, err := rpc.ParseNonFinite(j.nonFinite); err != nil {
		return fmt.Errorf("--non-finite %w", err)
	}
	if _, err := part.Lookup(j.partitioner, &matrix.Meta{Layout: matrix.RowSparse}); err != nil {
		return fmt.Errorf("--partitioner: %w", err)
	}
	if err := (matrix.Init{Kind: j.initKind}).Check(); err != nil {
		return fmt.Errorf("--init: %w%s", err, spell.Hint(j.initKind, matrix.Inits()))
	}
	for _, v := range j.values {
		if v.flag == "compat" && v.value != "" && !slices.Contains(trainings(), v.value) {
			return fmt.Errorf("--compat %q, want one of %s", v.value, strings.Join(trainings(), " "))
		}
	}
	if _, err := j.keyCacheBytes(); err != nil {
		return err
	}
	return j.checkKeep()
}

// checkKeep checks which columns are to be kept.
func (j *job) checkKeep() error {
	n, err := parseSize("max-bytes", j.maxBytes)
	if err != nil {
		return err
	}
	j.keep.MaxBytes = max(0, n)
	flags := j.keepsBy()
	if len(flags) > 0 && !j.sparse {
		return fmt.Errorf("%s: want --sparse, too", strings.Join(flags, ", "))
	}
	if err := j.keep.Check(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(flags, ", "), err)
	}
	if as, err := matrix.ParseNarrow(j.storage); err != nil {
		return fmt.Errorf("--storage %w", err)
	} else if as == matrix.I8 && !j.sparse {
		return errors.New("--storage int8 wants --sparse: it has a scale for each column")
	}
	return nil
}

// checkClicks refuses clicks of labels that are not of two classes.
func (p *plan) checkClicks() error {
	if p.keep.ClickWeight == 0 || p.recipe.Task == graph.Classification {
		return nil
	}
	return fmt.Errorf("--click-weight counts labels above 0 as clicks, and --algo %s trains for %v (want labels of two classes, or "+
		"--show-weight alone)", p.algo, p.recipe.Task)
}

// keepFlags are the flags that say which columns of sparse matrices are kept.
var keepFlags = []string{"admit-after", "forget-after", "expire-after", "max-bytes", "show-weight", "click-weight", "count-half-life",
	"evict-below"}

// keepsBy returns those of keepFlags that are not at their defaults, for errors.
func (j *job) keepsBy() (flags []string) {
	k := &j.keep
	set := []bool{k.AdmitAfter != 0, k.ForgetAfter != 0, k.ExpireAfter != 0, k.MaxBytes != 0, k.ShowWeight != 0, k.ClickWeight != 0,
		k.HalfLife != 0, k.EvictBelow != 0}
	for i, name := range keepFlags {
		if set[i] {
			flags = append(flags, "--"+name)
		}
	}
	return flags
}

// finite reports whether all are numbers that are not infinite.
func finite(vs ...float64) bool {
	for _, v := range vs {
		if v != v || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
