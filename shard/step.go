package shard

import (
	"slices"

	"thole.example/matrix"
)

// work is the memory of a step over some columns, kept for the next step.
type work[T number] struct {
	mark    []int32 // of each column: where it stands in the step under way, plus 1
	touched []int32 // columns in the order in which deltas touched them
	sum     []T     // of their deltas, one column after the other
	val     []T     // some of the touched columns, side by side, for the rule
	slots   [][]T
}

func (w *work[T]) cells() int { return cap(w.sum) + cap(w.val)*(len(w.slots)+1) }

// stepCells is about how many cells a rule gets at a time: so few that they stay in a near cache.
const stepCells = 4096

// apply makes a step over the columns that the gradients touch, some columns at a time.
func (k *keyed[T]) apply(grads []matrix.Block, scale float64, run stepper) error {
	if err := k.sum(grads); err != nil {
		return err
	}
	w := &k.work
	if w.slots == nil {
		w.slots = make([][]T, len(k.slots))
	}
	sum := w.sum
	for some := range slices.Chunk(w.touched, max(1, stepCells/max(1, k.rows))) {
		w.val = k.pick(w.val, k.val, some)
		for s := range w.slots {
			w.slots[s] = k.pick(w.slots[s], k.slots[s], some)
		}
		runStep(run, w.val, sum[:len(w.val)], w.slots, scale)
		k.put(k.val, w.val, some)
		for s := range w.slots {
			k.put(k.slots[s], w.slots[s], some)
		}
		sum = sum[len(w.val):]
	}
	return nil
}

// pick copies columns of the slab side by side.
func (k *keyed[T]) pick(into, slab []T, cols []int32) []T {
	into = into[:0]
	for _, i := range cols {
		into = append(into, k.of(slab, int(i))...)
	}
	return into
}

// put copies them back.
func (k *keyed[T]) put(slab, from []T, cols []int32) {
	for j, i := range cols {
		copy(k.of(slab, int(i)), k.of(from, j))
	}
}

// sum adds the gradients up in their order: the columns that they touch, and their sums one after the other.
func (k *keyed[T]) sum(grads []matrix.Block) error {
	w := &k.work
	w.touched, w.sum = w.touched[:0], w.sum[:0]
	for _, b := range grads {
		d, err := columns[T](b)
		if err != nil {
			return err
		}
		if b.At.Rows.Len() > 0 {
			k.gather(b.At.Rows, d)
		}
	}
	for _, i := range w.touched {
		w.mark[i] = 0
	}
	return nil
}

// gather adds one gradient to the sums.
func (k *keyed[T]) gather(rows matrix.Range, d *matrix.Cols[T]) {
	w := &k.work
	lo, n := int(rows.Lo-k.at.Rows.Lo), int(rows.Len())
	from := d.Val
	var idx [chunk]int32
	for keys := range slices.Chunk(d.Idx, chunk) {
		k.find(keys, &idx)
		w.mark = grown(w.mark, len(k.table.keys))
		for j := range keys {
			i := idx[j]
			if w.mark[i] == 0 {
				w.touched = append(w.touched, i)
				w.mark[i] = int32(len(w.touched))
			}
			idx[j] = w.mark[i] - 1
		}
		w.sum = grown(w.sum, len(w.touched)*k.rows)
		for j := range keys {
			addTo(w.sum[int(idx[j])*k.rows+lo:][:n], from[:n])
			from = from[n:]
		}
	}
}
