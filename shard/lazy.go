package shard

import (
	mathbits "math/bits"

	"thole.example/kernel"
	"thole.example/psf"
	"thole.example/wire"
)

// lazy is what brings the columns of a sparse partition up to date on the steps that did not name them, as a dense matrix would
// have made them. Columns are settled, which writes them, in the steps that name them, before anything else changes them, and
// once in turns steps; whoever reads gets what settling would make, and changes nothing. So the bits of a column are a function
// of the steps and changes alone, not of who read it. Partitions whose rule does nothing without gradients have none.
type lazy struct {
	past *Past
	as   uint16 // the step that columns which are settled now are as of: the last one, or the one that is being made
	move bool   // weights change without gradients
	pull bool   // and by how much, the first slot says

	mem    kernel.Memory
	stamps []uint16 // by row of the slab: the low bits of the step that the column is as of
	due    []uint32
}

// newLazy is nil for a rule that needs none.
func newLazy(step psf.Step) (*lazy, error) {
	if step.Idle == nil {
		return nil, nil
	}
	form := step.Idle.Form
	l := &lazy{past: pastAfter(step.Idle, 0), move: form != kernel.Fades, pull: form == kernel.Couples || form == kernel.Divides}
	return l, l.reserve(1)
}

// reserve makes room for the stamps of rows below n.
func (l *lazy) reserve(n int) error {
	if n <= len(l.stamps) {
		return nil
	}
	if err := l.mem.Grow(2 * n); err != nil {
		return err
	}
	l.stamps, _ = wire.Numbers[uint16](l.mem.Data()[:len(l.mem.Data())/2*2]) // memory is aligned
	return nil
}

func (l *lazy) bytes() int64 {
	return int64(l.mem.Resident(2*len(l.stamps))) + int64(4*cap(l.due)) + l.past.bytes()
}

// begin begins anew after some steps: all columns are up to date.
func (l *lazy) begin(steps int64) {
	l.past, l.as = pastAfter(l.past.idle, steps), uint16(steps)
	for i := range l.stamps {
		l.stamps[i] = l.as
	}
}

// goOn reports whether columns can be as of steps of a past, which is the partition's from then on if it knows more steps.
func (l *lazy) goOn(p *Past) bool {
	if !p.alike(l.past) || !p.Agrees(l.past) {
		return false
	}
	if len(p.rates) > len(l.past.rates) {
		l.past = p.clone()
	}
	return true
}

// age is by how many steps a row is behind; below 0 it was settled for the step that is being made.
func (l *lazy) age(row uint32) int16 { return int16(uint16(l.past.now) - l.stamps[row]) }

// fetch has the processor fetch the stamps of rows.
func (l *lazy) fetch(rows []uint32) { kernel.Fetch(l.mem.Data(), 2, 2, rows) }

// behind is the rows of a block that are behind, and by what.
type behind struct {
	n     int
	rows  [block]uint32
	at    [block]uint32 // in the block
	drift [block]kernel.Drift
}

// find finds them among at most a block of rows; with settle they count as settled.
func (b *behind) find(l *lazy, rows []uint32, settle bool) {
	p, stamps, now := l.past, l.stamps, uint16(l.past.now)
	last, begin := p.spans[len(p.spans)-1], int(p.now%span)
	for j, row := range rows[:min(block, len(rows))] {
		age := int(int16(now - stamps[row]))
		if settle {
			stamps[row] = l.as
		}
		if age <= 0 || row == 0 {
			continue
		}
		if at := begin - age; at >= 0 {
			b.drift[b.n] = last[at%span]
		} else {
			p.drift(&b.drift[b.n], p.now-int64(age))
		}
		b.rows[b.n], b.at[b.n] = row, uint32(j)
		b.n++
	}
}

// lag is rows that are behind.
func (k *keyed[T]) lag(b *behind) kernel.Lag[T] {
	return kernel.Lag[T]{
		Idle: k.lazy.past.idle, Slab: k.slab.val, Stride: k.slab.stride, Dim: k.rows, Slots: k.own, Rows: b.rows[:b.n], Drifts: b.drift[:b.n],
	}
}

// settle brings rows of at most a block up to date, before they change; rows are 0 of columns that are not there.
func (k *keyed[T]) settle(rows []uint32) {
	l := k.lazy
	if l == nil {
		return
	}
	var b behind
	if b.find(l, rows, true); b.n > 0 {
		lag := k.lag(&b)
		lag.Settle()
	}
}

// prepareAll is prepare for any number of rows; change is called for each block of them, if it is not nil.
func (k *keyed[T]) prepareAll(rows []uint32, change func(from int, some []uint32)) {
	for lo := 0; lo < len(rows); lo += block {
		if ahead := rows[min(lo+block, len(rows)):min(lo+2*block, len(rows))]; len(ahead) > 0 {
			k.fetchToPrepare(ahead)
			k.slab.fetch(ahead, 0, k.slab.width)
		}
		some := rows[lo:min(lo+block, len(rows))]
		if k.prepare(some); change != nil {
			change(lo, some)
		}
	}
}

// freshen replaces weights of a block, n of each column from one on, which were copied to dst as they stand in the slab, by
// those that are up to date.
func (k *keyed[T]) freshen(dst []T, rows []uint32, from, n int) {
	if k.lazy == nil || !k.lazy.move {
		return
	}
	var b behind
	if b.find(k.lazy, rows, false); b.n > 0 {
		lag := k.lag(&b)
		lag.Read(dst, b.at[:b.n], from, n)
	}
}

// catchUp settles all columns.
func (k *keyed[T]) catchUp() {
	if k.lazy != nil {
		k.settleFrom(0, allPoints)
	}
}

// settleFrom settles the columns of some points of the index.
func (k *keyed[T]) settleFrom(from, to uint64) {
	l := k.lazy
	l.due = l.due[:0]
	k.index.scan(from, to, func(s slot) {
		if l.age(s.row) > 0 {
			l.due = append(l.due, s.row)
		}
	})
	k.prepareAll(l.due, nil)
}

// passed ends a step of the rule: columns that it did not name are behind by one step more, but for those whose turn it is.
func (k *keyed[T]) passed(rate float64) {
	l := k.lazy
	if l == nil {
		return
	}
	l.past.step(rate)
	l.as = uint16(l.past.now)
	k.settleFrom(k.turnOf(uint64(l.past.now)))
}

// turnOf is the points of the index whose turn it is in a step: those of the hashes that begin with its number. The lowest bit of
// that comes first, so that the partitions of a hash take turns.
func (k *keyed[T]) turnOf(step uint64) (from, to uint64) {
	turn := mathbits.Reverse64(step) >> (64 - turnBits)
	switch {
	case k.index.keys == 0:
		return 0, 0
	case k.bits >= turnBits && k.prefix>>(k.bits-turnBits) == turn:
		return 0, allPoints
	case k.bits >= turnBits || turn>>(turnBits-k.bits) != k.prefix:
		return 0, 0
	}
	part := uint64(allPoints) >> (turnBits - k.bits)
	from = turn & (1<<(turnBits-k.bits) - 1) * part
	return from, from + part
}
