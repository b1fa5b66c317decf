package part

import (
	"fmt"

	"thole.example/matrix"
)

// Numbers of partitions when a matrix does not say their size: a few for small matrices, so that a handful of servers
// share even those, and more once the pieces are large enough to be worth a message of their own.
const (
	fewParts  = 8
	manyParts = 64
	smallSide = 32   // columns (or rows) of a piece at least
	largeSide = 8192 // columns of a piece where there are more than fewParts
)

// rangePartitioner cuts into blocks of BlockRows by BlockCols, row of blocks after row of blocks. Where the matrix does
// not say a size it cuts rows and columns alike into at most manyParts pieces.
var rangePartitioner = Partitioner{
	Name: "range",
	Help: "blocks of rows and columns, row of blocks after row of blocks",
	Split: func(m *matrix.Meta) ([]matrix.Rect, error) {
		rows, cols := m.BlockRows, m.BlockCols
		if rows <= 0 {
			rows = max(1, m.Rows)
			if m.Rows > m.Cols {
				rows = defaultSide(m.Rows)
			}
		}
		if cols <= 0 {
			cols = defaultSide(m.Cols)
			if m.Rows > m.Cols && m.BlockRows <= 0 {
				cols = max(1, m.Cols)
			}
		}
		return grid(m.Rect(), rows, cols)
	},
}

// columnPartitioner cuts columns only: every piece has all rows, so that a column (a feature with its factors and
// classes) is never torn apart.
var columnPartitioner = Partitioner{
	Name: "column",
	Help: "ranges of columns with all their rows",
	Split: func(m *matrix.Meta) ([]matrix.Rect, error) {
		cols := m.BlockCols
		if cols <= 0 {
			cols = defaultSide(m.Cols)
		}
		return grid(m.Rect(), max(1, m.Rows), cols)
	},
}

// hashPartitioner gives every piece the whole place; Slot decides which keys are in which.
var hashPartitioner = Partitioner{
	Name: "hash",
	Help: "columns spread by a hash of their key",
	Hash: true,
	Split: func(m *matrix.Meta) ([]matrix.Rect, error) {
		parts := make([]matrix.Rect, hashParts)
		for i := range parts {
			parts[i] = m.Rect()
		}
		return parts, nil
	},
}

// hashParts is the number of hash partitions.
const hashParts = 16

// defaultSide is the size of a piece of n rows or columns.
func defaultSide(n int64) int64 {
	parts := max(min(n/smallSide, fewParts), min(n/largeSide, manyParts), 1)
	return max(1, ceil(n, parts))
}

func ceil(n, by int64) int64 { return n/by + min(1, n%by) }

// maxParts is how many partitions a matrix may have: every server and client keeps a list of all of them.
const maxParts = 1 << 16

// grid cuts the place into blocks. A place without cells is one partition, so that every matrix has an owner.
func grid(at matrix.Rect, rows, cols int64) ([]matrix.Rect, error) {
	if at.Empty() {
		return []matrix.Rect{at}, nil
	}
	high, wide := pieces(at.Rows, rows), pieces(at.Cols, cols)
	if high > maxParts || wide > maxParts || high*wide > maxParts {
		return nil, fmt.Errorf("blocks of %d x %d make %d x %d partitions, want at most %d", rows, cols, high, wide, maxParts)
	}
	parts := make([]matrix.Rect, 0, high*wide)
	for r := at.Rows.Lo; r < at.Rows.Hi; r = next(r, rows, at.Rows.Hi) {
		for c := at.Cols.Lo; c < at.Cols.Hi; c = next(c, cols, at.Cols.Hi) {
			parts = append(parts, matrix.At(r, next(r, rows, at.Rows.Hi), c, next(c, cols, at.Cols.Hi)))
		}
	}
	return parts, nil
}

// pieces is how many steps it takes through the range.
func pieces(r matrix.Range, step int64) uint64 {
	n, by := uint64(r.Hi-r.Lo), uint64(step)
	return n/by + min(1, n%by)
}

// next is i+step, or hi if that is nearer. The unsigned difference is right even for ranges longer than an int64.
func next(i, step, hi int64) int64 {
	if uint64(hi-i) <= uint64(step) {
		return hi
	}
	return i + step
}
