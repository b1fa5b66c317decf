package kernel

import (
	"math"
	"unsafe"
)

// Number is an element type of rows.
type Number interface{ Float | int64 | int32 }

// Batch is rows of a slab that are changed, each with the sum of its gradients or what else is added to it.
type Batch[T Number] struct {
	Slab   []T      // row i begins at i*Stride
	Stride int      // elements
	Dim    int      // weights of a row, at least 1
	Next   int      // elements from a weight to its first slot, and from slot to slot
	Rows   []uint32 // the rows to change
	Grad   []*T     // for each of them the first of Dim sums of gradients
	Scale  T        // makes a sum a mean
	Ahead  []uint32 // rows of the next batch: they are fetched meanwhile
	Into   []T      // where what becomes of the rows is put, at the places that they have in the slab; nil: they are changed in place
}

// Rule is an update rule with its settings, the rate of one step and, where it counts, the number of the step. What each
// rule does is said in package optim; here every operation is rounded by itself, in the order in which it stands. The zero
// Rule changes nothing.
type Rule struct {
	kind ruleKind
	k    [8]float64
}

// settings are the numbers that a rule works with.
type settings[T Float] [8]T

func settingsOf[T Float](r Rule) (k settings[T]) {
	for i, v := range r.k {
		k[i] = T(v)
	}
	return k
}

// Rows makes steps of a rule on rows. The zero Rows changes nothing. It is for one goroutine.
type Rows[T Float] struct {
	run func(b *Batch[T], k *settings[T])
	k   settings[T]
}

// Set has the next steps be those of the rule.
func (r *Rows[T]) Set(rule Rule) { r.run, r.k = tableOf[T]().rules[rule.kind], settingsOf[T](rule) }

// Step makes the step on the rows of a batch.
func (r *Rows[T]) Step(b *Batch[T]) {
	checkLen(len(b.Grad), len(b.Rows), "Grad")
	if r.run != nil && len(b.Rows) > 0 && b.Dim > 0 {
		r.run(b, &r.k)
	}
}

// Cells makes the step on weights with their mean gradients and slots in slices of their own, all of one length.
func Cells[T Float](r Rule, w, g []T, slots [][]T) {
	checkLen(len(g), len(w), "g")
	if cells := plainRules[T]()[r.kind]; cells != nil {
		k := settingsOf[T](r)
		cells(w, g, slots, 1, &k)
	}
}

// The settings of an addition, which has none.
var (
	zero32 settings[float32]
	zero64 settings[float64]
)

// AddRows adds to each row of the batch what stands in place of its gradients, without the scale. Integers wrap around.
func AddRows[T Number](b *Batch[T]) {
	if checkLen(len(b.Grad), len(b.Rows), "Grad"); len(b.Rows) == 0 || b.Dim == 0 {
		return
	}
	switch b := any(b).(type) {
	case *Batch[float32]:
		f32.rules[addition](b, &zero32)
		return
	case *Batch[float64]:
		f64.rules[addition](b, &zero64)
		return
	}
	b.fetch()
	for i, row := range b.Rows {
		val := b.at(row, 0)
		for j, v := range unsafe.Slice(b.Grad[i], b.Dim) {
			val[j] += v
		}
	}
}

// Each calls f for every row of the batch with its weights, its mean gradient, and its slots: for rules that know only
// slices. mean has room for Dim numbers and is overwritten, as are slots, of which there are as many as the rule has.
func (b *Batch[T]) Each(mean []T, slots [][]T, f func(w, g []T, slots [][]T)) {
	b.fetch()
	for i, row := range b.Rows {
		for s := range slots {
			slots[s] = b.at(row, s+1)
		}
		for j, v := range unsafe.Slice(b.Grad[i], b.Dim) {
			mean[j] = (v + 0) * b.Scale
		}
		f(b.at(row, 0), mean[:b.Dim], slots)
	}
}

// at is the weights of a row, or one of its slots counted from 1, where they are changed.
func (b *Batch[T]) at(row uint32, slot int) []T {
	lo := int(row)*b.Stride + slot*b.Next
	val := b.Slab[lo:][:b.Dim:b.Dim]
	if b.Into != nil {
		was := val
		val = b.Into[lo:][:b.Dim:b.Dim]
		copy(val, was)
	}
	return val
}

// fetch has the processor fetch the rows ahead.
func (b *Batch[T]) fetch() {
	if len(b.Ahead) > 0 {
		size := int(unsafe.Sizeof(b.Scale))
		slab := unsafe.Slice((*byte)(unsafe.Pointer(&b.Slab[0])), len(b.Slab)*size)
		Fetch(slab, b.Stride*size, min(b.Stride*size, fetchAhead), b.Ahead)
	}
}

// fetchAhead is how many bytes of a row ahead are fetched; of longer ones the processor guesses the rest. rules_amd64.h says
// the same.
const fetchAhead = 12 * cacheLine

// cellRule is a rule in pure Go.
type cellRule[T Float] func(w, g []T, slots [][]T, scale T, k *settings[T])

// mostSlots is the most that a rule here has.
const mostSlots = 3

// byRow makes the form for rows of a rule for cells.
func byRow[T Float](cells cellRule[T]) func(*Batch[T], *settings[T]) {
	return func(b *Batch[T], k *settings[T]) {
		b.fetch()
		slots := make([][]T, 0, mostSlots)
		for i, row := range b.Rows {
			slots = slots[:0]
			for s := 1; len(slots) < cap(slots) && int(row)*b.Stride+s*b.Next+b.Dim <= len(b.Slab); s++ {
				slots = append(slots, b.at(row, s))
			}
			cells(b.at(row, 0), unsafe.Slice(b.Grad[i], b.Dim), slots, b.Scale, k)
		}
	}
}

// mean is the mean gradient of a sum. Sums begin with zero, also where a single gradient stands for its sum.
func mean[T Float](sum, scale T) T { return T((sum + 0) * scale) }

// root is the square root, rounded once.
func root[T Number](v T) T { return T(math.Sqrt(float64(v))) }

// sign is -1 for numbers below 0 and else 1.
func sign[T Float](v T) T {
	if v < 0 {
		return -1
	}
	return 1
}

// shrink is the proximal step of l1: it moves v towards zero by by, and stops there.
func shrink[T Number](v, by T) T {
	switch {
	case v > by:
		return v - by
	case v < -by:
		return v + by
	case v != v:
		return v
	}
	return 0
}
