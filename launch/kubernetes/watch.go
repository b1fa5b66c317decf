package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"
)

// Failed is a launch whose workers have failed.
type Failed struct {
	Why string
	Pod string // that is to blame; "": none is known
	// Code is the exit code of its process; 0: it is not known.
	Code int
}

// Error implements error.
func (f *Failed) Error() string {
	if f.Pod == "" {
		return "kubernetes: " + f.Why
	}
	return fmt.Sprintf("kubernetes: %s ended with exit code %d: %s", f.Pod, f.Code, f.Why)
}

// Watcher tells what becomes of a launch.
type Watcher struct {
	Cluster *Cluster
	Name    string
	Out     io.Writer                        // of what worker 0 prints
	Say     func(format string, args ...any) // tells of pods; it may be called concurrently

	logs   map[string]chan struct{} // by uid of a pod; closed: its log was read to its end
	newest chan struct{}            // of the pod whose log was begun last
	mute   atomic.Bool              // logs cannot be read here
}

// usage is the exit code of a wrong command line, and of a panic: whoever starts the process again sees it again.
const usage = 2

// Watch tells of pods and prints what worker 0 does until the workers have ended. It answers with a *Failed if they have failed, or if a
// server's command line is wrong, with which it would be started again for ever. A cluster that does not answer for a while is told of, and
// asked again.
func (w *Watcher) Watch(ctx context.Context) error {
	w.logs = map[string]chan struct{}{}
	told, waits, trouble := map[string]string{}, "", ""
	for first := true; ; first = false {
		job, pods, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (first || errors.Is(err, ErrNone)):
			return err
		case err != nil: // the pods go on without it
			if err.Error() != trouble {
				trouble = err.Error()
				w.Say("%s; trying again", trouble)
			}
			select {
			case <-ctx.Done():
			case <-time.After(look):
			}
			continue
		}
		trouble = ""
		for _, line := range changes(pods, told) {
			w.Say("%s", line)
		}
		if job.Why != waits && !job.Failed {
			if waits = job.Why; waits != "" {
				w.Say("%s", waits)
			}
		}
		w.print(ctx, pods)
		if failed := blame(job, pods); failed != nil {
			w.finish(ctx)
			w.tail(ctx, pods, failed)
			return failed
		}
		if job.Done {
			w.finish(ctx)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(look, time.Duration(len(pods))*5*time.Millisecond)): // long lists are work for the cluster
		}
	}
}

// look asks for the state of a launch.
func (w *Watcher) look(ctx context.Context) (Job, []Pod, error) {
	job, err := w.Cluster.Job(ctx, w.Name) // before its pods, of which it knows the end
	if err != nil {
		return job, nil, err
	}
	pods, err := w.Cluster.Pods(ctx, w.Name)
	return job, pods, err
}

// blame says why a launch has failed; nil: it has not.
func blame(job Job, pods []Pod) *Failed {
	for _, p := range pods {
		if p.Component == server && p.ExitCode != nil && *p.ExitCode == usage {
			return &Failed{"it would be started again for ever", p.Name, usage}
		}
	}
	if !job.Failed {
		return nil
	}
	f := &Failed{Why: job.Why}
	for _, p := range pods {
		if p.Component == worker && p.ExitCode != nil && *p.ExitCode > 0 && (f.Code == 0 || *p.ExitCode == usage) {
			f.Pod, f.Code = p.Name, *p.ExitCode
		}
	}
	return f
}

// print begins to print the log of worker 0's pod, if it is new.
func (w *Watcher) print(ctx context.Context, pods []Pod) {
	for _, p := range slices.Backward(pods) { // the newest last one
		if p.Component != worker || p.Index != 0 || !p.started {
			continue
		}
		if w.logs[p.uid] == nil && !w.mute.Load() {
			before, done := w.newest, make(chan struct{})
			w.logs[p.uid], w.newest = done, done
			go func() {
				defer close(done)
				if before != nil {
					<-before
				}
				if err := w.Cluster.Log(ctx, p.Name, w.Out, true, 0); err != nil && ctx.Err() == nil && !w.mute.Swap(true) {
					w.Say("what %s prints cannot be read here, only the states of pods: %v", p.title(), err)
				}
			}()
		}
		return
	}
}

// logEnd is how long the rest of a log is waited for when its process has ended.
const logEnd = 5 * time.Second

// finish waits until logs are printed to their ends.
func (w *Watcher) finish(ctx context.Context) {
	end := time.After(logEnd)
	for _, done := range w.logs {
		select {
		case <-done:
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// tailLines is how much is printed of what a pod wrote that has failed.
const tailLines = 20

// tail prints the end of the log of the pod that is to blame, if it was not printed already.
func (w *Watcher) tail(ctx context.Context, pods []Pod, f *Failed) {
	i := slices.IndexFunc(pods, func(p Pod) bool { return p.Name == f.Pod })
	if i < 0 || w.logs[pods[i].uid] != nil {
		return
	}
	w.Say("the last lines of %s:", f.Pod)
	if err := w.Cluster.Log(ctx, f.Pod, w.Out, false, tailLines); err != nil {
		w.Say("they cannot be read here: %v", err)
	}
}
