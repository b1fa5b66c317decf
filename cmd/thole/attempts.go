package main

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	attempt int              // this one, from 1 on; 0: the job has no attempts
	first   int              // the one with which the training began, as far as this process knows
	met     bool             // all tasks had joined it
	written int              // checkpoints of this process
	resumed bool             // it has gone on from one
	damaged map[string]error // checkpoints that cannot be used, by their paths
	where   whereabouts      // the servers
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
	ctx, stop := c.watch(ctx)
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
	var since time.Time // when attempts began to fail before all tasks had joined
	pause := firstAttemptPause
	for fruitless := 1; ; fruitless++ {
		written := p.written
		p.met, w.anew = false, true
		report, err := p.once(ctx, c, w, run)
		later, isLater := errors.AsType[*ps.LaterAttempt](err)
		number, isUnfit := errors.AsType[*unfit](err)
		switch {
		case ctx.Err() != nil && (p.written > 0 || p.resumed) && p.forest == nil: // trees say it themselves
			w.bar.line("%s: the same command goes on from the last checkpoint there", p.checkpoint)
			return report, err
		case err == nil || ctx.Err() != nil:
			return report, err
		case isLater:
			if p.attempt = later.Attempt; p.giveUp > 0 { // it may have waited for that
				since = time.Time{}
			}
		case taken(err):
		case p.left(err):
			fruitless, pause = 0, firstAttemptPause
			continue
		case isUnfit:
			p.first, p.attempt = number.attempt, number.attempt
			continue
		case again(err):
			p.attempt++
		default:
			return nil, err
		}
		switch {
		case p.written > written:
			fruitless = 0
		case !p.met: // --wait says how long that may go on
			fruitless--
		}
		switch {
		case p.met:
			since, pause = time.Time{}, firstAttemptPause
		case since.IsZero():
			since = time.Now()
		}
		switch {
		case fruitless >= fruitlessLimit:
			return nil, fmt.Errorf("%w; %d attempts in a row ended without a new checkpoint", err, fruitless)
		case !since.IsZero() && taken(err) && time.Since(since) > takenLimit:
			return nil, err
		case !since.IsZero() && p.wait > 0 && time.Since(since) > p.wait:
			return nil, fmt.Errorf("%w; the job did not begin again within %v (--wait is how long to wait)", err, p.wait)
		}
		if p.wentElsewhere(ctx, w) {
			pause = firstAttemptPause
			continue
		}
		w.again(err, p.attempt, isLater)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, lastAttemptPause)
	}
}

// again says that a process begins another attempt: why, unless others have begun it, or it was said before.
func (w *watcher) again(why error, attempt int, others bool) {
	text := fmt.Sprintf("%v; goes back to the last checkpoint", why)
	if errors.Is(why, train.ErrOthers) {
		text = fmt.Sprintf("%v: attempt %d of the job begins", why, attempt)
	}
	if taken(why) {
		text = fmt.Sprintf("%v; waits for %v whether it has ended", why, takenLimit)
	}
	if others {
		text = fmt.Sprintf("attempt %d of the job has begun; goes back to the last checkpoint", attempt)
	}
	if text != w.why {
		w.why = text
		w.bar.line("%s", text)
	}
}

// left reports whether the attempt ended because the job goes on on other servers, where the next one begins.
func (p *plan) left(err error) bool {
	_, is := errors.AsType[*goneTo](err)
	if is {
		p.attempt++
	}
	return is
}
