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
	rows    int // of the matrix: values of a column
	size    int // bytes of a value
	index   *index
	slab    *slab[T]
	init    *fill
	valued  bool // row 0 of the slab is not all zero: the values of columns that are not there
	marks   []*keyedMark[T]
	age     *aging   // nil: columns neither expire nor are evicted
	life    *life    // nil: all columns are kept
	buckets *buckets // nil: there is no budget
	bits    int      // that the hashes of all columns begin with
	prefix  uint64   // those, once there was a column

	stepper stepper[T]
	fold    fold[T]
	some    admission
}

func newKeyed[T number](m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int) (*keyed[T], error) {
	q, err := newQuota(m, slots)
	if err != nil {
		return nil, err
	}
	k, err := newColumns[T](m, at, bits, step, slots, q)
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
		at: at, rows: rows, size: sizeOf[T](), index: x, slab: newSlab[T](rows * (1 + slots)), init: newFill(m), bits: bits,
		stepper: newStepper[T](step, slots), age: newAging(m.Keep.ExpireAfter, q != nil),
	}
	if err := k.fit(q); err != nil {
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
	var w walk
	size := n * k.size
	k.begin(&w, keys, makeNone)
	k.fetch(w.row[0][:len(w.part(0))], from*k.size, size)
	for k.next(&w) {
		k.fetch(w.ahead(), from*k.size, size)
		found := w.rows()
		into := dst[w.at*size:][:len(found)*size]
		kernel.Gather(into, k.slab.data()[from*k.size:], k.slab.stride*k.size, size, found)
		if w.absent() > 0 && k.init != nil {
			val, _ := wire.Numbers[T](into)
			for j, row := range found {
				if row == 0 {
					k.initial(keys[w.at+j], rows.Lo, val[j*n:][:n])
				}
			}
		}
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
// how many, and the values of the delta. Rows are 0 of columns that are not made.
func (k *keyed[T]) change(d *Delta, fresh making, f func(w *walk, from, n int, val []T)) error {
	c := k.columns(d)
	if fresh == makeAll {
		if err := k.allow(c.keys, true); err != nil {
			return err
		}
	}
	var w walk
	k.begin(&w, c.keys, fresh)
	k.fetch(w.row[0][:len(w.part(0))], c.from*k.size, c.n*k.size)
	for k.next(&w) {
		rows := w.rows()
		k.keep(rows)
		f(&w, c.from, c.n, c.val[w.at*c.n:][:len(rows)*c.n])
	}
	return w.err
}

func (k *keyed[T]) set(d *Delta) error {
	return k.change(d, makeAll, func(w *walk, from, n int, val []T) {
		k.fetch(w.ahead(), from*k.size, n*k.size)
		kernel.Scatter(wire.View(val), k.slab.data()[from*k.size:], k.slab.stride*k.size, n*k.size, w.rows())
	})
}

func (k *keyed[T]) add(d *Delta) error {
	defer clear(k.fold.grads[:]) // what they point to belongs to the caller
	return k.change(d, makeAll, func(w *walk, from, n int, val []T) {
		kernel.AddRows(k.aim(k.batch(from, n, 1), w.rows(), w.ahead(), val))
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

func (k *keyed[T]) bytes() int64 {
	n := k.index.bytes() + k.slab.bytes() + k.fold.bytes() + k.age.bytes() + k.buckets.bytes()
	for _, m := range k.marks {
		n += m.bytes()
	}
	if k.life != nil {
		n += k.life.bytes()
	}
	return n
}

func (k *keyed[T]) close() {
	k.index.mem.Free()
	k.slab.mem.Free()
	if k.life != nil {
		k.life.close()
	}
	k.index.lines, k.slab.val = nil, nil
}
