package main

import (
	"sync"
	"time"

	"thole.example/gbdt"
	"thole.example/internal/number"
)

// watchedRows are rows that tell how long they have been read already: bins are found by all of them, in as many passes as memory wants.
type watchedRows struct {
	gbdt.Rows
	passed func() time.Duration

	mu  sync.Mutex // of bar
	bar *progress
}

func (r *watchedRows) Read(lo, hi int, into *gbdt.Block) {
	r.Rows.Read(lo, hi, into)
	if r.mu.TryLock() { // else another goroutine tells
		defer r.mu.Unlock()
		r.bar.during("", r.passed(), 0)
	}
}

// watched are the rows, of which is told until the bar ends; w may be nil.
func (w *watcher) watched(rows gbdt.Rows) *watchedRows {
	bar, passed := w.progress("sort "+number.Of(rows.Len(), "example")+" into bins", "", 1), func() time.Duration { return 0 }
	if w != nil {
		start := w.env.now()
		passed = func() time.Duration { return w.env.now().Sub(start) }
	}
	return &watchedRows{Rows: rows, bar: bar, passed: passed}
}
