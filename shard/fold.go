package shard

import (
	"thole.example/kernel"
)

// fold is the memory of a step over some columns, kept for the next one.
type fold[T number] struct {
	grads [block]*T // of the rows of a block
	batch kernel.Batch[T]

	touched []touch  // columns in the order in which deltas touched them
	keys    []int64  // of them, if rows are packed
	places  []uint32 // finds a row among them: its number plus 1, by open addressing over a power of two
	sum     []T      // of those that were touched twice, one after the other
}

// touch is a row that a step changes, and where its gradient is: column at of a delta, or of the sums if from is inSum.
type touch struct {
	row  uint32
	from int32
	at   int32
}

const inSum = -1

func (f *fold[T]) bytes() int64 {
	return int64(12*cap(f.touched)+8*cap(f.keys)+4*cap(f.places)) + int64(cap(f.sum)*sizeOf[T]())
}

// batch prepares the batch for a part of the columns.
func (k *keyed[T]) batch(from, n int, scale float64) *kernel.Batch[T] {
	b := &k.fold.batch
	*b = kernel.Batch[T]{Dim: n, Next: k.rows, Scale: T(scale)}
	if b.Slab, b.Stride = k.slab.val, k.slab.stride; k.slab.packed != nil {
		b.Slab, b.Stride, b.Next = k.slab.room, k.rows, len(k.slab.room)/k.slab.width*k.rows
	}
	b.Slab = b.Slab[from:]
	return b
}

// run makes the t-th step on the rows of a batch, which are those of the keys. Packed ones are unpacked for it, as many at a time as
// there is room for.
func (k *keyed[T]) run(b *kernel.Batch[T], keys []int64, t int64, step func(b *kernel.Batch[T])) {
	s := k.slab
	if s.packed == nil {
		step(b)
		return
	}
	s.fetch(b.Ahead, 0, s.width)
	rows, grads := b.Rows, b.Grad
	b.Ahead = nil
	for len(rows) > 0 {
		n := min(len(s.room)/s.width, len(rows))
		s.packed.load(s.room, b.Next, s.data(), rows[:n])
		b.Rows, b.Grad = firstRows[:n], grads[:n]
		step(b)
		s.packed.round(s.room, b.Next, s.data(), rows[:n], keys[:n], t)
		rows, grads, keys = rows[n:], grads[n:], keys[n:]
	}
}

// firstRows are the rows of a batch that is all of a block.
var firstRows = func() (all [block]uint32) {
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}()

// aim has the batch change rows by the values that stand side by side.
func (k *keyed[T]) aim(b *kernel.Batch[T], rows, ahead []uint32, val []T) *kernel.Batch[T] {
	b.Ahead, b.Rows, b.Grad = ahead, rows, k.fold.grads[:len(rows)]
	for j := range rows {
		b.Grad[j] = &val[j*b.Dim]
	}
	return b
}

// apply makes the rule's t-th step over the columns that the deltas touch, with the sum of their gradients times scale.
func (k *keyed[T]) apply(deltas []Delta, scale, rate float64, t int64) error {
	defer clear(k.fold.grads[:]) // what they point to belongs to the caller
	step, fresh := k.stepper.at(rate, t), makeAll
	if k.lazy != nil {
		k.lazy.as = uint16(t)
		defer k.passed(rate)
	}
	if k.life != nil {
		k.setSteps(t)
		defer k.expireAll()
		fresh = makeNamed
	}
	var all []columns[T]
	if len(deltas) == 1 && deltas[0].Rows == k.at.Rows {
		err := k.change(&deltas[0], fresh, func(w *walk, _, n int, keys []int64, val []T) {
			b := k.aim(k.batch(0, n, scale), w.rows(), w.ahead(), val)
			if w.absent() > 0 && fresh == makeNamed {
				b.Rows, keys = k.fold.present(b.Rows, keys)
				b.Grad = b.Grad[:len(b.Rows)]
			}
			if len(b.Rows) > 0 {
				k.run(b, keys, t, step)
			}
		})
		if err != nil || k.buckets == nil {
			return err
		}
		all = []columns[T]{k.columns(&deltas[0])}
		k.fold.begin(len(k.buckets.late))
	} else {
		n := 0
		for i := range deltas {
			all = append(all, k.columns(&deltas[i]))
			n += len(all[i].keys)
		}
		k.fold.begin(n)
		for i := range all {
			if err := k.touch(all, int32(i), fresh); err != nil {
				return err
			}
		}
	}
	if k.buckets != nil {
		if err := k.touchLate(all); err != nil {
			return err
		}
	}
	k.stepTouched(all, scale, t, step)
	return nil
}

// touchLate makes the new columns that the step has named, and lists them with their gradients.
func (k *keyed[T]) touchLate(all []columns[T]) error {
	if err := k.come(); err != nil {
		return err
	}
	b := k.buckets
	var w walk
	for k.begin(&w, b.late, makeNone); k.next(&w); {
		for j, row := range w.rows() {
			at := b.place[w.at+j]
			k.touchRow(all, row, at.delta, at.at)
		}
	}
	return w.err
}

// present moves the rows that are there, and their gradients, to the front. The keys are the caller's: those of these rows are copies.
func (f *fold[T]) present(rows []uint32, keys []int64) ([]uint32, []int64) {
	n := 0
	f.keys = f.keys[:0]
	for j, row := range rows {
		if row != 0 {
			rows[n], f.grads[n] = row, f.grads[j]
			f.keys = append(f.keys, keys[j])
			n++
		}
	}
	return rows[:n], f.keys
}

// begin forgets what was touched, and makes room for n rows.
func (f *fold[T]) begin(n int) {
	size := 2 * block
	for size < 2*n {
		size *= 2
	}
	f.touched, f.keys, f.sum, f.places = f.touched[:0], f.keys[:0], f.sum[:0], grown(f.places, size)
	clear(f.places)
}

// touch lists the columns of the i-th delta, and adds it to the gradients of those that were touched before.
func (k *keyed[T]) touch(all []columns[T], i int32, fresh making) error {
	w := walk{delta: i}
	for k.begin(&w, all[i].keys, fresh); k.next(&w); {
		for j, row := range w.rows() {
			if row != 0 {
				k.touchRow(all, row, i, int32(w.at+j))
			}
		}
	}
	return w.err
}

// touchRow lists a column that the i-th delta has at a place, or adds that to its gradient if it is listed.
func (k *keyed[T]) touchRow(all []columns[T], row uint32, i, at int32) {
	d, f := &all[i], &k.fold
	t, found := f.find(row)
	if !found && k.slab.packed != nil {
		f.keys = append(f.keys, d.keys[at])
	}
	switch {
	case !found && d.n == k.rows:
		t.from, t.at = i, at
		return
	case !found:
		f.sum = append(f.sum, make([]T, k.rows)...)
	case t.from != inSum:
		f.sum = append(f.sum, all[t.from].of(t.at)...)
	}
	if !found || t.from != inSum {
		t.from, t.at = inSum, int32(len(f.sum)/k.rows-1)
	}
	addTo(f.sum[int(t.at)*k.rows+d.from:][:d.n], d.of(at))
}

// slot is where a row is listed, or would be.
func (f *fold[T]) slot(row uint32) *uint32 {
	mask := len(f.places) - 1
	p := int(uint64(row) * 0x9e3779b97f4a7c15 >> 32)
	for ; ; p++ {
		if at := &f.places[p&mask]; *at == 0 || f.touched[*at-1].row == row {
			return at
		}
	}
}

// find is the touch of a row; a new one for the caller to fill in if there is none.
func (f *fold[T]) find(row uint32) (t *touch, found bool) {
	p := f.slot(row)
	if found = *p != 0; !found {
		f.touched = append(f.touched, touch{row: row})
		*p = uint32(len(f.touched))
	}
	return &f.touched[*p-1], found
}

// stepTouched makes the step over all columns that were touched.
func (k *keyed[T]) stepTouched(all []columns[T], scale float64, t int64, step func(*kernel.Batch[T])) {
	var rows [2][block]uint32
	f := &k.fold
	part := func(at int) []uint32 { // the rows of a block
		some := f.touched[min(at, len(f.touched)):min(at+block, len(f.touched))]
		into := rows[at/block%2][:len(some)]
		for j := range some {
			into[j] = some[j].row
		}
		return into
	}
	next := part(0)
	k.slab.fetch(next, 0, k.slab.width)
	for at := 0; at < len(f.touched); at += block {
		now := next
		next = part(at + block)
		k.fetchToPrepare(next)
		b := k.batch(0, k.rows, scale)
		b.Ahead, b.Rows, b.Grad = next, now, f.grads[:len(now)]
		for j, x := range f.touched[at:][:len(now)] {
			if x.from == inSum {
				b.Grad[j] = &f.sum[int(x.at)*k.rows]
			} else {
				b.Grad[j] = &all[x.from].of(x.at)[0]
			}
		}
		k.prepare(now)
		k.run(b, f.keys[min(at, len(f.keys)):], t, step)
	}
}
