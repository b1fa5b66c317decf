package angel

import (
	"runtime"
	"sync"
)

// relay works on pieces in several goroutines. take prepares the next piece, one goroutine at a time; do works on it;
// put ends it, one goroutine at a time and in the order of take. Each goroutine has one J for all its pieces, so that it
// keeps its memory. The first error in the order of pieces ends the relay; no goroutine is left when it returns.
func relay[J any](workers int, take func(*J) (more bool, err error), do, put func(*J) error) error {
	r := &race{}
	r.turned.L = &r.mu
	run := func() {
		var j J
		for leg[J](r, &j, take, do, put) {
		}
	}
	if workers <= 1 {
		run()
		return r.err
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(run)
	}
	all.Wait()
	return r.err
}

// race is what the goroutines of a relay share.
type race struct {
	taking sync.Mutex // held while a piece is taken
	taken  int        // pieces that were taken, by taking
	ended  bool       // nothing more to take, by taking

	mu     sync.Mutex
	turned sync.Cond
	turn   int   // the piece that may be put
	err    error // of the first piece that failed; what comes behind it is given up
}

// leg takes one piece to its end.
func leg[J any](r *race, j *J, take func(*J) (bool, error), do, put func(*J) error) (more bool) {
	r.taking.Lock()
	if r.ended || r.failed() {
		r.taking.Unlock()
		return false
	}
	number := r.taken
	r.taken++
	more, err := take(j)
	r.ended = !more || err != nil
	r.taking.Unlock()
	if err == nil && more {
		err = do(j)
	}
	r.mu.Lock()
	for r.turn != number && r.err == nil {
		r.turned.Wait()
	}
	first := r.err == nil
	r.mu.Unlock()
	if first && err == nil && more {
		err = put(j)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first {
		r.err = err
		r.turn++
	}
	r.turned.Broadcast()
	return more && r.err == nil
}

func (r *race) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// workers is how many goroutines so much work is worth.
func workers(values int64) int {
	return int(min(int64(runtime.GOMAXPROCS(0)), 1+values/(2*slab)))
}
