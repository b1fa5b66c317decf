package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"thole/algo"
	"thole/data"
	"thole/matrix"
	"thole/optim"
	"thole/ssp"
	"thole/train"
)

// examples reads a file of examples.
func (j *job) examples(ctx context.Context, e *env, path string, dim int64, task algo.Task) (*data.Batch, error) {
	base, err := data.ParseBase(j.base)
	if err != nil {
		return nil, usageError{err}
	}
	mapping := j.labels
	if mapping == "" && task == algo.Classification {
		mapping = "auto"
	}
	labels, err := data.ParseLabels(mapping)
	if err != nil {
		return nil, usageError{err}
	}
	format := j.format
	for _, s := range data.Sources() {
		if format == "" && filepath.Ext(path) == "."+s.Name {
			format = s.Name
		}
	}
	p := newProgress(e.err, "read "+filepath.Base(path), "B", 1)
	defer p.end()
	return data.LoadFile(ctx, path, data.Options{
		Format: format, Base: base, Dim: dim, Labels: labels, Threshold: j.threshold, Separator: j.separator,
		NoLabel:  j.noLabel,
		Progress: func(done, total int64) { p.total = total; p.set(done, "") },
		Note:     func(line int64, text string) { p.line("%s:%d: %s", path, line, text) },
	})
}

// plan is a job with everything read and chosen: what all of its tasks share.
type plan struct {
	*job
	recipe       *algo.Algo
	train, valid *data.Batch
	conf         algo.Conf
	rateOf       func(epoch, step int) float64
	bound        ssp.Bound
	loadPath     string // of the model to go on from, in the servers' bucket
}

func (j *job) plan(ctx context.Context, e *env) (*plan, error) {
	recipe, err := algo.Find(j.algo)
	if err != nil {
		return nil, usageError{err}
	}
	p := &plan{job: j, recipe: recipe}
	if err := p.choose(); err != nil {
		return nil, err
	}
	if p.train, err = j.examples(ctx, e, j.data, j.dim, recipe.Task); err != nil {
		return nil, err
	}
	if p.train.Len() == 0 {
		return nil, fmt.Errorf("%s: no examples", j.data)
	}
	p.conf.Dim = p.train.Dim()
	switch {
	case j.valid != "":
		p.valid, err = j.examples(ctx, e, j.valid, p.conf.Dim, recipe.Task)
	case j.holdout > 0:
		p.hold()
	}
	if err != nil {
		return nil, err
	}
	if err == nil {
		err = p.schedules()
	}
	if err == nil {
		_, err = recipe.Build(p.conf) // a wrong setting is told before anything starts
	}
	return p, err
}

// schedules binds the learning rate to the length of the job.
func (p *plan) schedules() error {
	s, err := optim.FindSchedule(p.schedule)
	if err != nil {
		return usageError{err}
	}
	set, err := numbers("schedule-set", p.decay)
	if err != nil {
		return err
	}
	calls := p.epochs
	if p.per == "batch" {
		calls *= train.Steps(p.train.Len(), p.tasks, p.batch)
	}
	rate, err := s.Bind(p.rate, calls, set)
	if err != nil {
		return usageError{err}
	}
	p.rateOf = func(epoch, step int) float64 {
		if p.per == "batch" {
			return rate(step)
		}
		return rate(epoch)
	}
	return nil
}

// choose checks the settings and fills in the recipe's where the user gave none.
func (p *plan) choose() error {
	j, d := p.job, p.recipe.For(p.rule)
	hyper, err := numbers("hyper", j.hyper)
	if err != nil {
		return err
	}
	if j.l1 >= 0 {
		hyper["l1"] = j.l1
	}
	if j.l2 >= 0 {
		hyper["l2"] = j.l2
	}
	if j.rate == 0 {
		j.rate = d.Rate
	}
	if j.schedule == "" {
		j.schedule = d.Schedule
	}
	if j.batch == 0 {
		j.batch = d.Batch
	}
	if j.epochs == 0 {
		j.epochs = d.Epochs
	}
	if j.per == "" && d.PerBatch {
		j.per = "batch"
	}
	p.bound = ssp.Bound(j.staleness)
	switch {
	case j.per != "" && j.per != "epoch" && j.per != "batch":
		return usageError{fmt.Errorf("--schedule-per %q, want epoch or batch", j.per)}
	case j.data == "":
		return usageError{errors.New("no --data")}
	case j.tasks < 1:
		return usageError{fmt.Errorf("--tasks %d, want at least 1", j.tasks)}
	case j.staleness < -1:
		return usageError{fmt.Errorf("--staleness %d, want -1 (ASP), 0 (BSP) or more", j.staleness)}
	case j.rate < 0 || j.batch < 1 || j.epochs < 1:
		return usageError{fmt.Errorf("--rate %g --batch %d --epochs %d, want none below zero", j.rate, j.batch, j.epochs)}
	case !finite(j.rate, j.l1, j.l2, j.tolerance, j.initScale) || j.tolerance < 0 || j.initScale < 0:
		return usageError{errors.New("--rate, --l1, --l2, --tolerance and --init-scale want finite numbers from 0 on")}
	case j.holdout < 0 || j.holdout >= 1 || j.holdout > 0 && j.valid != "":
		return usageError{fmt.Errorf("--holdout %g, want a share below 1, and not with --validate", j.holdout)}
	case j.staleness == -1:
		p.bound = ssp.ASP
	}
	p.conf = algo.Conf{Sparse: j.sparse, Rule: j.rule, Hyper: hyper}
	if j.initKind != "" {
		p.conf.Init = matrix.Init{Kind: j.initKind, Scale: j.initScale, Seed: j.seed}
	}
	return nil
}

// hold moves every k-th example to the held-out ones.
func (p *plan) hold() {
	k := max(2, int(1/p.holdout+0.5))
	var stay, out []int
	for i := range p.train.Len() {
		if i%k == 0 {
			out = append(out, i)
		} else {
			stay = append(stay, i)
		}
	}
	p.train, p.valid = p.train.Gather(stay), p.train.Gather(out)
}

// finite tells whether all are numbers that are not infinite.
func finite(vs ...float64) bool {
	for _, v := range vs {
		if v != v || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// summary is what all workers of a job must agree on, as words "name=value".
func (p *plan) summary() string {
	return fmt.Sprintf("algo=%s rule=%s hyper=%v l1=%g l2=%g rate=%g schedule=%s/%s/%v epochs=%d batch=%d seed=%d in-order=%v tolerance=%g "+
		"init=%s/%g sparse=%v partitioner=%s load=%s examples=%d dim=%d", p.algo, p.rule, p.conf.Hyper, p.l1, p.l2, p.rate, p.schedule,
		p.per, p.decay, p.epochs, p.batch, p.seed, p.inOrder, p.tolerance, p.initKind, p.initScale, p.sparse, p.partitioner, p.load,
		p.train.Len(), p.conf.Dim)
}
