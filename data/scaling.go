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

// candidateLimit is how many columns with values other than 1 are looked at to find those to scale.
const candidateLimit = 1 << 20

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

// Unscaled says which columns with values other than 1 a fit left as they are.
type Unscaled struct {
	Columns int  // how many
	All     bool // all were left: there are more than are looked at
}

// FitScaling finds how the values of the examples are to be scaled; nil: all are 1, or are to be left as they are. zeros says that rows
// without a column have the value 0 there, as in libsvm and dense; else the value is missing. Columns that at least half of the rows have,
// and those that are the only one of their field, get the mean 0 and the deviation 1; of others, which are mostly categories with a weight,
// the square has the mean 1.
func (s *Set) FitScaling(zeros bool) (Scaling, Unscaled) {
	columns, all := s.candidates()
	if columns == nil || !all {
		return nil, Unscaled{len(columns), !all}
	}
	s.countOnes(columns)
	list := make([]*candidate, 0, len(columns))
	for _, c := range columns {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.rows(), a.rows()), cmp.Compare(a.column, b.column))
	})
	left := Unscaled{Columns: max(0, len(list)-ScalingLimit)}
	list = list[:len(list)-left.Columns]
	var scaling Scaling
	for _, c := range list {
		if one, ok := c.scaling(s.Len(), zeros); ok {
			scaling = append(scaling, one)
		} else {
			left.Columns++
		}
	}
	slices.SortFunc(scaling, func(a, b ScaledColumn) int { return cmp.Compare(a.Column, b.Column) })
	return scaling, left
}

// candidate is what is known of a column that has values other than 1.
type candidate struct {
	column int64
	field  int32
	alone  bool // no other column is of its field
	others int  // values other than 1
	ones   int
	plain  feature.Moments
	logs   feature.Moments
}

func (c *candidate) rows() int { return c.others + c.ones }

// scaling is that of the column among n rows; ok is false if its numbers are too large for one.
func (c *candidate) scaling(n int, zeros bool) (one ScaledColumn, ok bool) {
	absent := max(0, n-c.rows())
	centred := absent <= n/2 || c.alone && !zeros
	if low, high := c.plain.Bounds(); absent > 0 && !zeros && low == high && c.ones == 0 {
		centred = false // what tells rows apart is whether they have the column
	}
	one = ScaledColumn{Column: c.column}
	if centred && zeros {
		one.Zero, one.Field = true, c.field
	}
	of := &c.plain
	for _, m := range []*feature.Moments{&c.plain, &c.logs} {
		m.Add(1, c.ones)
		if one.Zero {
			m.Add(0, absent)
		}
	}
	if one.Log = c.plain.Skewed(); one.Log {
		of = &c.logs
	}
	one.Mean, one.Deviation = of.Of()
	if !centred {
		one.Mean, one.Deviation = 0, math.Hypot(one.Mean, one.Deviation)
	}
	return one, Scaling{one}.Check() == nil
}

// candidates are the columns that have values other than 1, nil if there are none; all is false if there are too many.
func (s *Set) candidates() (columns map[int64]*candidate, all bool) {
	if !s.differs() {
		return nil, true
	}
	columns = map[int64]*candidate{}
	for _, row := range s.all() {
		for k, v := range row.val {
			if v == 1 {
				continue
			}
			c := columns[row.idx[k]]
			if c == nil {
				if len(columns) == candidateLimit {
					return columns, false
				}
				c = &candidate{column: row.idx[k], logs: feature.Logs()}
				if len(row.field) > 0 {
					c.field = row.field[k]
				}
				columns[c.column] = c
			}
			c.others++
			c.plain.Add(float64(v), 1)
			c.logs.Add(float64(v), 1)
		}
	}
	return columns, true
}

// differs reports whether a value is other than 1, by the words of the rows alone.
func (s *Set) differs() bool {
	defer runtime.KeepAlive(s)
	var from uint64
	for _, end := range s.ends[:len(s.Label)] {
		words, step := s.words[from:end], uint32(1)
		n := words[0] &^ rowExact
		if s.wide {
			step = 2 // the upper half of a column is the second word
		}
		for at := step; at <= step*n; at += step {
			if words[at]&kernel.WordValue != 0 {
				return true
			}
		}
		from = end
	}
	s.release(0, s.Len())
	return false
}

// countOnes counts the values 1 of candidates, and finds those that are alone in their field.
func (s *Set) countOnes(columns map[int64]*candidate) {
	var some sieve
	for col := range columns {
		some.add(col)
	}
	only := make([]int64, s.Fields) // the column of a field, and 1; 0: none; below 0: it has several
	defer func() {
		for col, c := range columns {
			c.alone = len(only) > 0 && only[c.field] == col+1
		}
	}()
	for _, row := range s.all() {
		for k, f := range row.field {
			switch col := row.idx[k] + 1; only[f] {
			case col:
			case 0:
				only[f] = col
			default:
				only[f] = -1
			}
		}
		for k, col := range row.idx {
			if row.val[k] == 1 && some.has(col) {
				if c := columns[col]; c != nil {
					c.ones++
				}
			}
		}
	}
}

// sieve tells most columns that are not among some, by their lowest bits.
type sieve [1 << 8]uint64

func (s *sieve) add(col int64)      { s[col>>6&(1<<8-1)] |= 1 << (col & 63) }
func (s *sieve) has(col int64) bool { return s[col>>6&(1<<8-1)]>>(col&63)&1 != 0 }

// scaler is a Scaling ready to scale rows. Any number of goroutines may use it.
type scaler struct {
	Scaling
	some  sieve
	zeros []ScaledColumn // those with Zero
	zero  []float32      // what their zeros become
}

// scaler prepares the scaling; nil: there is nothing to scale.
func (s Scaling) scaler() *scaler {
	if len(s) == 0 {
		return nil
	}
	p := &scaler{Scaling: s}
	for i := range s {
		p.some.add(s[i].Column)
		if s[i].Zero {
			p.zeros, p.zero = append(p.zeros, s[i]), append(p.zero, s[i].of(0))
		}
	}
	return p
}

// of is a value of the column as networks learn from it.
func (c *ScaledColumn) of(v float64) float32 {
	x := feature.Scaled(v, c.Log, c.Mean, c.Deviation)
	return float32(max(-math.MaxFloat32, min(math.MaxFloat32, x)))
}

// find is the column; nil: its values stay as they are.
func (p *scaler) find(col int64) *ScaledColumn {
	if !p.some.has(col) {
		return nil
	}
	at, found := slices.BinarySearchFunc(p.Scaling, col, func(c ScaledColumn, col int64) int { return cmp.Compare(c.Column, col) })
	if !found {
		return nil
	}
	return &p.Scaling[at]
}

// scale scales the values of the row that begins at idx[from], as they were read where that is known. fielded says that values have fields.
func (p *scaler) scale(r *rows, from int, fielded bool) {
	for k := from; k < len(r.idx); k++ {
		if c := p.find(r.idx[k]); c != nil {
			v := float64(r.val[k])
			if k < len(r.exact) {
				v = r.exact[k]
			}
			r.val[k] = c.of(v)
		}
	}
	r.exact = r.exact[:min(len(r.exact), from)]
	p.fill(r, from, fielded)
}

// fill inserts the zeros that the row, whose columns ascend, leaves out.
func (p *scaler) fill(r *rows, from int, fielded bool) {
	more := p.missing(r.idx[from:])
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
		has := k >= from
		switch {
		case has && r.idx[k] > p.zeros[z].Column:
			r.idx[to], r.val[to] = r.idx[k], r.val[k]
			if fielded {
				r.field[to] = r.field[k]
			}
			k, to = k-1, to-1
		case has && r.idx[k] == p.zeros[z].Column:
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

// missing is how many columns with zeros are not among those of a row.
func (p *scaler) missing(idx []int64) (n int) {
	k := 0
	for z := range p.zeros {
		for k < len(idx) && idx[k] < p.zeros[z].Column {
			k++
		}
		if k == len(idx) || idx[k] != p.zeros[z].Column {
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
	return s.rewrite(more, func(r *rows) { p.scale(r, 0, s.fielded) })
}

// zeroWords is how many words a zero that is inserted takes at most: the column, in wide sets two, the field and the value.
const zeroWords = 4

// more is how many values are 1 and are scaled, each of which takes a word more then, and how many zeros are inserted.
func (p *scaler) more(s *Set) (ones, zeros int) {
	for _, row := range s.all() {
		zeros += p.missing(row.idx)
		for k, col := range row.idx {
			if row.val[k] == 1 && p.find(col) != nil {
				ones++
			}
		}
	}
	return ones, zeros
}

// rewrite changes each row, which may become longer by so many words in all, for which there is room: rows move to the end of the memory
// and are written from its beginning on.
func (s *Set) rewrite(more uint64, change func(*rows)) error {
	defer runtime.KeepAlive(s)
	copy(s.words[more:], s.words[:s.used+1])
	row := newRows(1, 0, false)
	var from, used, seen uint64
	s.values = 0
	for i, end := range s.ends[:len(s.Label)] {
		row.reset()
		s.append(&row, s.words[more+from:more+end+1], i)
		if change(&row); len(row.exact) > 0 {
			return fmt.Errorf("data: example %d: values that are no float32 in rows that change: %w", i+1, ErrOption)
		}
		if s.wide {
			used += uint64(encodeWide(s.words[used:more+end], row.idx, row.val, row.field))
		} else {
			used += uint64(encodeNarrow(s.words[used:more+end], row.idx, row.val, row.field))
		}
		s.ends[i], from, s.values = used, end, s.values+len(row.idx)
		if s.memory.filed && (from-seen > stride/4 || i == len(s.Label)-1) {
			s.memory.words.Release(4*int(seen), 4*int(used))
			s.memory.words.Release(4*int(more+seen), 4*int(more+from))
			seen = used
		}
	}
	s.used = used
	return nil
}
