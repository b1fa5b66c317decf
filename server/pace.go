package server

import (
	"context"
	"time"
)

// pace keeps snapshots on their way out from slowing down those who train: while the clock of the job goes on they take their part of the
// time alone, and else as much as they can. That a processor is idle says little: two of them may be one core, and all share memory.
type pace struct {
	begun time.Time
	least float64        // seconds that a byte took when nothing else did
	clock int32          // of the job
	moved time.Time      // when that went on; zero: it has not yet
	owed  time.Duration  // pause; below 0: it was more than was owed, as others had the processors
	yield func(yes bool) // is told whether somebody trains; nil: nobody asks
	// haste is told how many bytes were written, and reports whether there is no time for a pause; nil: there is.
	haste func(bytes int) bool
}

const (
	// pacePart is which part of the time of a processor snapshots take while training goes on: 1 of so many.
	pacePart = 30
	// paceSystem is what a system and a processor take to put a MiB on a disk past what is kept of files, beside whoever made it.
	paceSystem = 200 * time.Microsecond
	// paceSteady is for how long nobody has to train until nobody is taken to.
	paceSteady = time.Second
	// pacePause is how long a pause is at least, and paceMore how much more than was owed counts for later ones: where all processors are busy
	// it takes some milliseconds to get one back.
	pacePause = 2 * time.Millisecond
	paceMore  = 10 * time.Millisecond
)

// newPace is before all work, at a clock of the job.
func newPace(clock int32) *pace { return &pace{clock: clock} }

// begin is before some work.
func (p *pace) begin() { p.begun = time.Now() }

// pause is after it, at a clock of the job, for as long as it is too early to begin again. Of the time that the work of so many bytes took,
// what it waited for a processor does not count.
func (p *pace) pause(ctx context.Context, bytes int, clock int32) {
	now := time.Now()
	each := now.Sub(p.begun).Seconds() / float64(max(1, bytes))
	if p.least == 0 || each < p.least {
		p.least = each
	}
	trains := p.trains(now, clock)
	if p.haste != nil && p.haste(bytes) {
		p.owed, trains = 0, false
	}
	if p.yield != nil {
		p.yield(trains)
	}
	if !trains {
		return
	}
	worked := time.Duration(min(each, 2*p.least) * float64(bytes) * float64(time.Second))
	worked += time.Duration(bytes) * paceSystem / (1 << 20)
	if p.owed += worked * (pacePart - 1); p.owed < pacePause {
		return
	}
	t := time.NewTimer(p.owed)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	p.owed = max(p.owed-time.Since(now), -paceMore)
}

// trains reports whether the clock has gone on of late.
func (p *pace) trains(now time.Time, clock int32) bool {
	if clock != p.clock {
		p.clock, p.moved = clock, now
	}
	return !p.moved.IsZero() && now.Sub(p.moved) < paceSteady
}
