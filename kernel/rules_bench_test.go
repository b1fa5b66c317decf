package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

// BenchmarkRules makes steps on rows that stay in the first cache, in every way that this machine can.
func BenchmarkRules(b *testing.B) {
	const rows = 16
	for _, rule := range []struct {
		name  string
		slots int
		Rule
	}{
		{"sgd", 0, SGD(0.1, 0, 0)}, {"adagrad", 1, Adagrad(0.1, 1e-10, 0, 0)}, {"adam", 2, Adam(0.1, 0.9, 0.999, 1e-8, 0, 3)},
	} {
		for _, dim := range []int{16, 24, 64} {
			stride := (1 + rule.slots) * dim
			slab := unsafe.Slice((*float32)(unsafe.Pointer(&aligned(4 * rows * stride)[0])), rows*stride)
			batch := Batch[float32]{Slab: slab, Stride: stride, Dim: dim, Next: dim, Scale: 0.25}
			grad, k := random[float32](rows*dim), settingsOf[float32](rule.Rule)
			for i := range rows {
				batch.Rows, batch.Grad = append(batch.Rows, uint32(i)), append(batch.Grad, &grad[i*dim])
			}
			for _, table := range tables[float32]() {
				b.Run(fmt.Sprintf("%s/dim=%d/%s", rule.name, dim, table.name), func(b *testing.B) {
					for b.Loop() {
						table.rules[rule.kind](&batch, &k)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
				})
			}
		}
	}
}
