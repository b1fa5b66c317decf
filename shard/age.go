package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// aging is how a table knows for how long nothing has named its columns: by a stamp beside each key in the index, which a search
// that names the column has at hand, and which a look for old ones meets line after line. The low bits of a stamp are the
// epoch, of some steps, that named the column last; the bits above are its rank in its bucket (buckets).
type aging struct {
	after int64 // steps without a name after which columns go; 0: they stay
	low   int   // bits of the epoch, 0 if columns stay
	shift int   // from a step to its epoch
	step  int64 // made last, or being made
	value uint8 // stamp of columns that are named now
	named kernel.Stamp
	due   []int64 // that go now
}

// newAging is nil for a table that keeps all its columns.
func newAging(after int64, budget bool) *aging {
	a := &aging{after: after}
	switch {
	case after == 0 && !budget:
		return nil
	case after > 0:
		a.low, a.shift = matrix.Epochs(after, budget)
	}
	a.begin(0)
	return a
}

// begin begins a step.
func (a *aging) begin(step int64) {
	a.step = step
	if v := a.stamp(step, a.top()); v != a.value || step == 0 {
		a.value, a.named = v, kernel.NewStamp(v)
	}
}

// top is the highest rank.
func (a *aging) top() uint8 { return 1<<(kernel.StampBits-a.low) - 1 }

func (a *aging) rank(stamp uint8) uint8 { return stamp >> a.low }

// of is the set of stamps of a rank.
func (a *aging) of(rank uint8) uint64 { return (1<<(1<<a.low) - 1) << (uint64(rank) << a.low) }

// part says which part of a bucket is cleared at once, a half to its power: one that has no more of them than there are ranks.
func (a *aging) part() int { return min(kernel.StampBits-a.low, mostPart) }

// mostPart is such that a bucket is not gone through for a few columns.
const mostPart = 5

// now is the stamp of a column that comes.
func (a *aging) now() uint8 {
	if a == nil {
		return 0
	}
	return a.value
}

func (a *aging) bytes() int64 {
	if a == nil {
		return 0
	}
	return int64(8 * cap(a.due))
}

// stamp is that of a column that a step named last. One that should have gone long ago goes when it is looked at next.
func (a *aging) stamp(last int64, rank uint8) uint8 {
	epoch := min(max(last>>a.shift, a.cut()-1<<a.low/8), a.step>>a.shift)
	return rank<<a.low | uint8(epoch&(1<<a.low-1))
}

// cut is the first epoch whose columns have not all been named in the last steps.
func (a *aging) cut() int64 { return max(0, a.step+1-a.after) >> a.shift }

// last is the first step of the epoch of a stamp, seen after some steps.
func (a *aging) last(stamp uint8, steps int64) int64 {
	if a.after == 0 {
		return steps
	}
	now := steps >> a.shift
	return (now - (now-int64(stamp))&(1<<a.low-1)) << a.shift
}

// old is the set of stamps of columns that go if they are looked at now. All columns are looked at while an eighth of the epochs
// that there are stamps for go by, so nothing is older than a quarter of them.
func (a *aging) old() (set uint64) {
	cut, epochs := a.cut(), int64(1)<<a.low
	for e := cut - epochs/4; e < cut && a.after > 0; e++ {
		for rank := range a.top() + 1 {
			set |= 1 << (rank<<a.low | uint8(e&(epochs-1)))
		}
	}
	return set
}

// expire removes what has not been named for long enough, of the columns whose turn it is after this step, and counts it. The
// index is in the order of hashes: only a part of it is looked at.
func (k *keyed[T]) expire() int {
	a := k.age
	if a == nil || a.after == 0 || k.index.keys == 0 {
		return 0
	}
	from, to := k.turn(matrix.TurnBits(a.after), a.step)
	if from == to {
		return 0
	}
	a.due = a.due[:0]
	if old := a.old(); old != 0 {
		k.index.visit(from, to, old, func(line, at int) { a.due = append(a.due, int64(k.index.lines[line].Key[at])) })
	}
	return k.remove(a.due)
}

// turn is the points of the columns that have their turn after a step; from is to where there are none.
func (k *keyed[T]) turn(bits int, step int64) (from, to uint64) {
	want, have := uint64(step)&(1<<bits-1), k.prefix
	switch {
	case bits <= k.bits: // all of the partition have the same turn
		if have>>(k.bits-bits) != want {
			return 0, 0
		}
		return 0, allPoints
	case want>>(bits-k.bits) != have:
		return 0, 0
	}
	part := uint64(allPoints) >> (bits - k.bits)
	from = want & (1<<(bits-k.bits) - 1) * part
	return from, from + part
}

// search finds the rows of the block that begins at a key, and stamps the columns if a step names them.
func (k *keyed[T]) search(w *walk, at int, rows []uint32) (missing int) {
	keys, b := w.part(at), at/block%2
	if k.age != nil && w.fresh == makeNamed && len(k.marks) > 0 {
		for _, key := range keys {
			if line, at, ok := k.index.find(uint64(key)); ok {
				k.date(line, at)
			}
		}
	}
	return w.finder.Find(k.index.lines, keys, w.line[b][:], rows, w.line[1-b][:len(w.part(at+block))])
}

// restamp replaces the stamp of a column that nothing has named.
func (k *keyed[T]) restamp(line, at int, stamp uint8) {
	k.date(line, at)
	if k.now != nil {
		k.now.changed.set(k.index.lines[line].Row[at])
	}
	k.index.lines[line].SetStamp(at, stamp)
}

// date has the marks remember the stamp of a column that is about to change.
func (k *keyed[T]) date(line, at int) {
	l := &k.index.lines[line]
	for _, m := range k.marks {
		m.date(l.Row[at], l.Stamp(at))
	}
}

// Ages is for how long nothing has named columns, in the order of keys.
type Ages struct {
	// Last is the step that named each last or made it, or the first one of its epoch ([matrix.Epochs]); nil where none expires.
	Last []int64
	// Ranks is the rank of each in its bucket: 0 for those that nothing has named for longest; nil where there is no budget.
	Ranks []uint8
}

func (k *keyed[T]) setAges(keys []int64, ages Ages) {
	a := k.age
	if a == nil {
		return
	}
	for i, key := range keys {
		line, at, ok := k.index.find(uint64(key))
		if !ok {
			continue
		}
		was := k.index.lines[line].Stamp(at)
		last, rank := a.last(was, a.step), a.rank(was)
		if ages.Last != nil {
			last = ages.Last[i]
		}
		if ages.Ranks != nil {
			rank = min(ages.Ranks[i], a.top())
		}
		k.restamp(line, at, a.stamp(last, rank))
	}
}

func (d *dense[T]) setAges([]int64, Ages) {}
