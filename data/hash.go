package data

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"thole.example/kernel"
)

// HashColumn is the column, below n, that a feature is hashed to: the top bits of its hash (kernel.Hash), scaled to n. It depends on
// nothing else, so any program finds the same. Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning (2009),
// without their signs, as values are mostly 1 and most features fall on columns of their own.
func HashColumn(id, n int64) int64 {
	col, _ := bits.Mul64(kernel.Hash(uint64(id)), uint64(n))
	return int64(col)
}

// checkHash reports what columns cannot be hashed to.
func (s *settings) checkHash() error {
	switch {
	case s.Hash == 0:
		return nil
	case s.Hash < 0 || s.Hash == math.MaxInt64:
		return fmt.Errorf("data: %d columns to hash features to, want 1 to %d, or 0 for none: %w", s.Hash, int64(math.MaxInt64-1), ErrOption)
	case s.positional:
		return fmt.Errorf("data: features to hash in %s, whose columns are positions, want libsvm, libffm or dummy: %w", s.Name, ErrOption)
	case s.Dim > 0 && s.Dim != s.Hash:
		return fmt.Errorf("data: %d columns, and features are hashed to %d, want one number of columns: %w", s.Dim, s.Hash, ErrOption)
	}
	return nil
}

var errHashSum = errors.New("values of features that hash to one column add up to more than a float32 can be")

// hash turns the features of the row that begins at idx[from] into the columns that they are hashed to, in order. Values of features of a
// field that meet in a column are added up, in the order that the features had, so that chunks do not change sums.
func (c *chunk) hash(s *settings, from int) error {
	if s.Exact { // sums are of the values as they are
		c.widen()
	}
	row := c.valuesFrom(from)
	if s.fielded() {
		row.field = c.field[from:]
	}
	for i, id := range row.idx {
		row.idx[i] = HashColumn(id, s.Hash)
	}
	row.sort()
	to := 0
	for i := range row.idx {
		if to > 0 && !row.Less(to-1, i) {
			sum := row.val[to-1] + row.val[i]
			if row.exact != nil {
				row.exact[to-1] += row.exact[i]
				sum = float32(row.exact[to-1])
			}
			if math.IsInf(float64(sum), 0) {
				return errHashSum
			}
			row.val[to-1] = sum
			continue
		}
		row.idx[to], row.val[to] = row.idx[i], row.val[i]
		if row.exact != nil {
			row.exact[to] = row.exact[i]
		}
		if row.field != nil {
			row.field[to] = row.field[i]
		}
		to++
	}
	c.idx, c.val, c.exact = c.idx[:from+to], c.val[:from+to], c.exact[:min(len(c.exact), from+to)]
	if row.field != nil {
		c.field = c.field[:from+to]
	}
	return nil
}
