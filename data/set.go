package data

import (
	"fmt"
	"iter"
	"runtime"
	"slices"

	"thole.example/kernel"
	"thole.example/wire"
)

// Set is examples in memory, in few bytes: what a training goes over again and again, in any order. A value that is 1 takes 4
// bytes with its column and its field, any other 8, outside of the collected heap once they are many. A Set is read-only but
// for Part and for its Label, Weight, Group, Start and Fields, which belong to it; any number of goroutines may read it.
//
// Rows lie one after the other in words of 32 bits: the number of values, a word for each value or in wide sets, which have columns
// of 2^29 and more, two, and then the rest of all values in order:
//
//	narrow  as [kernel.Unpack] reads them: bits 0 to 28 the column; 29 and 30 how much higher the field is than that of the value
//	        before (than -1 in the first), 3 for any other field, which is in the rest then; 31 says that the value is in the
//	        rest, and else it is 1
//	wide    the lower half of the column, and the upper one with bit 31 as above; fields, if they are known, are in the rest
//
// Values that are no float32 are in the rest, too: the lower half of the float64. Bit 31 of the number of values (rowExact) says that
// the row has some. Then their upper halves follow the rest, and a bit for each value, 1 for those, the first one in bit 0 of a
// word.
type Set struct {
	Label  []float32
	Fields int       // above the largest field; 0: fields are not known
	Weight []float32 // of each example, finite and from 0 on; nil: all are 1
	Group  []int64   // of each example; nil: there are none
	Start  []float64 // of each example as Batch has them; nil: there are none

	dim     int64
	values  int
	fielded bool // the rows in the making have fields
	wide    bool
	memory  *setMemory
	words   []uint32 // view of the memory; at least one word more than used are there, to be read in vain
	ends    []uint64 // view: where each row ends
	used    uint64   // words
	spill   spill
	halves  halves // of a row that is added
	written uint64 // words that are released
}

// setMemory is given back when nobody has the set any more.
type setMemory struct {
	words, ends kernel.Memory
	filed       bool // they are in files
}

func (m *setMemory) free() {
	m.words.Free()
	m.ends.Free()
}

func newSet() *Set {
	s := &Set{memory: &setMemory{}}
	runtime.AddCleanup(s, (*setMemory).free, s.memory)
	return s
}

// Pack is the examples of a batch as a set, which shares nothing with it.
func Pack(b *Batch) (*Set, error) {
	s := newSet()
	r := rows{label: b.Label, ptr: b.Rows().Ptr, idx: b.Rows().Idx, val: b.Rows().Val, field: b.Field, exact: b.Exact,
		weight: b.Weight, group: b.Group, start: b.Start}
	err := s.add(&r)
	s.dim, s.Fields = b.Dim(), b.Fields
	return s, err
}

// Len is the number of examples.
func (s *Set) Len() int { return len(s.Label) }

// Dim is the number of columns: every column id is below it.
func (s *Set) Dim() int64 { return s.dim }

// Values is how many values the examples have together.
func (s *Set) Values() int { return s.values }

// Batch is all examples as one batch, which is the caller's.
func (s *Set) Batch() *Batch { return s.Slice(0, s.Len()) }

// Slice is the examples [lo, hi) as a batch, which is the caller's.
func (s *Set) Slice(lo, hi int) *Batch {
	out := newRows(hi-lo, 0, false)
	s.slice(&out, lo, hi)
	return out.batch(int64(lo), s.dim, s.Fields)
}

// slice appends the examples [lo, hi), for which it makes room at once.
func (s *Set) slice(to *rows, lo, hi int) {
	n, values, from := len(to.idx), 0, uint64(0)
	if lo > 0 {
		from = s.ends[lo-1]
	}
	for _, end := range s.ends[lo:hi] {
		values += int(s.words[from] &^ rowExact)
		from = end
	}
	s.reserve(to, values)
	to.idx, to.val, to.field = to.idx[:n], to.val[:n], to.field[:min(n, len(to.field))]
	for i := lo; i < hi; i++ {
		s.row(to, i)
	}
}

// Choose is a set of the examples with the given numbers, in their order.
func (s *Set) Choose(numbers []int) (*Set, error) {
	out := s.empty()
	return out, s.copy(slices.Values(numbers), out)
}

// Anew is Choose of n numbers into memory, of up to limit bytes as Options.Limit has them, wherever this set is.
func (s *Set) Anew(numbers iter.Seq[int], n int, limit int64) (*Set, error) {
	out := s.empty()
	out.spill = spill{limit, s.spill.folder}
	out.Label = make([]float32, 0, n)
	return out, s.copy(numbers, out)
}

// copy adds the examples with the given numbers to another set.
func (s *Set) copy(numbers iter.Seq[int], to *Set) error {
	const some = 1 << 15
	row, first, last, n := newRows(1, 0, false), s.Len(), 0, 0
	for i := range numbers {
		row.reset()
		s.row(&row, i)
		if err := to.add(&row); err != nil {
			return err
		}
		first, last = min(first, i), max(last, i)
		if n++; n%some == 0 {
			s.release(first, last+1)
			first, last = s.Len(), 0
		}
	}
	s.release(first, last+1)
	return nil
}

// empty is a set of no examples with the fields and columns of s.
func (s *Set) empty() *Set {
	out := newSet()
	out.spill, out.Fields, out.dim, out.fielded = s.at(), s.Fields, s.dim, s.fielded
	return out
}

// Part takes the examples out of the set for which take says so; what stays moves together, in the memory that it has.
func (s *Set) Part(take func(i int) bool) (*Set, error) {
	defer runtime.KeepAlive(s)
	out, row := s.empty(), newRows(1, 0, false)
	var from, used, seen uint64
	n, first := 0, 0
	for i, end := range s.ends[:len(s.Label)] {
		if take(i) {
			row.reset()
			s.append(&row, s.words[from:end+1], i)
			if err := out.add(&row); err != nil {
				return nil, err
			}
		} else {
			used += uint64(copy(s.words[used:], s.words[from:end]))
			s.ends[n], s.Label[n] = used, s.Label[i]
			s.move(n, i)
			n++
		}
		if from = end; s.memory.filed && (from-seen > stride/4 || i == len(s.Label)-1) {
			s.memory.words.Release(4*int(min(used, seen)), 4*int(from))
			s.memory.ends.Release(8*first, 8*(i+1))
			s.memory.words.Release(max(0, 4*int(used)-stride), 4*int(used))
			seen, first = from, i+1
		}
	}
	s.written = min(s.written, used)
	s.used, s.values = used, s.values-out.values
	s.cut(n)
	return out, nil
}

// Keep is a set of the examples without the features that the columns do not have.
func (s *Set) Keep(c *Columns) (*Set, Unseen, error) {
	out, left := s.empty(), unseen{}
	for _, row := range s.all() {
		row.keep(c, nil, 0, &left)
		row.ptr[1] = len(row.idx)
		if err := out.add(row); err != nil {
			return nil, Unseen{}, err
		}
	}
	var all unseen
	all.add(&left)
	return out, all.count(), nil
}

// Place is a set of the examples with the fields that values have by their places: every row has to have one value of each of n;
// 0: of as many as the first row.
func (s *Set) Place(n int) (*Set, error) {
	out := s.empty()
	out.Fields = n
	for i, row := range s.all() {
		if n == 0 && i == 0 {
			n, out.Fields = len(row.idx), len(row.idx)
		}
		if len(row.idx) != n {
			return nil, fmt.Errorf("example %d: %w", i+1, errCount(len(row.idx), n))
		}
		for f := range n {
			row.field = append(row.field, int32(f))
		}
		if err := out.add(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Keys are the columns that occur, in ascending order.
func (s *Set) Keys() []int64 {
	if words := s.dim>>6 + 1; words <= int64(s.values) { // a bit for each column is less than what there is
		bits := make([]uint64, words)
		n := 0
		for _, row := range s.all() {
			for _, col := range row.idx {
				if bit := uint64(1) << (col & 63); bits[col>>6]&bit == 0 {
					bits[col>>6] |= bit
					n++
				}
			}
		}
		keys := make([]int64, 0, n)
		for w, set := range bits {
			for b := range int64(64) {
				if set>>b&1 != 0 {
					keys = append(keys, int64(w)<<6|b)
				}
			}
		}
		return keys
	}
	index := s.index()
	keys := make([]int64, 0, index.taken)
	for _, slot := range index.slots {
		if slot.column >= 0 {
			keys = append(keys, slot.column)
		}
	}
	slices.Sort(keys)
	return keys
}

// Largest is the value that is farthest from 0, and its column; of several the first one, and 0 if there are no values.
func (s *Set) Largest() (column int64, value float32) {
	for _, row := range s.all() {
		for k, v := range row.val {
			if max(v, -v) > max(value, -value) {
				column, value = row.idx[k], v
			}
		}
	}
	return column, value
}

// row appends the example with number i.
func (s *Set) row(to *rows, i int) {
	var from uint64
	if i > 0 {
		from = s.ends[i-1]
	}
	s.append(to, s.words[from:s.ends[i]+1], i)
	runtime.KeepAlive(s)
}

// append appends the row i from its words and one more.
func (s *Set) append(to *rows, words []uint32, i int) {
	n := len(to.idx)
	s.reserve(to, int(words[0]&^rowExact))
	s.decode(to, n, words)
	s.mark(to, i)
	to.label = append(to.label, s.Label[i])
}

// ahead is how many rows are touched before they are decoded.
const ahead = 16

// gather appends the examples with these numbers, at most ahead. First it reads a word of each cache line of the rows, one row beside the
// other: the processor waits for many of them at once, and not for each in its turn. What it answers with depends on all of them.
func (s *Set) gather(to *rows, numbers []int) (all uint32) {
	var from, end [ahead]uint64
	for k, i := range numbers {
		if i > 0 {
			from[k] = s.ends[i-1]
		}
		end[k] = s.ends[i]
		s.mark(to, i)
		to.label = append(to.label, s.Label[i])
	}
	values := 0
	for k := range numbers {
		values += int(s.words[from[k]] &^ rowExact)
		for at := from[k] + 16; at < end[k]; at += 16 {
			all ^= s.words[at]
		}
		all ^= s.words[end[k]] // the line that the last word may be in; a word more is there
	}
	n := len(to.idx)
	s.reserve(to, values)
	to.ptr = slices.Grow(to.ptr, len(numbers))
	for k := range numbers {
		n = s.decode(to, n, s.words[from[k]:end[k]+1])
	}
	runtime.KeepAlive(s)
	return all
}

// reserve makes room for more values.
func (s *Set) reserve(to *rows, values int) {
	n := len(to.idx) + values
	to.idx = slices.Grow(to.idx, values)[:n]
	to.val = slices.Grow(to.val, values)[:n]
	if s.Fields > 0 && s.fielded {
		to.field = slices.Grow(to.field, values)[:n]
	}
}

// decode decodes a row, but for its label, from its words and one more to the values from n on, and answers where they end.
func (s *Set) decode(to *rows, n int, words []uint32) int {
	more := int(words[0] &^ rowExact)
	idx, val, field := to.idx[n:n+more], to.val[n:n+more], []int32(nil)
	if len(to.field) > 0 {
		field = to.field[n : n+more]
	}
	if s.wide {
		decodeWide(idx, val, field, words[1:1+2*more], words[1+2*more:], s.fielded)
	} else {
		kernel.Unpack(idx, val, field, words[1:1+more], words[1+more:])
	}
	if words[0]&rowExact != 0 {
		to.exactFrom(n, more, words[:len(words)-1])
	}
	to.ptr = append(to.ptr, n+more)
	return n + more
}

// add appends rows. Fields are either known of all rows or of none.
func (s *Set) add(r *rows) error {
	s.fielded = s.fielded || len(r.field) > 0
	top := int64(-1)
	for _, col := range r.idx {
		top = max(top, col)
	}
	s.dim = max(s.dim, top+1)
	for _, f := range r.field {
		s.Fields = max(s.Fields, int(f)+1)
	}
	if top > kernel.WordColumn && !s.wide {
		if err := s.widen(); err != nil {
			return err
		}
	}
	exact := len(r.exact) > 0
	if exact {
		r.widen()
	}
	if err := s.grow(len(r.label), len(r.idx), exact); err != nil {
		return err
	}
	s.Weight = Extend(s.Weight, len(s.Label), r.weight, len(r.label), plainWeight)
	s.Group = Extend(s.Group, len(s.Label), r.group, len(r.label), noGroup)
	s.Start = extendStarts(s.Start, len(s.Label), r.start, len(r.label))
	for i, label := range r.label {
		lo, hi := r.ptr[i], r.ptr[i+1]
		var field []int32
		if s.fielded {
			field = r.field[lo:hi]
		}
		val, upper := r.val[lo:hi], []uint32(nil)
		if exact {
			val, upper = s.halves.of(val, r.exact[lo:hi])
		}
		words := s.words[s.used:]
		n := 0
		if s.wide {
			n = encodeWide(words, r.idx[lo:hi], val, field)
		} else {
			n = encodeNarrow(words, r.idx[lo:hi], val, field)
		}
		if len(upper) > 0 {
			words[0] |= rowExact
			n += copy(words[n:], upper)
		}
		s.used += uint64(n)
		s.ends[len(s.Label)] = s.used
		s.Label = append(s.Label, label)
	}
	s.values += len(r.idx)
	if s.memory.filed && s.used-s.written > stride/4 {
		s.memory.words.Release(4*int(s.written), 4*int(s.used))
		s.memory.ends.Release(max(0, 8*len(s.Label)-stride), 8*len(s.Label))
		s.written = s.used
	}
	return nil
}

// grow makes room for more rows with so many values together.
func (s *Set) grow(rows, values int, exact bool) error {
	each := 3 // words of a value, at most
	if s.wide {
		each = 4
	}
	if exact {
		each += 2 // and a bit, or a word for the row
	}
	n := s.used + uint64(rows+each*values)
	if limit := s.spill.limit; limit > 0 && int64(4*n)+int64(8*(len(s.Label)+rows)) > limit {
		if err := s.back(); err != nil {
			return err
		}
	}
	s.Label = slices.Grow(s.Label, rows)
	return s.room(n, rows)
}

// room makes room for so many words in all, the one that is read in vain beside them, and for the ends of more rows.
func (s *Set) room(words uint64, rows int) error {
	if err := s.memory.words.Grow(4 * int(words+1)); err != nil {
		return fmt.Errorf("data: %d words of examples: %w", words, err)
	}
	if err := s.memory.ends.Grow(8 * (len(s.Label) + rows)); err != nil {
		return fmt.Errorf("data: %d examples: %w", len(s.Label)+rows, err)
	}
	inWords, inEnds := s.memory.words.Data(), s.memory.ends.Data()
	s.words, _ = wire.Numbers[uint32](inWords[:len(inWords)&^3]) // memory is aligned
	s.ends, _ = wire.Numbers[uint64](inEnds[:len(inEnds)&^7])
	return nil
}

// widen writes the rows anew for wide columns.
func (s *Set) widen() error {
	old := *s
	s.memory = &setMemory{}
	s.Label, s.Weight, s.Group, s.Start, s.values, s.used, s.wide, s.words, s.ends = nil, nil, nil, nil, 0, 0, true, nil, nil
	runtime.AddCleanup(s, (*setMemory).free, s.memory)
	s.written = 0
	if old.memory.filed {
		if err := s.back(); err != nil {
			return err
		}
	}
	for _, row := range old.all() {
		if err := s.add(row); err != nil {
			return err
		}
	}
	s.dim = old.dim
	old.memory.free()
	return nil
}
