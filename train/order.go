package train

import (
	"math/rand/v2"
	"slices"

	"thole.example/data"
)

// windowBlocks is how many blocks of examples a window is drawn from: the more, the more is mixed, and the fewer, the longer are the
// stretches that are read from a disk.
const windowBlocks = 32

// blockStream is where a task has its number in the seeds of orders: which blocks come when is the same for all tasks.
const blockStream = 1<<32 - 1

// order is how a task takes its examples in an epoch. There are examples here of some tasks, beside each other as [Own] has them. Either
// all of a task are shuffled, each epoch from the order of the one before; or with a window, which is smaller, blocks of
// consecutive ones are, and the examples of some blocks at a time. Then examples of a file are read before they are needed, and released.
type order struct {
	Options
	first, step int   // this task's examples in Data: each step-th one from the first on
	count       int   // of them
	mine        []int // all of them in the order of the epoch, where there is no window

	rows    []int // of the epoch, from the number from on
	from    int   // which were taken and are not needed any more
	start   []int // the first ones, for Wrap
	block   int   // examples of this task in a block; 0: no window
	blocks  []int // in the order of the epoch
	drawn   int   // of them
	rng     *rand.Rand
	windows [][]int // the blocks that rows are of
}

func newOrder(o Options) *order {
	r := &order{Options: o, first: o.Task, step: o.Tasks}
	if o.Own != nil {
		r.first, r.step = slices.Index(o.Own.Tasks, o.Task), len(o.Own.Tasks)
	}
	r.count = ceil(max(0, o.Data.Len()-r.first), r.step)
	if all := o.rows(); o.Window > 0 && o.Window < all {
		r.block = max(1, ceil(o.Window, o.Tasks)/windowBlocks)
		r.blocks = make([]int, ceil(ceil(all, o.Tasks), r.block))
		return r
	}
	r.mine = make([]int, 0, r.count)
	for k := range r.count {
		r.mine = append(r.mine, r.row(k))
	}
	return r
}

// row is where the task's example k is in Data.
func (r *order) row(k int) int { return r.first + k*r.step }

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
	for _, blocks := range r.windows {
		r.advise(blocks, (*data.Set).Release)
	}
	r.drawn, r.windows = 0, nil
}

// begin is shuffle, with the first examples at hand.
func (r *order) begin(epoch int) {
	r.shuffle(epoch)
	if r.block == 0 {
		r.rows = mix(r.mine, r.Data.Label, r.PosNeg)
		return
	}
	r.advise(r.blocks[:min(windowBlocks, len(r.blocks))], (*data.Set).ReadAhead)
}

// some are the examples [lo, hi) of the epoch, in windows those after the ones before.
func (r *order) some(lo, hi int) []int {
	for hi > r.from+len(r.rows) {
		r.draw(lo)
	}
	return r.rows[lo-r.from : hi-r.from]
}

// draw draws the next window. What comes before lo is not needed any more.
func (r *order) draw(lo int) {
	past := min(lo-r.from, len(r.rows))
	rows := append(make([]int, 0, len(r.rows)-past+windowBlocks*r.block), r.rows[past:]...)
	r.from += past
	for len(r.windows) > 1 || len(r.windows) == 1 && len(rows) == 0 { // a batch may still be of the last one
		r.advise(r.windows[0], (*data.Set).Release)
		r.windows = r.windows[1:]
	}
	end := min(r.drawn+windowBlocks, len(r.blocks))
	blocks := r.blocks[r.drawn:end]
	r.windows, r.drawn = append(r.windows, blocks), end
	r.advise(r.blocks[end:min(end+windowBlocks, len(r.blocks))], (*data.Set).ReadAhead)
	var window []int
	for _, b := range blocks {
		for k := b * r.block; k < min((b+1)*r.block, r.count); k++ {
			window = append(window, r.row(k))
		}
	}
	if !r.InOrder {
		r.rng.Shuffle(len(window), func(i, j int) { window[i], window[j] = window[j], window[i] })
	}
	r.rows = append(rows, mix(window, r.Data.Label, r.PosNeg)...)
}

// advise tells the system of the examples of blocks.
func (r *order) advise(blocks []int, advice func(s *data.Set, lo, hi int)) {
	for _, b := range blocks {
		each := r.block * r.step
		advice(r.Data, min(b*each, r.Data.Len()), min((b+1)*each, r.Data.Len()))
	}
}

// wrapped are the n examples from the number lo on, where the first of the epoch come after the last.
func (r *order) wrapped(lo, n int) []int {
	rows := slices.Clone(r.some(min(lo, r.count), min(lo+n, r.count)))
	if lo == 0 {
		r.start = slices.Clone(rows)
	}
	for i := len(rows); i < n && r.count > 0; i++ {
		rows = append(rows, r.start[(lo+i)%r.count])
	}
	return rows
}

// walk gives the task's examples, some thousand at a time, as they were shuffled last; or with a window in the order of the file, of which
// the next ones are read meanwhile.
func (r *order) walk(use func(rows []int) error) error {
	if r.block == 0 {
		for part := range slices.Chunk(r.mine, chunkRows) {
			if err := use(part); err != nil {
				return err
			}
		}
		return nil
	}
	for lo := 0; lo < r.count; lo += chunkRows {
		hi := min(lo+chunkRows, r.count)
		rows := make([]int, 0, hi-lo)
		for k := lo; k < hi; k++ {
			rows = append(rows, r.row(k))
		}
		r.Data.ReadAhead(min(r.row(hi), r.Data.Len()), min(r.row(hi+chunkRows), r.Data.Len()))
		if err := use(rows); err != nil {
			return err
		}
		r.Data.Release(rows[0], rows[len(rows)-1]+1)
	}
	return nil
}
