package data

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"thole.example/feature"
	"thole.example/kernel"
)

// ScalingLimit is how many columns a Scaling has at most.
const ScalingLimit = 4096

// Scaling says how values of lines (libsvm, libffm, dense) become what networks learn from, as numeric columns of tables do
// (feature.Transform). Values of other columns stay as they are. Columns ascend.
type Scaling []ScaledColumn

// ScaledColumn is a column of a Scaling: its values become their logarithms if Log is true, then less the mean, by the deviation.
type ScaledColumn struct {
	Column    int64   `json:"column"`
	Log       bool    `json:"log,omitempty"`
	Mean      float64 `json:"mean,omitempty"`
	Deviation float64 `json:"deviation,omitempty"` // 0: all are equal
	// Zero says that rows without the column have the value 0 there, which is scaled, too; Field is the field that it gets then.
	Zero  bool  `json:"zero,omitempty"`
	Field int32 `json:"field,omitempty"`
}

// Check reports what cannot be a scaling.
func (s Scaling) Check() error {
	if len(s) > ScalingLimit {
		return fmt.Errorf("scaling of %d columns, want at most %d", len(s), ScalingLimit)
	}
	for i, c := range s {
		switch {
		case c.Column < 0 || i > 0 && c.Column <= s[i-1].Column:
			return fmt.Errorf("scaling of column %d, want columns from 0 on, in ascending order", c.Column)
		case !(math.Abs(c.Mean) <= math.MaxFloat64) || !(c.Deviation >= 0 && c.Deviation <= math.MaxFloat64) ||
			c.Deviation > 0 && math.IsInf(1/c.Deviation, 0):
			return fmt.Errorf("scaling of column %d: mean %v, deviation %v, want finite numbers and a deviation from 0 on", c.Column, c.Mean,
				c.Deviation)
		case c.Field < 0 || c.Field >= FieldLimit:
			return fmt.Errorf("scaling of column %d: field %d, want 0 to %d", c.Column, c.Field, FieldLimit-1)
		}
	}
	return nil
}

// columnIndex finds the numbers of columns, by open addressing: at most a quarter of its places are taken.
type columnIndex struct {
	shift uint
	slots []columnSlot
}

type columnSlot struct {
	column int64 // below 0: the slot is free
	number int
}

func newColumnIndex(n int) *columnIndex {
	size := uint(bits.Len(uint(4 * max(1, n))))
	x := &columnIndex{64 - size, make([]columnSlot, 1<<size)}
	for i := range x.slots {
		x.slots[i].column = -1
	}
	return x
}

// slot is that of the column, or the free one where it belongs.
func (x *columnIndex) slot(col int64) *columnSlot {
	for at := uint64(col) * 0x9e3779b97f4a7c15 >> x.shift; ; at = (at + 1) & uint64(len(x.slots)-1) {
		if s := &x.slots[at]; s.column == col || s.column < 0 {
			return s
		}
	}
}

func (x *columnIndex) add(col int64, number int) { *x.slot(col) = columnSlot{col, number} }

// find is the number of the column; -1: it has none.
func (x *columnIndex) find(col int64) int {
	if s := x.slot(col); s.column == col {
		return s.number
	}
	return -1
}

// scaler is a Scaling ready to scale rows. Any number of goroutines may use it.
type scaler struct {
	columns []preparedColumn
	index   *columnIndex
	zeros   []ScaledColumn // those with Zero
	zero    []float32      // what their zeros become
}

// preparedColumn is what scales values of a column.
type preparedColumn struct {
	log       bool
	mean, inv float64
}

// scaler prepares the scaling; nil: there is nothing to scale.
func (s Scaling) scaler() *scaler {
	if len(s) == 0 {
		return nil
	}
	p := &scaler{columns: make([]preparedColumn, len(s)), index: newColumnIndex(len(s))}
	for i, c := range s {
		one := &p.columns[i]
		if *one = (preparedColumn{c.Log, c.Mean, 1}); c.Deviation > 0 {
			one.inv = 1 / c.Deviation
		}
		if p.index.add(c.Column, i); c.Zero {
			p.zeros = append(p.zeros, c)
		}
	}
	slices.SortStableFunc(p.zeros, func(a, b ScaledColumn) int { return cmp.Compare(a.Field, b.Field) }) // as the values of rows
	for _, c := range p.zeros {
		p.zero = append(p.zero, p.columns[p.index.find(c.Column)].of(0))
	}
	return p
}

// of is a value of the column as networks learn from it.
func (c *preparedColumn) of(v float64) float32 {
	return float32(max(-math.MaxFloat32, min(math.MaxFloat32, feature.Scaled(v, c.log, c.mean, c.inv))))
}

// scale scales the values of the row that begins at idx[from], as they were read where that is known. fielded says that values have fields.
func (p *scaler) scale(r *rows, from int, fielded bool) {
	for k := from; k < len(r.idx); k++ {
		if at := p.index.find(r.idx[k]); at >= 0 {
			v := float64(r.val[k])
			if k < len(r.exact) {
				v = r.exact[k]
			}
			r.val[k] = p.columns[at].of(v)
		}
	}
	r.exact = r.exact[:min(len(r.exact), from)]
	p.fill(r, from, fielded)
}

// fill inserts the zeros that the row, which is sorted by field and column, leaves out.
func (p *scaler) fill(r *rows, from int, fielded bool) {
	more := p.missing(r, from, fielded)
	if more == 0 {
		return
	}
	n := len(r.idx)
	r.idx, r.val = slices.Grow(r.idx, more)[:n+more], slices.Grow(r.val, more)[:n+more]
	if fielded {
		r.field = slices.Grow(r.field, more)[:n+more]
	}
	k, z := n-1, len(p.zeros)-1
	for to := n + more - 1; z >= 0; {
		order := -1 // that of the value to the zero
		if k >= from {
			order = p.zeros[z].order(r, k, fielded)
		}
		switch {
		case order > 0:
			r.idx[to], r.val[to] = r.idx[k], r.val[k]
			if fielded {
				r.field[to] = r.field[k]
			}
			k, to = k-1, to-1
		case order == 0:
			z--
		default:
			r.idx[to], r.val[to] = p.zeros[z].Column, p.zero[z]
			if fielded {
				r.field[to] = p.zeros[z].Field
			}
			z, to = z-1, to-1
		}
	}
}

// order compares the place of value k of a row with that of the column, by field and column.
func (c *ScaledColumn) order(r *rows, k int, fielded bool) int {
	if fielded && r.field[k] != c.Field {
		return cmp.Compare(r.field[k], c.Field)
	}
	return cmp.Compare(r.idx[k], c.Column)
}

// missing is how many columns with zeros are not among those of the row that begins at idx[from].
func (p *scaler) missing(r *rows, from int, fielded bool) (n int) {
	k := from
	for z := range p.zeros {
		order := 1
		for ; k < len(r.idx); k++ {
			if order = p.zeros[z].order(r, k, fielded); order >= 0 {
				break
			}
		}
		if k == len(r.idx) || order > 0 {
			n++
		}
	}
	return n
}

// Scale scales the values of the examples in the memory that they are in; nothing else may use the set meanwhile.
func (s *Set) Scale(by Scaling) error {
	p := by.scaler()
	if p == nil {
		return nil
	}
	ones, zeros := p.more(s)
	more := uint64(ones + zeros*zeroWords)
	if limit := s.spill.limit; limit > 0 && int64(4*(s.used+more))+int64(8*len(s.Label)) > limit {
		if err := s.back(); err != nil {
			return err
		}
	}
	if err := s.room(s.used+more, 0); err != nil {
		return err
	}
	return s.rewrite(more, p, zeros > 0)
}

// zeroWords is how many words a zero that is inserted takes at most: the column, in wide sets two, the field and the value.
const zeroWords = 4

// more is how many values are 1 and are scaled, each of which takes a word more then, and how many zeros are inserted.
func (p *scaler) more(s *Set) (ones, zeros int) {
	if len(p.zeros) > 0 {
		for _, row := range s.all() {
			zeros += p.missing(row, 0, s.fielded)
		}
	}
	for words := range s.columnWords() {
		for at := s.step() - 1; at < len(words); at += s.step() {
			if words[at]&kernel.WordValue == 0 && p.index.find(s.columnOf(words, at)) >= 0 {
				ones++
			}
		}
	}
	return ones, zeros
}

// rewrite scales each row and, with zeros, inserts those. Rows may become longer by so many words in all, for which there is room: they
// move to the end of the memory and are written from its beginning on.
func (s *Set) rewrite(more uint64, p *scaler, zeros bool) error {
	defer runtime.KeepAlive(s)
	copy(s.words[more:], s.words[:s.used+1])
	var words []uint32
	row := newRows(1, 0, false)
	var from, used, seen uint64
	s.values = 0
	for i, end := range s.ends[:len(s.Label)] {
		if words = append(words[:0], s.words[more+from:more+end+1]...); s.wide || zeros || words[0]&rowExact != 0 {
			row.reset()
			s.append(&row, words, i)
			if p.scale(&row, 0, s.fielded); len(row.exact) > 0 {
				return fmt.Errorf("data: example %d: values that are no float32 in rows that change: %w", i+1, ErrOption)
			}
			encode := encodeNarrow
			if s.wide {
				encode = encodeWide
			}
			used += uint64(encode(s.words[used:more+end], row.idx, row.val, row.field))
			s.values += len(row.idx)
		} else {
			used += uint64(p.scaleNarrow(s.words[used:more+end], words, s.fielded))
			s.values += int(words[0])
		}
		s.ends[i], from = used, end
		if s.memory.filed && (from-seen > stride/4 || i == len(s.Label)-1) {
			s.memory.words.Release(4*int(seen), 4*int(used))
			s.memory.words.Release(4*int(more+seen), 4*int(more+from))
			seen = used
		}
	}
	s.used = used
	return nil
}

// scaleNarrow writes a row of narrow words with its values scaled and answers how many words it has then.
func (p *scaler) scaleNarrow(to, row []uint32, fielded bool) int {
	n := int(row[0])
	heads, rest, out := row[1:1+n], row[1+n:], 1+n
	to[0] = row[0]
	for k, word := range heads {
		if fielded && word>>kernel.WordField&kernel.OtherField == kernel.OtherField {
			to[out], rest, out = rest[0], rest[1:], out+1
		}
		value := uint32(one)
		if word&kernel.WordValue != 0 {
			value, rest = rest[0], rest[1:]
		}
		if at := p.index.find(int64(word & kernel.WordColumn)); at >= 0 {
			if value = math.Float32bits(p.columns[at].of(float64(math.Float32frombits(value)))); value == one {
				word &^= kernel.WordValue
			} else {
				word |= kernel.WordValue
			}
		}
		if word&kernel.WordValue != 0 {
			to[out], out = value, out+1
		}
		to[1+k] = word
	}
	return out
}
