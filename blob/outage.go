package blob

import (
	"fmt"
	"sync"
	"time"
)

// Outage is the time for which a store cannot be used, as all that use it at once see it. It tells of each that lasts, and of its end.
// Its methods may be called by many goroutines. The zero value tells nobody.
type Outage struct {
	Store string            // such as s3://bucket
	Tell  func(text string) // is not called by two goroutines at once
	Quiet time.Duration     // for so long nothing is told

	mu    sync.Mutex
	since time.Time
	told  bool
}

// Failed says that an attempt failed now for a reason, that the next one is made after a wait, and for how long it goes on so at most. It
// tells how long the store has been away.
func (o *Outage) Failed(now time.Time, reason string, wait, most time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = now
	}
	away := now.Sub(o.since)
	if away+wait >= o.Quiet && !o.told && o.Tell != nil {
		o.told = true
		o.Tell(fmt.Sprintf("%s: %s; tries again for at most %v", o.Store, reason, max(most, time.Second).Round(time.Second)))
	}
	return away
}

// Over says that the store does what it is asked to, or that nobody asks any more.
func (o *Outage) Over(answers bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since = (time.Time{}); answers && o.told {
		o.Tell(o.Store + " answers again")
	}
	if answers {
		o.told = false
	}
}
