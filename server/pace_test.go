package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSnapshotPace: whoever writes a snapshot takes its part of the time while a clock goes on, all of it before and after, and stops pausing
// when nobody waits for what it writes.
func TestSnapshotPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, yields := newPace(7), true
		p.yield = func(yes bool) { yields = yes }
		paused := func(clock int32) time.Duration {
			p.begin()
			time.Sleep(time.Millisecond)
			began := time.Now()
			p.pause(ctx, 1<<20, clock)
			return time.Since(began)
		}
		each := (pacePart - 1) * (time.Millisecond + paceSystem)
		for _, clock := range []int32{7, 7} {
			if took := paused(clock); took != 0 {
				t.Errorf("nobody trains, and it pauses for %v", took)
			}
			if yields {
				t.Error("nobody trains, and others are left more")
			}
		}
		for clock := range int32(3) {
			if took := paused(8 + clock); took != each {
				t.Errorf("after a millisecond of work, and what the system has for a MiB, it pauses for %v, want %v, its part of the time", took, each)
			}
			if !yields {
				t.Error("somebody trains, and is left no more")
			}
		}
		p.begun = p.begun.Add(-time.Hour) // it waited for a processor
		began := time.Now()
		if p.pause(ctx, 1<<20, 10); time.Since(began) != each+(pacePart-1)*time.Millisecond {
			t.Errorf("after an hour of waiting it pauses for %v, want as after two milliseconds of work", time.Since(began))
		}
		time.Sleep(paceSteady)
		if took := paused(10); took != 0 {
			t.Errorf("nobody trains any more, and it pauses for %v", took)
		}
		for range 3 { // it slept longer than it was owed, and pauses less
			p.owed -= each
			if took := paused(12); took != 0 {
				t.Errorf("after too long a pause it pauses for %v", took)
			}
		}
		cancel()
		if took := paused(11); took != 0 {
			t.Errorf("nobody wants it any more, and it pauses for %v", took)
		}
	})
}
