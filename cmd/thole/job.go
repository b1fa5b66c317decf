package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"thole/algo"
	"thole/data"
	"thole/format"
	"thole/graph"
	"thole/matrix"
	"thole/optim"
	"thole/ps"
	"thole/ssp"
	"thole/train"
)

// job is the settings of a training job: the flags of train, and of every worker of a job.
type job struct {
	algo, model, load, data, format, valid, to, log string
	labels, base, separator                         string
	threshold, holdout                              float64
	dim                                             int64
	sparse                                          bool

	rule, schedule, per, initKind string
	hyper, decay                  map[string]string
	rate, l1, l2, tolerance       float64
	initScale                     float64
	epochs, batch                 int
	seed                          uint64
	inOrder                       bool
	partitioner                   string
	set                           map[string]string

	tasks, staleness int
	name             string
	force            bool
	noLabel          bool
}

func (j *job) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.algo, "algo", "lr", "algorithm (see thole algos)")
	f.StringVar(&j.model, "model", "", "where to save the model; nothing is saved without")
	f.StringVar(&j.load, "load", "", "stored model to go on from, in any format")
	f.StringVar(&j.to, "to", "angel", "format of the saved model (see thole formats)")
	f.StringToStringVar(&j.set, "set", nil, "options of the format, NAME=VALUE")
	f.BoolVar(&j.force, "force", false, "replace the model if it exists")
	f.StringVar(&j.log, "log", "", "write progress as JSON lines to this file")

	f.StringVar(&j.data, "data", "", "training examples")
	f.StringVar(&j.valid, "validate", "", "held-out examples for the metrics at the end")
	f.Float64Var(&j.holdout, "holdout", 0, "share of the training examples to hold out, every k-th one")
	j.dataFlags(c)
	f.BoolVar(&j.sparse, "sparse", false, "keep only the columns that occur, by key")

	f.IntVar(&j.epochs, "epochs", 0, "passes over the examples (default: of the algorithm)")
	f.IntVar(&j.batch, "batch", 0, "examples of a step, over all tasks (default: of the algorithm)")
	f.Float64Var(&j.rate, "rate", 0, "learning rate (default: of the algorithm)")
	f.StringVar(&j.schedule, "schedule", "", "how the rate changes (default: of the algorithm)")
	f.StringVar(&j.per, "schedule-per", "", "the rate changes by epoch or by batch (default: of the algorithm)")
	f.StringToStringVar(&j.decay, "schedule-set", nil, "settings of the schedule, NAME=VALUE")
	f.StringVar(&j.rule, "rule", "", "update rule (default: of the algorithm)")
	f.StringToStringVar(&j.hyper, "hyper", nil, "settings of the update rule, NAME=VALUE")
	f.Float64Var(&j.l1, "l1", -1, "weight of the L1 penalty (default: of the algorithm)")
	f.Float64Var(&j.l2, "l2", -1, "weight of the L2 penalty (default: of the algorithm)")
	f.Float64Var(&j.tolerance, "tolerance", 0, "stop when an epoch changes the loss by less than this share")
	f.StringVar(&j.initKind, "init", "", "initial weights: normal or uniform (default: zero)")
	f.Float64Var(&j.initScale, "init-scale", 0.01, "deviation or half width of the initial weights")
	f.Uint64Var(&j.seed, "seed", 1, "seed of shuffling and initial weights")
	f.BoolVar(&j.inOrder, "in-order", false, "take the examples in the order of the file")

	f.IntVar(&j.tasks, "tasks", 1, "tasks that share the examples")
	f.IntVar(&j.staleness, "staleness", 0, "steps a task may run ahead: 0 is BSP, -1 is ASP")
	f.StringVar(&j.partitioner, "partitioner", "", "how matrices are cut: range, column or hash (default: column)")
}

// dataFlags are the flags that say how to read examples.
func (j *job) dataFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.format, "format", "libsvm", "format of the examples: libsvm, dummy or dense")
	f.Int64Var(&j.dim, "dim", 0, "number of feature columns (default: as many as occur)")
	f.StringVar(&j.base, "index-base", "auto", "what column indices count from: auto, 0 or 1")
	f.StringVar(&j.labels, "labels", "", "label mapping: auto, NoTrans, PosNegTrans, ZeroOneTrans, AddOneTrans, SubOneTrans")
	f.Float64Var(&j.threshold, "label-threshold", 0, "threshold of PosNegTrans and ZeroOneTrans")
	f.StringVar(&j.separator, "separator", "", "separator between tokens beside blanks")
}

// numbers reads NAME=VALUE settings.
func numbers(flag string, set map[string]string) (map[string]float64, error) {
	out := map[string]float64{}
	for name, text := range set {
		var v float64
		if _, err := fmt.Sscanf(text+"\n", "%g\n", &v); err != nil {
			return nil, usageError{fmt.Errorf("--%s %s=%q, want a number", flag, name, text)}
		}
		out[name] = v
	}
	return out, nil
}

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
	p := newProgress(e.err, "read "+filepath.Base(path), "B", 1)
	defer p.end()
	return data.LoadFile(ctx, path, data.Options{
		Format: j.format, Base: base, Dim: dim, Labels: labels, Threshold: j.threshold, Separator: j.separator,
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

// run makes the given tasks of the job on the cluster, each on its own connection, and saves when the first task is
// among them. The report is of the task that came first.
func (p *plan) run(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (*train.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports := make([]*train.Report, len(tasks))
	var wg sync.WaitGroup
	for i, task := range tasks {
		wg.Go(func() {
			var err error
			var events func(train.Event)
			if i == 0 {
				events = w.event
			}
			if reports[i], err = p.task(ctx, c, task, path, events); err != nil {
				cancel(err) // the others need not wait for an answer that never comes
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return reports[0], nil
}

func (p *plan) task(ctx context.Context, c *cluster, task int, path string, events func(train.Event)) (*train.Report, error) {
	client, err := ps.Dial(ctx, ps.Options{
		Network: c.net, Servers: c.addrs, Job: p.name, Task: task, Tasks: p.tasks, Bound: p.bound,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	model, err := p.recipe.Build(p.conf)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	report, err := train.Run(ctx, client, train.Options{
		Model: model, Data: p.train, Valid: p.valid, Task: task, Tasks: p.tasks, Partitioner: p.partitioner,
		Epochs: p.epochs, Batch: p.batch, Rate: p.rateOf, Seed: p.seed, InOrder: p.inOrder, Tolerance: p.tolerance,
		Classify: p.recipe.Task == algo.Classification, Events: events,
		Elapsed: func() time.Duration { return time.Since(start) },
		Prepare: p.loader(client, model, task),
	})
	if err != nil {
		return nil, err
	}
	if task == 0 && path != "" {
		if err := client.Save(ctx, p.saving(model, path)); err != nil {
			return nil, err
		}
	}
	return report, client.Leave(ctx)
}

// loader is how a task readies the parameters: the first one loads the model to go on from, if there is one.
func (p *plan) loader(client *ps.Client, model *graph.Model, task int) func(context.Context) error {
	if p.loadPath == "" {
		return nil
	}
	return func(ctx context.Context) error {
		if task != 0 {
			return nil
		}
		o := ps.LoadOptions{Path: p.loadPath}
		for _, m := range model.Params() {
			o.Matrices = append(o.Matrices, m.Name)
		}
		return client.Load(ctx, o)
	}
}

func (p *plan) saving(model *graph.Model, path string) ps.SaveOptions {
	o := ps.SaveOptions{Codec: p.to, Path: path, Set: p.set, Files: map[string][]byte{graph.FileName: model.JSON()}}
	for _, m := range model.Params() {
		o.Matrices = append(o.Matrices, m.Name)
	}
	return o
}

// checkTarget refuses a format that cannot write and options that it does not have, before hours are spent.
func (j *job) checkTarget() error {
	codec, err := codecs().Lookup(j.to)
	if err != nil {
		return usageError{err}
	}
	o := format.Options{Set: j.set}
	if err := o.CheckSet(codec.Info()); err != nil {
		return usageError{err}
	}
	if codec.Info().Writes == "" {
		return usageError{fmt.Errorf("format %s is only read", j.to)}
	}
	return nil
}

// parseTasks reads "0,2-4".
func parseTasks(text string, tasks int) ([]int, error) {
	if text == "" {
		all := make([]int, tasks)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	var out []int
	for _, item := range strings.Split(text, ",") {
		var lo, hi int
		if n, _ := fmt.Sscanf(item+";", "%d-%d;", &lo, &hi); n < 2 {
			if _, err := fmt.Sscanf(item+";", "%d;", &lo); err != nil {
				return nil, usageError{fmt.Errorf("--task %q, want numbers like 0 or 0,2-4", text)}
			}
			hi = lo
		}
		for t := lo; t <= hi && len(out) < tasks; t++ {
			out = append(out, t)
		}
		if lo < 0 || hi >= tasks || hi < lo {
			return nil, usageError{fmt.Errorf("--task %q, want tasks from 0 to %d", text, tasks-1)}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
