package shard

import (
	"cmp"
	"errors"
	"fmt"
	mathbits "math/bits"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
)

// keyedMark is a sparse partition as it was. A row that changes later is copied before, unless it has been read; a column
// that is removed is remembered. While there are marks no row is used for another column.
type keyedMark[T number] struct {
	k      *keyed[T]
	limit  uint32            // rows from here on are younger
	since  *period           // nil: all rows are read
	done   bits              // rows that were copied or read, or are not asked for
	copies map[uint32]uint32 // where each is
	val    [][]byte          // the copies, one row after the other, so many each that none has to move
	stamps map[uint32]uint8  // what those of rows were whose stamps have changed
	reused map[uint32]bool   // rows of columns that were removed, which others have now
	as     []uint16          // of each copy the step that it is as of, where columns can be behind
	past   *Past             // that it is behind in
	room   []T               // of one that is brought up to date
	copied int
	free   []uint32 // those that are not needed any more
	gone   map[uint64]uint32
	unread []uint64 // the removed keys that were not listed, by hash once they are sorted
	sorted bool
	next   uint64 // points below are listed
	keys   int    // about how many there are
	asked  int    // of a partial mark: about how many of them are read
}

func (k *keyed[T]) mark(since *period) mark {
	m := &keyedMark[T]{
		k: k, limit: k.slab.used, since: since, done: make(bits, k.slab.used/64+1), copies: map[uint32]uint32{},
		gone: map[uint64]uint32{}, keys: k.index.keys, stamps: map[uint32]uint8{}, reused: map[uint32]bool{},
	}
	if since != nil {
		for i := range m.done {
			m.done[i] = ^since.changed[i]
			m.asked += 64 - mathbits.OnesCount64(m.done[i])
		}
	}
	if k.lazy != nil {
		m.past = k.lazy.past.clone()
	}
	k.marks = append(k.marks, m)
	return m
}

// keep remembers that rows are about to change, and has the marks copy them.
func (k *keyed[T]) keep(rows []uint32) {
	if k.now != nil {
		k.now.change(rows)
	}
	for _, m := range k.marks {
		for _, row := range rows {
			if row != 0 && row < m.limit && !m.done.has(row) {
				m.copy(row)
			}
		}
	}
}

// forget remembers that a column is about to be removed, also for the marks.
func (k *keyed[T]) forget(key uint64, row uint32) {
	if k.now != nil {
		k.now.remove(key, row)
	}
	for _, m := range k.marks {
		if !m.has(row) {
			continue
		}
		if line, at, ok := k.index.find(key); ok && k.age != nil {
			m.date(row, k.index.lines[line].Stamp(at))
		}
		if !m.done.has(row) {
			m.copy(row)
		}
		m.gone[key] = row
		if k.index.spread.Point(kernel.Hash(key)) >= m.next {
			m.unread, m.sorted = append(m.unread, key), false
		}
	}
}

// has reports whether the column that has the row now had it at the mark.
func (m *keyedMark[T]) has(row uint32) bool {
	return row < m.limit && !m.reused[row] && (m.since == nil || m.since.changed.has(row))
}

// reuse remembers that a row has another column now.
func (m *keyedMark[T]) reuse(row uint32) {
	if row < m.limit {
		m.reused[row] = true
	}
}

// date remembers the stamp of a column, which is about to change.
func (m *keyedMark[T]) date(row uint32, stamp uint8) {
	_, known := m.stamps[row]
	_, copied := m.copies[row]
	if known || !m.has(row) || m.done.has(row) && !copied { // it has been read
		return
	}
	m.stamps[row] = stamp
}

func (m *keyedMark[T]) copy(row uint32) {
	m.k.slab.touch(row, false)
	at := m.copied
	if n := len(m.free); n > 0 {
		at, m.free = int(m.free[n-1]), m.free[:n-1]
	} else {
		m.reach(at)
		m.copied++
		if m.past != nil {
			m.as = append(m.as, 0)
		}
	}
	copy(m.copyAt(at), m.k.slab.bytesOf(row))
	if m.past != nil {
		m.as[at] = m.k.lazy.stamps[row]
	}
	m.copies[row] = uint32(at)
	m.done.set(row)
}

// copyBytes is about how much memory is taken at once for copies.
const copyBytes = 64 << 10

// together is how many copies lie together.
func (m *keyedMark[T]) together() int { return max(1, copyBytes/m.k.slab.size) }

// reach makes room for one copy more; the first ones take no more than they are.
func (m *keyedMark[T]) reach(at int) {
	n, size := m.together(), m.k.slab.size
	switch {
	case at == 0:
		m.val = append(m.val, make([]byte, size))
	case at < n:
		m.val[0] = append(m.val[0], make([]byte, size)...)
	case at%n == 0:
		m.val = append(m.val, make([]byte, n*size))
	}
}

// copyAt is the place of a copy.
func (m *keyedMark[T]) copyAt(at int) []byte {
	n, size := m.together(), m.k.slab.size
	return m.val[at/n][at%n*size:][:size]
}

// scanKeys is how many keys a partial mark looks at for a list of those that have changed.
const scanKeys = 1 << 17

// list is the next keys by hash, about n of them and at least one; nil at the end. A partial mark may find none in between.
func (m *keyedMark[T]) list(n int) []int64 {
	var some []uint64
	x, look, partial := m.k.index, n, m.since != nil
	if partial {
		look = max(n, min(scanKeys, int(float64(n)*float64(m.keys)/float64(max(m.asked, 1)))))
	}
	step := max(1, uint64(float64(look)/float64(max(m.keys, look, 1))*allPoints))
	if m.next >= allPoints {
		return nil
	}
	for more := true; more; more = len(some) == 0 && m.next < allPoints && !partial {
		to := min(m.next+step, allPoints)
		x.scan(m.next, to, func(s slot) {
			if m.has(s.row) {
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
		if of.ages != nil {
			of.ages[i] = m.stampOf(keys[i], row)
		}
		as := m.asOf(row)
		switch {
		case of.as != nil:
			of.as[i] = as
		case as != m.now():
			was = m.settled(was, n, as)
		}
		f(i, was)
	}
	w := walk{finder: k.slab.finder(0, n)}
	for k.begin(&w, keys, makeNone); k.next(&w); {
		k.slab.need(nil, false)
		for j, row := range w.rows() {
			key := keys[w.at+j]
			if row == 0 || !m.has(row) {
				row = m.gone[uint64(key)]
			}
			at, copied := uint32(0), false
			if m.done.has(row) { // of most rows, which are not, the map need not be asked
				at, copied = m.copies[row]
			}
			switch {
			case row == 0:
				return fmt.Errorf("column %d was not there at the mark", key)
			case copied:
				tell(w.at+j, row, k.slab.values(m.copyAt(int(at)), all))
				delete(m.copies, row)
				m.free = append(m.free, at)
			case m.done.has(row):
				return fmt.Errorf("column %d was read before: a mark gives each column once", key)
			default:
				k.slab.touch(row, false)
				tell(w.at+j, row, k.slab.values(k.slab.bytesOf(row), all))
				m.done.set(row)
			}
		}
	}
	return k.failed()
}

// stampOf is the stamp of a column.
func (m *keyedMark[T]) stampOf(key int64, row uint32) uint8 {
	if stamp, known := m.stamps[row]; known {
		delete(m.stamps, row)
		return stamp
	}
	line, at, _ := m.k.index.find(uint64(key)) // it is there: nothing has changed its stamp
	return m.k.index.lines[line].Stamp(at)
}

// now is the step of the mark, 0 if columns are never behind.
func (m *keyedMark[T]) now() int64 {
	if m.past == nil {
		return 0
	}
	return m.past.now
}

// asOf is the step that a column is as of.
func (m *keyedMark[T]) asOf(row uint32) int64 {
	if m.past == nil {
		return 0
	}
	short := m.k.lazy.stamps[row]
	if at, copied := m.copies[row]; copied {
		short = m.as[at]
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
	const perCopy, perGone, perStamp = 24, 48, 16 // about, in the maps
	copies := max(0, len(m.val)-1) * (m.together()*m.k.slab.size + 24)
	if len(m.val) > 0 {
		copies += cap(m.val[0])
	}
	kept := 8*cap(m.done) + copies + 2*cap(m.as) + 4*cap(m.free) + 8*cap(m.unread)
	return int64(kept) + int64(perCopy*len(m.copies)+perGone*len(m.gone)+perStamp*(len(m.stamps)+len(m.reused)))
}

func (m *keyedMark[T]) close() {
	m.k.marks = slices.DeleteFunc(m.k.marks, func(o *keyedMark[T]) bool { return o == m })
	m.copies, m.gone, m.val, m.stamps, m.reused, m.done, m.unread = nil, nil, nil, nil, nil, nil, nil
	m.as, m.past = nil, nil
}
