package data

import (
	"math"
	"strconv"
)

// deepRow is a row of a DeepClickModel.
type deepRow struct {
	number [deepNumbers]amount
	rank   [26]int32 // of the column in its field
}

// amount is a number of a row.
type amount struct {
	count  float64
	exact  float64 // log(1+number)/4, which the truth is of; 0 where it is missing
	value  float32 // to four digits, which the examples have
	bucket int32   // the last one where it is missing
}

func amountOf(count float64) amount {
	a := amount{count: count, exact: float64(float32(math.RoundToEven(math.Log1p(count)/4*1e4) / 1e4))}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(a.exact, 'g', 4, 64), 32) // of a number that was just written
	a.value, a.bucket = float32(v), int32(min(a.exact*16, deepBuckets-2))
	return a
}

// draw draws row number r.
func (m *DeepClickModel) draw(r uint64, row *deepRow) {
	for f := range m.fields {
		row.rank[f] = m.fields[f].ranks.of(m.fields[f].draw.at(r))
	}
	for f := range row.number {
		if f%3 == 2 && m.absent[f].at(r) < 0.2 {
			row.number[f] = amount{bucket: deepBuckets - 1}
			continue
		}
		count := math.Floor(math.Exp(1 + 0.15*float64(f) + 1.2*m.normal[f].at(r)))
		if int(count) < len(m.counts) {
			row.number[f] = m.counts[int(count)]
		} else {
			row.number[f] = amountOf(count)
		}
	}
}

// parts are the linear part of the log odds, that of pairs and that of hidden units, with mean 0 and their deviations.
func (m *DeepClickModel) parts(row *deepRow) (parts [3]float64) {
	linear, pairs, hidden := 0.0, 0.0, 0.0
	for f, w := range m.weight {
		linear += 2 * w * row.number[f].exact
	}
	for f := range m.fields {
		linear += m.fields[f].weight[row.rank[f]]
	}
	for _, p := range m.pairs {
		a, b := &m.fields[p[0]].factors[row.rank[p[0]]], &m.fields[p[1]].factors[row.rank[p[1]]]
		pairs += float64(a[0]*b[0] + a[1]*b[1])
	}
	for h := range m.units {
		u := &m.units[h]
		z := 0.0
		for i, f := range u.of {
			if f < len(m.fields) {
				z += u.weight[i][row.rank[f]]
			} else {
				z += (row.number[f-len(m.fields)].exact - 0.5) * 6
			}
		}
		hidden += u.sign * math.Sin(z)
	}
	for k, raw := range [...]float64{linear, pairs, hidden} {
		parts[k] = (raw - m.mean[k]) * m.scale[k]
	}
	return parts
}

// probability is the true one of the positive label.
func (m *DeepClickModel) probability(row *deepRow) float64 {
	p := m.parts(row)
	return sigmoid(m.bias + (p[0] + p[1] + p[2]))
}

// Dim is the number of columns.
func (m *DeepClickModel) Dim() int64 { return m.dim }

// Batch makes the rows [lo, hi), labels -1 and +1, in 39 fields: those of the numbers are first.
func (m *DeepClickModel) Batch(lo, hi int64) *Batch {
	const fields = deepNumbers + len(deepRow{}.rank)
	n := int(hi - lo)
	out := newRows(n, n*fields, true)
	var row deepRow
	for r := lo; r < hi; r++ {
		m.draw(uint64(r), &row)
		for f, a := range row.number {
			switch {
			case m.Buckets:
				out.put(f, int64(f*deepBuckets)+int64(a.bucket), 1)
			case a.bucket != deepBuckets-1:
				out.put(f, int64(f), a.value)
			}
		}
		for f, rank := range row.rank {
			out.put(deepNumbers+f, m.fields[f].first+int64(rank), 1)
		}
		label := float32(-1)
		if m.label.at(uint64(r)) < m.probability(&row) {
			label = 1
		}
		out.label = append(out.label, label)
		out.ptr = append(out.ptr, len(out.idx))
	}
	return out.batch(lo, m.dim, fields)
}

// put appends a value to the row.
func (r *rows) put(field int, col int64, v float32) {
	r.idx, r.val, r.field = append(r.idx, col), append(r.val, v), append(r.field, int32(field))
}

// Truth is the true probability of the positive label for each row of a batch of the model or a Slice of one: rows are known by
// their numbers.
func (m *DeepClickModel) Truth(b *Batch) []float64 {
	var row deepRow
	out := make([]float64, b.Len())
	for i := range out {
		m.draw(uint64(b.X.At.Rows.Lo)+uint64(i), &row)
		out[i] = m.probability(&row)
	}
	return out
}

// ranks draws ranks 0 to n-1 with frequencies (rank+1)^deepSkew, exactly: rank r where the uniform number is first not above
// that of ranks up to r.
type ranks struct {
	upTo  []float64
	guide [guides + 1]int32 // the rank of the uniform number i/guides
}

const guides = 1 << 12 // a power of two: steps that are exact

func newRanks(n int) *ranks {
	z := &ranks{upTo: make([]float64, n)}
	for r := range z.upTo {
		z.upTo[r] = math.Pow(float64(r+1), deepSkew)
	}
	all, sum := 0.0, 0.0
	for r := range z.upTo { // the smallest first: there are many
		all += z.upTo[n-1-r]
	}
	for r, p := range z.upTo {
		sum += p
		z.upTo[r] = sum / all
	}
	r := 0
	for i := range z.guide {
		for r < n-1 && z.upTo[r] < float64(i)/guides {
			r++
		}
		z.guide[i] = int32(r)
	}
	return z
}

func (z *ranks) of(u float64) int32 {
	i := min(int(u*guides), guides-1) // u may be 1
	lo, hi := z.guide[i], z.guide[i+1]
	for lo < hi { // the first not below u, or the last of all
		if mid := (lo + hi) / 2; z.upTo[mid] < u {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
