package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
)

// keyedMark is a sparse partition as it was. A row that changes later is copied before, unless it has been read; a column
// that is removed is remembered. While there are marks no row is used for another column.
type keyedMark[T number] struct {
	k      *keyed[T]
	limit  uint32   // rows from here on are younger
	done   []uint64 // a bit for each row that was copied or read
	copies map[uint32]int
	val    []byte   // the copies, one row after the other
	last   []uint32 // of each copy the step that named it last, where columns expire
	stamps []uint16 // of each copy the step that it is as of, where columns can be behind
	past   *Past    // that it is behind in
	room   []T      // of one that is brought up to date
	copied int
	free   []int // those that are not needed any more
	gone   map[uint64]uint32
	unread []uint64 // the removed keys that were not listed, by hash once they are sorted
	sorted bool
	next   uint64 // points below are listed
	keys   int    // about how many there are
}

func (k *keyed[T]) mark() mark {
	m := &keyedMark[T]{
		k: k, limit: k.slab.used, done: make([]uint64, k.slab.used/64+1), copies: map[uint32]int{},
		gone: map[uint64]uint32{}, keys: k.index.keys,
	}
	if k.lazy != nil {
		m.past = k.lazy.past.clone()
	}
	k.marks = append(k.marks, m)
	return m
}

// keep has the marks copy rows that are about to change.
func (k *keyed[T]) keep(rows []uint32) {
	for _, m := range k.marks {
		for _, row := range rows {
			if row != 0 && row < m.limit && !m.isDone(row) {
				m.copy(row)
			}
		}
	}
}

// forget has the marks remember a column that is about to be removed.
func (k *keyed[T]) forget(key uint64, row uint32) {
	for _, m := range k.marks {
		if row >= m.limit {
			continue
		}
		if !m.isDone(row) {
			m.copy(row)
		}
		m.gone[key] = row
		if k.index.spread.Point(kernel.Hash(key)) >= m.next {
			m.unread, m.sorted = append(m.unread, key), false
		}
	}
}

func (m *keyedMark[T]) isDone(row uint32) bool { return m.done[row/64]>>(row%64)&1 != 0 }

func (m *keyedMark[T]) copy(row uint32) {
	size, at := m.k.slab.size, m.copied
	if n := len(m.free); n > 0 {
		at, m.free = m.free[n-1], m.free[:n-1]
		copy(m.val[at*size:][:size], m.k.slab.bytesOf(row))
	} else {
		m.copied++
		m.val = append(m.val, m.k.slab.bytesOf(row)...)
		if m.k.expires() {
			m.last = append(m.last, 0)
		}
		if m.past != nil {
			m.stamps = append(m.stamps, 0)
		}
	}
	if m.past != nil {
		m.stamps[at] = m.k.lazy.stamps[row]
	}
	if m.k.expires() {
		m.last[at] = m.k.life.last[row]
	}
	m.copies[row] = at
	m.done[row/64] |= 1 << (row % 64)
}

// list is the next keys by hash, about n of them and at least one; none at the end.
func (m *keyedMark[T]) list(n int) []int64 {
	var some []uint64
	x := m.k.index
	step := max(1, uint64(float64(n)/float64(max(m.keys, n))*allPoints))
	for len(some) == 0 && m.next < allPoints {
		to := min(m.next+step, allPoints)
		x.scan(m.next, to, func(s slot) {
			if s.row < m.limit {
				some = append(some, s.key)
			}
		})
		some = m.listGone(some, to)
		m.next = to
	}
	slices.SortFunc(some, byHash)
	keys := make([]int64, len(some))
	for i, key := range some {
		keys[i] = int64(key)
	}
	return keys
}

func byHash(a, b uint64) int { return cmp.Compare(kernel.Hash(a), kernel.Hash(b)) }

// listGone adds the removed keys whose points are below to.
func (m *keyedMark[T]) listGone(some []uint64, to uint64) []uint64 {
	if !m.sorted {
		slices.SortFunc(m.unread, func(a, b uint64) int { return -byHash(a, b) })
		m.sorted = true
	}
	for n := len(m.unread); n > 0 && m.k.index.spread.Point(kernel.Hash(m.unread[n-1])) < to; n-- {
		some = append(some, m.unread[n-1])
		m.unread = m.unread[:n-1]
	}
	return some
}

// read copies columns as they were, with their slots or without, and what is asked of them.
func (m *keyedMark[T]) read(dst []byte, of ofColumns, keys []int64, state bool) error {
	n := m.k.rows
	if state {
		n = m.k.slab.width
	}
	val, err := values[T](dst, len(keys)*n)
	if err != nil {
		return err
	}
	return m.each(keys, n, of, func(i int, was []T) { copy(val[i*n:][:n], was) })
}

// each calls f for columns as they were, in the order of keys. Of a column n values at least are there, until f returns.
func (m *keyedMark[T]) each(keys []int64, n int, of ofColumns, f func(i int, was []T)) error {
	k, all := m.k, n
	if m.past != nil {
		all = k.slab.width // weights that are behind catch up by slots
	}
	tell := func(i int, row uint32, was []T) {
		if of.last != nil {
			of.last[i] = m.lastOf(row)
		}
		as := m.stampOf(row)
		switch {
		case of.stamps != nil:
			of.stamps[i] = as
		case as != m.now():
			was = m.settled(was, n, as)
		}
		f(i, was)
	}
	var w walk
	for k.begin(&w, keys, makeNone); k.next(&w); {
		k.slab.fetch(w.ahead(), 0, n)
		for j, row := range w.rows() {
			key := keys[w.at+j]
			if row == 0 || row >= m.limit {
				row = m.gone[uint64(key)]
			}
			at, copied := m.copies[row]
			switch {
			case row == 0:
				return fmt.Errorf("column %d was not there at the mark", key)
			case copied:
				tell(w.at+j, row, k.slab.values(m.val[at*k.slab.size:][:k.slab.size], all))
				delete(m.copies, row)
				m.free = append(m.free, at)
			case m.isDone(row):
				return fmt.Errorf("column %d was read before: a mark gives each column once", key)
			default:
				tell(w.at+j, row, k.slab.values(k.slab.bytesOf(row), all))
				m.done[row/64] |= 1 << (row % 64)
			}
		}
	}
	return nil
}

// lastOf is the step that named a column last, 0 if it never expires.
func (m *keyedMark[T]) lastOf(row uint32) uint32 {
	if at, copied := m.copies[row]; copied && m.last != nil {
		return m.last[at]
	}
	if !m.k.expires() {
		return 0
	}
	return m.k.life.last[row]
}

// now is the step of the mark, 0 if columns are never behind.
func (m *keyedMark[T]) now() int64 {
	if m.past == nil {
		return 0
	}
	return m.past.now
}

// stampOf is the step that a column is as of.
func (m *keyedMark[T]) stampOf(row uint32) int64 {
	if m.past == nil {
		return 0
	}
	short := m.k.lazy.stamps[row]
	if at, copied := m.copies[row]; copied {
		short = m.stamps[at]
	}
	return m.past.now - int64(uint16(m.past.now)-short)
}

// settled is n values of a column that is as of a step, as they were at the mark, until the next call.
func (m *keyedMark[T]) settled(was []T, n int, as int64) []T {
	m.room = grown(m.room, n)
	if n > m.k.rows {
		copy(m.room, was)
		settleColumn(m.past, m.k.rows, m.k.slots, m.room, as)
		return m.room
	}
	var drift [1]kernel.Drift
	m.past.drift(&drift[0], as)
	l := kernel.Lag[T]{Idle: m.past.idle, Slab: was, Dim: m.k.rows, Slots: m.k.slots, Rows: firstRow, Drifts: drift[:]}
	l.Read(m.room, firstRow, 0, n)
	return m.room
}

func (m *keyedMark[T]) before() *Past { return m.past }

func (m *keyedMark[T]) readRect([]byte, matrix.Rect, int) error {
	return errors.New("cells of a sparse partition, want columns by key")
}

func (m *keyedMark[T]) bytes() int64 {
	const perCopy, perGone = 24, 48 // about, in the maps
	kept := 8*cap(m.done) + cap(m.val) + 8*cap(m.free) + 4*cap(m.last) + 2*cap(m.stamps) + 8*cap(m.unread)
	return int64(kept) + int64(perCopy*len(m.copies)+perGone*len(m.gone))
}

func (m *keyedMark[T]) close() {
	m.k.marks = slices.DeleteFunc(m.k.marks, func(o *keyedMark[T]) bool { return o == m })
	m.copies, m.gone, m.val, m.last, m.done, m.unread = nil, nil, nil, nil, nil, nil
	m.stamps, m.past = nil, nil
}
