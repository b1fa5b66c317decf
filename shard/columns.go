package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/wire"
)

// Columns is some columns of a mark, on their way from the owner of the shard to whoever reads them beside it.
type Columns struct {
	Keys []int64 // in ascending order of kernel.Hash
	Ages Ages    // for how long nothing had named them, where the mark is Aged or Ranked
	all  []listed
}

// listed is a column with its row, and its stamp of age at the mark.
type listed struct {
	hash, key uint64
	row       uint32
	stamp     uint8
	table     uint8 // that the row is of, where columns have several widths
}

// Len is how many columns there are.
func (c *Columns) Len() int { return len(c.all) }

// List replaces the columns by the next ones, about n of them; false at the end. A partial mark may have none before the end. It is for
// the owner of the shard, and does no more than has to be done there: before the columns are looked at they want to be sorted.
func (m *Mark) List(c *Columns, n int) (more bool) {
	c.Keys, c.Ages = c.Keys[:0], Ages{}
	if c.all == nil {
		c.all = []listed{}
	}
	all := m.mark.collect(c.all[:0], max(1, n))
	if all != nil {
		c.all = all
		return true
	}
	c.all = c.all[:0]
	return false
}

// Sort brings what List has listed into its order. It needs not be called by the owner of the shard.
func (m *Mark) Sort(c *Columns) {
	sortListed(c.all)
	c.Keys = grown(c.Keys, len(c.all))
	for i := range c.all {
		c.Keys[i] = int64(c.all[i].key)
	}
	if m.Aged() {
		c.Ages.Last = make([]int64, len(c.all))
		for i, x := range c.all {
			c.Ages.Last[i] = m.age.last(x.stamp, m.steps)
		}
	}
	if m.Ranked() {
		c.Ages.Ranks = make([]uint8, len(c.all))
		for i, x := range c.all {
			c.Ages.Ranks[i] = m.age.rank(x.stamp)
		}
	}
}

// Part is the columns lo to hi, which share the memory of c.
func (c *Columns) Part(lo, hi int) *Columns {
	p := &Columns{Keys: c.Keys[lo:hi], all: c.all[lo:hi]}
	if c.Ages.Last != nil {
		p.Ages.Last = c.Ages.Last[lo:hi]
	}
	if c.Ages.Ranks != nil {
		p.Ages.Ranks = c.Ages.Ranks[lo:hi]
	}
	return p
}

// ErrOwner is why the owner of a shard has to copy columns itself: they may have to come from disk.
var ErrOwner = errors.New("rows may lie on disk: the owner of the partition has to copy them")

// Copy copies columns to dst, one after the other, as [Mark.Read] does with state, and where the mark has a Past into stamps the steps
// that they are as of, as [Mark.ReadStale]. It may be called beside the owner of the shard, while that changes or closes it, by one at
// a time; with owner true it is the owner who calls it. After ErrOwner nothing has been copied.
func (m *Mark) Copy(dst []byte, stamps []int64, c *Columns, owner bool) error {
	if m.past != nil && len(stamps) != c.Len() {
		return m.s.wrapped(fmt.Errorf("%d steps of %d columns, want one of each", len(stamps), c.Len()))
	}
	return m.s.wrapped(m.mark.copyOut(dst, stamps, c.all, owner))
}

// sortSteps is how many places a listed column may be from its own, in the mean, for the simplest way of sorting to be the fastest.
const sortSteps = 16

// sortListed sorts by hash. An index has keys almost in that order.
func sortListed(all []listed) {
	steps := 0
	for i := range all {
		x := all[i]
		x.hash = kernel.Hash(x.key)
		at := i
		for ; at > 0 && all[at-1].hash > x.hash; at-- {
			all[at] = all[at-1]
		}
		all[at] = x
		if steps += i - at; steps > sortSteps*len(all) {
			for j := i + 1; j < len(all); j++ {
				all[j].hash = kernel.Hash(all[j].key)
			}
			slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.hash, b.hash) })
			return
		}
	}
}

// copyOut copies rows with all their slots as they were. What the owner has copied aside comes from there.
func (m *keyedMark[T]) copyOut(dst []byte, stamps []int64, all []listed, owner bool) error {
	k := m.k
	val, err := values[T](dst, len(all)*k.slab.width)
	if err != nil {
		return err
	}
	if owner {
		k.slab.need(nil, false)
	} else {
		k.slab.hold.RLock()
		defer k.slab.hold.RUnlock()
		switch {
		case k.slab.paging != nil:
			return ErrOwner
		case len(k.slab.data()) == 0:
			return errors.New("the partition has been closed")
		}
	}
	var rows [2][block]uint32
	part := func(at int) (some []listed, of []uint32) {
		some = all[min(at, len(all)):min(at+block, len(all))]
		of = rows[at/block%2][:len(some)]
		for i := range some {
			of[i] = some[i].row
		}
		return some, of
	}
	some, of := part(0)
	k.slab.fetch(of, 0, k.slab.width)
	for at := 0; at < len(all); at += block {
		next, ahead := part(at + block)
		k.slab.fetch(ahead, 0, k.slab.width)
		var as []int64
		if stamps != nil {
			as = stamps[at:][:len(some)]
		}
		if owner {
			k.slab.need(nil, false)
		}
		if err := m.copyBlock(val[at*k.slab.width:], as, some, of); err != nil {
			return err
		}
		some, of = next, ahead
	}
	return k.failed()
}

// copyBlock copies the rows of a block, and says that they are taken. Each is done with all rows before the next, as in copy.
func (m *keyedMark[T]) copyBlock(dst []T, as []int64, some []listed, rows []uint32) error {
	var was [block]uint64
	slab := m.k.slab
	m.turn.Lock()
	defer m.turn.Unlock()
	if m.failed != nil {
		return m.failed
	}
	for i, row := range rows {
		was[i] = m.rows.of(row)
	}
	if at := slices.Index(was[:len(rows)], taken); at >= 0 {
		return readBefore(some[at].key)
	}
	if slab.packed == nil && m.past == nil && !slices.Contains(was[:len(rows)], aside) {
		for _, row := range rows {
			slab.touch(row, false)
		}
		slab.gather(wire.View(dst[:len(rows)*slab.width]), rows, 0, slab.width)
	} else {
		m.copyEach(dst, as, rows, &was)
	}
	for _, row := range rows {
		m.rows.become(row, taken)
	}
	return nil
}

// copyEach copies rows one by one, wherever they are, each with the step that it is as of.
func (m *keyedMark[T]) copyEach(dst []T, as []int64, rows []uint32, was *[block]uint64) {
	slab := m.k.slab
	for i, row := range rows {
		var from []byte
		if was[i] == aside {
			from = m.copies.bytes(m.copies.of(row))
			if m.past != nil {
				as[i] = m.stepOf(wire.Little.Uint16(from[slab.size:]))
			}
		} else {
			slab.touch(row, false)
			from = slab.bytesOf(row)
			if m.past != nil {
				as[i] = m.stepOf(m.k.lazy.stamps[row])
			}
		}
		into := dst[i*slab.width:][:slab.width]
		if slab.packed != nil {
			slab.packed.load(into, slab.rows, from, firstRow)
			continue
		}
		copy(wire.View(into), from[:slab.size])
	}
}
