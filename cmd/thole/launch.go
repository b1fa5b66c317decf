package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/launch/slurm"
)

// launch is a training by processes of its own, as the user asks for it.
type launch struct {
	*job
	on, dir           string
	workers, restarts int
	most              int // workers that there may be
	detach, serverLog bool
	user              []setting // what the user gave
	launcher          launcher
	title             string // --name
	resources
	kube  kubeFlags
	slurm slurm.Options
}

// resources is what each server and each worker asks of a place that divides machines.
type resources struct {
	serverMemory, workerMemory string // sizes; "": the place's default
	serverCPUs, workerCPUs     string // numbers, like 2 or 0.5; "": the place's default
}

// farFlags are the flags of launches by another system, which divides machines among many.
var farFlags = []string{"name", "server-memory", "server-cpus", "worker-memory", "worker-cpus"}

func (l *launch) farFlags(f *pflag.FlagSet) {
	r := &l.resources
	f.StringVar(&l.title, "name", "", "name of the launch there (default: of the algorithm and the time)")
	f.StringVar(&r.serverMemory, "server-memory", "", "memory of each server, a size like 4GiB")
	f.StringVar(&r.serverCPUs, "server-cpus", "", "processors of each server")
	f.StringVar(&r.workerMemory, "worker-memory", "", "memory of each worker, a size like 4GiB")
	f.StringVar(&r.workerCPUs, "worker-cpus", "", "processors of each worker")
}

// logRetry is how long workers wait for a server that replays its log after a pause.
const logRetry = time.Minute

// launchOnly are the flags that say how processes are launched, and which these do not get as they are.
func launchOnly() []string {
	all := append([]string{"on", "servers", "workers", "tasks", "restarts", "detach", "dry-run", "job", "memory"}, farFlags...)
	for _, one := range launchers() {
		all = append(all, one.own...)
	}
	return all
}

func launchCommand(e *env) *cobra.Command {
	return launchFlags(e, &launch{job: &job{name: "train"}})
}

// launchFlags is the command with flags that say what the launch is.
func launchFlags(e *env, l *launch) *cobra.Command {
	c := &cobra.Command{
		Use:   "launch",
		Short: "Train by server and worker processes, which are started again when they die",
		Long: `Trains as thole train does, with the same flags and to the same bits, by processes of their own: --servers times thole server, and
--workers times thole worker, which share the tasks. A process that is killed is started again, after a pause that grows; one that
fails by itself ends the launch, with what it said last. What worker 0 prints is printed here. The folder of the launch has a log for
each process. Ctrl-C ends all of them, with a checkpoint if there is --checkpoint, a second one at once; they also end when this process is
killed. Asked to end by SIGTERM, with --checkpoint, it does the same, with exit code 75. With --detach it
goes on in the background. While it runs thole launch scale gives it other numbers of servers and workers.

With --server-log each server keeps a log of its changes there, and is where it died when it is started again: nobody goes back to a
checkpoint, and under ASP no update is lost. A new launch begins with new logs.

With --on kubernetes servers and workers are pods of a cluster, by an --image; paths are those of the pods, in a --volume. States of pods
are told, and all is removed in the end (docs/kubernetes.md). With --on slurm they are the steps of a job (docs/slurm.md).

--dry-run starts nothing, and prints what would be run: a script for sh, a manifest for kubectl apply, a script for sbatch.`,
		Example: `  thole launch --servers 2 --workers 2 --data train.libsvm --model out/lr2
  thole launch --on local --servers 2 --workers 2 --tasks 4 --algo svm --data train.libsvm --holdout 0.1 --epochs 20 --dir jobs/svm
  thole launch --workers 2 --algo gbdt --data loans.csv --label-column defaulted --trees 20 --model out/trees2
  thole launch --on kubernetes --image registry/thole:1 --volume data=pvc:clicks:/data --data /data/train.libsvm --model /data/lr --dry-run
  thole launch --servers 2 --workers 2 --data train.libsvm --model out/lr3 --dir jobs/lr3 --detach
  thole launch --on slurm --dry-run --workers 4 --worker-cpus 8 --time 2:00:00 --data train.libsvm --model out/lr4 --checkpoint ck
  thole launch status jobs/lr3 --json
  thole launch stop jobs/lr3`,
		RunE: func(c *cobra.Command, _ []string) error { return l.run(c.Context(), e) },
	}
	l.job.flags(e, c)
	f := c.Flags()
	f.StringVar(&l.jobFile, "job", "", "file of settings, as thole train --job takes it")
	f.StringVar(&l.on, "on", "local", onHelp())
	f.IntVar(&l.servers, "servers", 1, "server processes")
	f.IntVar(&l.workers, "workers", 1, "worker processes, which share the tasks")
	f.IntVar(&l.most, "most-workers", 0, "workers that there may be, as thole launch scale asks for them; with --give-up (default: --workers)")
	f.Lookup("most-workers").DefValue = ""
	f.Lookup("tasks").Usage, f.Lookup("tasks").DefValue = "tasks that share the examples (default: as many as workers, or as there may be)", ""
	f.IntVar(&l.restarts, "restarts", 100, "how often each process is started again, at most")
	f.StringVar(&l.dir, "dir", "", "folder of the launch, with the logs of its processes (default: a new one in the folder of --runs)")
	f.BoolVar(&l.serverLog, "server-log", false, "servers log all changes in the folder of the launch, and go on where they died; workers "+
		"then wait for them for "+logRetry.String()+", unless --retry says how long")
	f.BoolVar(&l.dryRun, "dry-run", false, "print the script or manifest that would be run, and start nothing")
	f.BoolVar(&l.detach, "detach", false, "go on in the background, and print the folder of the launch")
	f.DurationVar(&l.wait, "wait", defaultWait, "how long workers wait for the others to join; 0: as long as it takes")
	f.DurationVar(&l.retry, "retry", defaultRetry, "how long workers try to reach a server again when the connection is lost")
	l.giveUpFlags(c)
	l.farFlags(f)
	for _, one := range launchers() {
		if one.flags != nil {
			one.flags(f, l)
		}
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(launchStatusCommand(e), launchLogsCommand(e), launchScaleCommand(e), launchStopCommand(e), launchKeysCommand(e))
	return c
}

func (l *launch) run(ctx context.Context, e *env) (err error) {
	l.user = given(l.command)
	if err := l.files(ctx, e.silent()); err != nil { // the first worker tells what is odd in them
		return err
	}
	defer func() { err = l.placed(err) }()
	if err := l.check(); err != nil {
		return err
	}
	return l.launcher.launch(ctx, e, l)
}

// check checks what the user said of processes.
func (l *launch) check() error {
	var err error
	if l.launcher, err = launcherOf(l.on, l.user); err != nil {
		return err
	}
	if !l.given("most-workers") {
		l.most = l.workers
	}
	if !l.given("tasks") {
		l.tasks = l.most
	}
	if l.serverLog && !l.given("retry") {
		l.retry = logRetry
	}
	switch {
	case l.servers < 1 || l.servers > serversLimit:
		return usageError{fmt.Errorf("--servers %d, want 1 to %d", l.servers, serversLimit)}
	case l.workers < 1 || l.workers > tasksLimit:
		return usageError{fmt.Errorf("--workers %d, want 1 to %d", l.workers, tasksLimit)}
	case l.most < l.workers || l.most > tasksLimit:
		return usageError{fmt.Errorf("--most-workers %d, want %d (--workers) to %d", l.most, l.workers, tasksLimit)}
	case l.most > l.workers && (l.giveUp == 0 || l.checkpoint == ""):
		return usageError{fmt.Errorf("--most-workers %d with --workers %d, want --give-up and --checkpoint, too: the others come between "+
			"epochs", l.most, l.workers)}
	case l.tasks < l.most || l.tasks > jobTasksLimit || l.tasks > l.most*tasksLimit:
		return usageError{fmt.Errorf("--tasks %d with %s, want at least one task for each worker, at most %d", l.tasks,
			l.mostText(), tasksLimit)}
	case l.restarts < 0:
		return usageError{fmt.Errorf("--restarts %d, want 0 or more", l.restarts)}
	case l.wait < 0 || l.retry < 0:
		return usageError{fmt.Errorf("--wait %v --retry %v, want 0 or more", l.wait, l.retry)}
	case l.dir == data.Stdin:
		return usageError{errors.New("--dir -, want a folder")}
	}
	if err := l.checkAbsence(nil); err != nil {
		return err
	}
	return l.noStream()
}

// plan is what the processes will do, once all files of examples are found: what is wrong with it is said before any of them starts.
func (l *launch) plan(ctx context.Context, e *env) (*plan, error) {
	l.seedBefore(ctx)
	p, err := l.choose(ctx)
	if err != nil {
		return nil, err
	}
	for _, paths := range [][]string{l.data, l.valid, l.weights, l.validWeights, l.starts, l.validStarts} {
		if _, err := data.Files(ctx, e.paths, paths); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// claimed is where the model and the checkpoints go, which nobody else writes until it is released.
func (l *launch) claimed(ctx context.Context, e *env, p *plan) (*target, error) {
	path, err := l.target(ctx, e)
	if err != nil || p.forest != nil {
		return path, err
	}
	if err := p.statesHere(ctx, path.name); err != nil {
		path.release()
		return nil, err
	}
	return path, nil
}

// mostText is the flag that says how many workers there may be.
func (l *launch) mostText() string {
	if l.given("most-workers") {
		return fmt.Sprintf("--most-workers %d", l.most)
	}
	return fmt.Sprintf("--workers %d", l.workers)
}

// noStream refuses standard input: what several processes read is a file.
func (l *launch) noStream() (err error) {
	read := append(slices.Clone(pathFlags), "weights", "validate-weights", "start-scores", "validate-start-scores", "job", "resume")
	l.command.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(read, f.Name) {
			return
		}
		for _, text := range textsOf(l.command.Flags(), f) {
			if slices.Contains(strings.Split(text, ","), data.Stdin) && err == nil {
				err = usageError{fmt.Errorf("--%s %s is a stream of one process, and a launch has several: want a file", f.Name, text)}
			}
		}
	})
	return err
}

// common is what all processes of workers are told: what the user said, as far as it is about the training, and what was found out here.
// store is the servers' folder, where paths of workers are those of their machine; "": they are below that folder.
func (l *launch) common(servers []string, store string) (args []string) {
	flags, only := l.command.Flags(), launchOnly()
	for _, s := range l.user {
		if !slices.Contains(only, s.flag) {
			args = append(args, argsOf(flags.Lookup(s.flag), s.texts)...)
		}
	}
	for _, addr := range servers {
		args = append(args, "--servers="+csvField(addr))
	}
	args = append(args, fmt.Sprintf("--tasks=%d", l.tasks), "--job="+l.name, fmt.Sprintf("--seed=%d", l.seed))
	if store != "" {
		args = append(args, "--store="+store)
	}
	if l.jobFile != "" {
		args = append(args, "--job-file="+l.jobFile)
	}
	if l.serverLog {
		args = append(args, "--"+backFlag)
	}
	if l.serverLog && !gives(l.user, "retry") {
		args = append(args, "--retry="+l.retry.String())
	}
	if l.loadState != "" && !gives(l.user, "load-state") {
		args = append(args, "--load-state="+l.loadState)
	}
	return args
}

// argsOf are the words of a command line that give a flag these texts.
func argsOf(f *pflag.Flag, texts []string) (args []string) {
	switch f.Value.Type() {
	case "intSlice":
		texts = []string{strings.Join(texts, ",")}
	case "stringToString", "stringSlice": // whose values are fields of CSV
		for _, text := range texts {
			args = append(args, "--"+f.Name+"="+csvField(text))
		}
		return args
	}
	for _, text := range texts {
		args = append(args, "--"+f.Name+"="+text)
	}
	return args
}

// share is the tasks of a worker, as --task takes them.
func (l *launch) share(worker int) string { return shareOf(worker, l.most, l.tasks) }

// before is how many tasks the workers have that come before one.
func (l *launch) before(worker int) int { return worker * l.tasks / l.most }

// shareOf is the tasks of one of several workers that share them, as --task takes them.
func shareOf(worker, workers, tasks int) string {
	lo, hi := worker*tasks/workers, (worker+1)*tasks/workers-1
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d-%d", lo, hi)
}

// storeOf is the folder below which the servers have all these paths of this machine, some of which may be empty: the working directory if
// it has them, else the root of the file system.
func storeOf(paths ...string) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root := filepath.VolumeName(here) + string(filepath.Separator)
	store := here
	for _, path := range paths {
		if path == "" || blob.IsURL(path) {
			continue
		}
		if _, err := nameBelow(store, path); err == nil {
			continue
		}
		if _, err := nameBelow(root, path); err != nil {
			return "", err
		}
		store = root
	}
	return store, nil
}

// storesOf are the stores that the servers need for those of these paths that are URLs, without what is below them.
func storesOf(paths ...string) (all []string) {
	for _, path := range paths {
		if root := blob.Root(path); root != "" && !slices.Contains(all, root) {
			all = append(all, root)
		}
	}
	return all
}

// csvField is a text as a field of CSV.
func csvField(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
