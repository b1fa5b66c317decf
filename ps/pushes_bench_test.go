package ps

import (
	"context"
	"fmt"
	"testing"

	"thole.example/kernel"
	"thole.example/wire"
)

// BenchmarkPushes is what the client does for several pushes of overlapping key sets in a clock, plans included, beside one push of
// the same keys and values: keys of a million different ones, or of about three times fewer than there are.
func BenchmarkPushes(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{40000, 400000} {
		c, err := Dial(ctx, Options{Network: &parrot{values: wire.View(make([]float32, 16*n))}, Servers: []string{"0", "1"}})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Create(ctx, "", benchMeta); err != nil {
			b.Fatal(err)
		}
		m, _ := c.Matrix("m")
		vals, k := make([]float32, 16*n), &Keys{}
		for _, different := range []int64{1000000, int64(3 * n / 10)} {
			batches := batchesOf(4, n)
			for _, batch := range batches {
				for i := range batch {
					batch[i] = int64(kernel.Hash(uint64(batch[i]%different)) >> 1)
				}
			}
			for _, pushes := range []int{1, 4, 16} {
				b.Run(fmt.Sprintf("keys=%d/different=%d/pushes=%d", n, different, pushes), func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(64 * int64(n))
					for i := 0; b.Loop(); i++ {
						for at := 0; at < n; at += n / pushes {
							if _, err := m.Plan(k, batches[i%len(batches)][at:at+n/pushes]); err != nil {
								b.Fatal(err)
							}
							if err := PushKeys(m, k, vals[16*at:16*(at+n/pushes)]); err != nil {
								b.Fatal(err)
							}
						}
						if err := c.Flush(ctx); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
