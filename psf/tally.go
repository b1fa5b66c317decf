package psf

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// tally is what a partition answers that has counted its cells by bins.
type tally struct {
	Band   int64      `json:"band"`             // its first row
	Absent int64      `json:"absent,omitempty"` // see View
	Stored [][2]int64 `json:"stored,omitempty"` // pairs of a bin and how many stored cells are in it, the bins ascending
	Rows   [][2]int64 `json:"rows,omitempty"`   // and in how many rows the cells are that are not stored
}

func newTally(v View) tally { return tally{Band: v.At().Rows.Lo, Absent: v.Absent()} }

// cellCount is a number of cells, which may be beyond 64 bits: many rows of a matrix whose columns are all of int64.
type cellCount struct{ hi, lo uint64 }

func (c *cellCount) add(d cellCount) {
	var carry uint64
	c.lo, carry = bits.Add64(c.lo, d.lo, 0)
	c.hi += d.hi + carry
}

func (c cellCount) less(d cellCount) bool { return c.hi < d.hi || c.hi == d.hi && c.lo < d.lo }

// whole is the count as an int64, or the largest one.
func (c cellCount) whole() int64 {
	if c.hi > 0 || c.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(c.lo)
}

// part is the least number of cells that is at least q of these, and at least one.
func (c cellCount) part(q float64) cellCount {
	const exact = 53 + 128
	n := new(big.Int).SetUint64(c.hi)
	n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(c.lo))
	f := new(big.Float).SetPrec(exact).SetInt(n)
	f.Mul(f, new(big.Float).SetFloat64(q))
	if _, acc := f.Int(n); acc == big.Below {
		n.Add(n, big.NewInt(1))
	}
	if n.Sign() == 0 {
		return cellCount{lo: 1}
	}
	return cellCount{new(big.Int).Rsh(n, 64).Uint64(), new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()}
}

// mergeTallies adds up the counts of partitions; bins are from low on, below end. What partitions may say has bounds: the bins of a
// list ascend, and counts are above 0.
func mergeTallies(parts [][]byte, low, end int64) (map[int64]cellCount, error) {
	all := map[int64]cellCount{}
	absent, rows := map[int64]int64{}, map[int64][][2]int64{}
	for _, p := range parts {
		var t tally
		err := json.Unmarshal(p, &t)
		for _, list := range [][][2]int64{t.Stored, t.Rows} {
			for i, pair := range list {
				if err == nil && (pair[0] < low || pair[0] >= end || pair[1] < 1 || i > 0 && pair[0] <= list[i-1][0]) {
					err = fmt.Errorf("%d cells in bin %d, want ascending bins from %d to %d, each with cells", pair[1], pair[0], low, end-1)
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("psf: an answer %.60q: %w", p, err)
		}
		for _, pair := range t.Stored {
			n := all[pair[0]]
			n.add(cellCount{lo: uint64(pair[1])})
			all[pair[0]] = n
		}
		absent[t.Band] += t.Absent
		rows[t.Band] = t.Rows
	}
	for band, n := range absent {
		if n < 0 {
			return nil, fmt.Errorf("psf: %d absent columns in the rows from %d on, want 0 or more", n, band)
		}
		for _, pair := range rows[band] {
			c := all[pair[0]]
			hi, lo := bits.Mul64(uint64(n), uint64(pair[1]))
			c.add(cellCount{hi, lo})
			all[pair[0]] = c
		}
	}
	return all, nil
}
