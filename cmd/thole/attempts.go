package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/train"
)

// A job that writes checkpoints has attempts, counted from 1. When a server or a task of it is lost, every process gives up its attempt
// and comes back with the next one, which begins with the last checkpoint: under BSP what comes out has the same bits as if nothing had
// happened. Servers refuse the tasks of earlier attempts, whenever those wake up.

// fruitlessLimit is how many attempts in a row may end without a new checkpoint: what fails again and again at one place is no accident.
const fruitlessLimit = 100

// Pauses before a process comes back, while what was lost may be starting again.
const (
	firstAttemptPause = 100 * time.Millisecond
	lastAttemptPause  = 2 * time.Second
)

// recovery is what a process knows of the attempts of its job.
type recovery struct {
	attempt int  // this one, from 1 on; 0: the job has no attempts
	first   int  // the one with which the training began, as far as this process knows
	met     bool // all tasks had joined it
	// completed says that the job came to its end before this process started: if others do not join there is nothing left to do.
	completed bool
	written   int              // checkpoints of this process
	resumed   bool             // it has gone on from one
	damaged   map[string]error // checkpoints that cannot be used, by their paths
	where     whereabouts      // the servers
}

// spoil says that a checkpoint cannot be used.
func (r *recovery) spoil(path string, why error) {
	if r.damaged == nil {
		r.damaged = map[string]error{}
	}
	r.damaged[path] = why
}

// takenLimit is how long a process tries to get the place of another that may have ended just now: a machine that is gone is found out
// by its silence, after ten seconds.
const takenLimit = 20 * time.Second

// taken reports whether another process is where this one would be.
func taken(err error) bool {
	_, is := errors.AsType[*ps.Taken](err)
	return is
}

// again reports whether the next attempt may do better.
func again(err error) bool {
	_, moved := errors.AsType[*goneTo](err)
	_, number := errors.AsType[*unfit](err)
	_, away := errors.AsType[*storeError](err)
	return moved || ps.Recoverable(err) || errors.Is(err, errDamaged) || errors.Is(err, train.ErrAmid) ||
		errors.Is(err, train.ErrOthers) || number || away
}

// patienceFor is how long the servers keep the place of a process that is gone.
func (p *plan) patienceFor() time.Duration {
	if p.wait == 0 {
		return time.Hour
	}
	return p.wait
}

// once makes an attempt, on the servers that there are now.
func (p *plan) once(ctx context.Context, c *cluster, w *watcher, run runner) (*train.Report, error) {
	if err := c.locate(ctx, p, w); err != nil {
		return nil, err
	}
	ctx, stop := c.watch(ctx, p)
	defer stop()
	return run(ctx)
}

// runner runs the tasks of the process.
type runner func(ctx context.Context) (*train.Report, error)

// attempts makes attempts until one comes to its end.
func (p *plan) attempts(ctx context.Context, c *cluster, w *watcher, run runner) (report *train.Report, err error) {
	if p.checkpoint == "" || p.forest != nil && p.later == nil {
		return p.once(ctx, c, w, run)
	}
	if p.first, err = c.firstAttempt(ctx, p, w); err != nil {
		return nil, err
	}
	p.attempt = p.first
	f := failures{pause: firstAttemptPause}
	for {
		written := p.written
		p.met, w.anew = false, true
		report, err := p.once(ctx, c, w, run)
		if err == nil {
			return report, nil
		}
		if ctx.Err() != nil {
			if (p.written > 0 || p.resumed) && p.forest == nil { // trees say it themselves
				w.bar.line("%s: the same command goes on from the last checkpoint there", p.checkpoint)
			}
			return report, err
		}
		next, kind := p.next(err)
		if kind == endHopeless {
			return nil, err
		}
		if p.attempt = next; kind == endOutnumbered {
			p.first = next
			continue
		}
		if kind == endMoved {
			f.fruitless, f.pause = 0, firstAttemptPause
			continue
		}
		if err := f.add(p, err, p.written > written); err != nil {
			return nil, err
		}
		if p.wentElsewhere(ctx, w) {
			f.pause = firstAttemptPause
			continue
		}
		w.again(err, p.attempt)
		if err := f.sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// ending is how an attempt can end before the training does.
type ending int

const (
	endHopeless    ending = iota // another attempt would end so, too
	endFailed                    // for something that may be over by the next one
	endMoved                     // nothing has failed: the job goes on on other servers
	endOutnumbered               // before it began: there were attempts with higher numbers
)

// next is the number of the attempt after one that ended with an error.
func (p *plan) next(err error) (attempt int, how ending) {
	if later, ok := errors.AsType[*ps.LaterAttempt](err); ok {
		return later.Attempt, endFailed
	}
	if number, ok := errors.AsType[*unfit](err); ok {
		return number.attempt, endOutnumbered
	}
	_, gone := errors.AsType[*goneTo](err)
	_, moved := errors.AsType[*ps.Moved](err)
	switch {
	case taken(err), moved: // by a process that may have ended; elsewhere the attempt may be this one
		return p.attempt, endFailed
	case gone:
		return p.attempt + 1, endMoved
	case again(err):
		return p.attempt + 1, endFailed
	}
	return p.attempt, endHopeless
}

// failures are the attempts of a process that failed.
type failures struct {
	fruitless int           // in a row, without a new checkpoint, though all tasks had joined
	since     time.Time     // when they began to fail before all tasks had joined; zero: the last one did not
	pause     time.Duration // before the next attempt
}

// add counts an attempt that failed with why, in which this process has written a checkpoint or not. The error is that it was the last one.
func (f *failures) add(p *plan, why error, wrote bool) error {
	if _, later := errors.AsType[*ps.LaterAttempt](why); later && p.giveUp > 0 { // it may have waited for that
		f.since, f.pause = time.Time{}, firstAttemptPause // in that one the others go on without it before long
	}
	away := errors.Is(why, blob.ErrUnavailable) // a store is waited for as servers and tasks are
	switch {
	case wrote:
		f.fruitless = 0
	case p.met && !away: // else --wait says how long that may last
		f.fruitless++
	}
	switch {
	case wrote || p.met && !away:
		f.since, f.pause = time.Time{}, firstAttemptPause
	case f.since.IsZero():
		f.since = time.Now()
	}
	if taken(why) { // by one that may be about to end: who is first there loses no time
		f.pause = firstAttemptPause
	}
	switch {
	case f.fruitless >= fruitlessLimit:
		return fmt.Errorf("%w; %d attempts in a row ended without a new checkpoint", why, f.fruitless)
	case f.since.IsZero():
		return nil
	case taken(why) && time.Since(f.since) > takenLimit:
		return why
	case p.waitFor() > 0 && time.Since(f.since) > p.waitFor():
		return fmt.Errorf("%w; the job did not begin again within %v (--wait is how long to wait)", why, p.waitFor())
	}
	return nil
}

// waitFor is how long the process waits for others and for stores; 0: as long as it takes.
func (p *plan) waitFor() time.Duration {
	if p.wait == 0 && p.command != nil && p.command.Flags().Lookup("wait") == nil {
		return defaultWait
	}
	return p.wait
}

// sleep lets the pause go by, and makes the next one longer.
func (f *failures) sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(f.pause):
	}
	f.pause = min(2*f.pause, lastAttemptPause)
	return nil
}

// again says that a process begins another attempt: why, unless others have begun it, or it was said before.
func (w *watcher) again(why error, attempt int) {
	text := fmt.Sprintf("%v; goes back to the last checkpoint", why)
	later, is := errors.AsType[*ps.LaterAttempt](why)
	switch {
	case is && later.Without:
		text = fmt.Sprintf("the others have gone on without this process; it waits for attempt %d of the job", attempt)
	case is:
		text = fmt.Sprintf("attempt %d of the job has begun; goes back to the last checkpoint", attempt)
	case taken(why):
		text = fmt.Sprintf("%v; waits for %v whether it has ended", why, takenLimit)
	case errors.Is(why, train.ErrOthers):
		text = fmt.Sprintf("%v: attempt %d of the job begins", why, attempt)
	}
	if text != w.why {
		w.why = text
		w.bar.line("%s", text)
	}
}
