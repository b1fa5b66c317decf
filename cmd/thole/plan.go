package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"net/url"
	"path/filepath"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/optim"
	"thole.example/ssp"
	"thole.example/train"
	"thole.example/wire"
)

// dataOptions are the options of reading examples of the path.
func (j *job) dataOptions(path string, task algo.Task) (data.Options, error) {
	o := data.Options{Format: j.format, Dim: j.dim, Threshold: j.threshold, Separator: j.separator, NoLabel: j.noLabel}
	for _, s := range data.Sources() {
		if o.Format == "" && filepath.Ext(path) == "."+s.Name {
			o.Format = s.Name
		}
	}
	mapping := j.labels
	if mapping == "" && task == algo.Classification {
		mapping = "auto"
	}
	var err error
	if o.Base, err = data.ParseBase(j.base); err == nil {
		o.Labels, err = data.ParseLabels(mapping)
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil && !finite(j.threshold) {
		err = fmt.Errorf("--label-threshold %v, want a finite number", j.threshold)
	}
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// examples reads a file of examples.
func (j *job) examples(ctx context.Context, e *env, path string, dim int64, task algo.Task) (*data.Batch, error) {
	o, err := j.dataOptions(path, task)
	if err != nil {
		return nil, err
	}
	p := newProgress(e.err, "read "+filepath.Base(path), "B", 1)
	defer p.end()
	o.Dim = dim
	o.Progress = func(done, total int64) { p.total = total; p.set(done, "") }
	o.Note = func(line int64, text string) { p.line("%s:%d: %s", path, line, text) }
	return data.LoadFile(ctx, path, o)
}

// plan is a job with everything read and chosen: what all of its tasks share.
type plan struct {
	*job
	recipe       *algo.Algo
	train, valid *data.Batch
	digest       uint32 // of the examples
	conf         algo.Conf
	rateOf       func(epoch, step int) float64
	bound        ssp.Bound
	decays       map[string]float64 // settings of the schedule
	loadPath     string             // of the model to go on from, in the servers' bucket
}

// plan chooses the settings and reads the examples.
func (j *job) plan(ctx context.Context, e *env) (*plan, error) {
	p, err := j.choose(ctx)
	if err == nil {
		err = p.read(ctx, e)
	}
	return p, err
}

// read reads the examples.
func (p *plan) read(ctx context.Context, e *env) (err error) {
	j := p.job
	if p.train, err = j.examples(ctx, e, j.data, j.dim, p.recipe.Task); err != nil {
		return err
	}
	if p.train.Len() == 0 {
		return fmt.Errorf("%s: no examples", j.data)
	}
	p.conf.Dim = p.train.Dim()
	p.digest = digest(p.train)
	switch {
	case j.valid != "":
		p.valid, err = j.examples(ctx, e, j.valid, p.conf.Dim, p.recipe.Task)
	case j.holdout > 0:
		p.hold()
	}
	if err == nil {
		err = p.schedules()
	}
	if err == nil {
		_, err = p.recipe.Build(p.conf)
	}
	return err
}

// digest is a checksum of the examples.
func digest(b *data.Batch) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum(wire.View(b.Label), table)
	sum = crc32.Update(sum, table, wire.View(b.Rows().Idx))
	return crc32.Update(sum, table, wire.View(b.Rows().Val))
}

// schedules binds the learning rate to the length of the job.
func (p *plan) schedules() error {
	s, err := optim.FindSchedule(p.schedule)
	if err != nil {
		return usageError{err}
	}
	calls := p.epochs
	if p.per == "batch" {
		calls *= train.Steps(p.train.Len(), p.tasks, p.batch)
	}
	rate, err := s.Bind(p.rate, calls, p.decays)
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

// summary is what all workers of a job must agree on, as words "name=value". The path of the model may be missing where the
// first task is not.
func (p *plan) summary() string {
	return fmt.Sprintf("algo=%s rule=%s hyper=%v l1=%g l2=%g rate=%g schedule=%s/%s/%v epochs=%d batch=%d seed=%d in-order=%v "+
		"tolerance=%g init=%s/%g sparse=%v partitioner=%s load=%s examples=%d dim=%d data=%08x model=%s",
		p.algo, p.rule, p.conf.Hyper, p.l1, p.l2, p.rate, p.schedule, p.per, p.decay, p.epochs, p.batch, p.seed, p.inOrder,
		p.tolerance, p.initKind, p.initScale, p.sparse, p.partitioner, p.load, p.train.Len(), p.conf.Dim, p.digest,
		url.PathEscape(p.model))
}
