package kernel

import (
	"math"
	"sync"
)

// Gemm adds the product of a (m x k) and b (k x n) to c (m x n), all row-major without gaps.
func Gemm(m, n, k int, a, b, c []float32) { multiply(&f32, m, n, k, a, k, 1, b, n, 1, c) }

// Gemm64 is Gemm in float64.
func Gemm64(m, n, k int, a, b, c []float64) { multiply(&f64, m, n, k, a, k, 1, b, n, 1, c) }

// GemmTN adds the product of a transposed and b (k x n) to c (m x n), where a is stored as k x m.
func GemmTN(m, n, k int, a, b, c []float32) { multiply(&f32, m, n, k, a, 1, m, b, n, 1, c) }

// GemmTN64 is GemmTN in float64.
func GemmTN64(m, n, k int, a, b, c []float64) { multiply(&f64, m, n, k, a, 1, m, b, n, 1, c) }

// GemmNT adds the product of a (m x k) and b transposed to c (m x n), where b is stored as n x k.
func GemmNT(m, n, k int, a, b, c []float32) { multiply(&f32, m, n, k, a, k, 1, b, 1, k, c) }

// GemmNT64 is GemmNT in float64.
func GemmNT64(m, n, k int, a, b, c []float64) { multiply(&f64, m, n, k, a, k, 1, b, 1, k, c) }

// multiply adds to c the product of a, whose element (i,p) is at i*aRow + p*aCol, and b, likewise.
func multiply[T Float](t *table[T], m, n, k int, a []T, aRow, aCol int, b []T, bRow, bCol int, c []T) {
	checkLen(len(a), area(m, k), "a")
	checkLen(len(b), area(k, n), "b")
	checkLen(len(c), area(m, n), "c")
	if n == 1 { // a column is a row too, and vectors lie along rows
		m, n, a, aRow, aCol, b, bRow, bCol = 1, m, b, bCol, bRow, a, aCol, aRow
	}
	if m > 0 && n > 0 && k > 0 {
		t.gemm.multiply(m, n, k, a, aRow, aCol, b, bRow, bCol, c)
	}
}

// area is how many elements a matrix has; -1, which no slice has, if that is no number. Assembly relies on it.
func area(rows, cols int) int {
	if rows < 0 || cols < 0 || cols > 0 && rows > math.MaxInt/cols {
		return -1
	}
	return rows * cols
}

// Blocks of b of at most blockDepth x blockWidth stay in the second cache while all rows of a pass over them; a row of tiles of
// c takes its products from all of a block.
const (
	blockDepth = 384
	blockWidth = 256
)

// gemmer multiplies matrices tile by tile. A tile of c stays in registers while products are added to it, for all of a
// block's depth: it is loaded and stored once, so that neither blocks nor tiles change the order of sums.
type gemmer[T Float] struct {
	rows, cols int // of a tile, at most
	// run adds the product of at most rows of a and k rows of b to n columns of c. Columns of b and c come in tiles; those of
	// b lie bTile apart.
	run func(rows, n, k int, a []T, aRow, aCol int, b []T, bRow, bTile int, c []T, cRow int)
	// transpose writes src's elements (i,p), at i*srcRow + p, to dst's p*dstRow + i, for i < lanes and p < 4*fours.
	transpose func(dst []T, dstRow int, src []T, srcRow, fours int)
	// column adds the products of 2*lanes*pairs rows of a, which are aRow apart, with 4*fours elements of b to c.
	column func(pairs, fours int, a []T, aRow int, b, c []T)
	lanes  int
}

func (g *gemmer[T]) multiply(m, n, k int, a []T, aRow, aCol int, b []T, bRow, bCol int, c []T) {
	if m == 1 && bRow == 1 && aCol == 1 {
		done := g.columns(n, k, b, bCol, a, c)
		n, b, c = n-done, b[done*bCol:], c[done:]
	}
	if n == 0 {
		return
	}
	width, depth, rows := even(n, blockWidth, g.cols), even(k, blockDepth, 1), even(m, g.rows, 1)
	var packed *block[T]
	if bCol != 1 {
		packed = scratch[T]().Get().(*block[T])
		defer scratch[T]().Put(packed)
	}
	for j := 0; j < n; j += width {
		w := min(width, n-j)
		for p := 0; p < k; p += depth {
			h := min(depth, k-p)
			from, row, tile := b[p*bRow+j*bCol:], bRow, g.cols
			if packed != nil {
				from, row, tile = packed[:], g.cols, h*g.cols
				g.pack(packed[:], b[p+j*bCol:], bCol, w, h)
			}
			for i := 0; i < m; i += rows {
				g.run(min(rows, m-i), w, h, a[i*aRow+p*aCol:], aRow, aCol, from, row, tile, c[i*n+j:], n)
			}
		}
	}
}

// columns adds the products of rows of a with b to the first elements of c, and returns to how many.
func (g *gemmer[T]) columns(m, k int, a []T, aRow int, b, c []T) int {
	pairs := m / (2 * g.lanes)
	if g.column == nil || pairs == 0 || k%4 != 0 {
		return 0
	}
	g.column(pairs, k/4, a, aRow, b, c)
	return pairs * 2 * g.lanes
}

// even divides a length into parts of at most so many, multiples of unit except for the last, as equal as can be.
func even(length, most, unit int) int {
	parts := (length + most - 1) / most
	part := (length + parts - 1) / parts
	return (part + unit - 1) / unit * unit
}

// pack writes a block of h rows and w columns, which is stored by columns that are col apart, as tiles, row by row.
func (g *gemmer[T]) pack(dst, b []T, col, w, h int) {
	for j := 0; j < w; j += g.lanes {
		tile := dst[j/g.cols*g.cols*h+j%g.cols:]
		done := 0
		if j+g.lanes <= w && g.transpose != nil && h >= 4 {
			g.transpose(tile, g.cols, b[j*col:], col, h/4)
			done = h &^ 3
		}
		for i := range min(g.lanes, w-j) {
			from := b[(j+i)*col:][:h]
			for p := done; p < h; p++ {
				tile[p*g.cols+i] = from[p]
			}
		}
	}
}

// block is room for a packed block of b.
type block[T Float] [blockDepth * blockWidth]T

// Room that is used again.
var (
	scratch32 = sync.Pool{New: func() any { return new(block[float32]) }}
	scratch64 = sync.Pool{New: func() any { return new(block[float64]) }}
)

func scratch[T Float]() *sync.Pool {
	if _, ok := any(T(0)).(float32); ok {
		return &scratch32
	}
	return &scratch64
}
