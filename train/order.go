package train

import (
	"math/rand/v2"
	"slices"

	"thole.example/data"
	"thole.example/matrix"
)

// windowBlocks is how many blocks of examples a window is drawn from: the more, the more is mixed, and the fewer, the longer are the
// stretches that are read from a disk.
const windowBlocks = 32

// blockStream is where a task has its number in the seeds of orders: which blocks come when is the same for all tasks.
const blockStream = 1<<32 - 1

// order is how a task takes its examples in an epoch. There are examples here of some tasks, beside each other as [Own] has them. Either
// all of a task are shuffled, each epoch from the order of the one before; or with a window, which is smaller, blocks of
// consecutive ones are, and the examples of some blocks at a time. Then those of a file are read into memory, a window while the one
// before is trained on.
type order struct {
	Options
	first, step int   // this task's examples in Data: each step-th one from the first on
	count       int   // of them
	mine        []int // all of them in the order of the epoch, where there is no window

	set    *data.Set // that rows are numbers in: Data, or a window of it
	rows   []int     // of the epoch, from the number from on
	from   int       // which were taken and are not needed any more
	block  int       // examples of this task in a block; 0: no window
	blocks []int     // in the order of the epoch
	drawn  int       // of them
	rng    *rand.Rand
	ahead  *ahead // nil: examples are taken from Data

	start    []int // the first ones of the epoch, for Wrap,
	startSet *data.Set
}

// ahead is a window that is being read.
type ahead struct {
	set  *data.Set
	done chan error // of the reading; nil: there is none
}

func newOrder(o Options) *order {
	r := &order{Options: o, first: o.Task, step: o.Tasks, set: o.Data, startSet: o.Data}
	if o.Own != nil {
		r.first, r.step = slices.Index(o.Own.Tasks, o.Task), len(o.Own.Tasks)
	}
	if r.first < 0 { // it has no share
		r.first = o.Data.Len()
	}
	r.count = ceil(max(0, o.Data.Len()-r.first), r.step)
	if all := o.rows(); o.Window > 0 && o.Window < all {
		r.block = max(1, ceil(o.Window, o.Tasks)/windowBlocks)
		r.blocks = make([]int, ceil(ceil(all, o.Tasks), r.block))
		if o.Data.Spilled() {
			r.set, r.startSet, r.ahead = o.Data.Like(), o.Data.Like(), &ahead{set: o.Data.Like()}
		}
		return r
	}
	r.mine = make([]int, 0, r.count)
	for k := range r.count {
		r.mine = append(r.mine, r.row(k))
	}
	return r
}

// close gives memory back.
func (r *order) close() {
	if r.ahead != nil {
		_ = r.await() // nobody needs what was read
		for _, s := range []*data.Set{r.set, r.startSet, r.ahead.set} {
			s.Free()
		}
	}
}

// row is where the task's example k is in Data.
func (r *order) row(k int) int { return r.first + k*r.step }

// number is k of row(k).
func (r *order) number(row int) int { return (row - r.first) / r.step }

// shuffle begins an epoch.
func (r *order) shuffle(epoch int) {
	r.rng = rand.New(rand.NewPCG(r.Seed, uint64(epoch)<<32|uint64(r.Task)))
	if r.rows, r.from, r.start = nil, 0, nil; r.block == 0 {
		if !r.InOrder {
			r.rng.Shuffle(len(r.mine), func(i, j int) { r.mine[i], r.mine[j] = r.mine[j], r.mine[i] })
		}
		return
	}
	for i := range r.blocks {
		r.blocks[i] = i
	}
	if !r.InOrder {
		rng := rand.New(rand.NewPCG(r.Seed, uint64(epoch)<<32|blockStream))
		rng.Shuffle(len(r.blocks), func(i, j int) { r.blocks[i], r.blocks[j] = r.blocks[j], r.blocks[i] })
	}
	r.drawn = 0
}

// begin is shuffle, with the first examples at hand.
func (r *order) begin(epoch int) error {
	if err := r.await(); err != nil {
		return err
	}
	r.shuffle(epoch)
	if r.block == 0 {
		r.rows = mix(r.mine, r.Data.Label, r.PosNeg)
		return nil
	}
	r.readAhead()
	return nil
}

// next is the blocks of the next window.
func (r *order) next() []int { return r.blocks[r.drawn:min(r.drawn+windowBlocks, len(r.blocks))] }

// of is the task's examples in a block, numbers k as row takes them.
func (r *order) of(block int) (lo, hi int) {
	return min(block*r.block, r.count), min((block+1)*r.block, r.count)
}

// readAhead begins to read the next window, if there is one, and examples are read.
func (r *order) readAhead() {
	if r.ahead == nil || len(r.next()) == 0 {
		return
	}
	set, done := r.ahead.set, make(chan error, 1)
	var ranges []matrix.Range
	for _, b := range r.next() {
		if lo, hi := r.of(b); lo < hi {
			ranges = append(ranges, span(r.row(lo), r.row(hi-1)+1))
		}
	}
	r.ahead.done = done
	go func() {
		set.Reset()
		done <- set.Take(r.Data, r.step, ranges...)
	}()
}

func span(lo, hi int) matrix.Range { return matrix.Range{Lo: int64(lo), Hi: int64(hi)} }

// await waits for what is being read.
func (r *order) await() (err error) {
	if r.ahead != nil && r.ahead.done != nil {
		err = <-r.ahead.done
		r.ahead.done = nil
	}
	return err
}

// some are the examples [lo, hi) of the epoch, in windows those after the ones before, as numbers in r.set.
func (r *order) some(lo, hi int) ([]int, error) {
	for hi > r.from+len(r.rows) {
		if err := r.draw(lo); err != nil {
			return nil, err
		}
	}
	return r.rows[lo-r.from : hi-r.from], nil
}

// draw draws the next window. What comes before lo is not needed any more.
func (r *order) draw(lo int) error {
	past := min(lo-r.from, len(r.rows))
	rows := slices.Clone(r.rows[past:])
	r.from += past
	var window []int
	if r.ahead == nil {
		for _, b := range r.next() {
			lo, hi := r.of(b)
			for k := lo; k < hi; k++ {
				window = append(window, r.row(k))
			}
		}
		r.drawn += len(r.next())
	} else {
		if err := r.await(); err != nil {
			return err
		}
		r.set, r.ahead.set = r.ahead.set, r.set
		window = numbers(0, r.set.Len())
		var err error
		if rows, err = bring(r.set, r.ahead.set, rows); err != nil {
			return err
		}
		r.drawn += len(r.next())
		r.readAhead()
	}
	if !r.InOrder {
		r.rng.Shuffle(len(window), func(i, j int) { window[i], window[j] = window[j], window[i] })
	}
	r.rows = append(rows, mix(window, r.set.Label, r.PosNeg)...)
	return nil
}

// bring is the numbers in a set of the rows of another one, which are added to it.
func bring(to, from *data.Set, rows []int) ([]int, error) {
	if to == from {
		return slices.Clone(rows), nil
	}
	n := to.Len()
	for _, row := range rows {
		if err := to.Take(from, 1, span(row, row+1)); err != nil {
			return nil, err
		}
	}
	return numbers(n, to.Len()), nil
}

// numbers are those from lo to below hi.
func numbers(lo, hi int) []int {
	all := make([]int, hi-lo)
	for i := range all {
		all[i] = lo + i
	}
	return all
}

// wrapped are the n examples from the number lo on, where the first of the epoch come after the last.
func (r *order) wrapped(lo, n int) ([]int, error) {
	rows, err := r.some(min(lo, r.count), min(lo+n, r.count))
	if err != nil {
		return nil, err
	}
	if lo == 0 {
		if r.ahead != nil {
			r.startSet.Reset()
		}
		if r.start, err = bring(r.startSet, r.set, rows); err != nil {
			return nil, err
		}
	}
	var first []int
	for i := len(rows); i < n && r.count > 0; i++ {
		first = append(first, r.start[(lo+i)%r.count])
	}
	if first, err = bring(r.set, r.startSet, first); err != nil {
		return nil, err
	}
	return append(slices.Clone(rows), first...), nil
}

// walk gives the task's examples, some thousand at a time, as they were shuffled last; or with a window in the order of the file. Between
// epochs nothing else is being read.
func (r *order) walk(use func(s *data.Set, rows []int) error) error {
	if r.block == 0 {
		for part := range slices.Chunk(r.mine, chunkRows) {
			if err := use(r.Data, part); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(r.Data, r.first, r.Data.Len(), r.step, use)
}

// among gives some of the task's examples, by their numbers among them, some thousand at a time.
func (r *order) among(runs []matrix.Range, use func(s *data.Set, rows []int) error) error {
	set := r.Data
	if set.Spilled() {
		set = r.Data.Like()
		defer set.Free()
	}
	for some := range slices.Chunk(runs, chunkRows/sampleRun) {
		var rows []int
		if set == r.Data {
			for _, run := range some {
				for k := run.Lo; k < run.Hi; k++ {
					rows = append(rows, r.row(int(k)))
				}
			}
		} else {
			ranges := make([]matrix.Range, len(some))
			for i, run := range some {
				ranges[i] = span(r.row(int(run.Lo)), r.row(int(run.Hi-1))+1)
			}
			set.Reset()
			if err := set.Take(r.Data, r.step, ranges...); err != nil {
				return err
			}
			rows = numbers(0, set.Len())
		}
		if err := use(set, rows); err != nil {
			return err
		}
	}
	return nil
}

// walk gives the examples lo, lo+step, ... below hi of a set, some thousand at a time: those of a file from memory that they are read into.
func walk(s *data.Set, lo, hi, step int, use func(s *data.Set, rows []int) error) error {
	set := s
	if s.Spilled() {
		set = s.Like()
		defer set.Free()
	}
	for ; lo < hi; lo += chunkRows * step {
		end := min(lo+chunkRows*step, hi)
		var rows []int
		if set == s {
			for i := lo; i < end; i += step {
				rows = append(rows, i)
			}
		} else {
			set.Reset()
			if err := set.Take(s, step, span(lo, end)); err != nil {
				return err
			}
			rows = numbers(0, set.Len())
		}
		if err := use(set, rows); err != nil {
			return err
		}
	}
	return nil
}
