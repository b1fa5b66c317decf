package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"thole.example/internal/number"
	"thole.example/runlog"
	"thole.example/train"
)

// watcher shows progress to people and, if asked, to machines.
type watcher struct {
	bar   *progress
	env   *env
	log   *lineLog // nil: none
	start time.Time

	runs  string           // folder of runs; "": none
	run   *runlog.Recorder // of this one; nil: none
	ended runlog.State     // how a training that did not fail ended

	round      string  // what an epoch is called
	metric     string  // that held-out examples are compared by
	best       float64 // that of the epoch that would be kept
	held, than string  // that of the last epoch, as it is said while the next one goes on, and how it compares

	why       string                            // it was said that another attempt begins
	told      int                               // epochs that were told of
	anew      bool                              // an attempt begins
	nonFinite int64                             // parts of gradients that were, as the servers say
	shown     func(train.Metrics) train.Metrics // of the held-out examples
	atMost    string                            // said after the time left where training may end before
	gathering bool                              // it is said for whom the tasks wait, so nobody need say that they wait for the servers
}

func newWatcher(ctx context.Context, e *env, log string, force bool) (*watcher, error) {
	w := &watcher{env: e, bar: e.progress("", "", 1), start: e.now()}
	if log == "" {
		return w, nil
	}
	s, err := e.sink(log, force || e.appends)
	if err == nil {
		w.log, err = s.lines(ctx)
	}
	return w, err
}

// close ends the log, once, and says whether all of it was written.
func (w *watcher) close() error {
	if w.log == nil {
		return nil
	}
	log := w.log
	w.log = nil
	return log.close()
}

// write appends an event to the log and to the run. An error of the log does not end a training that has begun: close gives it.
func (w *watcher) write(record any) {
	w.append(record)
	if w.log == nil || w.log.failed != nil {
		return
	}
	if err := w.log.append(record); err != nil {
		w.bar.line("--log %v: the log ends here", err)
	}
}

// open begins to record a training by these tasks, of which it is known what they learn from, and to show it.
func (w *watcher) open(ctx context.Context, p *plan, tasks []int) error {
	w.record(ctx, p, tasks)
	return w.begin(p)
}

func (w *watcher) begin(p *plan) error {
	w.shown, w.round = p.told, p.round()
	w.metric, _ = p.judged()
	w.start, w.told = w.env.now(), 0
	if p.open {
		w.atMost = " at most"
		fmt.Fprintf(w.env.err, "train %s: up to %s (about %.0f s on one core), fewer if the loss stops falling; --epochs N sets them\n",
			p.algo, number.Of(p.epochs, "epoch"), math.Ceil(p.about.Seconds()))
	}
	if p.counted {
		most := ""
		if p.patience > 0 {
			most = "at most "
		}
		fmt.Fprintf(w.env.err, "train %s: %s%s of %s by %s at rate %g; --epochs N sets them\n",
			p.algo, most, number.Of(p.epochs, "epoch"), number.Of(p.rows, "example"), p.recipe.Defaults.Rule, p.rate)
	}
	w.bar = w.env.progress("train "+p.algo, "rows", int64(p.epochs)*int64(p.rows))
	w.append(p.start())
	if w.log == nil {
		return nil
	}
	return w.log.append(p.start())
}

func (w *watcher) event(ev train.Event) {
	if len(ev.Gone)+len(ev.Back) > 0 {
		w.changed(&ev)
		return
	}
	if w.anew { // what was made before says nothing about the speed
		w.anew, w.bar.done = false, ev.Rows
		w.bar.restart()
	}
	set := func() {
		w.bar.set(ev.Rows, fmt.Sprintf("%s %d/%d  loss %.5f%s", w.round, ev.Epoch, ev.Epochs, ev.Loss, w.held))
	}
	if !ev.Done {
		set()
		return
	}
	w.weigh(&ev)
	if ev.Epoch <= w.told { // an attempt before came as far
		return
	}
	w.told = ev.Epoch
	if w.bar.live {
		set() // of trees nothing is told before
	} else if ev.Epoch == 1 || ev.Last || w.bar.due(w.env.now()) {
		valid := ""
		if ev.Valid != nil {
			valid = "  valid " + w.shown(ev.Valid).String() + w.than
		}
		for _, o := range ev.Others {
			valid += fmt.Sprintf("  %s %v", escaped(o.Name), w.shown(o.Metrics))
		}
		w.bar.last = w.env.now()
		left := ""
		if !ev.Last {
			left = fmt.Sprintf("  %v left%s", ev.Left.Round(time.Second), w.atMost)
		}
		speed := ""
		if ev.RowsPerSecond > 0 { // of an epoch that was made before there is none
			speed = fmt.Sprintf("  %.0f rows/s", ev.RowsPerSecond)
		}
		w.bar.line("%s %d/%d  loss %.5f%s%s%s", w.round, ev.Epoch, ev.Epochs, ev.Loss, valid, speed, left)
	}
	w.write(runlog.Epoch{
		Epoch: ev.Epoch, Loss: runlog.Number(ev.Loss), Rows: ev.Rows, RowsPerSecond: runlog.Number(ev.RowsPerSecond),
		Seconds: w.seconds(), Valid: valuesOf(ev.Valid), Others: othersOf(ev.Others),
	})
}

// weigh compares an epoch by the metric of the held-out examples with the best one so far, for those who watch.
func (w *watcher) weigh(ev *train.Event) {
	if ev.Valid == nil {
		return
	}
	v := ev.Valid.Get(w.metric)
	w.held, w.than = fmt.Sprintf("  %s %.5g", w.metric, v), ""
	switch {
	case ev.Best == 0: // they choose nothing
	case ev.Best == ev.Epoch:
		w.best = v
		w.held += " (best)"
		w.than = "  (the best so far)"
	default:
		if w.best == 0 { // it was before this process
			w.best = ev.BestValue
		}
		w.held += fmt.Sprintf(" (best %.5g)", w.best)
		w.than = fmt.Sprintf("  (best %s %.6g of %s %d)", w.metric, w.best, cmp.Or(w.round, "epoch"), ev.Best)
	}
}

// progress is that of work before the training, which nobody sees if there is no watcher; w may be nil.
func (w *watcher) progress(what, unit string, total int64) *progress {
	if w == nil {
		return &progress{now: func() (never time.Time) { return never }, total: 1}
	}
	return w.env.progress(what, unit, total)
}

// seconds are those since the training began.
func (w *watcher) seconds() runlog.Number { return runlog.Number(w.env.now().Sub(w.start).Seconds()) }

func (w *watcher) finish(p *plan, r *train.Report) {
	w.moved("start", r.Start)
	w.moved("end", r.Calibration)
	warnings := p.warnings(r, w.nonFinite)
	for _, text := range warnings {
		w.bar.line("warning: %s", text)
	}
	if w.ended = runlog.Finished; r.Stopped {
		w.ended = runlog.Stopped
	}
	best := 0
	if r.Best > 0 {
		best = r.Before + r.Best // as the epochs are counted
	}
	end := runlog.End{
		Epochs: r.Epochs, Best: best, Stopped: r.Stopped, Train: valuesOf(r.Train), Valid: valuesOf(r.Valid), Others: othersOf(r.Others),
		Seconds:  w.seconds(),
		NullLoss: runlog.Number(r.Null), NonFinite: w.nonFinite, Warnings: warnings,
	}
	if by, share, ok := r.LastChange(); ok {
		end.LastChange, end.LastChangeShare = new(runlog.Number(by)), new(runlog.Number(share))
	}
	if left := p.train.Skipped; left.Lines > 0 {
		end.Skipped = left
	}
	if p.valid != nil {
		end.Unseen = p.valid.Unseen
	}
	if p.forest != nil && p.forest.traffic != nil {
		w.write(wireEvent{Event: "wire", Tasks: p.tasks, Levels: p.forest.traffic})
	}
	w.write(end)
}

// moved tells by how much the bias was moved, and why.
func (w *watcher) moved(when string, c train.Calibration) {
	if len(c.Moved) == 0 {
		return
	}
	why := ", to where the loss of the training examples is least"
	if c.Was != 0 {
		why = fmt.Sprintf(": the mean prediction of the training examples was %.4g times the mean label%s", c.Was, ofClass(c.Moved))
	}
	w.bar.line("bias: moved by %s at the %s%s", shiftText(c.Moved), when, why)
}
