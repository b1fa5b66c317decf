package shard

import (
	"cmp"
	"fmt"
	"math"
	mathbits "math/bits"
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
)

// quota is what a budget of bytes comes to: how many columns each bucket of a matrix may have. A bucket is the columns whose hashes
// begin with some bits: how many depends on the budget and on what a column takes, and not on how the matrix is cut.
type quota struct {
	most int // columns of a bucket
	bits int // that choose one
}

// How many buckets there are. More bits than a hash partition has, so that a bucket lies in one, and about so many columns in each
// that some buckets are not much fuller than others.
const (
	leastBucketBits = 8
	mostBucketBits  = 16
	bucketColumns   = 1024
	leastColumns    = 8
)

// What a column takes beside its row: in the index at most indexBytes, with its part of lines that are left over, and a place in the
// list of free rows. What a bucket takes whatever it has: lines of the index, and its count.
const (
	indexBytes  = 20
	listedBytes = 4
	bucketBytes = 64*(spareLines+8) + 8
	spareLines  = 16 // of a bucket, after the last place
)

// quotas are those of the tables of a matrix: one for each number of rows that columns store.
type quotas struct {
	of      []*quota
	waiting *quota // of the columns that are counted and not made
	bits    int    // of all
}

// table is the quota of a table, nil if there is no budget.
func (q *quotas) table(i int) *quota {
	if q == nil {
		return nil
	}
	return q.of[i]
}

// kindBytes is what the columns of a table take of a budget.
type kindBytes struct {
	each, fixed int64 // of a column, and of a bucket
	need        int64 // of a bucket that has all columns, if not more come together than can be expected
}

// newQuotas is nil for a matrix without a budget. A matrix whose columns have several widths gives their tables equal parts of each bucket:
// one that needs less, as there are no more columns of its width, leaves the rest to the others.
func newQuotas(m *matrix.Meta, slots int) (*quotas, error) {
	if m.Keep.MaxBytes == 0 {
		return nil, nil
	}
	var counted kindBytes
	if m.Keep.Admits() {
		row := int64(strideOf(int(candidateRows.Len()) * matrix.I32.Size()))
		counted.each, counted.fixed = row+indexBytes+listedBytes, row+bucketBytes
	}
	kinds := m.WidthKinds()
	all, most := make([]kindBytes, len(kinds)), int64(0)
	for i, kind := range kinds {
		row := kindRowBytes(m, kind.Rows, slots)
		all[i].each, all[i].fixed = row+indexBytes+listedBytes+counted.each, row+bucketBytes
		most = max(most, all[i].each)
	}
	share := mathbits.Len64(uint64(m.Keep.MaxBytes / (bucketColumns * most)))
	q := &quotas{of: make([]*quota, len(kinds)), bits: min(max(share-1, leastBucketBits), mostBucketBits)}
	order := make([]int, len(kinds))
	least := counted.fixed
	for i := range all {
		order[i] = i
		all[i].need = bucketNeed(all[i], kinds[i].Cols, q.bits)
		least += all[i].fixed + leastColumns*all[i].each
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].need, all[j].need) })
	left, waiting := m.Keep.MaxBytes>>q.bits-counted.fixed, 0
	for n, i := range order {
		k, part := all[i], left/int64(len(order)-n)
		if n+1 < len(order) {
			part = min(part, k.need)
		}
		left -= part
		if q.of[i] = (&quota{int((part - k.fixed) / k.each), q.bits}); q.of[i].most < leastColumns {
			return nil, fmt.Errorf("matrix %s: a budget of %d bytes for columns of %d bytes, want at least %d", m.Name, m.Keep.MaxBytes, most,
				least<<q.bits)
		}
		waiting += q.of[i].most
	}
	q.waiting = &quota{waiting, q.bits}
	return q, nil
}

// bucketNeed is what a bucket takes that has its part of so many columns, and as many more as chance may give it.
func bucketNeed(k kindBytes, cols uint64, bits int) int64 {
	mean := math.Ldexp(float64(cols), -bits)
	return k.fixed + int64(min(mean+chanceOver*math.Sqrt(mean)+leastColumns, matrix.MaxBytesLimit/float64(k.each)))*k.each
}

// chanceOver is how many standard deviations the fullest of all buckets may be above the mean.
const chanceOver = 6

// CheckCut tells why partitions that some bits of the hash choose, 0 for ranges of columns, cannot keep the budget of the matrix.
func CheckCut(m *matrix.Meta, rule *psf.Rule, bits int) error {
	switch q, err := newQuotas(m, Slots(m, rule)); {
	case q == nil:
		return err
	case bits == 0:
		return fmt.Errorf("matrix %s: a budget is shared out by the hashes of columns, want the partitioner hash", m.Name)
	case bits > q.bits:
		return fmt.Errorf("matrix %s: a budget of %d bytes has 2^%d shares for 2^%d partitions, want as many: a larger budget, or fewer servers",
			m.Name, m.Keep.MaxBytes, q.bits, bits)
	}
	return nil
}
