package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// keyedMark is a sparse partition as it was. A row that changes later is copied before, unless it has been read; a column
// that is removed is remembered. While there are marks no row is used for another column.
type keyedMark[T number] struct {
	k     *keyed[T]
	limit uint32  // rows from here on are younger
	since *period // nil: all rows are read
	past  *Past   // that columns are behind in; nil: they never are

	turn   sync.Mutex // of the owner and of who reads beside it, for some rows at a time: what became of rows, and copies
	rows   became
	copies asideRows
	failed error // no memory for a copy: rows may not be as they were

	stamps map[uint32]uint8 // what those of rows were whose stamps have changed
	reused map[uint32]bool  // rows of columns that were removed, which others have now
	room   []T              // of one that is brought up to date
	gone   map[uint64]uint32
	unread []uint64 // the removed keys that were not listed, by hash once they are sorted
	sorted bool
	next   uint64 // points below are listed
	keys   int    // about how many there are
	asked  int    // of a partial mark: about how many of them are read
}

func (k *keyed[T]) mark(since *period) mark {
	m := &keyedMark[T]{
		k: k, limit: k.slab.used, since: since, rows: newBecame(int(k.slab.used)), gone: map[uint64]uint32{}, keys: k.index.keys,
		stamps: map[uint32]uint8{}, reused: map[uint32]bool{},
	}
	if since != nil {
		m.asked = since.changed.count(int(m.limit))
	}
	more := 0
	if k.lazy != nil {
		m.past, more = k.lazy.past.clone(), stampBytes
	}
	m.copies = newAside(int(m.limit), k.slab.size, more)
	k.marks = append(k.marks, m)
	k.note()
	return m
}

// note has all rows be looked at again when they change next, if anything looks at them.
func (k *keyed[T]) note() {
	if k.now == nil && len(k.marks) == 0 {
		k.noted = nil
		return
	}
	clear(k.noted)
	k.noted.reach(int(k.slab.used))
	k.noted.set(0) // which does not matter
}

// keep remembers that rows of at most a block are about to change, and has the marks copy them. Most rows that change often have been
// looked at before: of these one bit tells.
func (k *keyed[T]) keep(rows []uint32) {
	if k.noted == nil {
		return
	}
	var room [block]uint32
	some := k.noted.take(&room, rows)
	if len(some) == 0 {
		return
	}
	if k.now != nil {
		k.now.changed.add(some)
	}
	for _, m := range k.marks {
		m.copy(some)
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
		m.copy([]uint32{row})
		m.gone[key] = row
		if k.index.spread.Point(kernel.Hash(key)) >= m.next {
			m.unread, m.sorted = append(m.unread, key), false
		}
	}
}

// wants reports whether the mark reads the row.
func (m *keyedMark[T]) wants(row uint32) bool {
	return row < m.limit && row != 0 && (m.since == nil || m.since.changed.has(row))
}

// has reports whether the column that has the row now had it at the mark.
func (m *keyedMark[T]) has(row uint32) bool {
	return m.wants(row) && (len(m.reused) == 0 || !m.reused[row])
}

// reuse remembers that a row has another column now.
func (m *keyedMark[T]) reuse(row uint32) {
	if row < m.limit {
		m.reused[row] = true
	}
}

// date remembers the stamp of a column, which is about to change.
func (m *keyedMark[T]) date(row uint32, stamp uint8) {
	if _, known := m.stamps[row]; known || !m.has(row) {
		return
	}
	m.turn.Lock()
	defer m.turn.Unlock()
	if m.rows.of(row) != taken {
		m.stamps[row] = stamp
	}
}

// copy copies those of at most a block of rows aside that have not been read, before they change. None comes twice. Each is done with
// all rows before the next, so that the processor fetches what is needed of them all at once.
func (m *keyedMark[T]) copy(rows []uint32) {
	var room [block]uint32
	mine := room[:0]
	m.turn.Lock()
	defer m.turn.Unlock()
	for _, row := range rows {
		if m.wants(row) && m.rows.of(row) == waits {
			mine = append(mine, row)
		}
	}
	if len(mine) == 0 || m.failed != nil {
		return
	}
	if m.failed = m.copies.reserve(len(mine)); m.failed != nil {
		return
	}
	for i, row := range mine {
		m.rows.become(row, aside)
		m.copies.point(row, m.copies.used+uint32(i))
	}
	for _, row := range mine {
		m.k.slab.touch(row, false)
		into := m.copies.next()
		copy(into, m.k.slab.bytesOf(row))
		if m.past != nil {
			wire.Little.PutUint16(into[m.k.slab.size:], m.k.lazy.stamps[row])
		}
	}
}

// scanKeys is how many keys a partial mark looks at for a list of those that have changed.
const scanKeys = 1 << 17

// list is the next keys by hash, about n of them and at least one; nil at the end. A partial mark may find none in between.
func (m *keyedMark[T]) list(n int) []int64 { return keysOf(m.collect(nil, n)) }

// keysOf sorts columns by hash, and gives their keys; nil of nil.
func keysOf(some []listed) []int64 {
	if some == nil {
		return nil
	}
	sortListed(some)
	keys := make([]int64, len(some))
	for i := range some {
		keys[i] = int64(some[i].key)
	}
	return keys
}

// collect adds what list gives, in no order. It is nil at the end.
func (m *keyedMark[T]) collect(some []listed, n int) []listed {
	if m.next >= allPoints {
		return nil
	}
	step, partial := listStep(n, m.keys, m.asked, m.since != nil), m.since != nil
	if some == nil {
		some = make([]listed, 0, n+n/8)
	}
	for more := true; more; more = len(some) == 0 && m.next < allPoints && !partial {
		some = m.upTo(some, min(m.next+step, allPoints))
	}
	return some
}

// listStep is how many points of the index have about n columns of a mark that has so many keys, and of a partial one is asked for some.
func listStep(n, keys, asked int, partial bool) uint64 {
	look := n
	if partial {
		look = max(n, min(scanKeys, int(float64(n)*float64(keys)/float64(max(asked, 1)))))
	}
	return max(1, uint64(float64(look)/float64(max(keys, look, 1))*allPoints))
}

// upTo adds the columns whose points are below to and that were not listed, in no order.
func (m *keyedMark[T]) upTo(some []listed, to uint64) []listed {
	x, from := m.k.index, len(some)
	x.visit(m.next, to, allStamps, func(line, at int) {
		if l := &x.lines[line]; m.has(l.Row[at]) {
			some = append(some, listed{key: l.Key[at], row: l.Row[at], stamp: l.Stamp(at)})
		}
	})
	some = m.listGone(some, to)
	m.next = to
	if len(m.stamps) > 0 {
		for i := from; i < len(some); i++ {
			if stamp, known := m.stamps[some[i].row]; known {
				some[i].stamp = stamp
			}
		}
	}
	return some
}

func byHash(a, b uint64) int { return cmp.Compare(kernel.Hash(a), kernel.Hash(b)) }

// listGone adds the removed keys whose points are below to.
func (m *keyedMark[T]) listGone(some []listed, to uint64) []listed {
	if !m.sorted {
		slices.SortFunc(m.unread, func(a, b uint64) int { return -byHash(a, b) })
		m.sorted = true
	}
	for n := len(m.unread); n > 0 && m.k.index.spread.Point(kernel.Hash(m.unread[n-1])) < to; n-- {
		some = append(some, listed{key: m.unread[n-1], row: m.gone[m.unread[n-1]]})
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

// each calls f for columns as they were, in the order of keys. Of a column n values at least are there, until f returns. It is for the
// owner.
func (m *keyedMark[T]) each(keys []int64, n int, of ofColumns, f func(i int, was []T)) error {
	k, all := m.k, n
	if m.past != nil {
		all = k.slab.width // weights that are behind catch up by slots
	}
	w := walk{finder: k.slab.finder(0, n)}
	for k.begin(&w, keys, makeNone); k.next(&w); {
		k.slab.need(nil, false)
		if err := m.eachOf(&w, keys, n, all, of, f); err != nil {
			return err
		}
	}
	return k.failed()
}

// eachOf is each for a block of the walk. Of rows that are brought up to date all values are needed.
func (m *keyedMark[T]) eachOf(w *walk, keys []int64, n, all int, of ofColumns, f func(i int, was []T)) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if m.failed != nil {
		return m.failed
	}
	for j, row := range w.rows() {
		i := w.at + j
		if row == 0 || !m.has(row) {
			row = m.gone[uint64(keys[i])]
		}
		if row == 0 {
			return fmt.Errorf("column %d was not there at the mark", keys[i])
		}
		if m.rows.of(row) == taken {
			return readBefore(uint64(keys[i]))
		}
		if of.ages != nil {
			of.ages[i] = m.stampOf(keys[i], row)
		}
		bytes, as := m.bytesOf(row)
		was := m.k.slab.values(bytes, all)
		switch {
		case of.as != nil:
			of.as[i] = as
		case as != m.now():
			was = m.settled(was, n, as)
		}
		f(i, was)
		m.rows.become(row, taken)
	}
	return nil
}

func readBefore(key uint64) error {
	return fmt.Errorf("column %d was read before: a mark gives each column once", int64(key))
}

// bytesOf is a row as it was that is not taken, where the owner has copied it to or where it still is, and the step that it is as of.
func (m *keyedMark[T]) bytesOf(row uint32) (was []byte, as int64) {
	size := m.k.slab.size
	if m.rows.of(row) == aside {
		was = m.copies.bytes(m.copies.of(row))
		if m.past != nil {
			as = m.stepOf(wire.Little.Uint16(was[size:]))
		}
		return was[:size], as
	}
	m.k.slab.touch(row, false)
	if m.past != nil {
		as = m.stepOf(m.k.lazy.stamps[row])
	}
	return m.k.slab.bytesOf(row), as
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

// stepOf is the step of the mark or before that has these low bits.
func (m *keyedMark[T]) stepOf(short uint16) int64 {
	return m.past.now - int64(uint16(m.past.now)-short)
}

// settled is n values of a column that is as of a step, as they were at the mark, until the next call.
func (m *keyedMark[T]) settled(was []T, n int, as int64) []T {
	m.room = grown(m.room, n)
	if n > m.k.rows {
		copy(m.room, was)
		settleColumn(m.past, m.k.rows, m.k.own, m.room, as)
		return m.room
	}
	var drift [1]kernel.Drift
	m.past.drift(&drift[0], as)
	l := kernel.Lag[T]{Idle: m.past.idle, Slab: was, Dim: m.k.rows, Slots: m.k.own, Rows: firstRow, Drifts: drift[:]}
	l.Read(m.room, firstRow, 0, n)
	return m.room
}

func (k *keyed[T]) readyMark(int64) {}

func (m *keyedMark[T]) before() *Past { return m.past }

func (m *keyedMark[T]) readRect([]byte, matrix.Rect, int) error {
	return errors.New("cells of a sparse partition, want columns by key")
}

func (m *keyedMark[T]) bytes() int64 {
	const perGone, perStamp = 48, 16 // about, in the maps
	kept := int64(8*(len(m.rows)+cap(m.unread))) + m.copies.size()
	return kept + int64(perGone*len(m.gone)+perStamp*(len(m.stamps)+len(m.reused)))
}

func (m *keyedMark[T]) close() {
	m.k.marks = slices.DeleteFunc(m.k.marks, func(o *keyedMark[T]) bool { return o == m })
	if len(m.k.marks) == 0 && m.k.now == nil {
		m.k.note()
	}
	m.copies.free()
	*m = keyedMark[T]{k: m.k, next: allPoints}
}
