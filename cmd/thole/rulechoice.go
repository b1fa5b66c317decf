package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/format/angel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ssp"
)

// chooseRule checks the update rule and the schedule, and takes from the recipe what the user did not give.
func (p *plan) chooseRule() error {
	j := p.job
	p.asked = asked{j.rule, j.schedule, j.per, j.rate, j.batch, j.epochs, j.decay}
	j.trainAsAngel(p.recipe.Task)
	d := p.recipe.For(nil, j.rule)
	hyper, err := numbers("hyper", j.hyper)
	if err != nil {
		return err
	}
	if j.l1 > 0 || j.given("l1") {
		hyper["l1"] = j.l1
	}
	if j.l2 > 0 || j.given("l2") {
		hyper["l2"] = j.l2
	}
	for _, penalty := range []string{"l1", "l2"} { // none, of which also rules without it are capable
		if v, said := hyper[penalty]; said && v == 0 && !ruleHas(d.Rule, penalty) {
			delete(hyper, penalty)
		}
	}
	if err := hasSettings(d.Rule, hyper); err != nil {
		return err
	}
	p.open = j.epochs == 0 && j.tolerance == 0 && !j.given("tolerance") && j.schedule == "" && j.per == "" && len(j.decay) == 0
	if j.rate == 0 {
		j.rate = d.Rate
	}
	if p.network != nil {
		p.network.Train.LR = j.rate // of which rates of layers are shares
	}
	if j.schedule == "" {
		j.schedule, p.warmup = d.Schedule, d.Warmup
	}
	if j.batch == 0 && !j.asAngel {
		j.batch = d.Batch
	}
	if p.open = p.open && d.Rows == 0; j.epochs == 0 && d.Rows == 0 {
		j.epochs = d.Epochs
	}
	if j.per == "" && d.PerBatch {
		j.per = "batch"
	}
	if p.bound = ssp.Bound(j.staleness); j.staleness == -1 {
		p.bound = ssp.ASP
	}
	p.conf = algo.Conf{Formats: j.formats(), Optimizers: j.optimizers, Sparse: j.sparse, Keep: j.keep, Rule: j.rule, Hyper: hyper,
		Init: matrix.Init{Seed: j.seed}}
	if p.conf.Size, err = j.size(p.recipe); err != nil {
		return err
	}
	if j.asAngel {
		p.conf.Bias = "sgd"
	}
	if p.conf.Penalties, err = j.byLayer(); err != nil {
		return err
	}
	p.conf.Storage, _ = matrix.ParseNarrow(j.storage) // it was checked
	if j.initKind != "" {
		p.conf.Init = matrix.Init{Kind: j.initKind, Scale: j.initScale, Seed: j.seed}
	}
	if p.decays, err = numbers("schedule-set", j.decay); err != nil {
		return err
	}
	s, err := optim.FindSchedule(p.schedule)
	if err != nil {
		return err
	}
	_, err = s.Bind(p.rate, 1, p.decays)
	return err
}

// trainings are the values of --compat where a model is trained.
func trainings() []string { return append(angel.Releases(), "angel") }

// angelUpdates is how many batches Angel's trainer makes of an epoch where it is not told: ml.num.update.per.epoch.
const angelUpdates = 10

// trainAsAngel takes --compat angel from the options of formats and, if it is there, makes the training Angel's: examples in the
// order of the file in batches of equal size, the last of which is filled up from the start, biases by plain gradient descent, and
// Angel's defaults where the user gave nothing. What Angel's trainer computes otherwise than its documents say is not repeated.
func (j *job) trainAsAngel(task algo.Task) {
	for _, v := range j.values {
		if v.flag == "compat" && v.value == "angel" {
			v.value, j.asAngel = "", true
		}
	}
	if !j.asAngel {
		return
	}
	j.inOrder = true
	if j.rule == "" && len(j.optimizers) == 0 {
		j.rule = "momentum"
		if task == algo.Regression {
			j.rule = "sgd" // which Angel takes there, whatever is set
		}
	}
	if j.rate == 0 {
		j.rate = 0.5
	}
	if j.schedule == "" {
		j.schedule = "standard"
	}
	if j.per == "" {
		j.per = "epoch"
	}
	if j.epochs == 0 {
		j.epochs = 30
	}
}

// ruleHas reports whether the rule has a setting of that name.
func ruleHas(rule, setting string) bool {
	r, err := optim.Find(nil, rule)
	return err == nil && hasSetting(r.Hyper, setting)
}

// hasSettings refuses settings that the rule does not have, and says which rules do.
func hasSettings(name string, hyper map[string]float64) error {
	rule, err := optim.Find(nil, name)
	if err != nil {
		return err
	}
	for _, setting := range slices.Sorted(maps.Keys(hyper)) {
		if hasSetting(rule.Hyper, setting) {
			continue
		}
		var others []string
		for _, r := range optim.Rules() {
			if hasSetting(r.Hyper, setting) {
				others = append(others, "--rule "+r.Name)
			}
		}
		if len(others) > 0 {
			own := make([]string, len(rule.Hyper))
			for i, h := range rule.Hyper {
				own[i] = h.Name
			}
			return fmt.Errorf("update rule %s: no setting %q, want one of %s, or a rule that has it: %s", name, setting,
				strings.Join(own, " "), strings.Join(others, " or "))
		}
	}
	return nil
}
