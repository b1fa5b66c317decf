package server

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// pace keeps a snapshot on its way out from taking the processors of those who train: while goroutines wait for a processor it works for
// its part of the time alone, and else as fast as it can.
type pace struct {
	begun  time.Time
	least  float64 // seconds that a byte took when nothing else did
	sample [1]metrics.Sample
}

// pacePart is which part of all processors a snapshot takes while others wait for one: 1 of so many.
const pacePart = 10

// begin is before some work.
func (p *pace) begin() { p.begun = time.Now() }

// rest is after it, for as long as it is too early to begin again. Of the time that the work of so many bytes took, what it waited for
// a processor does not count.
func (p *pace) rest(ctx context.Context, bytes int) {
	each := time.Since(p.begun).Seconds() / float64(max(1, bytes))
	if p.least == 0 || each < p.least {
		p.least = each
	}
	worked := time.Duration(min(each, 2*p.least) * float64(bytes) * float64(time.Second))
	rest := worked*pacePart/time.Duration(runtime.GOMAXPROCS(0)) - worked
	if rest <= 0 || !p.wanted() {
		return
	}
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// wanted reports whether goroutines wait for a processor.
func (p *pace) wanted() bool {
	p.sample[0].Name = "/sched/goroutines/runnable:goroutines"
	metrics.Read(p.sample[:])
	return p.sample[0].Value.Kind() == metrics.KindUint64 && p.sample[0].Value.Uint64() > 0
}
