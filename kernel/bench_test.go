package kernel

import (
	"fmt"
	"testing"
)

func sizesOf(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{8, 16, 64, 1024, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, n) })
	}
}

func BenchmarkAxpy(b *testing.B) {
	sizesOf(b, func(b *testing.B, n int) {
		x, y := make([]float32, n), make([]float32, n)
		b.SetBytes(int64(12 * n)) // two streams in, one out
		for b.Loop() {
			Axpy(0.5, x, y)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	sizesOf(b, func(b *testing.B, n int) {
		x, y := make([]float32, n), make([]float32, n)
		b.SetBytes(int64(12 * n))
		for b.Loop() {
			Add(x, y)
		}
	})
}

func BenchmarkScale(b *testing.B) {
	sizesOf(b, func(b *testing.B, n int) {
		x := make([]float32, n)
		b.SetBytes(int64(8 * n))
		for b.Loop() {
			Scale(0.5, x)
		}
	})
}

var sink float32

func BenchmarkDot(b *testing.B) {
	sizesOf(b, func(b *testing.B, n int) {
		x, y := make([]float32, n), make([]float32, n)
		b.SetBytes(int64(8 * n))
		for b.Loop() {
			sink += Dot(x, y)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	sizesOf(b, func(b *testing.B, n int) {
		x := make([]float32, n)
		b.SetBytes(int64(4 * n))
		for b.Loop() {
			sink += Sum(x)
		}
	})
}

// Rows of 32 features in a million weights; the bytes are those of index, value and weights.
func benchSparse(b *testing.B, run func(idx []int64, val, w, out []float32)) {
	for _, outputs := range []int{1, 8, 16} {
		b.Run(fmt.Sprint(outputs), func(b *testing.B) {
			const dim, nnz, rows = 1 << 20, 32, 1024
			idx, val := make([]int64, nnz*rows), make([]float32, nnz*rows)
			x := uint64(1)
			for i := range idx {
				x = x*6364136223846793005 + 1442695040888963407
				idx[i] = int64((x >> 30) % dim)
			}
			w, out := make([]float32, dim*outputs), make([]float32, outputs)
			b.SetBytes(int64(nnz * (12 + 4*outputs)))
			for i := 0; b.Loop(); i++ {
				at := i % rows * nnz
				run(idx[at:at+nnz], val[at:at+nnz], w, out)
			}
		})
	}
}

func BenchmarkGatherDot(b *testing.B) { benchSparse(b, GatherDot[int64]) }
func BenchmarkScatterAxpy(b *testing.B) {
	benchSparse(b, func(idx []int64, val, w, out []float32) { ScatterAxpy(idx, val, out, w) })
}

func BenchmarkSigmoid(b *testing.B) {
	x, y := random[float32](1024), make([]float32, 1024)
	b.SetBytes(8 * 1024)
	for b.Loop() {
		Sigmoid(x, y)
	}
}

func BenchmarkSoftplus(b *testing.B) {
	x, y := random[float32](1024), make([]float32, 1024)
	b.SetBytes(8 * 1024)
	for b.Loop() {
		Softplus(x, y)
	}
}
