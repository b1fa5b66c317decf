package blob

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// Outage is the time for which a store cannot be used, or does not answer, as all that use it at once see it. It reports an outage
// that lasts, repeats the report every Again, and reports its end. Any number of goroutines may call its methods. The zero value reports
// nothing.
type Outage struct {
	Store string            // such as s3://bucket
	Tell  func(text string) // is not called by two goroutines at once
	Quiet time.Duration     // for so long nothing is reported
	Again time.Duration     // after which an outage that lasts is reported again; 0: half a minute

	mu     sync.Mutex
	since  time.Time
	told   bool
	last   time.Time // when it was reported last
	silent int       // requests without an answer that were reported
}

func (o *Outage) again() time.Duration { return cmp.Or(o.Again, 30*time.Second) }

// report reports an outage, unless it was reported a moment ago.
func (o *Outage) report(now time.Time, format string, args ...any) {
	if o.Tell == nil || o.told && now.Sub(o.last) < o.again() {
		return
	}
	o.told, o.last = true, now
	o.Tell(o.Store + ": " + fmt.Sprintf(format, args...))
}

// Failed says that an attempt failed now for a reason, that the next one is made after a wait, and for how long it continues so at most. It
// answers how long the store has been unavailable.
func (o *Outage) Failed(now time.Time, reason string, wait, most time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = now
	}
	away := now.Sub(o.since)
	if away+wait >= o.Quiet {
		o.report(now, "%s; tries again for at most %v", reason, max(most, time.Second).Round(time.Second))
	}
	return away
}

// Over says that the store does what it is asked to, or that nothing asks any more.
func (o *Outage) Over(answers bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over(answers)
}

func (o *Outage) over(answers bool) {
	if o.since = (time.Time{}); !answers || o.silent > 0 {
		return
	}
	if o.told {
		o.Tell(o.Store + " answers again")
	}
	o.told = false
}

// Wait is a request, or a read of an answer, that waits for the store.
type Wait struct {
	of    *Outage
	limit time.Duration

	mu    sync.Mutex
	timer *time.Timer
	since time.Time // when something moved last; zero: nothing is waited for
	told  bool
}

// Watch watches waits that end after a limit at most.
func (o *Outage) Watch(limit time.Duration) *Wait { return &Wait{of: o, limit: limit} }

// Begin says that something is waited for from now on. A wait that begins has to end.
func (w *Wait) Begin() {
	if w.of.Tell == nil || w.of.Quiet <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.of.Quiet, w.late)
	} else {
		w.timer.Reset(w.of.Quiet)
	}
}

// late reports the wait if nothing has moved meanwhile.
func (w *Wait) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	now := time.Now()
	quiet := now.Sub(w.since)
	if quiet < w.of.Quiet {
		w.timer.Reset(w.of.Quiet - quiet)
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if !w.told {
		w.told = true
		w.of.silent++
	}
	w.of.report(now, "no answer to a request for %v; waits for at most %v more", quiet.Round(w.of.Quiet),
		max(w.limit-quiet, time.Second).Round(time.Second))
	w.timer.Reset(w.of.again())
}

// Moved says that the store took or gave something.
func (w *Wait) Moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		w.since = time.Now()
	}
	w.answered(true)
}

// End says that what was waited for is there, or has failed.
func (w *Wait) End(moved bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	w.since = time.Time{}
	w.timer.Stop()
	w.answered(moved)
}

func (w *Wait) answered(moved bool) {
	if !w.told {
		return
	}
	w.told = false
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.silent--; moved {
		w.of.over(true)
	}
}
