package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"thole.example/feature"
	"thole.example/graph"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/train"
)

// run makes the given tasks of the job on the cluster, each on its own connection, and saves when the first task is
// among them. The report is of the task that came first.
func (p *plan) run(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (*train.Report, error) {
	if err := p.part(); err != nil {
		return nil, err
	}
	c = p.find(ctx, c, w)
	defer p.farewell.while(func(ctx context.Context) (string, error) { return orderCheckpoint(ctx, c.net, c.addrs, p.name) })()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports, worker, local, agreed := make([]*train.Report, len(tasks)), rand.Text(), ps.NewLocal(), p.summary()
	parts := make([]error, len(tasks)) // why tasks part with the others
	var wg sync.WaitGroup
	for i, task := range tasks {
		wg.Go(func() {
			var err error
			var tell *watcher
			if i == 0 {
				tell = w
			}
			o := ps.Options{Plan: agreed, Worker: worker, Mine: tasks, Local: local, Task: task}
			switch reports[i], err = p.task(ctx, c, o, path, tell); {
			case err == nil:
			case errors.Is(err, train.ErrLeft), errors.Is(err, train.ErrOthers): // the others come to it, too
				parts[i] = err
			default:
				cancel(err) // the others need not wait for an answer that never comes
			}
		})
	}
	wg.Wait()
	for _, err := range append([]error{context.Cause(ctx)}, parts...) {
		if err != nil {
			return nil, err
		}
	}
	return reports[0], nil
}

// dial connects a task to the servers of its job; w may be nil.
func (p *plan) dial(ctx context.Context, c *cluster, o ps.Options, w *watcher) (*ps.Client, error) {
	o.Network, o.Servers, o.Roles, o.Job, o.Tasks = c.net, c.addrs, c.roles, p.name, p.tasks
	o.NonFinite, o.Retry, o.Attempt, o.Moves = p.nonFinite, c.retry(p), p.attempt, c.moves
	c.find(&o)
	o.Numbered = p.where.given == nil || slices.Equal(c.addrs, p.where.given.addrs) // where a job has moved to, servers are in another order
	if p.attempt > 0 && p.forest == nil {                                           // trees begin again
		o.Replace, o.Grace = true, p.patienceFor()
	}
	p.absent(&o)
	if o.Launch = p.started; o.Attempt == 0 && p.startsKnown { // else nothing could end tasks of the launch before
		o.Attempt = 1
	}
	var client *ps.Client
	o.Lost = func(err error) {
		if w != nil {
			retry := o.Retry
			if client != nil {
				retry = client.Retry()
			}
			w.bar.line("%v; trying again for %v", err, retry)
		}
	}
	o.Waiting = func(text string) {
		if w != nil && !w.gathering {
			w.bar.line("%s", text)
		}
	}
	var err error
	if o.Funcs, err = psf.NewTable(functions(), nil); err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		client, err = ps.Dial(ctx, o)
		if later, is := errors.AsType[*ps.LaterAttempt](err); is && p.attempt == 0 && later.Attempt > o.Attempt {
			o.Attempt = later.Attempt
			continue
		}
		if !p.back || !errors.Is(err, rpc.ErrUnreachable) || time.Since(began) > o.Retry {
			return client, err
		}
		select {
		case <-time.After(firstAttemptPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// task makes one task of those of the worker process, which o says; w may be nil.
func (p *plan) task(ctx context.Context, c *cluster, o ps.Options, path string, w *watcher) (report *train.Report, err error) {
	task := o.Task
	o.Bound = p.bound
	client, err := p.dial(ctx, c, o, w)
	if err != nil {
		return nil, err
	}
	defer func() { p.release(ctx, client, err) }()
	if w != nil {
		if err := p.stillThere(ctx, client, c); err != nil {
			return nil, err
		}
	}
	model, err := p.build(p.conf)
	if err != nil {
		return nil, err
	}
	p.describeJob(model.File)
	p.describe(model.File)
	var events func(train.Event)
	if w != nil {
		events = w.event
	}
	kept := p.newCheckpoints(client, c.net, p.files(model), task, w)
	if kept != nil {
		if err := kept.enter(ctx, c); err != nil {
			return nil, err
		}
	}
	if kept != nil && client.Replaces() {
		if err := kept.goOnWith(ctx); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	report, err = train.Run(ctx, client, train.Options{
		Model: model, Data: p.mineOf.Data, Valid: p.mineOf.Valid, Own: p.mineOf.Own, Sets: p.sets, Window: p.window,
		Task: task, Tasks: p.tasks, Partitioner: p.partitioner,
		Epochs: p.epochs, Batch: p.batch, Rate: p.rateOf, Seed: p.seed, InOrder: p.inOrder, Tolerance: p.tolerance, Pace: p.pace,
		Early: p.early(client, kept), Watch: len(p.metrics) > 0, Metrics: p.metrics, PosNeg: p.posNeg, Clip: p.clip,
		Measured: true, Calibrate: p.calibrates(), Balance: p.balances(), Offset: p.offset(), Wrap: p.asAngel, Events: events,
		Prefetch: p.prefetch, Elapsed: func() time.Duration { return time.Since(start) },
		Ready: func(ctx context.Context) error {
			defer func() { start = time.Now() }()
			err := p.setKeyCache(client, model)
			if err == nil {
				err = p.ready(ctx, client, model, task, len(o.Mine), path, w)
			}
			if err == nil && w != nil {
				p.met = true
			}
			return err
		},
		Prepare: p.prepare(client, model, kept), Resume: p.goesOn(), Anew: p.loadState != "" && p.ends,
		Replaces: client.Replaces(), Lasting: p.checkpoint != "", Save: p.saves(kept),
		Optional: p.giveUp > 0, Attempt: p.attempt, Others: p.others(client), Leaves: p.leaves(),
	})
	if errors.Is(err, train.ErrLeft) {
		return nil, cmp.Or(client.Leave(ctx), err)
	}
	if err != nil {
		return nil, err
	}
	if w != nil {
		p.tellKeyCache(client, w)
		if w.nonFinite, err = client.NonFinite(ctx); err != nil {
			return nil, err
		}
	}
	if task == 0 && path != "" {
		if err := p.save(ctx, client, model, path); err != nil {
			return nil, p.kept(ctx, err, path, func(q *plan, at fallback) error {
				if at.here {
					return q.saveHere(ctx, client, model, at.path)
				}
				if _, err := client.Rehearse(ctx, q.saving(model, at.path)); err != nil {
					return err
				}
				return client.Save(ctx, q.saving(model, at.path))
			})
		}
	}
	if err := p.depart(ctx, client); err != nil || task > 0 {
		return report, err
	}
	c.complete(ctx, p)
	return report, nil
}

// depart ends a task. In a job with attempts nobody leaves before the model is saved: if a server is lost until then, another attempt needs
// all tasks. After that there is nothing to come back for.
func (p *plan) depart(ctx context.Context, client *ps.Client) error {
	if p.attempt == 0 {
		return client.Leave(ctx)
	}
	client.SetRetry(p.patienceFor()) // who gives up now may find nobody to begin another attempt with
	if err := client.Clock(ctx, 0, 0); err != nil {
		return err
	}
	if err := client.Barrier(ctx); err != nil {
		return err
	}
	p.farewell.leaving()
	if err := client.Leave(ctx); err != nil && !ps.Recoverable(err) {
		return err
	}
	return nil
}

// release ends the connections of a task. One that failed by itself says so: then it is no use to wait for it.
func (p *plan) release(ctx context.Context, client *ps.Client, err error) {
	_, ended := errors.AsType[*ps.Ended](err)
	_, moves := errors.AsType[*goneTo](err)
	switch {
	case ended: // others may wait for the same to be found out
		_ = client.Leave(ctx)
	case moves:
		_ = client.GiveUp(err)
		return
	case p.attempt > 0 && ctx.Err() != nil && p.farewell.begun(): // the next of this task takes its place
		_ = client.Part()
		return
	case err == nil || ctx.Err() != nil || p.checkpoint == "" && p.giveUp == 0:
	case !again(err):
		_ = client.Quit(err) // which the caller tells
		return
	case errors.Is(err, train.ErrOthers):
		_ = client.GiveUp(err)
		return
	}
	client.Close()
}

// loadWeights fills the parameters with those of the model to go on from.
func (p *plan) loadWeights(ctx context.Context, client *ps.Client, model *graph.Model) error {
	o := ps.LoadOptions{Path: p.loadPath, Round: p.lossy}
	for _, m := range model.Params() {
		o.Matrices = append(o.Matrices, m.Name)
	}
	return client.Load(ctx, o)
}

func (p *plan) saving(model *graph.Model, path string) ps.SaveOptions {
	o := ps.SaveOptions{Codec: p.to, Path: path, Set: p.set, Lossy: p.lossy, Replace: p.force, Files: p.files(model), Same: p.savedBefore(),
		State: p.saveState}
	for _, m := range model.Params() {
		o.Matrices = append(o.Matrices, m.Name)
	}
	return o
}

// savedBefore names the file by which a model is known that this training has saved before: a process that was killed after that comes
// back. "": this training does not come back.
func (p *plan) savedBefore() string {
	if p.attempt == 0 {
		return ""
	}
	return jobFileName
}

// files are what lies beside the matrices of a model, and in each checkpoint.
func (p *plan) files(model *graph.Model) map[string][]byte {
	all := map[string][]byte{graph.FileName: model.JSON()}
	if p.settings != nil {
		all[jobFileName] = p.settings
	}
	if t := p.train.Transform; t != nil {
		if src, err := t.JSON(); err == nil { // texts and finite numbers always can be
			all[feature.FileName] = src
		}
	}
	return all
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
	if at, of, share := strings.Cut(text, "/"); share {
		i, ierr := strconv.Atoi(at)
		n, nerr := strconv.Atoi(of)
		if ierr != nil || nerr != nil || i < 0 || i >= n || n > tasks {
			return nil, usageError{fmt.Errorf("--task %q of %d, want a share like 0/2 or 1/2, with a task at least in each", text, tasks)}
		}
		text = shareOf(i, n, tasks)
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
