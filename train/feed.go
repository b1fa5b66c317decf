package train

import (
	"runtime"

	"thole.example/data"
)

// feed gathers the batches of an epoch before the steps that use them, on a goroutine of its own where the process has processors for one:
// examples come in another order each time, and wait for memory. Some portions of batches go round, one that steps use and others that are
// being filled. What is in a batch does not depend on any of it.
type feed struct {
	fill        func(g *data.Gatherer, step int) (*data.Batch, error)
	steps       int
	free, ready chan *portion    // nil: steps gather for themselves
	now, before *portion         // that steps use, and that the batch before the last is still of
	used        int              // batches of now
	stop, ended chan struct{}    // of the goroutine
	own         [2]data.Gatherer // by turns
}

// portion is batches one after the other.
type portion struct {
	gather []data.Gatherer
	batch  []*data.Batch
	err    error // of the batch that would come next
}

// portions go round: with two a step would wait for the other processor to wake up, again and again.
const portions = 4

// portionRows is about how many examples a portion has: so many that handing it over costs little beside them, and few enough for caches.
const portionRows = 2048

// newFeed is for batches of about rows examples.
func newFeed(rows int, fill func(g *data.Gatherer, step int) (*data.Batch, error)) *feed {
	f := &feed{fill: fill}
	if runtime.GOMAXPROCS(0) > 1 {
		f.free, f.ready = make(chan *portion, portions), make(chan *portion, portions)
		for range cap(f.free) {
			f.free <- &portion{gather: make([]data.Gatherer, max(1, portionRows/max(1, rows)))}
		}
	}
	return f
}

// begin begins an epoch of so many steps with one of them, from 0 on; the one before has ended, or end was called.
func (f *feed) begin(first, steps int) {
	if f.steps = steps; f.free == nil {
		return
	}
	f.stop, f.ended = make(chan struct{}), make(chan struct{})
	go f.run(first, f.stop, f.ended)
}

func (f *feed) run(step int, stop, ended chan struct{}) {
	defer close(ended)
	for step < f.steps {
		var p *portion
		select {
		case <-stop:
			return
		case p = <-f.free:
		}
		p.batch, p.err = p.batch[:0], nil
		for i := 0; i < len(p.gather) && step < f.steps && p.err == nil; i++ {
			var b *data.Batch
			if b, p.err = f.fill(&p.gather[i], step); p.err == nil {
				p.batch = append(p.batch, b)
				step++
			}
		}
		f.ready <- p
		if p.err != nil {
			return
		}
	}
}

// next is the batch of the next step, valid until the second after it is asked for: while one is computed, the next one is planned.
func (f *feed) next(step int) (*data.Batch, error) {
	if f.free == nil {
		return f.fill(&f.own[step%len(f.own)], step)
	}
	if f.used > 0 { // the batch before is of now, too
		f.release(&f.before)
	}
	for f.now == nil || f.used == len(f.now.batch) {
		if f.now != nil && f.now.err != nil {
			return nil, f.now.err
		}
		f.before, f.now, f.used = f.now, nil, 0
		f.now = <-f.ready
	}
	f.used++
	return f.now.batch[f.used-1], nil
}

// release gives a portion that steps used to be filled again.
func (f *feed) release(p **portion) {
	if *p != nil {
		f.free <- *p
		*p = nil
	}
}

// end waits until nothing more is gathered, wherever the epoch is.
func (f *feed) end() {
	if f.stop == nil {
		return
	}
	close(f.stop)
	<-f.ended
	f.stop = nil
	f.release(&f.before)
	f.release(&f.now)
	for f.used = 0; len(f.ready) > 0; {
		f.free <- <-f.ready
	}
}
