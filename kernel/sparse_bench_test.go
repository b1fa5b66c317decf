package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// clicks are runs as models of clicks have them: 256 rows of 39 values each, of columns that are among 64k of a batch.
func clicks(n int) (runs []sparseCall) {
	const rows, fields, places = 256, 39, 1 << 16
	r := rand.New(rand.NewPCG(1, 2))
	src, dst, room := random[float32](places*n), make([]float32, places*n), make([]float32, rows*fields*n)
	for range 16 {
		c := sparseCall{n: n, values: rows * fields, src: src, dst: dst, sums: room, grad: room}
		for i := range rows + 1 {
			c.Ptr = append(c.Ptr, i*fields)
		}
		for range c.values {
			c.At, c.X = append(c.At, uint32(r.IntN(places))), append(c.X, float32(r.NormFloat64()))
			c.from = append(c.from, uint32(len(c.from)))
		}
		runs = append(runs, c)
	}
	return runs
}

func BenchmarkSparse(b *testing.B) {
	names := [sparseKernels]string{"Embed", "EmbedGrad", "AxpyRows", "Linear", "LinearGrad", "Interact", "InteractGrad", "InteractSum",
		"InteractSumGrad", "Linear1", "Linear1Grad"}
	for k, name := range names {
		for _, n := range []int{1, 4, 8, 16, 32} {
			runs := clicks(n)
			for _, table := range sparseTables() {
				if !table.fits(n) || (sparseKernel(k) >= dotRows) != (n == 1) {
					continue
				}
				b.Run(fmt.Sprintf("%s/n=%d/%s", name, n, table.name), func(b *testing.B) {
					for i := 0; b.Loop(); i++ {
						table.run[k](&runs[i%len(runs)])
					}
					b.ReportMetric(float64(runs[0].rows())*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mrows/s")
				})
			}
		}
	}
}
