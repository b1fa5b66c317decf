package shard

import (
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// apply makes the rule's t-th step over all cells, chunk by chunk, with the sum of the deltas times scale.
func (d *dense[T]) apply(deltas []Delta, scale, rate float64, t int64) error {
	whole, step := d.whole(deltas), d.stepper.at(rate, t)
	d.all(func(to *denseCells[T], lo, hi int) {
		grad := whole[min(lo, len(whole)):min(hi, len(whole))]
		if whole == nil {
			d.sum = grown(d.sum, chunk)
			grad = d.sum[:hi-lo]
			clear(grad)
			for i := range deltas {
				d.addPart(grad, &deltas[i], lo)
			}
		}
		d.aim(to, lo, grad).Scale = T(scale)
		if d.packed != nil {
			d.stepPacked(to, lo, t, step)
		} else {
			step(&d.batch)
		}
	})
	return nil
}

// addAll adds values to all cells, which have no slots.
func (d *dense[T]) addAll(val []T) {
	d.wide = true
	d.all(func(to *denseCells[T], lo, hi int) { kernel.AddRows(d.aim(to, lo, val[lo:hi])) })
}

// all calls f for all cells, chunk by chunk: it changes them, or puts what they become elsewhere. The first time after a mark they are left
// to it, and where it would have copied them to the partition is from then on: that takes not much longer than another time.
func (d *dense[T]) all(f func(to *denseCells[T], lo, hi int)) {
	to, leave := &d.denseCells, d.leaves()
	if leave != nil {
		to = &leave.aside
	}
	for lo := 0; lo < d.cells; lo += chunk {
		hi := min(lo+chunk, d.cells)
		for slot := range 1 + d.slots {
			if leave == nil {
				d.keep(slot, lo, hi)
			}
		}
		to.await(lo, hi)
		f(to, lo, hi)
	}
	d.grad[0] = nil
	if leave != nil {
		d.move(leave)
	}
}

// aim has the batch be a chunk of cells from one on, with their gradients.
func (d *dense[T]) aim(to *denseCells[T], lo int, grad []T) *kernel.Batch[T] {
	d.grad[0] = &grad[0]
	d.batch = kernel.Batch[T]{Dim: len(grad), Rows: firstRow, Grad: d.grad[:]}
	if d.packed != nil {
		return &d.batch // they are put elsewhere first
	}
	if d.batch.Slab, d.batch.Next = d.val[lo:], d.next; to != &d.denseCells {
		d.batch.Into = to.val[lo:]
	}
	return &d.batch
}

// stepPacked makes the t-th step over a chunk of packed cells, beside which their slots are put for it, and puts what they become where
// they are or elsewhere.
func (d *dense[T]) stepPacked(to *denseCells[T], lo int, t int64, step func(b *kernel.Batch[T])) {
	n, next := d.batch.Dim, min(chunk, d.cells)
	d.room = grown(d.room, next*(1+d.slots))
	for slot := range 1 + d.slots {
		d.load(d.room[slot*next:][:n], slot, lo)
	}
	d.batch.Slab, d.batch.Next = d.room, next
	step(&d.batch)
	to.packed.round(lo, d.room[:n], t)
	for slot := 1; slot <= d.slots; slot++ {
		to.save(slot, lo, d.room[slot*next:][:n])
	}
}

// whole is the sum of the deltas over all cells, if it is there (a single delta of all cells) or has to be made at once (one
// that goes by key may touch any chunk); nil if it is better made chunk by chunk.
func (d *dense[T]) whole(deltas []Delta) []T {
	if len(deltas) == 1 && deltas[0].Keys == nil && deltas[0].At() == d.at {
		val, _ := wire.Numbers[T](deltas[0].Values)
		return val
	}
	if !slices.ContainsFunc(deltas, func(x Delta) bool { return x.Keys != nil }) {
		return nil
	}
	sum := make([]T, d.cells)
	for i := range deltas {
		d.runs(&deltas[i], func(at int, val []T) { d.addTo(sum[at:], val) })
	}
	return sum
}

// addPart adds the cells of a delta to those of a chunk, of which the first is the lo-th.
func (d *dense[T]) addPart(grad []T, x *Delta, lo int) {
	val, _ := wire.Numbers[T](x.Values)
	rows := matrix.Range{Lo: d.at.Rows.Lo + int64(lo/d.width), Hi: d.at.Rows.Lo + int64((lo+len(grad)-1)/d.width) + 1}
	width := int(x.Cols.Len())
	for r := range rows.Intersect(x.Rows).Len() {
		row := rows.Intersect(x.Rows).Lo + r
		at := d.cell(row, x.Cols.Lo) // of the delta's first cell in this row
		from, to := max(at, lo), min(at+width, lo+len(grad))
		if from < to {
			d.addTo(grad[from-lo:], val[int(row-x.Rows.Lo)*width+from-at:][:to-from])
		}
	}
}
