package ps

import (
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ssp"
)

// TestCacheBytes: whatever is put, the rows never take more than they may; the freshest of a row stays, and what was asked for before
// rows were forgotten does not come in.
func TestCacheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, newest := &cache{}, map[int64]int{}
		for range rapid.IntRange(1, 60).Draw(t, "puts") {
			row, clock := rapid.Int64Range(0, 30).Draw(t, "row"), rapid.IntRange(0, 9).Draw(t, "clock")
			age := c.age()
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				c.forget()
				clear(newest)
			} else {
				newest[row] = max(newest[row], clock)
			}
			n := rapid.SampledFrom([]int64{1, 1 << 20, 5 << 20, 9 << 20}).Draw(t, "cols")
			c.put(row, matrix.Block{At: matrix.At(row, row+1, 0, n), Data: &matrix.Dense[uint8]{Val: make([]uint8, n)}}, clock, age)
			used := int64(0)
			for r, have := range c.rows {
				used += rowBytes(have.row)
				if have.clock > newest[r] {
					t.Fatalf("row %d is of clock %d, want %d at most", r, have.clock, newest[r])
				}
				if _, _, ok := c.get(r, ssp.BSP, have.clock+1); ok {
					t.Fatal("a stale row is given")
				}
			}
			if used != c.used || used > cacheBytes {
				t.Fatalf("%d bytes, noted as %d, want %d at most", used, c.used, cacheBytes)
			}
		}
	})
}
