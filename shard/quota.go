package shard

import (
	"fmt"
	mathbits "math/bits"

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

// newQuota is nil for a matrix without a budget.
func newQuota(m *matrix.Meta, slots int) (*quota, error) {
	if m.Keep.MaxBytes == 0 {
		return nil, nil
	}
	row := rowBytes(m, slots)
	each, fixed := row+indexBytes+listedBytes, row+bucketBytes
	if m.Keep.Admits() {
		row = int64(strideOf(int(candidateRows.Len()) * matrix.I32.Size()))
		each, fixed = each+row+indexBytes+listedBytes, fixed+row+bucketBytes
	}
	share := mathbits.Len64(uint64(m.Keep.MaxBytes / (bucketColumns * each)))
	q := &quota{bits: min(max(share-1, leastBucketBits), mostBucketBits)}
	if q.most = int((m.Keep.MaxBytes>>q.bits - fixed) / each); q.most < leastColumns {
		return nil, fmt.Errorf("matrix %s: a budget of %d bytes for columns of %d bytes, want at least %d", m.Name, m.Keep.MaxBytes, each,
			(fixed+leastColumns*each)<<q.bits)
	}
	return q, nil
}

// CheckCut tells why partitions that some bits of the hash choose, 0 for ranges of columns, cannot keep the budget of the matrix.
func CheckCut(m *matrix.Meta, rule *psf.Rule, bits int) error {
	switch q, err := newQuota(m, Slots(m, rule)); {
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
