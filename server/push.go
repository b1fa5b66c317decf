package server

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"thole/matrix"
	"thole/part"
	"thole/rpc"
	"thole/ssp"
)

// delta is one staged thing: a block for a partition, or the tick of a task with what belongs to it.
type delta struct {
	of     *owned
	to     held
	block  matrix.Block
	tick   bool
	weight float64
	rate   float64
}

// push stages the deltas of a task's clock, or under ASP applies them; with Tick it moves the task's clock on.
func (s *Server) push(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	task, clock := int(q.Task), int(q.Clock)
	if now := j.clocks.Of(task); now != clock {
		return nil, fmt.Errorf("push of clock %d by task %d, which is at clock %d: %w", clock, task, now, rpc.ErrMalformed)
	}
	deltas, err := j.sort(q)
	if err != nil {
		return nil, err
	}
	if q.Tick {
		deltas = append(deltas, delta{tick: true, weight: q.Weight, rate: q.Rate})
	}
	if j.Bound == ssp.ASP {
		err = j.applyNow(task, deltas)
	} else {
		j.stage.Put(clock, task, deltas...)
	}
	if err == nil && q.Tick {
		err = j.tick(task, clock+1)
	}
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, err
}

// step is a push with its tick and the pull that follows it, in one message: what a task does between two batches.
func (s *Server) step(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	push, pull := *q, *q
	push.Tick, push.Pieces, pull.Pieces = true, nil, nil
	for _, p := range q.Pieces {
		if len(p.Blocks) > 0 {
			push.Pieces = append(push.Pieces, p)
		} else {
			pull.Pieces = append(pull.Pieces, p)
		}
	}
	if r, err := s.push(ctx, j, &push); err != nil {
		return r, err
	}
	pull.Clock++
	return s.pull(ctx, j, &pull)
}

// sort checks every block of the request and finds its partition. Nothing is changed if one is wrong.
func (j *job) sort(q *rpc.Request) ([]delta, error) {
	var deltas []delta
	for _, p := range q.Pieces {
		o, err := j.find(p.Matrix)
		if err != nil {
			return nil, err
		}
		for _, b := range p.Blocks {
			h, err := o.owner(b)
			if err != nil {
				return nil, err
			}
			if err := h.Check(b); err != nil {
				return nil, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
			}
			deltas = append(deltas, delta{of: o, to: h, block: b})
		}
	}
	return deltas, nil
}

// owner is the partition that the block lies in.
func (o *owned) owner(b matrix.Block) (held, error) {
	id := -1
	if o.parts.Hash {
		if d, ok := b.Data.(matrix.Keyed); ok && len(d.Keys()) > 0 {
			id = part.Slot(d.Keys()[0], len(o.parts.Parts))
		}
	}
	for _, h := range o.held {
		if h.id == id || id < 0 && h.At().Contains(b.At) {
			return h, nil
		}
	}
	return held{}, fmt.Errorf("matrix %q: no partition here holds the delta at %v: %w", o.meta.Name, b.At, rpc.ErrMalformed)
}

// tick moves a task's clock, folds what is due and wakes who waited for it. The caller holds the lock.
func (j *job) tick(task, n int) error {
	slowest, err := j.clocks.Tick(task, n)
	if err != nil {
		return err
	}
	if err := j.stage.Fold(slowest, j.fold); err != nil {
		j.fail(fmt.Errorf("job %q: %w", j.name, err))
		return err
	}
	j.wake(slowest)
	return nil
}

// applyNow is what ASP does: deltas are added at once, gradients wait for the task's tick, which says their weight.
func (j *job) applyNow(task int, deltas []delta) error {
	for _, d := range deltas {
		switch {
		case d.tick:
			due := append(j.pending[task], d)
			delete(j.pending, task)
			if err := j.fold(0, due); err != nil {
				return err
			}
		case d.of.meta.Rule != "":
			j.pending[task] = append(j.pending[task], d)
		default:
			if err := d.to.Add(d.block); err != nil {
				return err
			}
		}
	}
	return nil
}

// fold applies the deltas of one clock: each partition gets its own in their order, and with the weight of all tasks
// together makes one step of its rule. Every partition steps, also one that no delta touched: what a partition does must
// not depend on how the matrix is cut or spread.
func (j *job) fold(_ int, due []delta) error {
	var weight, rate float64
	of := map[held][]matrix.Block{}
	for _, d := range due {
		if d.tick {
			weight += d.weight
			rate = max(rate, d.rate)
			continue
		}
		of[d.to] = append(of[d.to], d.block)
	}
	var work []held
	for _, o := range j.matrices {
		for _, h := range o.held {
			if o.meta.Rule != "" && weight > 0 || of[h] != nil {
				work = append(work, h)
			}
		}
	}
	return each(work, func(h held) error { return h.Apply(of[h], weight, rate) })
}

// parallelBytes is the state of a job's partitions above which a fold uses all processors.
const parallelBytes = 1 << 18

// each calls f for all partitions, in parallel when there is enough to do. Partitions are independent, so the order does
// not matter.
func each(work []held, f func(held) error) error {
	var total int64
	for _, h := range work {
		total += h.Bytes()
	}
	workers := min(runtime.GOMAXPROCS(0), len(work))
	if total < parallelBytes || workers < 2 {
		for _, h := range work {
			if err := f(h); err != nil {
				return err
			}
		}
		return nil
	}
	slices.SortFunc(work, func(a, b held) int { return int(b.Bytes() - a.Bytes()) })
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(work) && errs[w] == nil; i += workers {
				errs[w] = f(work[i])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
