package server

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/shard"
)

// partition is a partition of a matrix on this server. What its mailbox does alone may look at the shard.
type partition struct {
	mailbox
	id      int
	of      *store
	shard   *shard.Shard
	bytes   budget.Charge // what the shard takes
	counted int64         // of it
}

// delta is a part of a push that waits for its clock, or is being applied.
type delta struct {
	part   rpc.Part
	memory *rpc.Buffer   // where it lies
	growth budget.Charge // for columns that it makes
}

// bytes is what the delta brings.
func (d *delta) bytes() int64 { return int64(len(d.part.Values) + 8*len(d.part.Keys)) }

// release gives back what the delta holds.
func (d *delta) release() {
	d.growth.Release()
	d.memory.Release()
}

// fold is the deltas of one clock of a matrix on their way into the partitions.
type fold struct {
	of           *store
	deltas       []*delta
	weight, rate float64
	left         atomic.Int32 // partitions that have not applied theirs
}

// apply is one partition's share of a fold.
type apply struct {
	f    *fold
	to   *partition
	work []shard.Delta
}

// post gives the deltas to the partitions that they are for, and with a step of the rule to all; it adds those that
// somebody must run to idle.
func (f *fold) post(step bool, idle []*partition) []*partition {
	shares := make([]apply, len(f.of.partitions))
	for _, d := range f.deltas {
		size := f.of.meta.DType.Size() * int(d.part.Rows.Len())
		keys, values := d.part.Keys, d.part.Values
		for _, g := range d.part.Groups {
			one := shard.Delta{Rows: d.part.Rows, Cols: d.part.Cols, Values: values}
			if d.part.Kind == rpc.KindKeys {
				one.Keys, one.Values = keys[:g.Keys:g.Keys], values[:int(g.Keys)*size]
				keys, values = keys[g.Keys:], values[int(g.Keys)*size:]
			}
			shares[g.Partition].work = append(shares[g.Partition].work, one)
		}
	}
	count := int32(1)
	for i := range shares {
		if p := f.of.partitions[i]; p != nil && (step || shares[i].work != nil) {
			shares[i].f, shares[i].to = f, p
			count++
		}
	}
	f.left.Store(count)
	for i := range shares {
		if a := &shares[i]; a.to != nil && a.to.post(a) {
			idle = append(idle, a.to)
		}
	}
	f.done()
	return idle
}

// do implements work.
func (a *apply) do() {
	if err := a.apply(); err != nil {
		a.f.of.job.abort(err)
	}
	a.f.done()
}

func (a *apply) apply() (err error) {
	defer recovered(&err)
	if a.to.shard == nil {
		return a.to.gone()
	}
	err = a.to.shard.Apply(a.work, a.f.weight, a.f.rate)
	a.to.recount()
	return err
}

// gone is the error of whoever comes to a partition that is not there: the job has ended, or it could not be made.
func (p *partition) gone() error {
	return fmt.Errorf("matrix %q: partition %d is not here any more: %w", p.of.meta.Name, p.id, rpc.ErrAborted)
}

// recovered turns a panic into an error: what a mailbox does must not leave it without an owner.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v\n%s", rpc.ErrInternal, p, debug.Stack())
	}
}

// done gives back the memory of the deltas when all partitions have applied theirs.
func (f *fold) done() {
	if f.left.Add(-1) == 0 {
		for _, d := range f.deltas {
			d.release()
		}
	}
}

// wait has the mailbox do something and waits for it. It is not for mailboxes themselves.
func (p *partition) wait(f func()) {
	done := make(chan struct{})
	if p.post(deed(func() { defer close(done); f() })) {
		p.run()
	}
	<-done
}

// recount counts what the shard takes now.
func (p *partition) recount() {
	ledger := p.of.job.server.Ledger
	if ledger == nil || p.shard == nil {
		return
	}
	if n := p.shard.Bytes(); n != p.counted {
		p.bytes.Release()
		p.bytes, p.counted = ledger.Force(budget.Tables, n), n
	}
}

// parallelBytes is the work from which partitions are run by all processors.
const parallelBytes = 4 << 20

// runAll runs mailboxes that the caller owns. With a lot to do it leaves them to other goroutines, as many as there are
// processors, so that nobody who only brought the work waits for it.
func runAll(idle []*partition, bytes int64) {
	if bytes < parallelBytes {
		for _, p := range idle {
			p.run()
		}
		return
	}
	workers := min(runtime.GOMAXPROCS(0), len(idle))
	idle = slices.Clone(idle)
	slices.SortFunc(idle, func(a, b *partition) int { return cmp.Compare(a.id, b.id) })
	for w := range workers {
		go func() {
			for i := w; i < len(idle); i += workers {
				idle[i].run()
			}
		}()
	}
}
