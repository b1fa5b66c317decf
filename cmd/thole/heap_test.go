package main

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestBoundHeap: the bound of the heap is there while it is asked for, also if another one set or ended another bound, and not afterwards.
func TestBoundHeap(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "") // which may bound the tests themselves
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		const total = 8 << 30
		go boundHeap(ctx, total, outsideHeap)
		bounded := func(want bool) {
			t.Helper()
			time.Sleep(heapEvery)
			synctest.Wait()
			if got := debug.SetMemoryLimit(-1); got <= total != want {
				t.Errorf("a bound of %d bytes, want one of at most %d: %v", got, total, want)
			}
		}
		bounded(true)
		debug.SetMemoryLimit(math.MaxInt64)
		bounded(true)
		cancel()
		bounded(false)
	})
}
