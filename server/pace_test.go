package server

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSnapshotPace: whoever writes a snapshot is told when others wait for a processor, and ends to rest when nobody waits for what it writes.
func TestSnapshotPace(t *testing.T) {
	var p pace
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	for !p.wanted() {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.begun = time.Now().Add(-time.Hour)
	p.rest(ctx, 1)
	stop.Store(true)
	all.Wait()
	for p.wanted() {
		runtime.Gosched()
	}
}
