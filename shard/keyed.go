package shard

import (
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// keyed keeps the columns that were written, found by key. A column is a row of the slab: the values of all rows of the
// matrix, and after them those of each slot of the rule.
type keyed[T number] struct {
	at      matrix.Rect
	rows    int     // of the matrix: values of a column
	slots   int     // of the rule, and for counts
	own     int     // those of the rule
	counts  *counts // nil: columns are not counted
	size    int     // bytes of a value
	index   *index
	slab    *slab[T]
	init    *fill
	valued  bool // row 0 of the slab is not all zero: the values of columns that are not there
	marks   []*keyedMark[T]
	noted   bits     // rows that now has as changed and all marks have as they were; nil: there are none of both
	now     *period  // what remembers changes; nil: nothing does
	age     *aging   // nil: columns neither expire nor are evicted
	life    *life    // nil: all columns are kept
	lazy    *lazy    // nil: no step changes a column that it does not name
	buckets *buckets // nil: there is no budget
	bits    int      // that the hashes of all columns begin with
	prefix  uint64   // those, once there was a column

	stepper stepper[T]
	fold    fold[T]
	some    admission
	walk    walk // of a change, so that it needs no new memory
}

func newKeyed[T number](m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int) (*keyed[T], error) {
	q, err := newQuotas(m, slots)
	if err != nil {
		return nil, err
	}
	k, err := newColumns[T](m, at, bits, step, slots, q.table(0))
	if err != nil {
		return nil, err
	}
	k.life, err = newLife(m, at, bits, q)
	return k, err
}

// newColumns is a table of columns, all of which are made at once. q is nil if there is no budget.
func newColumns[T number](m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int, q *quota) (*keyed[T], error) {
	if at.Rows.Len() > rowLimit {
		return nil, fmt.Errorf("matrix %s: sparse partition at %v, want at most 2^24 rows in one", m.Name, at)
	}
	rows := int(at.Rows.Len())
	x, err := newIndex(bits)
	if err != nil {
		return nil, err
	}
	k := &keyed[T]{
		at: at, rows: rows, slots: slots, own: slots - m.Keep.CountSlots(m.Rows), size: sizeOf[T](), index: x,
		slab: newSlab(rows, slots, newPacking[T](m, at, slots)),
		init: newFill(m), bits: bits, stepper: newStepper[T](step, slots-m.Keep.CountSlots(m.Rows)),
		age: newAging(m.Keep.ExpireAfter, q != nil),
	}
	k.counts = newCounts(m, rows, slots)
	if err := k.fit(q); err != nil {
		return nil, err
	}
	if k.lazy, err = newLazy(step); err != nil {
		return nil, err
	}
	return k, k.slab.reserve(0)
}

// initial writes the values that a column has before the first push.
func (k *keyed[T]) initial(col int64, lo int64, val []T) {
	if k.init == nil {
		clear(val)
		return
	}
	for r := range val {
		val[r] = T(k.init.cell(lo+int64(r), col))
	}
}

func (k *keyed[T]) aligned(values []byte) bool { return aligned[T](values) }

func (k *keyed[T]) stored() int { return k.index.keys }

func (k *keyed[T]) read(dst []byte, rows matrix.Range, keys []int64) {
	from, n := int(rows.Lo-k.at.Rows.Lo), int(rows.Len())
	if n == 0 {
		return // the place may lie anywhere
	}
	w := walk{finder: k.slab.finder(from, n)} // of its own: there may be several reads at a time
	for k.begin(&w, keys, makeNone); k.next(&w); {
		k.fetchToFreshen(w.ahead(), from, n)
		found := w.rows()
		k.readRows(dst[w.at*n*k.size:][:len(found)*n*k.size], rows, keys[w.at:][:len(found)], found)
	}
}

// readRows copies the values of columns whose rows were found.
func (k *keyed[T]) readRows(dst []byte, rows matrix.Range, keys []int64, found []uint32) {
	from, n := int(rows.Lo-k.at.Rows.Lo), int(rows.Len())
	k.slab.need(found, false)
	k.slab.gather(dst, found, from, n)
	val, _ := wire.Numbers[T](dst)
	k.freshen(val, found, from, n)
	if k.init != nil && slices.Contains(found, 0) {
		k.fill(val, found, keys, rows)
	}
}

// fill writes the initial values of those of the columns that are not there.
func (k *keyed[T]) fill(val []T, found []uint32, keys []int64, rows matrix.Range) {
	n, p := int(rows.Len()), k.slab.packed
	var column []T
	var row []byte
	for j := range found {
		switch into := val[j*n:][:n]; {
		case found[j] != 0:
		case p == nil:
			k.initial(keys[j], rows.Lo, into)
		default: // as the column would be kept
			if row == nil {
				column, row = make([]T, k.slab.width), wire.View(make([]uint32, k.slab.size/4+1))
			}
			k.initial(keys[j], k.at.Rows.Lo, column[:k.rows])
			p.store(row[:k.slab.size], column)
			p.gather(into, row, firstRow, int(rows.Lo-k.at.Rows.Lo), n)
		}
	}
}

// fetchToFreshen has the processor fetch what n weights of rows, from one on, are brought up to date by.
func (k *keyed[T]) fetchToFreshen(rows []uint32, from, n int) {
	if k.lazy == nil || !k.lazy.move {
		return
	}
	k.lazy.fetch(rows)
	if k.lazy.pull {
		k.slab.fetch(rows, k.rows+from, n)
	}
}

// columns is a delta by column: of each the values of n rows, counted from from.
type columns[T number] struct {
	keys    []int64
	val     []T
	from, n int
}

func (c *columns[T]) of(at int32) []T { return c.val[int(at)*c.n:][:c.n] }

// columns is a view of the delta, or a copy if it has cells row after row. A delta without rows has no columns: its place
// may lie anywhere.
func (k *keyed[T]) columns(d *Delta) columns[T] {
	val, _ := wire.Numbers[T](d.Values) // aligned: Fits has looked
	c := columns[T]{d.Keys, val, int(d.Rows.Lo - k.at.Rows.Lo), int(d.Rows.Len())}
	switch {
	case c.n == 0:
		c.keys, c.from = nil, 0
	case d.Keys == nil:
		width := int(d.Cols.Len())
		c.keys, c.val = make([]int64, width), make([]T, len(val))
		for i := range c.keys {
			c.keys[i] = d.Cols.Lo + int64(i)
			for r := range c.n {
				c.val[i*c.n+r] = val[r*width+i]
			}
		}
	}
	return c
}

// change calls f for every block of columns of the delta: the walk at it, of each row the first value that the delta covers and
// how many, and the keys and values of the delta. Rows are 0 of columns that are not made.
func (k *keyed[T]) change(d *Delta, fresh making, f func(w *walk, from, n int, keys []int64, val []T)) error {
	c := k.columns(d)
	if fresh != makeNamed {
		if err := k.allow(c.keys, true); err != nil {
			return err
		}
	}
	w := &k.walk
	w.finder = kernel.Finder{}
	k.begin(w, c.keys, fresh)
	k.slab.fetch(w.row[0][:len(w.part(0))], c.from, c.n)
	for k.next(w) {
		rows := w.rows()
		k.fetchToPrepare(w.ahead())
		k.prepare(rows)
		f(w, c.from, c.n, w.part(w.at), c.val[w.at*c.n:][:len(rows)*c.n])
	}
	w.keys = nil // which are the caller's
	return w.err
}

// fetchToPrepare has the processor fetch what is looked at of rows before they change, beside the rows.
func (k *keyed[T]) fetchToPrepare(rows []uint32) {
	k.noted.fetch(rows)
	if k.lazy != nil {
		k.lazy.fetch(rows)
	}
}

// prepare has rows of a block be ready for a change: in memory, kept by marks as they were, and up to date.
func (k *keyed[T]) prepare(rows []uint32) {
	k.slab.need(rows, true)
	k.keep(rows)
	k.settle(rows)
}

func (k *keyed[T]) set(d *Delta) error {
	return k.change(d, k.toSet(d.Rows), func(w *walk, from, n int, _ []int64, val []T) {
		k.slab.fetch(w.ahead(), from, n)
		k.slab.scatter(val, w.rows(), from, n)
	})
}

func (k *keyed[T]) add(d *Delta, t int64) error {
	defer clear(k.fold.grads[:]) // what they point to belongs to the caller
	return k.change(d, makeAll, func(w *walk, from, n int, keys []int64, val []T) {
		k.run(k.aim(k.batch(from, n, 1), w.rows(), w.ahead(), val), keys, t, kernel.AddRows)
	})
}

func addTo[T number](into, from []T) {
	into = into[:len(from)]
	for r, v := range from {
		into[r] += v
	}
}

// keys is the stored keys within the range, ascending.
func (k *keyed[T]) keys(within matrix.Range) []int64 {
	keys := make([]int64, 0, k.index.keys)
	k.index.scan(0, allPoints, func(s slot) {
		if within.Has(int64(s.key)) {
			keys = append(keys, int64(s.key))
		}
	})
	slices.Sort(keys)
	return keys
}

func (k *keyed[T]) readRect([]byte, matrix.Rect) {}

func (k *keyed[T]) deltas(b matrix.Block) []Delta { return deltasOf[T](b) }

// make makes the columns that are not there.
func (k *keyed[T]) make(keys []int64) error {
	if err := k.allow(keys, true); err != nil {
		return err
	}
	var w walk
	for k.begin(&w, keys, makeAll); k.next(&w); {
	}
	return w.err
}

// missing counts the keys that have no column yet.
func (k *keyed[T]) missing(keys []int64) (n int) {
	var w walk
	for k.begin(&w, keys, makeNone); k.next(&w); {
		n += w.absent()
	}
	return n
}

func (k *keyed[T]) bytes() int64 { return k.ownBytes() + k.life.bytes() }

// ownBytes is what it takes without its life, which several tables may share.
func (k *keyed[T]) ownBytes() int64 {
	n := k.index.bytes() + k.slab.bytes() + k.fold.bytes() + k.age.bytes() + k.buckets.bytes() + k.counts.bytes()
	n += int64(8 * cap(k.noted))
	for _, m := range k.marks {
		n += m.bytes()
	}
	if k.lazy != nil {
		n += k.lazy.bytes()
	}
	return n
}

func (k *keyed[T]) close() {
	k.slab.hold.Lock()
	defer k.slab.hold.Unlock()
	for _, m := range k.marks {
		m.copies.free()
	}
	k.index.mem.Free()
	k.slab.mem.Free()
	k.slab.paging.close()
	k.slab.paging = nil
	if k.life != nil {
		k.life.close()
	}
	if k.lazy != nil {
		k.lazy.mem.Free()
		k.lazy.stamps = nil
	}
	k.index.lines, k.slab.val = nil, nil
}
