package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"thole.example/graph"
	"thole.example/ps"
	"thole.example/rpc"
)

// defaultWait is how long a worker waits for the tasks of others to join.
const defaultWait = 2 * time.Minute

// defaultRetry is how long a worker tries to reach a server again, and how long the servers wait for it.
const defaultRetry = 5 * time.Second

// When a worker that waits says so: after a second, when something changes, and then now and again.
const (
	waitLook  = time.Second
	waitAgain = 30 * time.Second
)

// ready does what comes before the first epoch: the first task tries whether the model can be saved, and all wait for those
// of other processes. w may be nil.
func (p *plan) ready(ctx context.Context, client *ps.Client, model *graph.Model, task, mine int, path string, w *watcher) error {
	if task == 0 && path != "" {
		if err := p.checkHolds(ctx, model.Metas(), p.files(model)); err != nil {
			return err
		}
		lost, err := client.Rehearse(ctx, p.saving(model, path))
		if err != nil {
			return err
		}
		for _, what := range lost {
			w.bar.line("saving will lose: %s", what)
		}
	}
	if mine == p.tasks {
		return nil
	}
	return p.gather(ctx, client, w, task == 0 && p.giveUp > 0)
}

// attendance is which tasks have joined.
type attendance struct {
	sync.Mutex
	rpc.Membership
}

// gather waits until all tasks of the job have joined, and says so when it takes long. With mayGoOn it has the job go on without those that
// are not there in time.
func (p *plan) gather(ctx context.Context, client *ps.Client, w *watcher, mayGoOn bool) error {
	wait := ctx
	if p.wait > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeoutCause(ctx, p.wait+p.giveUp, errAway)
		defer cancel()
	}
	var r attendance
	if w != nil {
		defer w.waiting(func() string { return fmt.Sprintf("%s to join job %q", r.absent(p.tasks), p.name) })()
	}
	refused := 0
	tell := func(now rpc.Membership) {
		r.Lock()
		defer r.Unlock()
		r.Membership = now
		if now.Refused > refused && w != nil {
			w.bar.line("a worker of job %q was refused: %s", p.name, now.Why)
		}
		refused = now.Refused
	}
	if mayGoOn {
		if err := p.gatherSome(wait, client, &r, tell, w); err != nil && (ctx.Err() != nil || wait.Err() == nil) {
			return err
		}
	}
	if w != nil && p.where.moment.Servers != nil {
		defer p.keepEndingLeft(ctx)()
	}
	err := client.Members(wait, tell)
	if err == nil || ctx.Err() != nil || wait.Err() == nil {
		return err
	}
	if r.Ended || p.completed {
		return &ps.Ended{Job: p.name}
	}
	return awayError{fmt.Errorf("job %q: %s did not join within %v: each task needs a worker with the same --servers, --job and --tasks "+
		"(--wait is how long to wait)", p.name, r.absent(p.tasks), p.wait)}
}

// waiting tells, when it takes long, for what the process waits, until over is called; w may be nil.
func (w *watcher) waiting(what func() string) (over func()) {
	if w == nil {
		return func() {}
	}
	w.gathering = true
	end := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { w.tellWaiting(what, end) })
	return func() {
		close(end)
		told.Wait()
		w.gathering = false
	}
}

func (w *watcher) tellWaiting(what func() string, over <-chan struct{}) {
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	told, when := "", time.Now()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if text := what(); text != told || time.Since(when) >= waitAgain {
			told, when = text, time.Now()
			w.bar.line("waiting for %s", text)
		}
	}
}

// absent names the tasks that have not joined.
func (r *attendance) absent(tasks int) string {
	r.Lock()
	defer r.Unlock()
	names := make([]string, len(r.Missing))
	for i, t := range r.Missing {
		names[i] = fmt.Sprint(t)
	}
	text := fmt.Sprintf("%d of %d tasks (%s", tasks-r.Joined, tasks, strings.Join(names, ", "))
	if len(names) < tasks-r.Joined {
		text += ", ..."
	}
	return text + ")"
}
