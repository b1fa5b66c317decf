package main

import (
	"context"
	"errors"
	"slices"

	"thole.example/coord"
	"thole.example/rpc"
	"thole.example/state"
)

// catalogue is what a store says of the checkpoints of a training. What is written counts once it is committed there, which an attempt
// cannot that was replaced.
type catalogue struct {
	from    *registry // nil: whatever is written counts
	job     string
	attempt int
	before  coord.Job // as it was when the attempt began
	say     func(format string, args ...any)

	owed       *coord.Checkpoint // that was written last, and is to be committed
	committing chan error        // gets the end of a commit; nil: none is under way
	failed     bool              // it was said that one could not be committed
}

// enter begins the attempt in the catalogue, if there is one.
func (s *taskCheckpoints) enter(ctx context.Context, c *cluster) (err error) {
	if c.from == nil || s.p.attempt == 0 {
		return nil
	}
	k := &s.catalogue
	*k = catalogue{from: c.from, job: s.p.name, attempt: s.p.attempt, say: s.say}
	k.before, err = c.begin(ctx, s.p, s.client)
	return err
}

// keep is how many checkpoints stay: also the last one that was committed, while the next is not.
func (k *catalogue) keep(n int) int {
	if k.from == nil {
		return n
	}
	return max(2, n)
}

// counted is those of a training's checkpoints, by their steps, that it may go on from: up to the one that was committed last, and later
// ones of the attempt that ran last, which may have ended before it could commit them. Others are of attempts that were replaced while they
// wrote: what they hold is not what was gone on from.
func (k *catalogue) counted(all []state.Entry) []state.Entry {
	c := k.before.Checkpoint
	if c == nil {
		return all
	}
	last := slices.IndexFunc(all, func(e state.Entry) bool { return e.Err == nil && e.Path == c.Path && e.Head.ID == c.ID })
	if last < 0 {
		return all // it is of another folder, or somebody has removed it
	}
	out := slices.Clone(all[:last+1])
	for _, e := range all[last+1:] {
		if e.Err == nil && e.Head.Moment.Attempt == k.before.Attempt {
			out = append(out, e)
		} else {
			k.say("%s does not count: %s was committed last", e.Path, c.Path)
		}
	}
	return out
}

// wrote has a checkpoint committed while the training goes on.
func (k *catalogue) wrote(e *state.Entry, steps int) {
	if k.from != nil {
		k.owed = &coord.Checkpoint{Path: e.Path, ID: e.Head.ID, Step: int64(steps), Attempt: k.attempt}
	}
}

// goOn goes on with what is to be committed, and with wait until that is done. The error is that the attempt was replaced; a store that
// does not answer is told of.
func (k *catalogue) goOn(ctx context.Context, wait bool) error {
	for k.committing != nil || k.owed != nil {
		if k.committing == nil {
			k.start(ctx)
		}
		done, err := k.ended(ctx, wait)
		if !done || errors.Is(err, rpc.ErrAborted) {
			return err
		}
		if err != nil && !k.failed {
			k.say("a checkpoint was written and could not be committed: %v; training continues", err)
		}
		k.failed = err != nil
	}
	return nil
}

func (k *catalogue) start(ctx context.Context) {
	c, end := *k.owed, make(chan error, 1)
	k.owed, k.committing = nil, end
	go func() { end <- k.from.commit(ctx, k.job, c) }()
}

// ended reports whether the commit that is under way has ended, and how.
func (k *catalogue) ended(ctx context.Context, wait bool) (done bool, err error) {
	if !wait {
		select {
		case err = <-k.committing:
		default:
			return false, nil
		}
	} else {
		select {
		case err = <-k.committing:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	k.committing = nil
	return true, err
}
