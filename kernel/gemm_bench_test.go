package kernel

import (
	"fmt"
	"testing"
)

// forms are the three ways to multiply, with what they are called on.
var forms = []struct {
	name string
	run  func(m, n, k int, a, b, c []float32)
}{{"nn", Gemm}, {"tn", GemmTN}, {"nt", GemmNT}}

// BenchmarkGemm multiplies as layers do: a run of rows forwards, for the gradients of weights (TN), for those of inputs (NT).
func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct{ form, m, k, n int }{
		{0, 64, 624, 128}, {0, 128, 624, 128}, {0, 256, 624, 128}, {0, 512, 624, 128}, {0, 4096, 624, 128},
		{0, 4096, 400, 400}, {0, 2048, 429, 400}, {0, 512, 128, 64}, {0, 4096, 64, 1},
		{1, 624, 4096, 128}, {1, 624, 256, 128}, {1, 128, 256, 64}, {1, 64, 4096, 1},
		{2, 4096, 128, 624}, {2, 256, 128, 624}, {2, 256, 64, 128}, {2, 4096, 1, 64},
	} {
		x, y, z := random[float32](s.m*s.k), random[float32](s.k*s.n), make([]float32, s.m*s.n)
		b.Run(fmt.Sprintf("%s/%dx%dx%d", forms[s.form].name, s.m, s.k, s.n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				forms[s.form].run(s.m, s.n, s.k, x, y, z)
			}
			b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// BenchmarkGemmTables multiplies in every way that this machine can.
func BenchmarkGemmTables(b *testing.B) {
	const m, n, k = 128, 128, 256
	x, y, z := random[float32](m*k), random[float32](k*n), make([]float32, m*n)
	for _, t := range tables[float32]() {
		b.Run(t.name, func(b *testing.B) {
			for b.Loop() {
				multiply(&t, m, n, k, x, k, 1, y, n, 1, z)
			}
			b.ReportMetric(2*m*n*k*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
