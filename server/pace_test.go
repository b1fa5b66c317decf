package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSnapshotPace: whoever writes a snapshot takes its part of the time while a clock goes on, all of it before and after, and ends to rest
// when nobody waits for what it writes.
func TestSnapshotPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPace(7)
		rested := func(clock int32) time.Duration {
			p.begin()
			time.Sleep(time.Millisecond)
			began := time.Now()
			p.rest(ctx, 1000, clock)
			return time.Since(began)
		}
		for _, clock := range []int32{7, 7} {
			if took := rested(clock); took != 0 {
				t.Errorf("nobody trains, and it rests for %v", took)
			}
		}
		for clock := range int32(3) {
			if took := rested(8 + clock); took != 19*time.Millisecond {
				t.Errorf("after a millisecond of work it rests for %v, want nineteen", took)
			}
		}
		p.begun = p.begun.Add(-time.Hour) // it waited for a processor
		began := time.Now()
		if p.rest(ctx, 1000, 10); time.Since(began) != 38*time.Millisecond {
			t.Errorf("after an hour of waiting it rests for %v, want as after two milliseconds of work", time.Since(began))
		}
		time.Sleep(paceSteady)
		if took := rested(10); took != 0 {
			t.Errorf("nobody trains any more, and it rests for %v", took)
		}
		for range 3 { // it slept longer than it was owed, and rests less
			p.owed -= 20 * time.Millisecond
			if took := rested(12); took != 0 {
				t.Errorf("after too much rest it rests for %v", took)
			}
		}
		cancel()
		if took := rested(11); took != 0 {
			t.Errorf("nobody wants it any more, and it rests for %v", took)
		}
	})
}
