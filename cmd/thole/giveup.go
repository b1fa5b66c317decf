package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"thole.example/internal/number"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/train"
)

// absence is the flags that say what becomes of workers that stay away, or are asked to end.
type absence struct {
	giveUp time.Duration // 0: the job does not go on without them
	leave  bool

	going   *atomic.Bool // this worker was asked to end; nil: nobody can
	awaited int          // tasks of the next attempt, as far as the first one knows; 0: it does not
}

// awaitedFlag is what a launch tells its first worker.
const awaitedFlag = "awaited"

// giveUpFlags are what workers, and launches of them, are told.
func (a *absence) giveUpFlags(c *cobra.Command) {
	c.Flags().DurationVar(&a.giveUp, "give-up", 0, "go on without a worker that stays away for so long, like 2m, or has not joined then: "+
		"the others share its examples from the next epoch on, until it is back (with --checkpoint). Worker 0, which saves the model, is "+
		"always waited for. Each worker keeps all examples at hand. 0: a job goes on with all workers, or not at all")
}

// leaveFlag is what a worker by itself is told.
func (a *absence) leaveFlag(c *cobra.Command) {
	c.Flags().IntVar(&a.awaited, awaitedFlag, 0, "how many tasks there are at first")
	_ = c.Flags().MarkHidden(awaitedFlag) // it is there
	c.Flags().BoolVar(&a.leave, "leave", false, "with --give-up: when this worker is asked to end (SIGTERM), it ends the epoch, and the "+
		"others share its examples from the next one on; asked once more it ends at once")
}

// checkAbsence checks what the user said of workers that stay away, where these tasks are the worker's.
func (j *job) checkAbsence(mine []int) error {
	switch {
	case j.giveUp < 0:
		return usageError{fmt.Errorf("--give-up %v, want a time like 2m, or 0 (never)", j.giveUp)}
	case j.leave && j.giveUp == 0:
		return usageError{errors.New("--leave without --give-up, want both for all workers: the others go on without this one")}
	case j.leave && slices.Contains(mine, 0):
		return usageError{errors.New("--leave with --task 0, want it for another worker: that of task 0 saves the model and the checkpoints")}
	}
	return nil
}

// absent says how a client of the job takes absences: its own, if it may go away for good, and those of others.
func (p *plan) absent(o *ps.Options) {
	if p.giveUp == 0 {
		return
	}
	o.Retry = min(o.Retry, p.giveUp)
	if o.Optional = !slices.Contains(o.Mine, 0); o.Optional {
		o.Replace, o.Grace = true, p.giveUp
	}
}

// others tells the first task, between two epochs, whether workers wait that were given up, or are new.
func (p *plan) others(client *ps.Client) func(context.Context) (bool, error) {
	if p.giveUp == 0 || p.attempt == 0 {
		return nil
	}
	return func(ctx context.Context) (bool, error) {
		now, err := client.Attendance(ctx)
		p.awaited = now.Here + now.Waiting
		return now.Waiting > 0, err
	}
}

// leaves reports whether this worker was asked to end; nil: nobody can ask it.
func (p *plan) leaves() func() bool {
	if p.going == nil {
		return nil
	}
	return p.going.Load
}

// untilAsked is a context for a worker that leaves when it is asked to end, which ends when it is asked once more, or by Ctrl-C.
func (a *absence) untilAsked(ctx context.Context, say func(format string, args ...any)) (context.Context, func()) {
	if !a.leave {
		return ctx, func() {}
	}
	a.going = &atomic.Bool{}
	within, end := context.WithCancel(context.WithoutCancel(ctx))
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, fatal()...)
	go func() {
		defer end()
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				if s != syscall.SIGTERM || a.going.Swap(true) {
					return
				}
				say("leaves at the end of the epoch; asked once more it ends at once")
			}
		}
	}()
	return within, func() { signal.Stop(signals); close(over) }
}

// wayOut says what a worker has come to that need not end with the others; other errors stay what they are.
func (p *plan) wayOut(err error, say func(format string, args ...any)) error {
	_, ended := errors.AsType[*ps.Ended](err)
	switch {
	case errors.Is(err, train.ErrLeft):
		say("left job %q, as it was asked to; the others go on", p.name)
	case ended:
		say("job %q has ended already: there is nothing left to do", p.name)
	default:
		return err
	}
	return nil
}

// tasksEvent is who shares no more examples from the next epoch on, and who does again, in the log and the record of the run.
type tasksEvent struct {
	Event string      `json:"event"` // "tasks"
	Epoch int         `json:"epoch"` // after this one
	Gone  []goneEvent `json:"gone,omitempty"`
	Back  []int       `json:"back,omitempty"`
}

// goneEvent is a task that the others go on without.
type goneEvent struct {
	Task      int  `json:"task"`
	Epoch     int  `json:"epoch"` // the last one that it had a share of
	Step      int  `json:"step"`  // and so many of its steps
	Steps     int  `json:"steps"`
	Examples  int  `json:"examples"`            // its share
	LeftOut   int  `json:"leftOut"`             // of that epoch
	OnRequest bool `json:"onRequest,omitempty"` // it was asked to go
}

// changed tells of tasks that are gone, or back.
func (w *watcher) changed(ev *train.Event) {
	out := tasksEvent{Event: "tasks", Epoch: ev.Epoch, Back: ev.Back}
	for _, g := range ev.Gone {
		w.bar.line("%s", goneText(g))
		out.Gone = append(out.Gone, goneEvent{g.Task, g.Epoch, g.Step, g.Steps, g.Examples, g.Left, g.OnRequest})
	}
	if len(ev.Back) > 0 {
		names := make([]string, len(ev.Back))
		for i, t := range ev.Back {
			names[i] = fmt.Sprint(t)
		}
		w.bar.line("after epoch %d: task %s shares the examples again", ev.Epoch, strings.Join(names, ", "))
	}
	w.write(out)
}

// goneText says who is gone, when it went, and what was left out.
func goneText(g train.Gone) string {
	switch {
	case g.OnRequest:
		return fmt.Sprintf("task %d has left after epoch %d, as it was asked to; the others share its %s", g.Task, g.Epoch,
			number.Of(g.Examples, "example"))
	case g.Left == 0:
		return fmt.Sprintf("task %d was given up after epoch %d; the others share its %s", g.Task, g.Epoch, number.Of(g.Examples, "example"))
	}
	return fmt.Sprintf("task %d was given up in epoch %d after step %d of %d: %d of its %s were left out of that epoch; the others share "+
		"them from the next one on", g.Task, g.Epoch, g.Step, g.Steps, g.Left, number.Of(g.Examples, "example"))
}

// joinPause is how long the first task waits for more when as many have joined as it knows of.
const joinPause = 2 * time.Second

// gatherSome waits until all tasks have joined all servers, or have been given up there. The first server alone does not tell: who was lost
// between two of them would be waited for by the second for ever.
func (p *plan) gatherSome(ctx context.Context, client *ps.Client, r *attendance, tell func(rpc.Membership), w *watcher) error {
	began, changed, before := time.Now(), time.Now(), -1
	for pause := firstAttemptPause / 10; ; pause = min(2*pause, firstAttemptPause) {
		now, err := client.Attendance(ctx)
		if err != nil {
			return err
		}
		if now.Joined != before {
			before, changed = now.Joined, time.Now()
			tell(now)
		}
		switch {
		case now.Joined == p.tasks:
			return nil
		case time.Since(began) >= p.giveUp, p.awaited > 0 && now.Joined >= p.awaited && time.Since(changed) >= min(joinPause, p.giveUp):
			w.bar.line("goes on without %s, which did not join (--give-up %v)", r.absent(p.tasks), p.giveUp)
			if _, err := client.Attendance(ctx, now.Missing...); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
