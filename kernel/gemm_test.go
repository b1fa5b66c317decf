package kernel

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"pgregory.net/rapid"
)

// plainGemm is the product as its contract words the order of sums.
func plainGemm[T Float](m, n, k int, a []T, aRow, aCol int, b []T, bRow, bCol int, c []T) {
	for i := range m {
		for j := range n {
			for p := range k {
				x, y, z := a[i*aRow+p*aCol], b[p*bRow+j*bCol], c[i*n+j]
				switch any(z).(type) {
				case float32:
					c[i*n+j] = T(fma32(float32(x), float32(y), float32(z)))
				default:
					c[i*n+j] = T(math.FMA(float64(x), float64(y), float64(z)))
				}
			}
		}
	}
}

// gemmSizes are m, n and k around the sizes of tiles, of lanes, and of blocks.
func gemmSizes() [][3]int {
	all := [][3]int{
		{0, 0, 0}, {1, 1, 1}, {1, 5, 3}, {2, 4, 4}, {3, 7, 5}, {5, 1, 9}, {4, 0, 3}, {3, 4, 0}, {0, 3, 4}, {17, 33, 65},
		{2, 513, 13}, {31, 600, 67}, {64, 64, 64}, {5, 17, blockDepth}, {5, 17, blockDepth + 1}, {9, 40, 2*blockDepth + 7},
		{3, blockWidth - 1, 9}, {15, blockWidth, 6}, {3, blockWidth + 1, 9}, {7, 3*blockWidth + 33, 4}, {45, 1, 70}, {1, 45, 70},
		{600, 1, 3}, {3, 600, 1}, {43, 50, blockDepth + 3}, {16, 1, 4}, {31, 1, 8}, {32, 1, 4}, {64, 1, 64}, {100, 1, 12},
	}
	for i := 1; i < 34; i++ {
		all = append(all, [3]int{i, 35, 6}, [3]int{7, i, 5}, [3]int{5, 7, i}, [3]int{13, 32 + i, 8})
	}
	return all
}

// sameSums is sameBits that tells zeros by their sign.
func sameSums[T Float](t interface{ Fatalf(string, ...any) }, what string, got, want []T) {
	for i := range want {
		if math.Float64bits(float64(got[i])) != math.Float64bits(float64(want[i])) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// products holds every table to plain loops, in all three forms, and sees that nothing beside c is written.
func products[T Float](t interface{ Fatalf(string, ...any) }, m, n, k int, a, b, c []T) {
	for _, f := range []struct {
		name                   string
		aRow, aCol, bRow, bCol int
	}{{"nn", k, 1, n, 1}, {"tn", 1, m, n, 1}, {"nt", k, 1, 1, k}} {
		want := clone(c)
		plainGemm(m, n, k, a, f.aRow, f.aCol, b, f.bRow, f.bCol, want)
		for _, kern := range tables[T]() {
			const margin = 40
			room := append(append(ones[T](margin), c...), ones[T](margin)...)
			got := room[margin : margin+m*n : margin+m*n]
			multiply(&kern, m, n, k, a, f.aRow, f.aCol, b, f.bRow, f.bCol, got)
			what := fmt.Sprintf("%s %s of %dx%dx%d", kern.name, f.name, m, n, k)
			sameSums(t, what, got, want)
			sameSums(t, what+", before", room[:margin], ones[T](margin))
			sameSums(t, what+", behind", room[margin+m*n:], ones[T](margin))
		}
	}
}

func TestProducts(t *testing.T) {
	for _, s := range gemmSizes() {
		m, n, k := s[0], s[1], s[2]
		products(t, m, n, k, random[float32](m*k), random[float32](k*n), random[float32](m*n))
		products(t, m, n, k, random[float64](m*k), random[float64](k*n), random[float64](m*n))
	}
}

// TestProductsOfAnything multiplies values of all magnitudes, infinities and NaN.
func TestProductsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 40)
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		value := rapid.OneOf(rapid.Float32(), rapid.Float32Range(-2, 2), rapid.SampledFrom([]float32{
			0, float32(math.Copysign(0, -1)), 1e-45, 1e-38, 3e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
		}))
		few := rapid.SliceOfN(value, 1, 50).Draw(t, "values")
		fill := func(n, step int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = few[i*step%len(few)]
			}
			return x
		}
		products(t, m, n, k, fill(m*k, 1), fill(k*n, 3), fill(m*n, 7))
	})
}

func TestGemmByHand(t *testing.T) {
	c := []float32{10, 20, 30, 40}
	Gemm(2, 2, 3, []float32{1, 2, 3, 4, 5, 6}, []float32{1, 2, 3, 4, 5, 6}, c)
	sameSums(t, "nn", c, []float32{32, 48, 79, 104})
	GemmTN(2, 2, 1, []float32{1, 2}, []float32{3, 4}, c)
	sameSums(t, "tn", c, []float32{35, 52, 85, 112})
	GemmNT(2, 2, 1, []float32{1, 2}, []float32{-35, -52}, c)
	sameSums(t, "nt", c, []float32{0, 0, 15, 8})

	// The product is 1 - 2^-46, which float32 has not: rounded before it is added it would leave nothing.
	c = []float32{-1}
	Gemm(1, 1, 1, []float32{1 + 1.0/(1<<23)}, []float32{1 - 1.0/(1<<23)}, c)
	sameSums(t, "fused", c, []float32{-1.0 / (1 << 46)})
}

// TestGemmRefusesSizes calls for matrices whose sizes are those of the slices only if they overflow, or are negative.
func TestGemmRefusesSizes(t *testing.T) {
	const half = 1 << (strconv.IntSize / 2)
	one := []float32{1}
	for _, c := range []struct {
		m, n, k int
		a, b, c []float32
	}{
		{half, 0, half, nil, nil, nil}, {-1, -1, -1, one, one, one}, {half, half, 0, nil, nil, nil}, {1, 1, 1, nil, one, one},
		{1, 1, 1, one, nil, one}, {1, 1, 1, one, one, nil},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d x %d x %d was taken", c.m, c.k, c.n)
				}
			}()
			Gemm(c.m, c.n, c.k, c.a, c.b, c.c)
		}()
	}
}

func TestGemmAllocatesNothing(t *testing.T) {
	const m, n, k = 20, 70, 30
	a, b, c := random[float32](m*k), random[float32](k*n), make([]float32, m*n)
	for _, f := range forms {
		if n := testing.AllocsPerRun(100, func() { f.run(m, n, k, a, b, c) }); n > 0.5 {
			t.Errorf("%s allocates %v times a call", f.name, n)
		}
	}
}

func TestGemmAgainstBlas(t *testing.T) {
	for _, size := range gemmSizes() {
		m, n, k := size[0], size[1], size[2]
		if m*n*k == 0 {
			continue
		}
		a, b := random[float64](m*k), random[float64](k*n)
		for _, tt := range []struct {
			name   string
			run    func(m, n, k int, a, b, c []float64)
			ta, tb blas.Transpose
			ar, ac int
			br, bc int
		}{
			{"nn", Gemm64, blas.NoTrans, blas.NoTrans, m, k, k, n},
			{"tn", GemmTN64, blas.Trans, blas.NoTrans, k, m, k, n},
			{"nt", GemmNT64, blas.NoTrans, blas.Trans, m, k, n, k},
		} {
			got, want := make([]float64, m*n), make([]float64, m*n)
			tt.run(m, n, k, a, b, got)
			blas64.Gemm(tt.ta, tt.tb, 1, blas64.General{Rows: tt.ar, Cols: tt.ac, Stride: tt.ac, Data: a},
				blas64.General{Rows: tt.br, Cols: tt.bc, Stride: tt.bc, Data: b}, 0,
				blas64.General{Rows: m, Cols: n, Stride: n, Data: want})
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-12*float64(k+1) {
					t.Fatalf("%s %v: element %d is %v, want %v", tt.name, size, i, got[i], want[i])
				}
			}
		}
	}
}
