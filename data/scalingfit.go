package data

import (
	"cmp"
	"iter"
	"math"
	"runtime"
	"slices"

	"thole.example/feature"
	"thole.example/kernel"
)

// candidateLimit is how many columns with values other than 1 are looked at to find those to scale.
const candidateLimit = 1 << 20

// Unscaled says which columns with values other than 1 a fit left as they are.
type Unscaled struct {
	Columns int  // how many
	All     bool // all were left: there are more than are looked at
}

// Absent says what it means that a row does not have a column whose values are scaled.
type Absent int

// The meanings. AbsentAuto is AbsentMissing if the examples contain values 0, at least one for each hundred absent ones: lines that contain
// zeros leave out missing values. Otherwise it is AbsentZero.
const (
	AbsentAuto    Absent = iota
	AbsentZero           // the value 0, which is scaled
	AbsentMissing        // the value is missing: the row gets a feature of its own that says so
	AbsentNothing        // the value is missing: nothing is added
)

// FitScaling finds how the values of the examples are to be scaled; nil: all are 1, or are to be left as they are. Columns that at least
// half of the rows have, and those that are the only one of their field, get the mean 0 and the deviation 1; of others, which are mostly
// categories with a weight, the square has the mean 1. Columns of missing values are the ones from Dim on.
func (s *Set) FitScaling(absent Absent) (Scaling, Unscaled) {
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
	absent = s.absentOf(absent, list)
	var skewed []*candidate
	for _, c := range list {
		if c.settle(s.Len(), absent); c.plain.Skewed() {
			skewed = append(skewed, c)
		}
	}
	s.addLogs(skewed)
	var scaling Scaling
	for _, c := range list {
		if one, ok := c.scaling(); ok {
			scaling = append(scaling, one)
		} else {
			left.Columns++
		}
	}
	slices.SortFunc(scaling, byField)
	for i, next := 0, s.dim; i < len(scaling); i++ { // in the order that the values of a row have
		if scaling[i].Missing > 0 {
			scaling[i].Missing, next = next, next+1
		}
	}
	slices.SortFunc(scaling, func(a, b ScaledColumn) int { return cmp.Compare(a.Column, b.Column) })
	return scaling, left
}

// absentOf decides what AbsentAuto means for the candidates. Where columns of missing values would make the words of rows wider, or their
// numbers have no room, rows get nothing.
func (s *Set) absentOf(absent Absent, list []*candidate) Absent {
	if absent == AbsentAuto {
		zeros, without := 0, 0
		for _, c := range list {
			if zeros += c.zeros; c.mostRows(s.Len()) || c.alone {
				without += s.Len() - c.rows()
			}
		}
		if absent = AbsentZero; without > 0 && zeros > 0 && zeros >= without/100 {
			absent = AbsentMissing
		}
	}
	top := int64(kernel.WordColumn)
	if s.wide {
		top = math.MaxInt64 - 1
	}
	if absent == AbsentMissing && s.dim > top-int64(len(list)) {
		return AbsentNothing
	}
	return absent
}

// candidate is what is known of a column that has values other than 1.
type candidate struct {
	column  int64
	field   int32
	alone   bool // no other column is of its field
	centred bool // its mean becomes 0
	zero    bool // rows without it have the value 0
	missing bool // rows without it get the feature of a missing value
	others  int  // values other than 1
	zeros   int  // values 0
	ones    int
	absent  int // rows without it
	plain   feature.Moments
	logs    *feature.Moments // of columns that networks learn from by their logarithms
	values  []float32        // other than 1, which the moments do not have yet
}

func (c *candidate) rows() int { return c.others + c.ones }

// waiting is how many values of a candidate are added to its moments together, which is faster.
const waiting = 16

// add adds a value other than 1.
func (c *candidate) add(v float32) {
	if c.others++; v == 0 {
		c.zeros++
	}
	if c.values = append(c.values, v); len(c.values) == waiting {
		c.flush()
	}
}

func (c *candidate) flush() {
	c.plain.AddAll(c.values)
	c.values = c.values[:0]
}

// mostRows reports whether at least half of n rows have the column.
func (c *candidate) mostRows(n int) bool { return n-c.rows() <= n/2 }

// settle completes the moments of a column of n rows.
func (c *candidate) settle(n int, absent Absent) {
	zeros := absent == AbsentZero
	c.absent = max(0, n-c.rows())
	c.centred = c.mostRows(n) || c.alone && !zeros
	if low, high := c.plain.Bounds(); c.absent > 0 && !zeros && low == high && c.ones == 0 {
		c.centred = false // what tells rows apart is whether they have the column
	}
	c.zero = c.centred && zeros
	c.missing = c.centred && absent == AbsentMissing && c.absent >= 2 // as in tables
	c.rest(&c.plain)
}

// rest adds the ones and the zeros.
func (c *candidate) rest(to *feature.Moments) {
	if to.Add(1, c.ones); c.zero {
		to.Add(0, c.absent)
	}
}

// scaling is that of the column; ok is false if its numbers are too large for one.
func (c *candidate) scaling() (one ScaledColumn, ok bool) {
	one = ScaledColumn{Column: c.column, Log: c.logs != nil}
	if c.zero {
		one.Zero, one.Field = true, c.field
	}
	if c.missing {
		one.Missing, one.Field = 1, c.field // its number follows
	}
	if one.Mean, one.Deviation = c.plain.Of(); one.Log {
		one.Mean, one.Deviation = c.logs.Of()
	}
	if !c.centred {
		one.Mean, one.Deviation = 0, math.Hypot(one.Mean, one.Deviation)
	}
	return one, Scaling{{Column: one.Column, Mean: one.Mean, Deviation: one.Deviation, Field: one.Field}}.Check() == nil
}

// candidates are the columns that have values other than 1, nil if there are none; all is false if there are too many.
func (s *Set) candidates() (columns map[int64]*candidate, all bool) {
	if !s.differs() {
		return nil, true
	}
	columns = map[int64]*candidate{}
	var near [64]*candidate // by place in a row, where most rows have the same columns
	for _, row := range s.all() {
		for k, v := range row.val {
			if v == 1 {
				continue
			}
			c := near[k%len(near)]
			if col := row.idx[k]; c == nil || c.column != col {
				if c = columns[col]; c == nil {
					if len(columns) == candidateLimit {
						return columns, false
					}
					c = &candidate{column: col}
					if len(row.field) > 0 {
						c.field = row.field[k]
					}
					columns[col] = c
				}
				near[k%len(near)] = c
			}
			c.add(v)
		}
	}
	for _, c := range columns {
		c.flush()
	}
	return columns, true
}

// addLogs adds the logarithms of the values of columns.
func (s *Set) addLogs(skewed []*candidate) {
	if len(skewed) == 0 {
		return
	}
	index := newColumnIndex(len(skewed))
	for i, c := range skewed {
		logs := feature.Logs()
		c.logs = &logs
		index.add(c.column, i)
	}
	for _, row := range s.all() {
		for k, v := range row.val {
			if v == 1 {
				continue
			}
			if at := index.find(row.idx[k]); at >= 0 {
				skewed[at].logs.Add(float64(v), 1)
			}
		}
	}
	for _, c := range skewed {
		c.rest(c.logs)
	}
}

// differs reports whether a value is other than 1.
func (s *Set) differs() bool {
	for words := range s.columnWords() {
		for at := s.step() - 1; at < len(words); at += s.step() {
			if words[at]&kernel.WordValue != 0 {
				return true
			}
		}
	}
	return false
}

// columnWords are the words of the columns of each row, step words for each; the last of these also says whether the value is 1.
func (s *Set) columnWords() iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		defer runtime.KeepAlive(s)
		var from, seen uint64
		first := 0
		for i, end := range s.ends[:len(s.Label)] {
			words := s.words[from:end]
			if !yield(words[1 : 1+s.step()*int(words[0]&^rowExact)]) {
				break
			}
			if from = end; s.memory.filed && from-seen > stride/4 {
				seen = from
				s.release(first, i+1)
				first = i + 1
			}
		}
		s.release(first, s.Len())
	}
}

// step is how many words a column has.
func (s *Set) step() int {
	if s.wide {
		return 2
	}
	return 1
}

// columnOf is the column whose last word is the one at a place.
func (s *Set) columnOf(words []uint32, at int) int64 {
	if s.wide {
		return int64(words[at-1]) | int64(words[at]&^kernel.WordValue)<<32
	}
	return int64(words[at] & kernel.WordColumn)
}

// countOnes counts the values 1 of candidates, and finds those that are alone in their field.
func (s *Set) countOnes(columns map[int64]*candidate) {
	all := newColumnIndex(len(columns))
	list := make([]*candidate, 0, len(columns))
	for col, c := range columns {
		all.add(col, len(list))
		list = append(list, c)
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
			if row.val[k] == 1 {
				if at := all.find(col); at >= 0 {
					list[at].ones++
				}
			}
		}
	}
}
