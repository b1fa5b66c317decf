package main

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/runlog"
	"thole.example/train"
)

// Where runs are recorded unless --runs says so.
const (
	runsVariable = "THOLE_RUNS"
	runsFolder   = "runs"
	runsNone     = "none" // records nothing
)

// runsAt is where runs of thole train are: where the flag says, or the variable, or in the working directory.
func runsAt(flag string) string { return cmp.Or(flag, os.Getenv(runsVariable), runsFolder) }

// record begins to record a training by these tasks, if that is asked for. A run that cannot be recorded is said to be so, and goes on.
func (w *watcher) record(ctx context.Context, p *plan, tasks []int) {
	if w.runs == "" || w.runs == runsNone || !slices.Contains(tasks, 0) { // one task knows all that is recorded
		return
	}
	env := w.env.environment()
	env.Algorithm, env.Model, env.Note = p.algo, p.model, p.note
	env.Data, env.Validate = sizes(ctx, p.paths, p.data), sizes(ctx, p.paths, p.job.valid)
	if p.model != "" {
		env.ModelFormat = p.to
	}
	var err error
	if w.run, err = runlog.Begin(w.runs, p.algo, env, p.settings); err != nil {
		w.bar.line("this run is not recorded: %v (--runs FOLDER records it elsewhere, --runs %s not at all)", err, runsNone)
	}
}

// append appends an event to the record of the run, if there is one. What fails is told once, and the training goes on.
func (w *watcher) append(event any) {
	if before := w.run.Failed(); before != nil {
		return
	}
	if err := w.run.Append(event); err != nil {
		w.bar.line("%s: %v: the record of this run ends here", w.run.Folder(), err)
	}
}

// recorded ends the record with what came of the training.
func (w *watcher) recorded(ctx context.Context, err error) {
	if w.run == nil {
		return
	}
	state, why, before := w.ended, "", w.run.Failed()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		state = runlog.Interrupted
	default:
		state, why = runlog.Failed, runlog.RedactText(err.Error())
	}
	switch rerr := w.run.End(state, why, w.env.now()); {
	case rerr == nil && err == nil:
		w.bar.line("recorded as %s; see thole runs", w.run.Folder())
	case rerr != nil && before == nil:
		w.bar.line("%s: %v: the record of this run is not whole", w.run.Folder(), rerr)
	}
	w.run = nil
}

// start is what a training is about to do.
func (p *plan) start() runlog.Start {
	s := runlog.Start{
		Algo: p.algo, Data: p.data, Examples: p.rows, Dim: p.conf.Dim, Tasks: p.tasks, Bound: p.bound.String(), Epochs: p.epochs,
		Batch: p.batch, Rate: runlog.Number(p.rate), Seed: p.seed,
	}
	if held := p.validation(); held != nil {
		s.HeldOut = held.Len()
		s.Metric, s.Better = p.judged()
	}
	return s
}

// judged is the metric of the held-out examples that the training is compared with others by, and which values of it are better: that of
// early stopping, or the first of those to tell of, which is the loss unless the user says more.
func (p *plan) judged() (metric, better string) {
	if metric = p.by; metric == "" {
		metric = train.MetricNames(p.compares)[0]
		if p.patience == 0 && len(p.metrics) > 0 {
			metric = p.metrics[0]
		}
	}
	if better = p.mode; better == "" {
		better = map[bool]string{true: "max", false: "min"}[train.Larger(metric)]
	}
	return metric, better
}

// valuesOf are metrics as runs have them.
func valuesOf(m train.Metrics) (all runlog.Values) {
	for _, x := range m {
		all = append(all, runlog.Value(x))
	}
	return all
}

// othersOf are the metrics of sets of held-out examples that decide nothing.
func othersOf(sets []train.Other) (all []runlog.Set) {
	for _, s := range sets {
		all = append(all, runlog.Set{Name: s.Name, Values: valuesOf(s.Metrics)})
	}
	return all
}

// environment is what runs say of this process.
func (e *env) environment() runlog.Environment {
	b := readBuild()
	folder, _ := os.Getwd()
	host, _ := os.Hostname()
	return runlog.Environment{
		Began: e.now(), Command: append([]string{"thole"}, runlog.Redact(e.args)...), Folder: folder, Process: os.Getpid(), Host: host,
		Version: b.Version, Commit: b.Commit, Go: b.Go, System: b.System, Processor: processor(), Processors: runtime.GOMAXPROCS(0),
		Memory: machineMemory(),
	}
}

// filesLimit is how many files of examples a run names.
const filesLimit = 1000

// sizes are the files that the paths name, with their sizes.
func sizes(ctx context.Context, in *blob.Paths, paths []string) (all []runlog.File) {
	if len(paths) == 0 {
		return nil
	}
	files, err := data.Files(ctx, in, paths)
	if err != nil {
		files = paths // they are gone: what is left to say is how they were called
	}
	for _, path := range files[:min(len(files), filesLimit)] {
		f := runlog.File{Path: runlog.RedactText(path), Bytes: -1}
		if n, err := data.Size(ctx, in, path); err == nil {
			f.Bytes = n
		}
		all = append(all, f)
	}
	return all
}

// processor is the name of the processor; "" if the system does not tell.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
