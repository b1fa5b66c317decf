package angel

import (
	"math/bits"

	"thole.example/matrix"
)

// maxCells is how many partitions a matrix may be cut into.
const maxCells = 1 << 20

// partitionBytes is how much data a partition has at most where nobody says how large partitions are.
const partitionBytes = 32 << 20

// grid cuts a matrix into partitions of equal size, numbered row blocks first as Angel's range partitioner does.
type grid struct {
	whole    matrix.Rect
	row, col int64 // rows and columns of a cell
	down     int64 // number of row blocks
	across   int64 // number of column blocks
}

// newGrid cuts the place into cells; ok is false if there are too many.
func newGrid(whole matrix.Rect, row, col int64) (g grid, ok bool) {
	rows, cols := whole.Rows.Len(), whole.Cols.Len()
	g = grid{whole: whole, row: min(max(row, 1), max(rows, 1)), col: min(max(col, 1), max(cols, 1))}
	if whole.Empty() {
		return g, true
	}
	g.down, g.across = (rows-1)/g.row+1, (cols-1)/g.col+1
	n, ok := matrix.Cells(g.down, g.across)
	return g, ok && n <= maxCells
}

func (g *grid) cells() int { return int(g.down * g.across) }

// cell is the place of a partition.
func (g *grid) cell(id int) matrix.Rect {
	r := matrix.Range{Lo: g.whole.Rows.Lo + int64(id)/g.across*g.row}
	c := matrix.Range{Lo: g.whole.Cols.Lo + int64(id)%g.across*g.col}
	r.Hi, c.Hi = g.whole.Rows.Hi, g.whole.Cols.Hi
	if r.Hi-r.Lo > g.row {
		r.Hi = r.Lo + g.row
	}
	if c.Hi-c.Lo > g.col {
		c.Hi = c.Lo + g.col
	}
	return matrix.Rect{Rows: r, Cols: c}
}

// find is the cell that a place begins in.
func (g *grid) find(at matrix.Rect) int {
	return int((at.Rows.Lo-g.whole.Rows.Lo)/g.row*g.across + (at.Cols.Lo-g.whole.Cols.Lo)/g.col)
}

// area counts cells in 128 bits, since hashed keys make wide matrices.
type area struct{ hi, lo uint64 }

func (a *area) add(rows, cols int64) {
	hi, lo := bits.Mul64(uint64(rows), uint64(cols))
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, lo, 0)
	a.hi += hi + carry
}
