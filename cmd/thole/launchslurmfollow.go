package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"thole.example/internal/spell"
	"thole.example/launch/local"
	"thole.example/launch/slurm"
)

// slurmFollower prints what a job does until it is over.
type slurmFollower struct {
	s    *slurm.Slurm
	r    *slurm.Record
	dir  string
	e    *env
	said string // how the job was last
	away bool   // Slurm does not answer, and it was said
}

// How often Slurm is asked: it serves a whole cluster. A job that has begun to end ends soon.
const (
	slurmLook     = time.Second
	slurmLookMost = 5 * time.Second
	slurmPatience = 30 * time.Second // for Slurm to hear that a job has ended which says so itself
)

// follow prints until the job is over, and gives its end as an error. When ctx ends it ends the job; at once after kill.
func (f *slurmFollower) follow(ctx context.Context, kill <-chan struct{}) error {
	said := &processLog{path: filepath.Join(f.dir, slurm.LogFile)}
	first := &processLog{path: filepath.Join(f.dir, workerName(0)+slurm.LogEnding)}
	show := func(last bool) error {
		return errors.Join(said.print(legible{f.e.err}, last), first.print(legible{&unmarked{f.e.out}}, last))
	}
	state, err := f.until(ctx, kill, func() error { return show(false) })
	if err != nil {
		return err
	}
	if err := show(true); err != nil {
		return err
	}
	return f.end(ctx, state)
}

// unmarked leaves out the lines of the launch, which its own log has, too.
type unmarked struct{ w io.Writer }

// Write implements io.Writer. It gets whole lines.
func (u *unmarked) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("==== ")) {
		return len(p), nil
	}
	return u.w.Write(p)
}

// until asks for the job until it is over. It calls tick several times a second.
func (f *slurmFollower) until(ctx context.Context, kill <-chan struct{}, tick func() error) (state slurm.State, err error) {
	within := context.WithoutCancel(ctx)
	told, over := ctx.Done(), 0
	pause, next := slurmLook, time.Now()
	var ended time.Time
	for {
		if code, is := slurm.Ended(f.dir); is && ended.IsZero() {
			ended, pause, next = time.Now(), logLook, time.Now()
		} else if is && time.Since(ended) > slurmPatience {
			return slurm.State{Phase: "FAILED", Code: code}, nil
		}
		if !time.Now().Before(next) {
			state, err = f.s.Look(within, f.r.ID)
			if over, err = f.heard(state, err, over); err != nil || over > 1 { // one that is queued again may look as if it were over
				return state, err
			}
			if next = time.Now().Add(pause); ended.IsZero() {
				pause = min(pause*5/4, slurmLookMost)
			}
		}
		if err := tick(); err != nil {
			return state, err
		}
		select {
		case <-told:
			told, pause, next = nil, slurmLook, time.Now()
			fmt.Fprintf(f.e.err, "job %s is cancelled\n", f.r.ID)
			if err := f.s.Cancel(within, f.r.ID, false); err != nil {
				return state, err
			}
		case <-kill:
			kill = nil
			if err := f.s.Cancel(within, f.r.ID, true); err != nil {
				return state, err
			}
		case <-time.After(logLook):
		}
	}
}

// heard says how the job is, if that is new. over is how often in a row it was over.
func (f *slurmFollower) heard(state slurm.State, err error, over int) (int, error) {
	if errors.Is(err, slurm.ErrUnknown) || errors.Is(err, slurm.ErrNoSlurm) {
		return 0, err
	}
	if err != nil { // a controller that is started again is back soon
		if !f.away {
			fmt.Fprintln(f.e.err, escaped(err.Error()+"; asks again"))
		}
		f.away = true
		return over, nil
	}
	f.away = false
	if _, is := state.Over(); is {
		return over + 1, nil
	}
	if text := state.String(); text != f.said {
		f.said = text
		fmt.Fprintf(f.e.err, "job %s is %s\n", f.r.ID, escaped(text))
	}
	return 0, nil
}

// end is the end of the job as an error, nil for a good one.
func (f *slurmFollower) end(ctx context.Context, state slurm.State) error {
	code, _ := state.Over()
	switch name, how := slurm.Failed(f.dir); {
	case code == 0:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case state.Phase == "FAILED" && name != "":
		return exitStatus{fmt.Errorf("%s %s (its output: %s)%s", name, how, filepath.Join(f.dir, name+slurm.LogEnding), f.lastWords(name)), code}
	case code == exitTemporary:
		return exitStatus{fmt.Errorf("job %s is %s; the same command goes on from the last checkpoint if it writes some", f.r.ID, state), code}
	}
	return exitStatus{fmt.Errorf("job %s is %s (see %s)", f.r.ID, state, filepath.Join(f.dir, slurm.LogFile)), code}
}

// lastWords is what a process said last, if that was an error.
func (f *slurmFollower) lastWords(name string) string {
	var b bytes.Buffer
	one := &processLog{path: filepath.Join(f.dir, name+slurm.LogEnding)}
	if one.print(&b, true) != nil {
		return ""
	}
	for _, line := range slices.Backward(strings.Split(b.String(), "\n")) {
		if text, is := strings.CutPrefix(line, "thole: "); is {
			return ": " + text
		}
	}
	return ""
}

// slurmKeeper looks after jobs of Slurm.
type slurmKeeper struct{}

func (slurmKeeper) flags(*cobra.Command) {}

// open is the launch whose folder the arguments name.
func (slurmKeeper) open(args []string) (dir string, r *slurm.Record, err error) {
	if dir, err = oneDir(args); err != nil {
		return "", nil, err
	}
	r, err = slurm.Open(dir)
	return dir, r, err
}

// slurmStatus is a launch in JSON.
type slurmStatus struct {
	Dir string `json:"dir"`
	*slurm.Record
	Slurm     *slurm.State    `json:"slurm"` // null: Slurm does not know the job any more
	Code      *int            `json:"code"`  // status with which the job has ended; null: it has not
	Processes []slurm.Process `json:"processes"`
	Job       *jobProgress    `json:"job"` // null: the training has not begun
}

func (k slurmKeeper) status(ctx context.Context, e *env, args []string, asJSON bool) error {
	dir, r, err := k.open(args)
	if err != nil {
		return err
	}
	progress, err := progressOf(&local.Record{Folder: r.Folder, Progress: r.Progress})
	if err != nil {
		return err
	}
	all := slurmStatus{Dir: dir, Record: r, Processes: r.Processes(dir), Job: progress}
	switch state, err := (&slurm.Slurm{}).Look(ctx, r.ID); {
	case err == nil:
		all.Slurm = &state
		if code, over := state.Over(); over {
			all.Code = &code
		}
	case errors.Is(err, slurm.ErrUnknown):
		if code, is := slurm.Ended(dir); is {
			all.Code = &code
		}
	default:
		return err
	}
	if asJSON {
		return writeJSON(e.out, all)
	}
	all.print(legible{e.out}, e.now())
	return nil
}

// print says it for people.
func (s *slurmStatus) print(out io.Writer, now time.Time) {
	switch {
	case s.Slurm != nil:
		fmt.Fprintf(out, "%s: job %s is %s\n", s.Dir, s.ID, s.Slurm)
	case s.Code != nil:
		fmt.Fprintf(out, "%s: job %s has ended with status %d\n", s.Dir, s.ID, *s.Code)
	default:
		fmt.Fprintf(out, "%s: job %s has ended, and did not say how\n", s.Dir, s.ID)
	}
	fmt.Fprintf(out, "command   %s\n", strings.Join(quoted(s.Command), " "))
	if name, how := slurm.Failed(s.Dir); name != "" {
		fmt.Fprintf(out, "error     %s %s\n", name, how)
	}
	fmt.Fprintf(out, "job       %s\n\n", s.Job.text())
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  process\tnode\tpid\tphase\tup for\trestarts\tlast exit")
	running := s.Slurm != nil && s.Slurm.Phase == "RUNNING"
	for _, p := range s.Processes {
		pid, up, phase := "-", "-", p.Phase
		switch {
		case p.Phase == "running" && running:
			pid, up = fmt.Sprint(p.Pid), now.Sub(p.Since).Round(time.Second).String()
		case p.Phase == "running": // it was when Slurm ended it
			phase = "ended"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%d\t%s\n", p.Name, orDash(p.Node), pid, phase, up, p.Restarts, orDash(p.LastExit))
	}
	t.Flush()
}

func (k slurmKeeper) logs(ctx context.Context, e *env, args []string, follow bool) error {
	dir, r, err := k.open(args)
	if err != nil {
		return err
	}
	names := append([]string{scriptLog}, r.Names()...)
	if len(args) > 1 {
		if !slices.Contains(names, args[1]) {
			return usageError{spell.Unknown("process", args[1], names)}
		}
		names = args[1:]
	}
	var all []*processLog
	for _, name := range names {
		one := &processLog{path: filepath.Join(dir, name+slurm.LogEnding)}
		if len(names) > 1 {
			one.prefix = name + " | "
		}
		all = append(all, one)
	}
	show := func(last bool) error {
		for _, one := range all {
			if err := one.print(legible{e.out}, last); err != nil {
				return err
			}
		}
		return nil
	}
	if follow {
		quiet := &slurmFollower{s: &slurm.Slurm{}, r: r, dir: dir, e: e.silent()}
		if err := quiet.watch(ctx, func() error { return show(false) }); err != nil {
			return err
		}
	}
	return show(true)
}

// scriptLog is the log of the script, as a process is named.
const scriptLog = "slurm"

// watch calls tick until the job is over or ctx ends, which is how following ends.
func (f *slurmFollower) watch(ctx context.Context, tick func() error) error {
	var looked time.Time
	for over := 0; over < 2; {
		if time.Since(looked) > slurmLook {
			looked = time.Now()
			state, err := f.s.Look(ctx, f.r.ID)
			if ctx.Err() != nil || errors.Is(err, slurm.ErrUnknown) {
				return nil
			}
			if over, err = f.heard(state, err, over); err != nil {
				return err
			}
		}
		if err := tick(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logLook):
		}
	}
	return nil
}

func (k slurmKeeper) stop(ctx context.Context, e *env, args []string) error {
	dir, r, err := k.open(args)
	if err != nil {
		return err
	}
	f := &slurmFollower{s: &slurm.Slurm{}, r: r, dir: dir, e: e.silent()}
	state, err := f.s.Look(ctx, r.ID)
	if _, over := state.Over(); over || errors.Is(err, slurm.ErrUnknown) {
		_, err := fmt.Fprintf(e.out, "%s: job %s has ended before\n", dir, r.ID)
		return err
	}
	if err == nil {
		err = f.s.Cancel(ctx, r.ID, false)
	}
	if err != nil {
		return err
	}
	if err := f.watch(ctx, func() error { return nil }); err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	_, err = fmt.Fprintf(e.out, "%s: job %s is cancelled\n", dir, r.ID)
	return err
}
