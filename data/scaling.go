package data

import (
	"cmp"
	"fmt"
	"math"
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
	// Missing is the column of a feature with the value 1 that rows without the column get, in the same field: the value is missing there.
	// 0: they get none. Lines cannot contain the column itself.
	Missing int64 `json:"missing,omitempty"`
}

// at is the column of the value that rows without the column get.
func (c *ScaledColumn) at() int64 {
	if c.Missing > 0 {
		return c.Missing
	}
	return c.Column
}

// byField compares columns by field and column, as the values of rows are sorted.
func byField(a, b ScaledColumn) int {
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Column, b.Column))
}

// Dim is 1 more than the last column of missing values; 0: there is no such column.
func (s Scaling) Dim() (dim int64) {
	for _, c := range s {
		if c.Missing > 0 {
			dim = max(dim, c.Missing+1)
		}
	}
	return dim
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
		case c.Missing < 0 || c.Missing == math.MaxInt64 || c.Missing > 0 && c.Zero:
			return fmt.Errorf("scaling of column %d: column %d of missing values, want one from 1 on and no value 0 for rows without the column",
				c.Column, c.Missing)
		case c.Field < 0 || c.Field >= FieldLimit:
			return fmt.Errorf("scaling of column %d: field %d, want 0 to %d", c.Column, c.Field, FieldLimit-1)
		}
	}
	return s.checkMissing()
}

// checkMissing reports columns of missing values that are not in the order of their columns, or are columns of lines.
func (s Scaling) checkMissing() error {
	columns := slices.Clone(s)
	slices.SortFunc(columns, byField)
	last, zeros := int64(0), slices.ContainsFunc(s, func(c ScaledColumn) bool { return c.Zero })
	for _, c := range columns {
		if c.Missing == 0 {
			continue
		}
		if _, found := slices.BinarySearchFunc(s, c.Missing, func(c ScaledColumn, col int64) int { return cmp.Compare(c.Column, col) }); found ||
			c.Missing <= last || zeros {
			return fmt.Errorf("scaling of column %d: column %d of missing values, want one after %d that is not scaled, and no column with zeros",
				c.Column, c.Missing, last)
		}
		last = c.Missing
	}
	return nil
}

// scaler is a Scaling ready to scale rows. Any number of goroutines may use it.
type scaler struct {
	columns []preparedColumn
	index   *columnIndex   // numbers of columns; reserved for columns of missing values
	absent  []ScaledColumn // columns whose absence from a row adds a value to it, by field and column
	value   []float32      // the added values
}

// reserved is the number of a column of missing values, which lines cannot contain, in the index of a scaler.
const reserved = -2

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
	p := &scaler{columns: make([]preparedColumn, len(s)), index: newColumnIndex(2 * len(s))}
	for i, c := range s {
		one := &p.columns[i]
		if *one = (preparedColumn{c.Log, c.Mean, 1}); c.Deviation > 0 {
			one.inv = 1 / c.Deviation
		}
		p.index.add(c.Column, i)
		if c.Missing > 0 {
			p.index.add(c.Missing, reserved)
		}
		if c.Zero || c.Missing > 0 {
			p.absent = append(p.absent, c)
		}
	}
	slices.SortFunc(p.absent, byField)
	for _, c := range p.absent {
		value := float32(1)
		if c.Zero {
			value = p.columns[p.index.find(c.Column)].of(0)
		}
		p.value = append(p.value, value)
	}
	return p
}

// of is a value of the column as networks learn from it.
func (c *preparedColumn) of(v float64) float32 {
	return float32(max(-math.MaxFloat32, min(math.MaxFloat32, feature.Scaled(v, c.log, c.mean, c.inv))))
}

// reserves reports whether lines cannot contain the column. p may be nil.
func (p *scaler) reserves(col int64) bool { return p != nil && p.index.find(col) == reserved }

// scale scales the values of the row that begins at idx[from], as they were read where that is known. It removes values of columns of
// missing values, as training had no such feature. fielded says that values have fields.
func (p *scaler) scale(r *rows, from int, fielded bool) {
	to := from
	for k := from; k < len(r.idx); k++ {
		at := p.index.find(r.idx[k])
		if at == reserved {
			continue
		}
		v := float64(r.val[k])
		if k < len(r.exact) {
			v = r.exact[k]
		}
		r.idx[to], r.val[to] = r.idx[k], r.val[k]
		if fielded {
			r.field[to] = r.field[k]
		}
		if at >= 0 {
			r.val[to] = p.columns[at].of(v)
		}
		to++
	}
	r.idx, r.val = r.idx[:to], r.val[:to]
	if fielded {
		r.field = r.field[:to]
	}
	r.exact = r.exact[:min(len(r.exact), from)]
	p.fill(r, from, fielded)
}

// absentSet is the set of the numbers of columns that a row does not have.
type absentSet [ScalingLimit / 64]uint64

// fill inserts what rows without a column get into the row, which is sorted by field and column.
func (p *scaler) fill(r *rows, from int, fielded bool) {
	if len(p.absent) == 0 {
		return
	}
	var absent absentSet
	more := p.missing(r, from, fielded, &absent)
	if more == 0 {
		return
	}
	n := len(r.idx)
	r.idx, r.val = slices.Grow(r.idx, more)[:n+more], slices.Grow(r.val, more)[:n+more]
	if fielded {
		r.field = slices.Grow(r.field, more)[:n+more]
	}
	k, to := n-1, n+more-1
	for z := len(p.absent) - 1; z >= 0; z-- {
		if absent[z/64]>>(z%64)&1 == 0 {
			continue
		}
		c := &p.absent[z]
		for ; k >= from && order(r, k, c.Field, c.at(), fielded) > 0; k, to = k-1, to-1 {
			if r.idx[to], r.val[to] = r.idx[k], r.val[k]; fielded {
				r.field[to] = r.field[k]
			}
		}
		if r.idx[to], r.val[to] = c.at(), p.value[z]; fielded {
			r.field[to] = c.Field
		}
		to--
	}
}

// order compares the place of value k of a row with a column of a field, by field and column.
func order(r *rows, k int, field int32, column int64, fielded bool) int {
	if fielded && r.field[k] != field {
		return cmp.Compare(r.field[k], field)
	}
	return cmp.Compare(r.idx[k], column)
}

// missing counts the columns of p.absent that are not among those of the row that begins at idx[from], and adds their numbers to the set.
func (p *scaler) missing(r *rows, from int, fielded bool, absent *absentSet) (n int) {
	k := from
	for z := range p.absent {
		compared := 1
		for ; k < len(r.idx); k++ {
			if compared = order(r, k, p.absent[z].Field, p.absent[z].Column, fielded); compared >= 0 {
				break
			}
		}
		if k == len(r.idx) || compared > 0 {
			absent[z/64] |= 1 << (z % 64)
			n++
		}
	}
	return n
}

// Reserved finds a column of missing values of the scaling that an example contains.
func (s *Set) Reserved(by Scaling) (column int64, found bool) {
	if by.Dim() == 0 {
		return 0, false
	}
	p := by.scaler()
	for _, row := range s.all() {
		for _, col := range row.idx {
			if p.reserves(col) {
				return col, true
			}
		}
	}
	return 0, false
}

// Scale scales the values of the examples in the memory that they are in; nothing else may use the set meanwhile.
func (s *Set) Scale(by Scaling) error {
	p := by.scaler()
	if p == nil {
		return nil
	}
	if by.Dim() > kernel.WordColumn+1 && !s.wide {
		if err := s.widen(); err != nil {
			return err
		}
	}
	ones, absent := p.more(s)
	more := uint64(ones + absent*absentWords)
	s.dim = max(s.dim, by.Dim())
	if limit := s.spill.limit; limit > 0 && int64(4*(s.used+more))+int64(8*len(s.Label)) > limit {
		if err := s.back(); err != nil {
			return err
		}
	}
	if err := s.room(s.used+more, 0); err != nil {
		return err
	}
	return s.rewrite(more, p, len(p.absent) > 0)
}

// absentWords is how many words a value that is inserted takes at most: the column, in wide sets two, the field and the value.
const absentWords = 4

// more is how many values are 1 and are scaled, each of which takes a word more then, and how many values are inserted.
func (p *scaler) more(s *Set) (ones, absent int) {
	if len(p.absent) > 0 {
		var set absentSet
		for _, row := range s.all() {
			absent += p.missing(row, 0, s.fielded, &set)
		}
	}
	for words := range s.columnWords() {
		for at := s.step() - 1; at < len(words); at += s.step() {
			if words[at]&kernel.WordValue == 0 && p.index.find(s.columnOf(words, at)) >= 0 {
				ones++
			}
		}
	}
	return ones, absent
}

// rewrite scales each row and, with inserts, inserts what rows without a column get. Rows may become longer by so many words in all, for
// which there is room: they move to the end of the memory and are written from its beginning on.
func (s *Set) rewrite(more uint64, p *scaler, inserts bool) error {
	defer runtime.KeepAlive(s)
	copy(s.words[more:], s.words[:s.used+1])
	var words []uint32
	row := newRows(1, 0, false)
	var from, used, seen uint64
	s.values = 0
	for i, end := range s.ends[:len(s.Label)] {
		if words = append(words[:0], s.words[more+from:more+end+1]...); s.wide || inserts || words[0]&rowExact != 0 {
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
