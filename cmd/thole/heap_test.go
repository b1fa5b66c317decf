package main

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"time"
)

// TestBoundHeap: the bound of the heap is there while it is asked for, also if another one set or ended another bound, and not afterwards.
func TestBoundHeap(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "") // which may bound the tests themselves
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	const total = 8 << 30
	go func() { boundHeap(ctx, total); close(ended) }()
	within := func() {
		for end := time.Now().Add(limit); debug.SetMemoryLimit(-1) > total; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the heap has no bound")
			}
		}
	}
	within()
	debug.SetMemoryLimit(math.MaxInt64)
	within()
	cancel()
	<-ended
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("a bound of %d bytes is left", got)
	}
}
