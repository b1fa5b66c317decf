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
