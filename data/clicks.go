package data

import (
	"fmt"
	"math"
)

// Clicks describes click-through examples from a logistic model that is known. Every row has one column of each field,
// with value 1; columns of a field come after those of the fields before, the more frequent the lower. The weight of a
// column and everything in a row are functions of the seed and of the column or the row number alone, so rows can be
// made in any order and by any number of processes. (Processors that round exponentials differently may, once in a great
// many rows, disagree on a column or a label.)
type Clicks struct {
	Seed   uint64
	Rows   int64
	Dims   []int64  // columns of each field
	Names  []string // of the fields, for tables; nil: c1, c2 and so on
	Skew   float64  // exponent of the frequencies (Zipf), rank^-Skew; 0: all columns equally often
	Spread float64  // standard deviation of the weights
	Bias   float64  // added to the sum of the weights
}

// ClickModel makes the rows of Clicks and knows the truth about them. Its methods may be called by many goroutines.
type ClickModel struct {
	Clicks
	fields []clickField
	dim    int64
	rowKey uint64
	colKey uint64
}

type clickField struct {
	first int64
	dim   int64
	ranks *zipf
}

// NewClicks prepares the model. Fields of equal size share memory.
func NewClicks(c Clicks) (*ClickModel, error) {
	if c.Rows < 0 || len(c.Dims) == 0 {
		return nil, fmt.Errorf("data: clicks of %d rows and %d fields, want 0 or more and 1 or more", c.Rows, len(c.Dims))
	}
	for _, v := range []float64{c.Skew, c.Spread, c.Bias} {
		if v != v || math.IsInf(v, 0) || math.Abs(v) > 1000 {
			return nil, fmt.Errorf("data: clicks with skew %v, spread %v, bias %v, want numbers up to 1000",
				c.Skew, c.Spread, c.Bias)
		}
	}
	m := &ClickModel{Clicks: c, rowKey: mix(c.Seed ^ 0x726f77), colKey: mix(c.Seed ^ 0x636f6c)}
	known := map[int64]*zipf{}
	for f, dim := range c.Dims {
		if dim < 1 || dim > math.MaxInt64-1-m.dim || dim > 1<<40 {
			return nil, fmt.Errorf("data: field %d of clicks has %d columns, want 1 to 2^40", f, dim)
		}
		if known[dim] == nil {
			known[dim] = newZipf(dim, c.Skew)
		}
		m.fields = append(m.fields, clickField{m.dim, dim, known[dim]})
		m.dim += dim
	}
	return m, nil
}

// Dim is the number of columns of all fields.
func (m *ClickModel) Dim() int64 { return m.dim }

// Weight is the true weight of a column: normal but for the far tails, with standard deviation Spread.
func (m *ClickModel) Weight(col int64) float64 {
	x := mix(m.colKey + uint64(col)*golden)
	// The sum of four uniform numbers has variance 4/12 and is near enough to normal.
	sum := int64(x&0xffff) + int64(x>>16&0xffff) + int64(x>>32&0xffff) + int64(x>>48)
	return m.Spread * (float64(sum-2*0xffff) / 0x10000) * math.Sqrt2 * 1.224744871391589 // sqrt(3)
}

// row appends the columns of row number r to idx and reports whether the label is positive.
func (m *ClickModel) row(r int64, idx []int64) (cols []int64, positive bool) {
	state := mix(m.rowKey + uint64(r)*golden)
	margin := m.Bias
	for i := range m.fields {
		f := &m.fields[i]
		state += golden
		col := f.first + f.ranks.draw(mix(state))
		margin += m.Weight(col)
		idx = append(idx, col)
	}
	uniform := float64(mix(state+golden)>>11) / (1 << 53)
	return idx, uniform < sigmoid(margin)
}

// Batch makes the rows [lo, hi), labels -1 and +1.
func (m *ClickModel) Batch(lo, hi int64) *Batch {
	n := int(hi - lo)
	out := newRows(n, n*len(m.fields), true)
	for r := lo; r < hi; r++ {
		cols, positive := m.row(r, out.idx)
		out.idx = cols
		label := float32(-1)
		if positive {
			label = 1
		}
		out.label = append(out.label, label)
		out.ptr = append(out.ptr, len(cols))
	}
	out.val, out.field = out.val[:len(out.idx)], out.field[:len(out.idx)]
	for i := range out.val {
		out.val[i], out.field[i] = 1, int32(i%len(m.fields))
	}
	return out.batch(lo, m.dim, len(m.fields))
}

// Truth is the true probability of the positive label for each row of a batch, whoever made the batch: the metrics of
// these probabilities are the best that any model can reach on average.
func (m *ClickModel) Truth(b *Batch) []float64 {
	x, out := b.Rows(), make([]float64, b.Len())
	for i := range out {
		margin := m.Bias
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			margin += float64(x.Val[p]) * m.Weight(x.Idx[p])
		}
		out[i] = sigmoid(margin)
	}
	return out
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
