// Package data reads labelled examples from text: libsvm, libffm, dummy (column ids only) and dense, one file each. It reads in
// bounded memory, parses on all processors, and delivers in the order of the file, the same batches for any number of
// processors. Errors carry the file and the line ([Error]).
//
// Grammar shared by the sources, in what a line may be:
//
//	line     = [ label gap ] { feature gap } [ "#" comment ] ( LF | CR LF )
//	gap      = blanks (space, tab), with at most one separator byte among them where the source has one
//	label    = number                       absent if Options.NoLabel
//	feature  = index ":" number             libsvm; "qid:" number is the group of the example
//	         | field ":" index ":" number   libffm
//	         | index                        dummy: the value is 1
//	         | number                       dense: the index is the position
//	number   = ["+"|"-"] digits ["." digits] [("e"|"E") ["+"|"-"] digits]   finite; rounded once, to nearest even
//
// Lines without an example (blank, only a comment) are counted as lines, not as rows. The last line needs no line end.
// A byte order mark at the start is skipped.
//
// The package also makes click-through examples with a known truth ([Clicks], [DeepClicks]), and writes examples ([Write]).
package data

import (
	"slices"

	"thole.example/matrix"
)

// Batch is a run of examples: one label and one sparse row of features each. X holds *matrix.CSR[float32] with columns
// as absolute feature ids; At.Rows counts examples from the first of the file. A Batch is read-only.
type Batch struct {
	Label []float32
	X     matrix.Block
	// Field has for each value of X the field it is of, as X's Idx has its column; fields are numbers below Fields. Values of a row
	// are ordered by field, then by column, so that the columns of a row need not ascend, and one may be there once in each of
	// several fields. Fields 0 and Field nil: fields are not known, and rows are ordered by column.
	Field  []int32
	Fields int
	// Exact has the values of X as they were read where some are no float32; X has the nearest ones. nil: X has all, or Options.Exact
	// did not ask for them.
	Exact []float64
	// Weight has for each example how much it counts, a finite number from 0 on, and Group of which group it is, of those that a
	// metric judges apart (a user, a query). nil: every example counts 1, there are no groups.
	Weight []float32
	Group  []int64
	// Start has for each example what its scores are before a model says anything: one, or as many as there are classes, one after the
	// other. nil: nothing is known.
	Start []float64
	// Kept has the cells of the columns of tables that Options.Keep names; nil: none are.
	Kept *Kept
	// Row has the number of each example among the rows of its inputs, those that were left out (Options.SkipBad) counted. nil: none
	// may be left out, and numbers are those of X.
	Row []int64
	// Zero says of labels of two classes, -1 and +1, that the inputs up to here write the negative ones as 0, or have none yet.
	Zero bool
}

// Len is the number of examples.
func (b *Batch) Len() int { return len(b.Label) }

// Rows are the features: the view of X as what it always is.
func (b *Batch) Rows() *matrix.CSR[float32] { return b.X.Data.(*matrix.CSR[float32]) }

// At is a value of several, as it was read: val are those of the rows of a batch, and exact its Exact.
func At(val []float32, exact []float64, k int) float64 {
	if exact != nil {
		return exact[k]
	}
	return float64(val[k])
}

// Dim is the number of columns: every column id is below it. It is Options.Dim where that was given, else the highest
// id plus one.
func (b *Batch) Dim() int64 { return b.X.At.Cols.Hi }

// Gatherer gathers one batch after the other into the same memory. The zero value is ready; one goroutine uses it.
type Gatherer struct {
	rows    rows
	touched uint32 // of words that were read ahead, so that they are
}

// Gather is a batch of the examples of s with the given numbers, in their order; a number may occur more than once. Its rows count
// from 0. It is valid until the next call only.
func (g *Gatherer) Gather(s *Set, numbers []int) *Batch {
	if g.rows.reset(); cap(g.rows.idx) == 0 {
		s.reserve(&g.rows, s.values/max(1, s.Len())*len(numbers)*9/8) // about, so that it does not grow again and again
		g.rows.reset()
	}
	for some := range slices.Chunk(numbers, ahead) {
		g.touched ^= s.gather(&g.rows, some)
	}
	return g.rows.batch(0, s.dim, s.Fields)
}

// Slice is a batch of the examples [lo, hi) of s, whose rows count from lo. It is valid until the next call only.
func (g *Gatherer) Slice(s *Set, lo, hi int) *Batch {
	g.rows.reset()
	s.slice(&g.rows, lo, hi)
	return g.rows.batch(int64(lo), s.dim, s.Fields)
}

// rows is a batch in the making. ptr begins with 0.
type rows struct {
	label []float32
	ptr   []int
	idx   []int64
	val   []float32
	field []int32 // as long as idx if fields are known, else empty
	// exact are the first values, up to the last one that is no float32 or further; empty: all are. widen makes it as long as val.
	exact []float64

	weight []float32 // as long as label, or empty: every row counts 1
	group  []int64   // as long as label, or empty: there are none
	start  []float64 // as many for each row as for any other, or empty: there are none
	kept   keptCells // as many for each row as for any other, or empty: there are none
}

func newRows(rowCap, valueCap int, fields bool) rows {
	r := rows{
		label: make([]float32, 0, rowCap),
		ptr:   append(make([]int, 0, rowCap+1), 0),
		idx:   make([]int64, 0, valueCap),
		val:   make([]float32, 0, valueCap),
	}
	if fields {
		r.field = make([]int32, 0, valueCap)
	}
	return r
}

// reset forgets the rows and keeps the memory.
func (r *rows) reset() {
	r.label, r.ptr, r.idx, r.val, r.field = r.label[:0], append(r.ptr[:0], 0), r.idx[:0], r.val[:0], r.field[:0]
	r.exact = r.exact[:0]
	r.weight, r.group, r.start = r.weight[:0], r.group[:0], r.start[:0]
	r.kept.reset()
}

// add appends the rows [lo, hi) of src.
func (r *rows) add(src *rows, lo, hi int) {
	from, to := src.ptr[lo], src.ptr[hi]
	shift := len(r.idx) - from
	for _, end := range src.ptr[lo+1 : hi+1] {
		r.ptr = append(r.ptr, end+shift)
	}
	r.extend(some(src.weight, lo, hi), some(src.group, lo, hi), startsOf(src.start, len(src.label), lo, hi), hi-lo)
	if all := len(src.label); len(src.kept.ends) > 0 {
		n := len(src.kept.ends) / all
		r.kept.add(&src.kept, lo*n, hi*n)
	}
	r.label = append(r.label, src.label[lo:hi]...)
	r.idx = append(r.idx, src.idx[from:to]...)
	if from < min(to, len(src.exact)) {
		src.widen()
		r.widen()
		r.exact = append(r.exact, src.exact[from:to]...)
	}
	r.val = append(r.val, src.val[from:to]...)
	if len(src.field) > 0 {
		r.field = append(r.field, src.field[from:to]...)
	}
}

// widen makes exact as long as val.
func (r *rows) widen() { r.widenTo(len(r.val)) }

// widenTo makes exact as long as the first values.
func (r *rows) widenTo(n int) {
	for _, v := range r.val[min(len(r.exact), n):n] {
		r.exact = append(r.exact, float64(v))
	}
}

// appendExact appends the last of val as it is to the exact values, if it is no float32, and all that are missing before it.
func appendExact(exact []float64, val []float32, v float64) []float64 {
	last := len(val) - 1
	if float64(val[last]) == v {
		return exact
	}
	for _, v := range val[len(exact):last] {
		exact = append(exact, float64(v))
	}
	return append(exact, v)
}

// dim is the highest column id plus one.
func (r *rows) dim() int64 {
	var top int64
	if len(r.field) > 0 { // the last of a row need not be the highest
		for _, col := range r.idx {
			top = max(top, col+1)
		}
		return top
	}
	for i := 1; i < len(r.ptr); i++ {
		if end := r.ptr[i]; end > r.ptr[i-1] {
			top = max(top, r.idx[end-1]+1)
		}
	}
	return top
}

// fields is the highest field plus one.
func (r *rows) fields() int {
	top := int32(-1)
	for _, f := range r.field {
		top = max(top, f)
	}
	return int(top) + 1
}

// batch makes the rows, which it takes over, a Batch whose first row has the number first.
func (r *rows) batch(first, dim int64, fields int) *Batch {
	at := matrix.Rect{
		Rows: matrix.Range{Lo: first, Hi: first + int64(len(r.label))},
		Cols: matrix.Range{Hi: dim},
	}
	b := &Batch{Label: r.label, X: matrix.Block{At: at, Data: &matrix.CSR[float32]{Ptr: r.ptr, Idx: r.idx, Val: r.val}}, Fields: fields}
	if fields > 0 {
		b.Field = r.field
	}
	if len(r.exact) > 0 {
		r.widen()
		b.Exact = r.exact
	}
	if len(r.weight) > 0 {
		b.Weight = r.weight
	}
	if len(r.group) > 0 {
		b.Group = r.group
	}
	if len(r.start) > 0 {
		b.Start = r.start
	}
	return b
}
