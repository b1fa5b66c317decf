package server

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
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
func (s *Server) push(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	return s.stagePush(ctx, j, q, nil)
}

// step is a push with its tick and the pull that follows it, in one message: what a task does between two batches. If
// either is wrong, neither happens.
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
	if r, err := s.stagePush(ctx, j, &push, &pull); err != nil {
		return r, err
	}
	pull.Clock++
	return s.pull(ctx, j, &pull)
}

// stagePush is a push, refused also if the pull that comes after it is wrong.
func (s *Server) stagePush(ctx context.Context, j *job, q, pull *rpc.Request) (*rpc.Response, error) {
	size := pieceBytes(q.Pieces)
	if err := s.room(ctx, j, q, size); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	if j.made(q) { // the answer was lost, and the client asks again
		return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
	}
	task, clock := int(q.Task), int(q.Clock)
	deltas, err := j.checkPush(q)
	if err == nil {
		err = j.fits(deltas)
	}
	if err == nil && pull != nil {
		err = j.checkPull(pull)
	}
	if err != nil {
		return nil, err
	}
	if q.Tick {
		deltas = append(deltas, delta{tick: true, weight: q.Weight, rate: q.Rate})
	}
	j.staged += size
	if j.bound == ssp.ASP {
		err = j.applyNow(task, deltas)
	} else {
		j.stage.Put(clock, task, deltas...)
	}
	if err == nil && q.Tick {
		err = j.tick(task, clock+1)
	}
	j.note(q)
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, err
}

// stageBytes is Server.StageBytes where it is not set.
const stageBytes = 4 << 30

// room returns with the lock held when there is room for the bytes of the push, or it was made already; or without it and with an
// error. The slowest task never waits, for what is staged goes only when it ticks.
func (s *Server) room(ctx context.Context, j *job, q *rpc.Request, size int64) error {
	clock := int(q.Clock)
	limit := s.StageBytes
	if limit <= 0 {
		limit = stageBytes
	}
	for {
		j.mu.Lock()
		slowest := j.clocks.Slowest()
		switch {
		case j.failed != nil:
			j.mu.Unlock()
			return j.failed
		case j.made(q):
			return nil
		case clock > slowest && j.bound != ssp.ASP && j.staged > 0 && j.staged+size > limit/2:
			j.mu.Unlock()
			if err := j.await(ctx, slowest+1); err != nil {
				return err
			}
			j.mu.RUnlock()
			continue
		case j.staged+size > limit:
			j.mu.Unlock()
			return fmt.Errorf("push of %d bytes beside %d that wait already, want at most %d: %w", size, j.staged, limit, rpc.ErrTooLarge)
		}
		return nil
	}
}

// pieceBytes is about the memory of all blocks.
func pieceBytes(pieces []rpc.Piece) (n int64) {
	for _, p := range pieces {
		for _, b := range p.Blocks {
			n += blockBytes(b)
		}
	}
	return n
}

func blockBytes(b matrix.Block) int64 {
	if b.Data == nil {
		return 0
	}
	n := int64(b.Data.NNZ() * b.Data.DType().Size())
	if d, ok := b.Data.(matrix.Keyed); ok {
		n += 8 * int64(len(d.Keys()))
	}
	return n
}

// checkPush checks a push and finds the partition of every block. Nothing is changed if something is wrong.
func (j *job) checkPush(q *rpc.Request) ([]delta, error) {
	if now := j.clocks.Of(int(q.Task)); now != int(q.Clock) {
		return nil, fmt.Errorf("push of clock %d by task %d, which is at clock %d: %w", q.Clock, q.Task, now, rpc.ErrMalformed)
	}
	if q.Tick && (!(q.Weight >= 0) || math.IsInf(q.Weight, 0) || math.IsNaN(q.Rate) || math.IsInf(q.Rate, 0)) {
		return nil, fmt.Errorf("push with weight %v and rate %v: %w", q.Weight, q.Rate, rpc.ErrMalformed)
	}
	var deltas []delta
	for _, p := range q.Pieces {
		o, err := j.find(p.Matrix)
		if err != nil {
			return nil, err
		}
		if q.Version != o.parts.Version {
			return nil, fmt.Errorf("matrix %q: routing map %d, here it is %d: %w", p.Matrix, q.Version, o.parts.Version, rpc.ErrStale)
		}
		for _, b := range p.Blocks {
			h, err := o.owner(b)
			if err != nil {
				return nil, err
			}
			deltas = append(deltas, delta{of: o, to: h, block: b})
		}
	}
	return deltas, nil
}

// owner checks the block and finds the partition that it lies in.
func (o *owned) owner(b matrix.Block) (held, error) {
	if err := b.Check(); err != nil {
		return held{}, fmt.Errorf("matrix %q: %w: %w", o.meta.Name, rpc.ErrMalformed, err)
	}
	id := -1
	if d, ok := b.Data.(matrix.Keyed); ok && o.parts.Hash {
		for i, key := range d.Keys() {
			slot := part.Slot(key, len(o.parts.Parts))
			if i > 0 && slot != id {
				return held{}, fmt.Errorf("matrix %q: keys of the hash partitions %d and %d in one delta: %w",
					o.meta.Name, id, slot, rpc.ErrMalformed)
			}
			id = slot
		}
	} else if o.parts.Hash && b.Data.NNZ() > 0 {
		return held{}, fmt.Errorf("matrix %q: a delta of every column for a hash partition: %w", o.meta.Name, rpc.ErrMalformed)
	}
	for _, h := range o.held {
		if h.id == id || id < 0 && h.At().Contains(b.At) {
			if err := h.FitsBlock(b); err != nil {
				return held{}, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
			}
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
	defer j.recount()
	if err := j.stage.Fold(slowest, j.fold); err != nil {
		j.fail(fmt.Errorf("job %q: %w", j.name, err))
		return err
	}
	j.wake(slowest)
	return nil
}

// applyNow is what ASP does: deltas are added at once, gradients wait for the task's tick, which says their weight.
func (j *job) applyNow(task int, deltas []delta) error {
	defer j.recount()
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
			j.staged -= blockBytes(d.block)
			if err := d.to.AddBlock(d.block); err != nil {
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
		j.staged -= blockBytes(d.block)
		of[d.to] = append(of[d.to], d.block)
	}
	var work []held
	for _, o := range j.matrices {
		for _, h := range o.held {
			switch {
			case o.meta.Rule == "" && of[h] == nil, o.meta.Rule != "" && weight <= 0 && of[h] == nil:
			case o.meta.Rule != "" && weight <= 0:
				return fmt.Errorf("matrix %q: gradients for its rule %s, but no task told over how many examples (weight): %w",
					o.meta.Name, o.meta.Rule, rpc.ErrRefused)
			default:
				work = append(work, h)
			}
		}
	}
	return each(work, func(h held) error { return h.ApplyBlocks(of[h], weight, rate) })
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
