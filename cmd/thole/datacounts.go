package main

import (
	"math/bits"

	"thole.example/data"
)

// labelCounts counts labels that are numbers, up to so many different ones.
type labelCounts struct {
	rows map[float32]int
	sum  float64
	more bool // there are others
}

const labelKinds = 1 << 18

func (c *labelCounts) add(labels []float32) {
	if c.rows == nil {
		c.rows = map[float32]int{}
	}
	for _, y := range labels {
		c.sum += float64(y)
		if _, known := c.rows[y]; !known && len(c.rows) == labelKinds {
			c.more = true
			continue
		}
		c.rows[y]++
	}
}

// lineSizes are the sizes of examples that are no rows of a table.
type lineSizes struct {
	Columns  int64   `json:"columns"` // the highest one, counted from 0, plus one
	Fields   int     `json:"fields"`
	Values   int     `json:"values"`
	Least    int     `json:"least"` // values a row
	Mean     float64 `json:"mean"`
	Most     int     `json:"most"`
	Largest  float32 `json:"largest"` // the value farthest from 0
	At       int64   `json:"largestColumn"`
	Features *int    `json:"features,omitempty"`  // columns with values; nil: there are too many columns to count
	Rare     *int    `json:"singleRow,omitempty"` // of them, those of one row only
}

// add adds some examples.
func (l *lineSizes) add(b *data.Batch, first bool) {
	x := b.Rows()
	l.Columns, l.Fields, l.Values = max(l.Columns, b.X.At.Cols.Hi), max(l.Fields, b.Fields), l.Values+len(x.Idx)
	for i, end := range x.Ptr[1:] {
		n := end - x.Ptr[i]
		if l.Most = max(l.Most, n); first && i == 0 || n < l.Least {
			l.Least = n
		}
	}
	for i, v := range x.Val {
		if max(v, -v) > max(l.Largest, -l.Largest) {
			l.At, l.Largest = x.Idx[i], v
		}
	}
}

// rareColumns is of how many columns it is found out whether they occur at all, and more than once.
const rareColumns = 1 << 28

// occurring are columns that occur, and those that do in one row only.
type occurring struct {
	once, twice []uint64 // a bit for each column
	all, single int
	beyond      bool // there are too many columns
}

func (o *occurring) add(columns []int64) {
	for _, c := range columns {
		if c >= rareColumns {
			o.beyond = true
		}
		if o.beyond {
			return
		}
		at, bit := int(c>>6), uint64(1)<<(c&63)
		if more := at + 1 - len(o.once); more > 0 {
			more = max(more, len(o.once)/2)
			o.once, o.twice = append(o.once, make([]uint64, more)...), append(o.twice, make([]uint64, more)...)
		}
		o.single += bits.OnesCount64(bit&^o.once[at]) - bits.OnesCount64(bit&o.once[at]&^o.twice[at])
		o.all += bits.OnesCount64(bit &^ o.once[at])
		o.twice[at] |= bit & o.once[at]
		o.once[at] |= bit
	}
}
