package kernel

// Gemm adds the product of a (m x k) and b (k x n) to c (m x n), all row-major without gaps.
func Gemm(m, n, k int, a, b, c []float32) {
	sizes(m, n, k, len(a), len(b), len(c))
	f32.gemm(m, n, k, a, k, 1, b, c)
}

// Gemm64 is Gemm in float64.
func Gemm64(m, n, k int, a, b, c []float64) {
	sizes(m, n, k, len(a), len(b), len(c))
	f64.gemm(m, n, k, a, k, 1, b, c)
}

// GemmTN adds the product of a transposed and b (k x n) to c (m x n), where a is stored as k x m.
func GemmTN(m, n, k int, a, b, c []float32) {
	sizes(m, n, k, len(a), len(b), len(c))
	f32.gemm(m, n, k, a, 1, m, b, c)
}

// GemmTN64 is GemmTN in float64.
func GemmTN64(m, n, k int, a, b, c []float64) {
	sizes(m, n, k, len(a), len(b), len(c))
	f64.gemm(m, n, k, a, 1, m, b, c)
}

// GemmNT adds the product of a (m x k) and b transposed to c (m x n), where b is stored as n x k.
func GemmNT(m, n, k int, a, b, c []float32) {
	sizes(m, n, k, len(a), len(b), len(c))
	f32.gemmNT(m, n, k, a, b, c)
}

// GemmNT64 is GemmNT in float64.
func GemmNT64(m, n, k int, a, b, c []float64) {
	sizes(m, n, k, len(a), len(b), len(c))
	f64.gemmNT(m, n, k, a, b, c)
}

func sizes(m, n, k, a, b, c int) {
	want(a, m*k, "a")
	want(b, k*n, "b")
	want(c, m*n, "c")
}

// Blocks of b of gemmRows x gemmCols stay in the second cache while all rows of a pass over them.
const (
	gemmRows = 64
	gemmCols = 512
)

// gemm is the product with a's element (i,p) at i*aRow + p*aCol.
func gemm[T Float](m, n, k int, a []T, aRow, aCol int, b, c []T) {
	for j := 0; j < n; j += gemmCols {
		w := min(gemmCols, n-j)
		for p := 0; p < k; p += gemmRows {
			h := min(gemmRows, k-p)
			i := 0
			for ; i+2 <= m; i += 2 {
				at := i*aRow + p*aCol
				rows2(h, a[at:], a[at+aRow:], aCol, b[p*n+j:], n, c[i*n+j:][:w], c[(i+1)*n+j:][:w])
			}
			if i < m {
				row1(h, a[i*aRow+p*aCol:], aCol, b[p*n+j:], n, c[i*n+j:][:w])
			}
		}
	}
}

// rows2 adds h rows of b, which lie n apart, to the rows c and d, with factors from a and e.
func rows2[T Float](h int, a, e []T, aCol int, b []T, n int, c, d []T) {
	p := 0
	for ; p+4 <= h; p += 4 {
		b0, b1, b2, b3 := b[p*n:], b[p*n+n:], b[p*n+2*n:], b[p*n+3*n:]
		b0, b1, b2, b3, d = b0[:len(c)], b1[:len(c)], b2[:len(c)], b3[:len(c)], d[:len(c)]
		at := p * aCol
		a0, a1, a2, a3 := a[at], a[at+aCol], a[at+2*aCol], a[at+3*aCol]
		e0, e1, e2, e3 := e[at], e[at+aCol], e[at+2*aCol], e[at+3*aCol]
		for j, s := range c {
			v0, v1, v2, v3, t := b0[j], b1[j], b2[j], b3[j], d[j]
			c[j] = s + T(a0*v0) + T(a1*v1) + T(a2*v2) + T(a3*v3)
			d[j] = t + T(e0*v0) + T(e1*v1) + T(e2*v2) + T(e3*v3)
		}
	}
	for ; p < h; p++ {
		row := b[p*n:][:len(c)]
		axpy(a[p*aCol], row, c)
		axpy(e[p*aCol], row, d)
	}
}

// row1 is rows2 for one row.
func row1[T Float](h int, a []T, aCol int, b []T, n int, c []T) {
	p := 0
	for ; p+4 <= h; p += 4 {
		b0, b1, b2, b3 := b[p*n:], b[p*n+n:], b[p*n+2*n:], b[p*n+3*n:]
		b0, b1, b2, b3 = b0[:len(c)], b1[:len(c)], b2[:len(c)], b3[:len(c)]
		at := p * aCol
		a0, a1, a2, a3 := a[at], a[at+aCol], a[at+2*aCol], a[at+3*aCol]
		for j, s := range c {
			c[j] = s + T(a0*b0[j]) + T(a1*b1[j]) + T(a2*b2[j]) + T(a3*b3[j])
		}
	}
	for ; p < h; p++ {
		axpy(a[p*aCol], b[p*n:][:len(c)], c)
	}
}

// gemmNT multiplies rows with rows, one of a with four of b at a time: four sums that do not wait for each other.
func gemmNT[T Float](m, n, k int, a, b, c []T) {
	for i := 0; i < m; i++ {
		x, out := a[i*k:][:k], c[i*n:][:n]
		j := 0
		for ; j+4 <= n; j += 4 {
			dots4(x, b[j*k:][:k], b[(j+1)*k:][:k], b[(j+2)*k:][:k], b[(j+3)*k:][:k], (*[4]T)(out[j:]))
		}
		for ; j < n; j++ {
			s, y := out[j], b[j*k:][:k]
			for p, v := range x {
				s += T(v * y[p])
			}
			out[j] = s
		}
	}
}

// dots4 adds the products of x with four rows to the four sums, each in the order of its elements.
func dots4[T Float](x, b0, b1, b2, b3 []T, s *[4]T) {
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	b0, b1, b2, b3 = b0[:len(x)], b1[:len(x)], b2[:len(x)], b3[:len(x)]
	for p, v := range x {
		s0 += T(v * b0[p])
		s1 += T(v * b1[p])
		s2 += T(v * b2[p])
		s3 += T(v * b3[p])
	}
	s[0], s[1], s[2], s[3] = s0, s1, s2, s3
}
