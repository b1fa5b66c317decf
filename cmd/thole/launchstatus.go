package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"thole.example/internal/number"
	"thole.example/launch/local"
	"thole.example/runlog"
)

func launchStatusCommand(e *env) *cobra.Command {
	asJSON := false
	var k keepers
	c := &cobra.Command{
		Use:   "status [DIR]",
		Short: "Show the processes of a launch, and how far its training is",
		Long: `Shows whether the launch of a folder goes on, each of its processes with how often it was started again and how it ended last, and
the progress of the training. Without DIR it is the newest launch in the folder of runs. A launch on Kubernetes has a --name in place
of a folder: its pods are shown, and what to do about those that do not run.`,
		Example: "  thole launch status\n  thole launch status jobs/clicks --json\n  thole launch status --on kubernetes --name clicks",
		RunE: func(c *cobra.Command, args []string) error {
			place, err := k.of(c, args)
			if err != nil {
				return err
			}
			return place.status(c.Context(), e, args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	k.flags(c)
	return c
}

// localKeeper looks after the launches of this machine.
type localKeeper struct{ runs string }

func (k *localKeeper) flags(c *cobra.Command) {
	if c.Name() == "status" { // the others want a folder
		c.Flags().StringVar(&k.runs, "runs", "", "folder of the runs (default: the variable "+runsVariable+", else "+runsFolder+")")
	}
}

func (k *localKeeper) status(ctx context.Context, e *env, args []string, asJSON bool) error {
	dir, err := launchDir(args, k.runs)
	if err != nil {
		return err
	}
	r, err := local.Open(dir)
	if err != nil {
		return err
	}
	if r.On != "" && r.On != launchers()[0].name { // the newest one is elsewhere
		place, err := launcherOf(r.On, nil)
		if err != nil {
			return err
		}
		return place.keeper().status(ctx, e, []string{dir}, asJSON)
	}
	p, err := progressOf(r)
	if err != nil {
		return err
	}
	if !asJSON {
		printLaunch(legible{e.out}, dir, r, p, e.now())
		return nil
	}
	return writeJSON(e.out, launchStatus{dir, r, p})
}

// launchDir is the folder that the arguments name, or that of the newest launch in the folder of runs.
func launchDir(args []string, runs string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	root := runsAt(runs)
	all, err := filepath.Glob(filepath.Join(root, "*"+launchEnding, local.RecordFile))
	if err != nil {
		return "", err
	}
	newest, began := "", time.Time{}
	for _, file := range all {
		dir := filepath.Dir(file)
		if r, err := local.Open(dir); err == nil && !r.Began.Before(began) {
			newest, began = dir, r.Began
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no launch in %s: want the folder that thole launch has printed", root)
	}
	return newest, nil
}

// launchStatus is a launch in JSON.
type launchStatus struct {
	Dir string `json:"dir"`
	*local.Record
	Job *jobProgress `json:"job"` // null: the training has not begun
}

// jobProgress is how far a training is.
type jobProgress struct {
	Start *runlog.Start `json:"start,omitempty"`
	Epoch *runlog.Epoch `json:"epoch,omitempty"` // the last one
	End   *runlog.End   `json:"end,omitempty"`
}

// progressMost is how much of a log is read, from its end.
const progressMost = 1 << 20

// progressOf reads the progress of a launch; nil: there is none yet.
func progressOf(r *local.Record) (*jobProgress, error) {
	path := r.Progress
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Folder, path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &jobProgress{}
	first := make([]byte, min(info.Size(), progressMost))
	last := make([]byte, len(first))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if _, err := f.ReadAt(last, info.Size()-int64(len(last))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	p.take(first)
	p.take(last)
	if *p == (jobProgress{}) {
		return nil, nil
	}
	return p, nil
}

// take takes the events of some lines; others, and halves of lines, are left out.
func (p *jobProgress) take(lines []byte) {
	for line := range bytes.Lines(lines) {
		var kind struct {
			Event string `json:"event"`
		}
		if json.Unmarshal(line, &kind) != nil {
			continue
		}
		switch kind.Event {
		case "start":
			if v := new(runlog.Start); json.Unmarshal(line, v) == nil {
				p.Start, p.End = v, nil
			}
		case "epoch":
			if v := new(runlog.Epoch); json.Unmarshal(line, v) == nil {
				p.Epoch = v
			}
		case "end":
			if v := new(runlog.End); json.Unmarshal(line, v) == nil {
				p.End = v
			}
		}
	}
}

// text says it for people.
func (p *jobProgress) text() string {
	switch {
	case p == nil:
		return "the training has not begun"
	case p.End != nil:
		return fmt.Sprintf("ended after epoch %d", p.End.Epochs)
	case p.Epoch == nil:
		return "the first epoch goes on"
	}
	text := fmt.Sprintf("epoch %d", p.Epoch.Epoch)
	if p.Start != nil {
		text += fmt.Sprintf("/%d", p.Start.Epochs)
	}
	text += fmt.Sprintf("  loss %.5f", float64(p.Epoch.Loss))
	for _, v := range p.Epoch.Valid {
		text += fmt.Sprintf("  %s %.5g", v.Name, float64(v.Value))
	}
	return text
}

func printLaunch(out io.Writer, dir string, r *local.Record, p *jobProgress, now time.Time) {
	over := now
	if !r.Ended.IsZero() {
		over = r.Ended
	}
	fmt.Fprintf(out, "%s: %s", dir, r.State)
	switch r.State {
	case local.Going:
		fmt.Fprintf(out, " for %v, process %d on %s\n", over.Sub(r.Began).Round(time.Second), r.Pid, r.Host)
	case local.Dead:
		fmt.Fprintf(out, ": process %d is gone, and did not say how it ended\n", r.Pid)
	default:
		fmt.Fprintf(out, " after %v\n", over.Sub(r.Began).Round(time.Second))
	}
	fmt.Fprintf(out, "command   %s\n", strings.Join(quoted(r.Command), " "))
	if r.Error != "" {
		fmt.Fprintf(out, "error     %s\n", r.Error)
	}
	if o := r.Order; o != nil && !o.Done {
		fmt.Fprintf(out, "scaling   %s\n", scalingText(o))
	}
	fmt.Fprintf(out, "job       %s\n\n", p.text())
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  process\tpid\tphase\tup for\trestarts\tlast exit\taddress")
	for _, s := range r.Processes {
		pid, up := "-", "-"
		if s.Pid > 0 && (r.State == local.Going || r.State == local.Dead) {
			pid, up = fmt.Sprint(s.Pid), now.Sub(s.Since).Round(time.Second).String()
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%d\t%s\t%s\n", s.Name, pid, s.Phase, up, s.Restarts, orDash(s.LastExit), orDash(s.Address))
	}
	t.Flush()
}

// scalingText says to how many processes a launch is being scaled, and how far that is.
func scalingText(o *local.Answer) string {
	var words []string
	if o.Servers > 0 {
		words = append(words, number.Of(o.Servers, "server"))
	}
	if o.Workers > 0 {
		words = append(words, number.Of(o.Workers, "worker"))
	}
	text := "to " + strings.Join(words, " and ")
	if n := len(o.Said); n > 0 {
		text += ": " + o.Said[n-1]
	}
	return text
}

func launchStopCommand(e *env) *cobra.Command {
	var k keepers
	c := &cobra.Command{
		Use:   "stop [DIR]",
		Short: "End a launch and all its processes",
		Long: `Ends the launch of a folder, as Ctrl-C would, and waits until none of its processes is left. Only processes that it started are
ended: one that has the number of one that is gone is another. Of a launch on Kubernetes all objects are removed, and the leases of its
servers; what it has saved stays.`,
		Example: "  thole launch stop jobs/clicks\n  thole launch stop --on kubernetes --namespace models --name clicks",
		RunE: func(c *cobra.Command, args []string) error {
			place, err := k.of(c, args)
			if err != nil {
				return err
			}
			return place.stop(c.Context(), e, args)
		},
	}
	k.flags(c)
	return c
}

// oneDir is the folder of a launch that a command wants.
func oneDir(args []string) (string, error) {
	if len(args) == 0 {
		return "", usageError{errors.New("no DIR, want the folder of a launch")}
	}
	return args[0], nil
}

func (k *localKeeper) stop(ctx context.Context, e *env, args []string) error {
	dir, err := oneDir(args)
	if err != nil {
		return err
	}
	before, err := local.Open(dir)
	if err != nil {
		return err
	}
	if err := local.Stop(ctx, dir); err != nil {
		return err
	}
	if before.State == local.Going {
		_, err = fmt.Fprintf(e.out, "%s: stopped\n", dir)
	} else {
		_, err = fmt.Fprintf(e.out, "%s: %s before\n", dir, before.State)
	}
	return err
}
