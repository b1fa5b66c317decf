package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"thole.example/internal/number"
	"thole.example/launch/local"
	"thole.example/launch/slurm"
)

// slurmFlags are what only Slurm is asked for.
var slurmFlags = []string{"slurm-partition", "account", "qos", "time", "nodes", "sbatch"}

// slurmTitle is the group of these flags, as help shows them.
const slurmTitle = "Slurm"

// slurmLauncher is the row of Slurm in the table of places.
func slurmLauncher() launcher {
	return launcher{"slurm", "a job of Slurm", slices.Concat(farFlags, slurmFlags, []string{"dir", "log", "runs", "server-log"}),
		func(f *pflag.FlagSet, l *launch) {
			o := &l.slurm
			f.StringVar(&o.Partition, "slurm-partition", "", "partition of the cluster in which the job runs")
			f.StringVar(&o.Account, "account", "", "account that it is charged to")
			f.StringVar(&o.QOS, "qos", "", "quality of service that it asks for")
			f.StringVar(&o.Time, "time", "", "how long it may run at a time, as Slurm writes it: 90 (minutes), 1:30:00, 2-12; with "+
				"--checkpoint it is queued again then, and goes on")
			f.IntVar(&o.Nodes, "nodes", 0, "nodes that share the processes (default: as few as Slurm likes)")
			f.StringArrayVar(&o.More, "sbatch", nil, "any option of sbatch, like --gres=gpu:1; may be given several times")
			for _, name := range slurmFlags {
				_ = f.SetAnnotation(name, groupMark, []string{slurmTitle}) // it is there
			}
		}, launchOnSlurm, func() keeper { return slurmKeeper{} }}
}

// slurmWait is how long workers wait for each other and for servers: longer than Slurm takes to hear that a node is dead, by default five
// minutes, after which the job is queued again.
const slurmWait = 10 * time.Minute

// launchOnSlurm trains as a job of Slurm.
func launchOnSlurm(ctx context.Context, e *env, l *launch) error {
	p, err := l.plan(ctx, e)
	if err != nil {
		return err
	}
	if !l.given("wait") {
		l.wait = slurmWait
	}
	if l.dryRun {
		return l.printScript(e, p)
	}
	path, err := l.claimed(ctx, e, p)
	if err != nil {
		return err
	}
	defer path.release()
	j, err := l.slurmJob(e, p, "") // what is wrong with it is said before anything is made
	if err != nil {
		return err
	}
	dir, _, err := l.folder(e)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := l.claimFolder(ctx, dir); err != nil {
		return err
	}
	e.appends = l.goesOnByItself()
	if l.log != "" {
		if err := l.beginLog(ctx, e); err != nil {
			return err
		}
	}
	if err := makeToken(dir); err != nil {
		return err
	}
	if j, err = l.slurmJob(e, p, dir); err != nil {
		return err
	}
	s := slurm.Slurm{}
	r, err := l.submit(ctx, e, &s, j)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.err, "job %s, %s; logs in %s\n", r.ID, l.countsText(), escaped(dir))
	if !l.goesOnByItself() {
		fmt.Fprintln(e.err, "no --checkpoint: it begins anew if a process or a node of it is lost")
	}
	if l.detach {
		_, err := fmt.Fprintln(e.out, dir)
		return err
	}
	_, kill, over := twice()
	defer over()
	return (&slurmFollower{s: &s, r: r, dir: dir, e: e}).follow(ctx, kill)
}

// printScript prints what sbatch would be given.
func (l *launch) printScript(e *env, p *plan) error {
	dir, err := l.folderName(e) // a job outlives this process, and so does its folder
	if err != nil {
		return err
	}
	j, err := l.slurmJob(e, p, dir)
	if err != nil {
		return err
	}
	text, err := j.Script()
	if err != nil {
		return slurmError(err)
	}
	fmt.Fprintf(e.err, "sbatch takes this once there is the folder %s\n", escaped(dir))
	_, err = e.out.Write(text)
	return err
}

// slurmError is an error of a script as one of the command line.
func slurmError(err error) error {
	bad, ok := errors.AsType[*slurm.Error](err)
	if !ok {
		return err
	}
	what := bad.What
	switch {
	case what == "partition":
		what = "--slurm-partition"
	case slices.Contains(append(slices.Clone(slurmFlags), "dir", "name"), what):
		what = "--" + what
	}
	return usageError{fmt.Errorf("%s %q with --on slurm, want %s", what, bad.Found, bad.Want)}
}

// claimFolder refuses a folder in which another launch goes on, and removes what one before wrote there.
func (l *launch) claimFolder(ctx context.Context, dir string) error {
	if r, err := local.Open(dir); err == nil && r.On != slurm.Place && r.State == local.Going {
		return &local.BusyError{Dir: dir, Pid: r.Pid}
	}
	if r, err := slurm.Open(dir); err == nil {
		state, err := (&slurm.Slurm{}).Look(ctx, r.ID)
		if _, over := state.Over(); err == nil && !over {
			return fmt.Errorf("%s: job %s launches there, want another folder, or thole launch stop %[1]s first", dir, r.ID)
		} else if err != nil && !errors.Is(err, slurm.ErrUnknown) {
			return err
		}
	}
	for i := range l.servers {
		if err := os.RemoveAll(serverLog(dir, i)); err != nil { // of a job that is over
			return err
		}
	}
	return slurm.Clear(dir)
}

// submit writes the script into the folder, gives it to Slurm, and keeps what was submitted.
func (l *launch) submit(ctx context.Context, e *env, s *slurm.Slurm, j *slurm.Job) (*slurm.Record, error) {
	text, err := j.Script()
	if err != nil {
		return nil, slurmError(err)
	}
	r := &slurm.Record{On: slurm.Place, State: slurm.Submitted, Command: e.environment().Command, Folder: j.Folder,
		Progress: l.slurmProgress(j.Dir), Servers: l.servers, Workers: l.workers, Began: e.now()}
	if l.log == "" {
		if err := os.WriteFile(r.Progress, nil, 0o666); err != nil { // not that of a launch before
			return nil, err
		}
	}
	script := filepath.Join(j.Dir, slurm.ScriptFile)
	if err := os.WriteFile(script, text, 0o777); err != nil {
		return nil, err
	}
	if r.ID, err = s.Submit(ctx, script); err != nil {
		return nil, err
	}
	if err := r.Write(j.Dir); err != nil {
		return nil, errors.Join(fmt.Errorf("job %s was submitted, and is not kept in its folder: %w", r.ID, err),
			s.Cancel(context.WithoutCancel(ctx), r.ID, false))
	}
	return r, nil
}

// slurmProgress is the file of the job's progress.
func (l *launch) slurmProgress(dir string) string {
	if l.log != "" {
		return l.log
	}
	return filepath.Join(dir, progressName)
}

// slurmJob is the job with its folder; without one it is only checked.
func (l *launch) slurmJob(e *env, p *plan, dir string) (*slurm.Job, error) {
	checks := dir == ""
	if checks {
		var err error
		if dir, err = filepath.Abs(cmp.Or(l.dir, "launch")); err != nil {
			return nil, err
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	j := &slurm.Job{Name: l.title, Options: l.slurm, Dir: dir, Folder: here, Program: program, Restarts: l.restarts,
		GoesOn: l.goesOnByItself(), Optional: l.giveUp > 0}
	if j.Name == "" {
		j.Name = "thole-" + l.algo
	}
	if j.Servers, err = groupOf("server", l.servers, l.serverCPUs, l.serverMemory); err != nil {
		return nil, err
	}
	if j.Workers, err = groupOf("worker", l.workers, l.workerCPUs, l.workerMemory); err != nil {
		return nil, err
	}
	if err := l.slurmWords(e, p, j); err != nil {
		return nil, err
	}
	if checks {
		_, err = j.Script()
	}
	return j, slurmError(err)
}

// groupOf is the processes of a kind, as flags say it.
func groupOf(kind string, count int, cpus, memory string) (g slurm.Group, err error) {
	g = slurm.Group{Count: count, CPUs: 1}
	if cpus != "" {
		if g.CPUs, err = strconv.Atoi(cpus); err != nil || g.CPUs < 1 || g.CPUs > cpusLimit {
			return g, usageError{fmt.Errorf("--%s-cpus %s with --on slurm, want a whole number from 1 to %d", kind, cpus, cpusLimit)}
		}
	}
	if memory != "" {
		if g.Memory, err = number.ParseBytes(memory); err != nil {
			return g, usageError{fmt.Errorf("--%s-memory %w", kind, err)}
		}
	}
	return g, nil
}

// cpusLimit is more processors than a machine has.
const cpusLimit = 1 << 14
