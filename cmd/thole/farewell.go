package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"thole.example/ps"
	"thole.example/rpc"
)

// defaultGrace is how long a process that is asked to end waits for a checkpoint. Kubernetes kills 30 seconds after it has asked.
const defaultGrace = 25 * time.Second

// unfinished is the error of such a process.
type unfinished struct{ error }

// Unwrap gives the error without the mark.
func (e unfinished) Unwrap() error { return e.error }

// farewell is how a process that trains with --checkpoint ends when it is asked to: with a checkpoint, which the first task of its job
// writes, wherever that is. Its methods may be called by many goroutines; a nil one is of a process that just ends.
type farewell struct {
	grace time.Duration
	over  chan struct{} // closed when its work has ended, in whatever way

	mu     sync.Mutex
	order  func(context.Context) (string, error) // a checkpoint; nil: this process takes part in no attempt
	by     os.Signal                             // that asked; nil: none has
	path   string                                // of the checkpoint
	err    error                                 // why there is none of its own
	forced bool                                  // it was asked once more
	leaves bool                                  // its tasks have come to the end of the job, and end by themselves
}

// begun reports whether this process was asked to end.
func (f *farewell) begun() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by != nil
}

// while says how a checkpoint is ordered, until the end of an attempt.
func (f *farewell) while(order func(context.Context) (string, error)) (over func()) {
	if f == nil {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = order
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.order = nil
	}
}

// leaving says that the tasks of this process have come to the end of their job.
func (f *farewell) leaving() {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.leaves = true
	}
}

// say orders a checkpoint, and waits for it as long as grace; or for the end of the work, if that has come.
func (f *farewell) say() {
	f.mu.Lock()
	order := f.order
	f.mu.Unlock()
	if order == nil { // what there is to go on from is in the last one
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), f.grace, fmt.Errorf("it was not there after %v (--grace)", f.grace))
	defer cancel()
	path, err := order(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	f.mu.Lock()
	f.path, f.err = path, err
	leaves := f.leaves
	f.mu.Unlock()
	if leaves {
		select {
		case <-f.over:
		case <-ctx.Done():
		}
	}
}

// result is the error of a process that was asked to end, and has; its status says by what.
func (f *farewell) result() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := "ended as it was asked to"
	switch {
	case f.forced:
		text += ", at once"
	case f.path != "":
		text += ", with the checkpoint " + f.path
	case f.err != nil:
		text += fmt.Sprintf(", without a checkpoint of its own: %v", f.err)
	}
	code := exitTemporary
	if f.by == os.Interrupt {
		code = exitInterrupted
	}
	return exitStatus{unfinished{errors.New(text + "; started again it goes on")}, code}
}

// parting is the flag that says how long such a process takes.
type parting struct {
	grace    time.Duration
	farewell *farewell // nil: it just ends
}

func (p *parting) flags(f *pflag.FlagSet) {
	f.DurationVar(&p.grace, "grace", defaultGrace, "with --checkpoint: how long a process that is asked to end (SIGTERM, SIGUSR1, Ctrl-C) "+
		"waits for a checkpoint, with which it ends; asked once more it ends at once")
}

func (p *parting) check(checkpoint string) error {
	switch {
	case checkpoint == "" && p.grace != defaultGrace:
		return fmt.Errorf("--grace %v without --checkpoint, want the folder where checkpoints are written", p.grace)
	case p.grace < 0:
		return fmt.Errorf("--grace %v, want a time like 25s, or 0s to end without a checkpoint", p.grace)
	}
	return nil
}

// untilFarewell is ctx for a process that ends with a checkpoint, and what to call with the error of what it did. Asked once more it ends
// at once.
func (j *job) untilFarewell(ctx context.Context, e *env, say func(format string, args ...any)) (context.Context, func(error) error) {
	if j.checkpoint == "" || j.leave {
		return ctx, func(err error) error { return err }
	}
	f := &farewell{grace: j.grace, over: make(chan struct{})}
	j.farewell = f
	within, end := context.WithCancel(context.WithoutCancel(ctx))
	e.until(within)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, append(fatal(), userSignals()...)...)
	if ctx.Err() != nil { // it was asked before there was anything to keep
		end()
	}
	go func() {
		for {
			select {
			case <-f.over:
				return
			case s := <-signals:
				f.mu.Lock()
				f.forced = f.by != nil
				f.by = s
				forced := f.forced
				f.mu.Unlock()
				if forced {
					signal.Stop(signals) // the next one is the system's
					end()
					return
				}
				say("ends with a checkpoint; asked once more it ends at once")
				go func() { f.say(); end() }()
			}
		}
	}()
	return within, func(err error) error {
		signal.Stop(signals)
		close(f.over)
		if err == nil || within.Err() == nil {
			end()
			return err
		}
		return f.result()
	}
}

// orderCheckpoint orders a checkpoint of a job by any of its servers.
func orderCheckpoint(ctx context.Context, net rpc.Network, addrs []string, job string) (path string, err error) {
	for _, addr := range addrs {
		var m *rpc.Moved
		if m, err = ps.Move(ctx, net, addr, rpc.Move{Job: job, Checkpoint: true}); err == nil {
			return m.Checkpoint, nil
		}
		if !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrLost) {
			break
		}
	}
	return "", err
}
