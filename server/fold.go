package server

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/psf"
	"thole.example/shard"
)

// fold is the deltas of one clock of a matrix on their way into the partitions.
type fold struct {
	of           *store
	deltas       []*delta
	clock        int // by which narrow values are rounded; of a direct push its number
	weight, rate float64
	left         atomic.Int32 // partitions that have not applied theirs
	applies      []apply      // of all partitions here
	// over, of a direct push, gets what came of it, and there is no step; nil: an error fails the job.
	over func(err error)
	err  atomic.Pointer[error]
	few  shard.FewSteps // of doFew
}

var folds = sync.Pool{New: func() any { return new(fold) }}

// newFold is an empty fold, which done takes back.
func newFold(of *store, clock int) *fold {
	f := folds.Get().(*fold)
	f.of, f.clock = of, clock
	return f
}

// apply is one partition's share of a fold.
type apply struct {
	f     *fold
	to    *partition
	work  []share
	first [1]share       // memory of work: mostly there is no other
	room  [1]shard.Delta // memory of what work brings
	made  bool           // by doFew
}

// prepare says what each partition has to apply: deltas that are for it, and with a step of the rule all.
func (f *fold) prepare(step bool) {
	if n := len(f.of.owned); cap(f.applies) < n {
		f.applies = make([]apply, n)
	} else {
		f.applies = f.applies[:n]
	}
	applies := f.applies
	for _, d := range f.deltas {
		for sh := range d.shares() {
			a := &applies[f.of.partitions[sh.partition].at]
			if a.work == nil {
				a.work = a.first[:0]
			}
			a.work = append(a.work, sh)
		}
	}
	count := int32(1)
	for i := range applies {
		if step || applies[i].work != nil {
			applies[i].f, applies[i].to = f, f.of.owned[i]
			count++
		}
	}
	f.left.Store(count)
}

// post gives the deltas to the partitions; it adds those that somebody must run to idle. If it reports that they are few, and the
// partitions idle, it gives nothing: the caller owns all, and has to call doFew.
func (f *fold) post(idle []*partition) (few bool, _ []*partition) {
	few, idle = f.postAll(idle)
	if !few {
		f.done()
	}
	return few, idle
}

func (f *fold) postAll(idle []*partition) (few bool, _ []*partition) {
	still := f.of.job.still.own()
	still.RLock()
	defer still.RUnlock()
	owned := 0
	if f.isFew() {
		if owned = f.own(); owned == len(f.applies) {
			return true, idle
		}
	}
	for i := range f.applies {
		if a := &f.applies[i]; a.to != nil && (a.to.post(a) || i < owned) {
			idle = append(idle, a.to)
		}
	}
	return false, idle
}

// do implements work.
func (a *apply) do() {
	a.f.fail(a.apply())
	a.f.done()
}

// fail tells of an error, if it is one.
func (f *fold) fail(err error) {
	switch {
	case err == nil:
	case f.over == nil:
		f.of.job.abort(err)
	default:
		f.hold(err)
	}
}

// hold has the error be told when all partitions are done, unless there was one before. (A function of its own, so that an apply which goes
// well allocates nothing.)
func (f *fold) hold(err error) { f.err.CompareAndSwap(nil, &err) }

func (a *apply) apply() (err error) {
	defer a.to.of.job.server.recovered(&err)
	if a.to.shard == nil {
		return a.to.gone()
	}
	defer a.to.recount()
	if a.f.of.rule != nil && a.f.over == nil { // it makes one step with the sum
		if err := a.step(); err != nil {
			return err
		}
	}
	for i := range a.work { // one after the other, so that no more than one has to be read from disk at once
		switch sh := &a.work[i]; {
		case sh.d.call != nil:
			err = a.run(sh.d.call)
		case sh.d.part.Assign:
			err = with(a.work[i:i+1], a.room[:0], (*setter)(a))
		case a.f.of.rule == nil || a.f.over != nil:
			err = with(a.work[i:i+1], a.room[:0], (*giver)(a))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step makes the step of the rule with all gradients of the clock; functions and assignments come after it.
func (a *apply) step() error {
	values := a.work
	if slices.ContainsFunc(values, afterStep) {
		values = slices.DeleteFunc(slices.Clone(values), afterStep)
	}
	read := a.to.of.job.server.Ledger.Force(budget.Stage, onDisk(values))
	defer read.Release()
	return with(values, a.room[:0], (*giver)(a))
}

func afterStep(sh share) bool { return sh.d.call != nil || sh.d.part.Assign }

// run runs a function that was staged. Nobody waits for it who could be told of an error: it fails the job.
func (a *apply) run(call *psf.Call) error {
	err := a.to.enough([]shard.Delta{{Keys: a.to.makes(call)}})
	if err == nil {
		_, err = call.Part(a.to.shard.View(a.to.id))
	}
	if err != nil {
		err = fmt.Errorf("a staged function on matrix %q: %w", a.f.of.meta.Name, err)
	}
	return err
}

// giver has the shard apply what the work brings.
type giver apply

func (a *giver) take(deltas []shard.Delta) error {
	if err := a.to.room(deltas); err != nil {
		return err
	}
	a.to.shard.SetClock(int64(a.f.clock))
	if a.f.over != nil {
		return a.to.shard.Add(deltas[0]) // they come one by one
	}
	return a.to.shard.Apply(deltas, a.f.weight, a.f.rate)
}

// setter has the shard take values, of one delta, for its cells.
type setter apply

func (a *setter) take(deltas []shard.Delta) error {
	if err := a.to.room(deltas); err != nil {
		return err
	}
	return a.to.shard.Set(deltas[0])
}

// done gives back the memory of the deltas when all partitions have applied theirs.
func (f *fold) done() {
	if f.left.Add(-1) > 0 {
		return
	}
	for _, d := range f.deltas {
		d.drop()
	}
	if f.over != nil {
		err := f.err.Load()
		if err == nil {
			err = new(error)
		}
		f.over(*err)
	}
	clear(f.deltas)
	clear(f.applies)
	f.of, f.deltas, f.over, f.weight, f.rate = nil, f.deltas[:0], nil, 0, 0
	f.err.Store(nil)
	folds.Put(f)
}
