package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"thole.example/train"
)

func trainCommand(e *env) *cobra.Command {
	j := &job{name: "train"}
	servers, overTCP := 1, false
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a model on servers within this process",
		Long: `Trains a model on embedded parameter servers and saves it. The same settings and seed give the same bits whatever the
number of servers; thole worker trains the same on servers in other processes.`,
		Example: `  thole train --algo lr --data train.libsvm --dim 8715 --model out/lr
  thole train --algo svm --data train.libsvm --holdout 0.1 --epochs 20 --servers 2 --tasks 2
  thole train --data train.libsvm --validate test.libsvm --rule ftrl --hyper l1=1 --log run.jsonl`,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case servers < 1 || servers > serversLimit:
				return usageError{fmt.Errorf("--servers %d, want 1 to %d", servers, serversLimit)}
			case j.tasks < 1 || j.tasks > tasksLimit:
				return usageError{fmt.Errorf("--tasks %d, want 1 to %d in one process", j.tasks, tasksLimit)}
			}
			return j.train(c.Context(), e, servers, overTCP)
		},
	}
	j.flags(c)
	c.Flags().IntVar(&servers, "servers", 1, "parameter servers")
	c.Flags().BoolVar(&overTCP, "tcp", false, "talk to the servers over loopback TCP instead of memory")
	return c
}

func (j *job) train(ctx context.Context, e *env, servers int, overTCP bool) error {
	p, err := j.choose(ctx)
	if err != nil {
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
	if err := p.read(ctx, e); err != nil {
		return err
	}
	load, err := e.readable(ctx, j.load)
	if err != nil {
		return err
	}
	p.loadPath = inBucket(load)
	c, err := embed(ctx, servers, overTCP)
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
	if err != nil {
		return err
	}
	w.finish(report)
	fmt.Fprintf(e.out, "%s: %d examples, %d epochs\n", p.algo, report.Rows, report.Epochs)
	fmt.Fprintf(e.out, "train  %v\n", report.Train)
	if report.Valid != nil {
		fmt.Fprintf(e.out, "valid  %v\n", report.Valid)
	}
	if path != "" {
		fmt.Fprintf(e.out, "model  %s (%s)\n", p.model, p.to)
	}
	return w.close()
}

// watcher shows progress to people and, if asked, to machines.
type watcher struct {
	bar   *progress
	w     io.Writer
	log   *lineLog // nil: none
	start time.Time
}

func newWatcher(ctx context.Context, e *env, log string, force bool) (*watcher, error) {
	w := &watcher{w: e.err, bar: newProgress(io.Discard, "", "", 1), start: time.Now()}
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
	w.start = time.Now()
	w.bar = newProgress(w.w, "train "+p.algo, "rows", int64(p.epochs)*int64(p.train.Len()))
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
	if !w.bar.live && (ev.Epoch == 1 || ev.Epoch == ev.Epochs || w.bar.due(time.Now())) {
		w.bar.last = time.Now()
		w.bar.line("epoch %d/%d  loss %.5f  %.0f rows/s  %v left", ev.Epoch, ev.Epochs, ev.Loss, ev.RowsPerSecond,
			ev.Left.Round(time.Second))
	}
	w.write(map[string]any{
		"event": "epoch", "epoch": ev.Epoch, "loss": ev.Loss, "rows": ev.Rows, "rowsPerSecond": ev.RowsPerSecond,
		"seconds": time.Since(w.start).Seconds(),
	})
}

func (w *watcher) finish(r *train.Report) {
	w.write(map[string]any{
		"event": "end", "epochs": r.Epochs, "stopped": r.Stopped, "train": r.Train, "valid": r.Valid,
		"seconds": time.Since(w.start).Seconds(),
	})
}
