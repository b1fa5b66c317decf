package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/train"
)

// fold is what came of training without a fold, measured by it.
type fold struct {
	Fold    int           `json:"fold"` // from 1 on
	Rows    int64         `json:"rows"` // trained on
	Held    int           `json:"held"` // measured
	Epochs  int           `json:"epochs"`
	Best    int           `json:"best,omitempty"` // epoch that was kept; 0: the last
	Metrics train.Metrics `json:"metrics"`
}

// folded is what came of all folds. Deviations are those of a sample: divided by one less than there are folds.
type folded struct {
	Algo      string        `json:"algo"`
	Examples  int           `json:"examples"`
	Seed      uint64        `json:"seed"`
	Folds     []fold        `json:"folds"`
	Mean      train.Metrics `json:"mean"`
	Deviation train.Metrics `json:"deviation"`
	Epochs    int           `json:"epochs"` // median of the best ones; 0: the held-out examples chose none
}

// checkCross refuses what a cross-validation leaves no room for.
func (j *job) checkCross() error {
	for flag, given := range map[string]bool{"holdout": j.holdout > 0, "validate": len(j.valid) > 0} {
		if given {
			return usageError{fmt.Errorf("--cv %d and --%s, want one of them: --cv holds out every example once", j.cv, flag)}
		}
	}
	for flag, given := range map[string]bool{"resume": j.resume != "", "checkpoint": j.checkpoint != "", "load": j.load != "",
		"load-state": j.loadState != ""} {
		if given {
			return usageError{fmt.Errorf("--cv %d and --%s, want one of them: a fold is a training from the start", j.cv, flag)}
		}
	}
	switch {
	case j.cv < 2:
		return usageError{fmt.Errorf("--cv %d, want 2 folds or more", j.cv)}
	case j.dryRun:
		return usageError{errors.New("--cv and --dry-run, want one of them: without --cv the job of all examples is printed")}
	case j.log != "" && j.model == "":
		return usageError{errors.New("--cv with --log and no --model, want a model, whose training is logged: --json prints the folds")}
	}
	return nil
}

// crossValidate trains a model without each of the folds, measures it by that fold, and tells; with --model it then trains one of all
// examples, of as many epochs as were best.
func (j *job) crossValidate(ctx context.Context, e *env, before []setting) error {
	if err := j.checkCross(); err != nil {
		return err
	}
	p, err := j.choose(ctx)
	if err != nil {
		return err
	}
	p.tell(e)
	path, err := j.target(ctx, e)
	if err != nil {
		return err
	}
	defer path.release()
	if err := p.readFolds(ctx, e); err != nil {
		return err
	}
	bar := e.progress("cv "+p.algo, "folds", int64(j.cv))
	result, err := p.cross(ctx, e, &attempt{before: before, epochs: 1, examples: 1}, atOnce(p, p, j.cv), bar)
	bar.end()
	if err != nil {
		return err
	}
	if err := p.tellFolds(e, result); err != nil || j.model == "" {
		return err
	}
	if j.asJSON { // standard output is a JSON object
		rest := *e
		rest.out = e.err
		e = &rest
	}
	return p.trainAll(ctx, e, before, result.Epochs, path.name)
}

// tellFolds prints what came out.
func (p *plan) tellFolds(e *env, result *folded) error {
	if p.asJSON {
		return json.NewEncoder(e.out).Encode(result)
	}
	for _, f := range result.Folds {
		fmt.Fprintf(e.out, "fold   %d of %d: %v%s\n", f.Fold, p.cv, p.told(f.Metrics), p.ofEpoch(f.Epochs, f.Best))
	}
	fmt.Fprintf(e.out, "mean   %s\n", withDeviation(p.told(result.Mean), result.Deviation))
	return nil
}

// ofEpoch says which epoch was kept.
func (p *plan) ofEpoch(epochs, best int) string {
	if best == 0 {
		return fmt.Sprintf("  (%s)", number.Of(epochs, p.round()))
	}
	return fmt.Sprintf("  (%s %d of %d)", p.round(), best, epochs)
}

// withDeviation is "name value ± deviation" pairs.
func withDeviation(mean, deviation train.Metrics) (text string) {
	for i, m := range mean {
		if i > 0 {
			text += "  "
		}
		text += fmt.Sprintf("%s %.6g ± %.2g", m.Name, m.Value, deviation.Get(m.Name))
	}
	return text
}

// readFolds reads the examples once, for all folds, and chooses what depends on all of them.
func (p *plan) readFolds(ctx context.Context, e *env) error {
	if err := p.read(ctx, e); err != nil {
		return err
	}
	if g := p.groups(); g != nil && g.Count < p.cv {
		return usageError{fmt.Errorf("--cv %d of %d groups, want at most %d folds: each holds a whole one out at least", p.cv, g.Count,
			g.Count)}
	}
	if n := p.train.Len(); n < p.cv {
		return usageError{fmt.Errorf("--cv %d of %s, want at most %d folds: each holds one out at least", p.cv, number.Of(n, "example"), n)}
	}
	return nil
}

// atOnce is how many of n trainings run at a time, the largest of which is like that of the plan: as many as there are processors and
// memory for.
func atOnce(p, largest *plan, n int) int {
	if p.forest != nil { // which is grown by all processors
		return 1
	}
	parallel := max(1, runtime.GOMAXPROCS(0)/p.tasks)
	if model, err := largest.recipe.Build(largest.conf); err == nil { // else the training says it
		tables, batch, outputs := p.takes(model)
		copied := 8*float64(p.train.Values()) + 16*float64(p.train.Len()) // the examples of a fold or a share, which it has for itself
		if left := availableMemory(); left > 0 {
			parallel = min(parallel, max(1, int(float64(left)/(tables+batch+outputs+copied))))
		}
	}
	return max(1, min(parallel, n))
}

// cross trains without each of the folds of the examples that are read, some at a time. What comes out does not depend on how many.
func (p *plan) cross(ctx context.Context, e *env, a *attempt, parallel int, bar *progress) (*folded, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := p.cv
	of := p.folds()
	result := &folded{Algo: p.algo, Examples: p.train.Len(), Seed: p.seed, Folds: make([]fold, k)}
	slots, done := make(chan struct{}, max(1, parallel)), make(chan int, k)
	var wg sync.WaitGroup
	for i := range k {
		wg.Go(func() {
			defer func() { done <- i }()
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			f, err := p.without(ctx, e, a, of, i)
			if err != nil {
				cancel(fmt.Errorf("fold %d of %d: %w", i+1, k, err))
				return
			}
			result.Folds[i] = *f
		})
	}
	for n := range k {
		<-done
		if bar != nil {
			bar.set(int64(n+1), "")
		}
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	result.sum()
	return result, nil
}

// folds is which fold each example is in.
func (p *plan) folds() []int {
	if g := p.groups(); g != nil {
		return g.Folds(p.cv, p.seed)
	}
	return data.Folds(p.train.Label, p.cv, p.seed, p.recipe.Task.Classes())
}

// without trains on all folds but one, which measures it.
func (p *plan) without(ctx context.Context, e *env, a *attempt, of []int, one int) (*fold, error) {
	var rest, held []int
	for i, f := range of {
		if f == one {
			held = append(held, i)
		} else {
			rest = append(rest, i)
		}
	}
	var err error
	learn, valid := *p.train, *p.train
	if learn.Set, err = p.train.Choose(rest); err != nil {
		return nil, err
	}
	if valid.Set, err = p.train.Choose(held); err != nil {
		return nil, err
	}
	q, err := a.plan(ctx, e, &learn, &valid, false, setting{"cv", []string{strconv.Itoa(p.cv)}})
	if err != nil {
		return nil, err
	}
	report, err := q.alone(ctx, e, strings.TrimPrefix(a.note+fmt.Sprintf(", fold %d of %d", one+1, p.cv), ", "))
	if err != nil {
		return nil, err
	}
	return &fold{one + 1, report.Rows, len(held), report.Epochs, report.Best, report.Valid}, nil
}

// sum adds up what the folds came to.
func (r *folded) sum() {
	var best []int
	all := make([]float64, len(r.Folds))
	for i, m := range r.Folds[0].Metrics {
		for k, f := range r.Folds {
			all[k] = f.Metrics[i].Value
		}
		mean, deviation := spread(all)
		r.Mean = append(r.Mean, train.Metric{Name: m.Name, Value: mean})
		r.Deviation = append(r.Deviation, train.Metric{Name: m.Name, Value: deviation})
	}
	for _, f := range r.Folds {
		if f.Best > 0 {
			best = append(best, f.Best)
		}
	}
	if len(best) == len(r.Folds) {
		slices.Sort(best)
		r.Epochs = best[len(best)/2]
	}
}

// trainAll trains the model of all examples, which are read, and saves it at the path. epochs are as many as the folds found best, along
// the schedule that they had; 0: as many as the job says.
func (p *plan) trainAll(ctx context.Context, e *env, before []setting, epochs int, path string, over ...setting) error {
	over = append(append(among(before, saves), over...), heldNone)
	q, err := e.again(ctx, before, over...)
	if err != nil {
		return err
	}
	w, err := newWatcher(ctx, e, q.log, q.force)
	if err != nil {
		return err
	}
	defer w.close()
	if err := q.adopt(ctx, e, p.train, nil, 1, false); err != nil {
		return err
	}
	if epochs > 0 {
		if err := q.end(epochs); err != nil {
			return err
		}
	}
	return q.trainHere(ctx, e, path, w)
}

// end makes the training end after so many epochs, with the rates that it would have in them if it went on. The saved job says so.
func (p *plan) end(epochs int) (err error) {
	if p.ends {
		calls := p.epochs
		if p.per == "batch" {
			calls *= train.Steps(p.train.Len(), p.tasks, p.batch)
		}
		if p.job.decay == nil {
			p.job.decay = map[string]string{}
		}
		if _, given := p.job.decay["calls"]; !given {
			p.job.decay["calls"] = strconv.Itoa(max(1, calls-int(p.decays["warmup"])))
		}
	}
	p.epochs, p.open, p.counted, p.pace = epochs, false, false, nil
	if p.decays, err = numbers("schedule-set", p.job.decay); err == nil {
		err = p.schedules()
	}
	if err == nil {
		p.settings, err = p.resolved()
	}
	return err
}
