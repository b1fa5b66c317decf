package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/rpc/tcp"
	"thole.example/train"
)

// here is the flags of a training on servers within this process.
type here struct {
	servers int
	overTCP bool
	sync    bool
	cv      int // folds of a cross-validation; 0: none
	asJSON  bool

	result io.Writer // gets the result of a training as JSON; nil: it is printed as text
}

// trainFlags gives a command the flags of train, and answers with the job that they are.
func trainFlags(e *env, c *cobra.Command) *job {
	j := &job{name: "train"}
	j.flags(e, c)
	f := c.Flags()
	f.StringVar(&j.jobFile, "job", "", "file of settings, in YAML or JSON, that hold where no flag is given (see docs/graph.md)")
	f.BoolVar(&j.dryRun, "dry-run", false, "read the examples, print the job with all its settings, and train nothing")
	f.IntVar(&j.servers, "servers", 1, "parameter servers")
	f.BoolVar(&j.overTCP, "tcp", false, "talk to the servers over loopback TCP instead of memory")
	f.BoolVar(&j.sync, "sync", true, syncHelp)
	f.IntVar(&j.cv, "cv", 0, "cross-validation by so many folds: each is held out once, by a model of the others (see docs/search.md)")
	f.BoolVar(&j.asJSON, "json", false, "print the result as JSON, of --cv that of each fold; progress and text go to standard error")
	return j
}

// checkHere refuses numbers of servers and tasks that one process does not have, and what they have no use for.
func (j *job) checkHere() error {
	switch {
	case j.servers < 1 || j.servers > serversLimit:
		return usageError{fmt.Errorf("--servers %d, want 1 to %d", j.servers, serversLimit)}
	case j.tasks < 1 || j.tasks > tasksLimit:
		return usageError{fmt.Errorf("--tasks %d, want 1 to %d in one process", j.tasks, tasksLimit)}
	case j.noChecksum && !j.overTCP:
		return usageError{errors.New("--no-checksum without --tcp: nothing is sent")}
	}
	return nil
}

// over is the network to the servers; nil: memory.
func (j *job) over() *tcp.Network {
	if !j.overTCP {
		return nil
	}
	return &tcp.Network{NoChecksum: j.noChecksum}
}

// bucket is where servers in this process keep models and checkpoints.
func (j *job) bucket() *blob.Paths { return j.paths.Synced(j.sync) }

func trainCommand(e *env) *cobra.Command {
	var j *job
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a model on servers within this process",
		Long: `Trains a model on embedded parameter servers and saves it. The same settings and seed give the same bits for any
number of servers; another number of --tasks gives other weights, except of boosted trees. thole worker trains on servers in other
processes, to the same bits. Numbers in lines (libsvm, libffm, dense) are scaled for networks, see --scaling. Epochs without --epochs:

  linear models                       until the loss converges, at most a printed number
  networks                            enough to see 150,000 examples, at most 7
  networks, more than 65536 features  enough to see 200,000 examples, at most 2; at most 10 with the default of --holdout

Linear classifiers of more than 65536 features are trained with adagrad. The settings, the progress and the result of each training are
recorded: see thole runs.`,
		Example: `  thole train --algo lr --data train.libsvm --model out/lr
  thole train --algo svm --data train.libsvm --holdout 0.1 --epochs 20 --servers 2 --tasks 2
  thole train --algo deepfm --data clicks.ffm --factors 8 --hidden 128,64 --holdout 0.1 --model out/deepfm
  thole train --algo gbdt --data loans.csv --label-column defaulted --holdout 0.1 --trees 200 --depth 6 --model out/trees
  thole train --algo gbdt --data loans.csv --label-column defaulted --boosting dart --drop-rate 0.1 --model out/dart
  thole train --algo gbdt --data loans.csv --label-column defaulted --start-scores loans.start --model out/more
  thole train --algo gbdt --data loans.csv --label-column defaulted --trees 300 --checkpoint out/ck --model out/grown
  thole train --data train.libsvm --validate test.libsvm --rule ftrl --hyper l1=1 --log run.jsonl
  thole train --data days --data 'test-*.libsvm' --model out/all --to npz
  thole train --data train.libsvm --algo svm --dry-run
  thole train --algo fm --data clicks.ffm --cv 5 --early-stop 2
  thole train --data - --holdout 0.1 < train.libsvm`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			before := given(c)
			if err := j.files(c.Context(), e); err != nil {
				return err
			}
			defer func() { err = j.placed(err) }()
			if err := j.checkHere(); err != nil {
				return err
			}
			if j.cv != 0 || j.given("cv") {
				return j.crossValidate(c.Context(), e, before)
			}
			if j.asJSON && !j.dryRun {
				text := *e
				text.out, j.result = e.err, e.out
				e = &text
			}
			ctx, ended := j.untilFarewell(c.Context(), e, func(format string, args ...any) { fmt.Fprintf(e.err, format+"\n", args...) })
			return ended(j.train(ctx, e))
		},
	}
	j = trainFlags(e, c)
	return c
}

func (j *job) train(ctx context.Context, e *env) error {
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
	e.appends = j.goesOnByItself()
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
	return p.trainHere(ctx, e, path.name, w)
}

// trainHere trains on the examples that are read, on servers of its own, saves at the path, if there is one, and tells.
func (p *plan) trainHere(ctx context.Context, e *env, path string, w *watcher) error {
	if p.forest == nil { // trees have read what they go on from, and no states
		load, err := e.readable(ctx, p.load)
		if err != nil {
			return err
		}
		p.loadPath = inBucket(load)
		if err := p.statesHere(ctx, path); err != nil {
			return err
		}
		p.tellLoad(w.bar.line)
	}
	c, stop, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	w.runs = runsAt(p.runs)
	return p.runAndTell(ctx, e, c, nil, path, w)
}

// serve starts servers for the training, if there is room for its matrices; nil for trees, which start some where they need them.
func (p *plan) serve(ctx context.Context) (c *cluster, stop func(), err error) {
	if p.forest != nil {
		return nil, func() {}, nil
	}
	model, err := p.recipe.Build(p.conf)
	if err == nil {
		err = p.room(model, availableMemory())
	}
	if err != nil {
		return nil, nil, err
	}
	remove, err := p.momentHere()
	if err != nil {
		return nil, nil, err
	}
	if c, err = embed(ctx, p.servers, p.over(), p.bucket()); err != nil {
		remove()
		return nil, nil, err
	}
	return c, func() { c.stop(); remove() }, nil
}

// runAndTell runs tasks (nil: all) and prints what came out.
func (p *plan) runAndTell(ctx context.Context, e *env, c *cluster, tasks []int, path string, w *watcher) error {
	report, err := p.runWatched(ctx, c, tasks, path, w)
	if err != nil {
		return err
	}
	went := fmt.Sprintf("%s: %s, %s%s", p.algo, number.Of(report.Rows, "example"), number.Of(report.Epochs, p.round()), before(report))
	fmt.Fprintln(e.out, went)
	if report.Train != nil {
		fmt.Fprintf(e.out, "train  %v\n", report.Train)
	} else {
		fmt.Fprintln(e.out, "train  measured and saved by the worker that has task 0")
	}
	if by, share, ok := report.LastChange(); ok {
		fmt.Fprintf(e.out, "last   %s changed the loss by %+.2g (%s)%s\n", p.round(), by, percentOf(share), p.ending(report))
	}
	if report.Valid != nil {
		fmt.Fprintf(e.out, "valid  %v%s\n", p.told(report.Valid), p.chosen(report))
	}
	for _, o := range report.Others {
		fmt.Fprintf(e.out, "       %v  (%s)\n", p.told(o.Metrics), escaped(o.Name))
	}
	if p.forest != nil && len(p.forest.traffic) > 0 {
		fmt.Fprintf(e.out, "wire   %s\n", wireText(p.forest.traffic))
	}
	if path != "" && report.Train != nil {
		fmt.Fprintf(e.out, "model  %s (%s)\n", p.model, p.to)
	}
	if report.Train != nil {
		went += fmt.Sprintf("; train %v", report.Train)
	}
	if report.Valid != nil {
		went += fmt.Sprintf("; valid %v", p.told(report.Valid))
	}
	p.saysLast(went)
	if p.result != nil {
		if err := p.encodeResult(report, path); err != nil {
			return err
		}
	}
	return w.close()
}

// trainResult is the result of a training.
type trainResult struct {
	Algo     string        `json:"algo"`
	Examples int64         `json:"examples"`
	Epochs   int           `json:"epochs"` // of boosted trees: trees of each class
	Before   int           `json:"before"` // epochs of the training that this one continued
	Best     int           `json:"best"`   // epoch that was kept; 0: the last
	Stopped  bool          `json:"stopped"`
	Train    train.Metrics `json:"train"`
	Valid    train.Metrics `json:"valid,omitempty"` // none: no examples were held out
	Others   []setResult   `json:"others,omitempty"`
	Model    string        `json:"model,omitempty"`
	Format   string        `json:"format,omitempty"`
}

// setResult are the metrics of further sets of examples.
type setResult struct {
	Name    string        `json:"name"`
	Metrics train.Metrics `json:"metrics"`
}

// encodeResult prints the result of a training as JSON; path is where the model is, if it was saved.
func (p *plan) encodeResult(r *train.Report, path string) error {
	result := trainResult{Algo: p.algo, Examples: int64(r.Rows), Epochs: r.Epochs, Before: r.Before, Best: r.Best, Stopped: r.Stopped,
		Train: r.Train, Valid: p.told(r.Valid)}
	for _, o := range r.Others {
		result.Others = append(result.Others, setResult{o.Name, p.told(o.Metrics)})
	}
	if path != "" {
		result.Model, result.Format = p.model, p.to
	}
	return json.NewEncoder(p.result).Encode(result)
}

// runWatched runs tasks (nil: all), shows how far they are, and records the run.
func (p *plan) runWatched(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (report *train.Report, err error) {
	if tasks == nil {
		tasks, _ = parseTasks("", p.tasks)
	}
	defer func() { w.recorded(ctx, err) }()
	if p.later == nil {
		if err := w.open(ctx, p, tasks); err != nil {
			return nil, err
		}
	}
	once := p.run
	if p.forest != nil {
		once = p.grow
	}
	report, err = p.attempts(ctx, c, w, func(ctx context.Context) (*train.Report, error) { return once(ctx, c, tasks, path, w) })
	w.bar.end()
	if errors.Is(err, graph.ErrDiverged) {
		return nil, fmt.Errorf("%w (--rate %s in place of %g)", err, p.lower(), p.rate)
	}
	if err != nil {
		return nil, err
	}
	if report.Train != nil { // else another process of the job measures
		w.finish(p, report)
	}
	return report, nil
}

// round is what an epoch is called.
func (p *plan) round() string {
	if p.forest != nil {
		return "tree"
	}
	return "epoch"
}

// before says how many epochs were made by the training that this one went on from.
func before(r *train.Report) string {
	if r.Before == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d before", r.Before)
}

// percentOf is a share of a change, in percent and two digits or whole ones.
func percentOf(share float64) string {
	if math.Abs(share) >= 1 {
		return fmt.Sprintf("%+.0f %%", 100*share)
	}
	return fmt.Sprintf("%+.2g %%", 100*share)
}

// ending says why the training ended where it did.
func (p *plan) ending(r *train.Report) string {
	switch {
	case r.Stopped && r.Best > 0 && r.Epochs-r.Best >= p.patience:
		return ""
	case r.Stopped && p.pace != nil:
		return ": converged"
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
		return fmt.Sprintf("  (the last %s was the best; more --%ss may be better)", p.round(), p.round())
	}
	return fmt.Sprintf("  (of %s %d, the best, which was kept)", p.round(), r.Best)
}
