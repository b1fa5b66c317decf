package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/rpc/tcp"
	"thole.example/train"
)

func trainCommand(e *env) *cobra.Command {
	j := &job{name: "train"}
	servers, overTCP := 1, false
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a model on servers within this process",
		Long: `Trains a model on embedded parameter servers and saves it. The same settings and seed give the same bits whatever the
number of servers; thole worker trains the same on servers in other processes. Without --epochs linear models
take as many as the examples need, up to a number that is printed and depends on the examples alone; networks, whose vectors would learn
the examples by heart, see about 150000 examples in at most 7 epochs, of more than 65536 features 200000 in at most 2. Of so many linear
classifiers learn by adagrad.`,
		Example: `  thole train --algo lr --data train.libsvm --model out/lr
  thole train --algo svm --data train.libsvm --holdout 0.1 --epochs 20 --servers 2 --tasks 2
  thole train --algo deepfm --data clicks.ffm --factors 8 --hidden 128,64 --holdout 0.1 --model out/deepfm
  thole train --data train.libsvm --validate test.libsvm --rule ftrl --hyper l1=1 --log run.jsonl
  thole train --data days --data 'test-*.libsvm' --model out/all --to npz
  thole train --data train.libsvm --algo svm --dry-run
  thole train --data - --holdout 0.1 < train.libsvm`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := j.files(c.Context(), e); err != nil {
				return err
			}
			defer func() { err = j.placed(err) }()
			switch {
			case servers < 1 || servers > serversLimit:
				return usageError{fmt.Errorf("--servers %d, want 1 to %d", servers, serversLimit)}
			case j.tasks < 1 || j.tasks > tasksLimit:
				return usageError{fmt.Errorf("--tasks %d, want 1 to %d in one process", j.tasks, tasksLimit)}
			case j.noChecksum && !overTCP:
				return usageError{errors.New("--no-checksum without --tcp: nothing is sent")}
			}
			var over *tcp.Network
			if overTCP {
				over = &tcp.Network{NoChecksum: j.noChecksum}
			}
			return j.train(c.Context(), e, servers, over)
		},
	}
	j.flags(c)
	c.Flags().StringVar(&j.jobFile, "job", "", "file of settings, in YAML or JSON, that hold where no flag is given (see docs/graph.md)")
	c.Flags().BoolVar(&j.dryRun, "dry-run", false, "read the examples, print the job with all its settings, and train nothing")
	c.Flags().IntVar(&servers, "servers", 1, "parameter servers")
	c.Flags().BoolVar(&overTCP, "tcp", false, "talk to the servers over loopback TCP instead of memory")
	return c
}

func (j *job) train(ctx context.Context, e *env, servers int, over *tcp.Network) error {
	j.seedBefore(ctx)
	p, err := j.choose(ctx)
	if err != nil {
		return err
	}
	p.tell(e)
	if j.dryRun { // some settings depend on the examples
		err := p.look(ctx)
		if err == nil {
			err = p.read(ctx, e)
		}
		if err == nil {
			_, err = e.out.Write(p.settings)
		}
		return err
	}
	path, err := j.target(ctx, e)
	if err != nil {
		return err
	}
	defer path.release()
	w, err := newWatcher(ctx, e, j.log, j.force)
	if err != nil {
		return err
	}
	defer w.close()
	if err := p.look(ctx); err != nil {
		return err
	}
	if err := p.read(ctx, e); err != nil {
		return err
	}
	model, err := p.recipe.Build(p.conf)
	if err == nil {
		err = p.room(model, availableMemory())
	}
	if err != nil {
		return err
	}
	load, err := e.readable(ctx, j.load)
	if err != nil {
		return err
	}
	p.loadPath = inBucket(load)
	if err := p.statesHere(ctx, path.name); err != nil {
		return err
	}
	p.tellLoad(w.bar.line)
	remove, err := p.momentHere()
	if err != nil {
		return err
	}
	defer remove()
	c, err := embed(ctx, servers, over)
	if err != nil {
		return err
	}
	defer c.stop()
	return p.runAndTell(ctx, e, c, nil, path.name, w)
}

// runAndTell runs tasks (nil: all) and prints what came out.
func (p *plan) runAndTell(ctx context.Context, e *env, c *cluster, tasks []int, path string, w *watcher) error {
	if tasks == nil {
		tasks, _ = parseTasks("", p.tasks)
	}
	if err := w.begin(p); err != nil {
		return err
	}
	report, err := p.run(ctx, c, tasks, path, w)
	w.bar.end()
	if errors.Is(err, graph.ErrDiverged) {
		return fmt.Errorf("%w (--rate %s in place of %g)", err, p.lower(), p.rate)
	}
	if err != nil {
		return err
	}
	w.finish(p, report)
	fmt.Fprintf(e.out, "%s: %s, %s%s\n", p.algo, number.Of(report.Rows, "example"), number.Of(report.Epochs, "epoch"), before(report))
	fmt.Fprintf(e.out, "train  %v\n", report.Train)
	if by, share, ok := report.LastChange(); ok {
		fmt.Fprintf(e.out, "last   epoch changed the loss by %+.2g (%+.2g %%)%s\n", by, 100*share, p.ending(report))
	}
	if report.Valid != nil {
		fmt.Fprintf(e.out, "valid  %v%s\n", p.told(report.Valid), p.chosen(report))
	}
	if path != "" {
		fmt.Fprintf(e.out, "model  %s (%s)\n", p.model, p.to)
	}
	return w.close()
}

// before says how many epochs were made by the training that this one went on from.
func before(r *train.Report) string {
	if r.Before == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d before", r.Before)
}

// ending says why the training ended where it did.
func (p *plan) ending(r *train.Report) string {
	switch {
	case r.Stopped && r.Best > 0 && r.Epochs-r.Best >= p.patience:
		return ""
	case r.Stopped && p.pace != nil:
		return ", more are of no use"
	case r.Stopped:
		return fmt.Sprintf(", less than --tolerance %g", p.tolerance)
	case p.open:
		return fmt.Sprintf("; --epochs above %d may bring more", r.Epochs)
	}
	return ""
}

// chosen says which epoch the held-out examples chose.
func (p *plan) chosen(r *train.Report) string {
	switch {
	case r.Best == 0:
		return ""
	case r.Best == r.Epochs:
		return "  (the last epoch was the best; more --epochs may be better)"
	}
	return fmt.Sprintf("  (of epoch %d, the best, which was kept)", r.Best)
}

// watcher shows progress to people and, if asked, to machines.
type watcher struct {
	bar   *progress
	env   *env
	log   *lineLog // nil: none
	start time.Time

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
	s, err := e.sink(log, force)
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

// write appends a line to the log. An error of the log does not end a training that has begun: close gives it.
func (w *watcher) write(record any) {
	if w.log == nil || w.log.failed != nil {
		return
	}
	if err := w.log.append(record); err != nil {
		w.bar.line("--log %v: the log ends here", err)
	}
}

func (w *watcher) begin(p *plan) error {
	w.shown = p.told
	w.start = w.env.now()
	if p.open {
		w.atMost = " at most"
		fmt.Fprintf(w.env.err, "train %s: up to %s (about %.0f s on one core), fewer if the loss stops falling; --epochs N sets them\n",
			p.algo, number.Of(p.epochs, "epoch"), math.Ceil(p.about.Seconds()))
	}
	if p.counted {
		fmt.Fprintf(w.env.err, "train %s: %s of %s by %s at rate %g; --epochs N sets them\n",
			p.algo, number.Of(p.epochs, "epoch"), number.Of(p.train.Len(), "example"), p.recipe.Defaults.Rule, p.rate)
	}
	w.bar = w.env.progress("train "+p.algo, "rows", int64(p.epochs)*int64(p.train.Len()))
	if w.log == nil {
		return nil
	}
	return w.log.append(map[string]any{
		"event": "start", "algo": p.algo, "data": p.data, "examples": p.train.Len(), "dim": p.conf.Dim, "tasks": p.tasks,
		"bound": p.bound.String(), "epochs": p.epochs, "batch": p.batch, "rate": p.rate, "seed": p.seed,
	})
}

func (w *watcher) event(ev train.Event) {
	if !ev.Done {
		w.bar.set(ev.Rows, fmt.Sprintf("epoch %d/%d  loss %.5f", ev.Epoch, ev.Epochs, ev.Loss))
		return
	}
	valid := ""
	if ev.Valid != nil {
		valid = "  valid " + w.shown(ev.Valid).String()
	}
	if !w.bar.live && (ev.Epoch == 1 || ev.Epoch == ev.Epochs || w.bar.due(w.env.now())) {
		w.bar.last = w.env.now()
		w.bar.line("epoch %d/%d  loss %.5f%s  %.0f rows/s  %v left%s", ev.Epoch, ev.Epochs, ev.Loss, valid, ev.RowsPerSecond,
			ev.Left.Round(time.Second), w.atMost)
	}
	record := map[string]any{
		"event": "epoch", "epoch": ev.Epoch, "loss": ev.Loss, "rows": ev.Rows, "rowsPerSecond": ev.RowsPerSecond,
		"seconds": w.env.now().Sub(w.start).Seconds(),
	}
	if ev.Valid != nil {
		record["valid"] = ev.Valid
	}
	w.write(record)
}

func (w *watcher) finish(p *plan, r *train.Report) {
	warnings := p.warnings(r, w.nonFinite)
	for _, text := range warnings {
		w.bar.line("warning: %s", text)
	}
	record := map[string]any{
		"event": "end", "epochs": r.Epochs, "best": r.Best, "stopped": r.Stopped, "train": r.Train, "valid": r.Valid,
		"seconds": w.env.now().Sub(w.start).Seconds(), "nullLoss": r.Null, "nonFinite": w.nonFinite, "warnings": warnings,
	}
	if by, share, ok := r.LastChange(); ok {
		record["lastChange"], record["lastChangeShare"] = by, share
	}
	if left := p.train.Skipped; left.Lines > 0 {
		record["skipped"] = left
	}
	if p.valid != nil {
		record["unseen"] = p.valid.Unseen
	}
	w.write(record)
}
