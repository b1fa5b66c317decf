// Package part says who owns what of a matrix: the partitioners that cut a matrix into partitions, and the immutable
// [Map] that routes a key or a rectangle to the partitions that have it.
//
// A hash partition has the columns whose hash (kernel.Hash) begins with the partition's number in binary, so that it can
// be split by the next bit. The other partitions are rectangles between bounds of rows and bounds of columns. There are
// as many partitions as give every server the same number of them; they are dealt out in contiguous runs. What a matrix
// is saved as does not follow from the partitions: that is [Partitioner.Block], which knows the matrix alone.
package part

import (
	"fmt"
	"strings"

	"thole.example/internal/spell"
	"thole.example/matrix"
)

// Partitioner cuts matrices.
type Partitioner struct {
	Name string
	Help string
	Hash bool // partitions have the same rectangle and share its columns by their hash
	// sides are the rows and columns of a block from the matrix alone, and whether the matrix asks for such blocks.
	sides func(m *matrix.Meta) (rows, cols side)
}

// side is a block's rows or columns.
type side struct {
	size  int64
	fixed bool // the matrix says so: servers do not change it
}

// Partitioners is the table of partitioners, a new slice on every call.
func Partitioners() []Partitioner {
	return []Partitioner{rangePartitioner, columnPartitioner, hashPartitioner}
}

// Lookup finds the partitioner for a matrix by its name; "" is hash for sparse matrices and column for dense ones. Hash
// for a dense matrix is refused. A nil matrix only checks the name.
func Lookup(name string, m *matrix.Meta) (Partitioner, error) {
	sparse := m != nil && m.Layout == matrix.RowSparse
	switch {
	case name == "" && sparse:
		return hashPartitioner, nil
	case name == "":
		return columnPartitioner, nil
	}
	var names []string
	for _, p := range Partitioners() {
		if p.Name != name {
			names = append(names, p.Name)
			continue
		}
		if p.Hash && m != nil && !sparse {
			return Partitioner{}, fmt.Errorf("part: matrix %q is dense, want a sparse one to spread its columns by hash", m.Name)
		}
		return p, nil
	}
	return Partitioner{}, fmt.Errorf("part: partitioner %q, want one of %s%s", name, strings.Join(names, ", "), spell.Hint(name, names))
}

// rangePartitioner cuts into blocks of BlockRows by BlockCols, row of blocks after row of blocks. Where the matrix does
// not say a size it cuts whichever are more, rows or columns. The rows of a sparse matrix are cut alike for any number of
// servers: a column is stored with all rows of its block, so that the cut decides which cells are stored.
var rangePartitioner = Partitioner{
	Name: "range",
	Help: "blocks of rows and columns, row of blocks after row of blocks",
	sides: func(m *matrix.Meta) (rows, cols side) {
		tall := m.Rows > m.Cols
		rows, cols = given(m.BlockRows), given(m.BlockCols)
		if !rows.fixed {
			rows = whole(m.Rows)
			if tall {
				rows = side{defaultSide(m.Rows), m.Layout == matrix.RowSparse}
			}
		}
		if !cols.fixed {
			cols = side{size: defaultSide(m.Cols)}
			if tall && m.BlockRows <= 0 {
				cols = side{max(1, m.Cols), m.Layout != matrix.RowSparse}
			}
		}
		return rows, cols
	},
}

// columnPartitioner cuts columns only: every partition has all rows, so that a column (a feature with its factors and
// classes) is never torn apart.
var columnPartitioner = Partitioner{
	Name: "column",
	Help: "ranges of columns with all their rows",
	sides: func(m *matrix.Meta) (rows, cols side) {
		if cols = given(m.BlockCols); !cols.fixed {
			cols = side{size: defaultSide(m.Cols)}
		}
		return whole(m.Rows), cols
	},
}

var hashPartitioner = Partitioner{
	Name: "hash",
	Help: "columns spread by a hash of their key",
	Hash: true,
	sides: func(m *matrix.Meta) (rows, cols side) {
		return side{size: m.BlockRows}, side{size: m.BlockCols}
	},
}

// given is the size that the matrix asks for, fixed if it asks for any.
func given(size int64) side { return side{size, size > 0} }

// whole is all n rows or columns, not to be cut.
func whole(n int64) side { return side{max(1, n), true} }

// Blocks of a matrix that does not say their size: a few of a small matrix, and more once they are large enough to be
// worth a message of their own.
const (
	fewBlocks  = 8
	manyBlocks = 64
	smallSide  = 32   // columns (or rows) of a block at least
	largeSide  = 8192 // columns of a block where there are more than fewBlocks
)

// defaultSide is the size of a block of n rows or columns.
func defaultSide(n int64) int64 {
	blocks := max(min(n/smallSide, fewBlocks), min(n/largeSide, manyBlocks), 1)
	return max(1, n/blocks+min(1, n%blocks))
}

// Block is the size of the blocks that the matrix is saved in. It follows from the matrix alone: the same model gives
// the same files on any number of servers. 0 leaves the choice to the format.
func (p *Partitioner) Block(m *matrix.Meta) (rows, cols int64) {
	r, c := p.sides(m)
	if p.Hash {
		return r.size, c.size
	}
	return min(r.size, m.Rows), min(c.size, m.Cols)
}
