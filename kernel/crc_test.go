package kernel

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// Every implementation gives what the standard library gives, for all lengths around the widths and from any byte on.
func TestCRC32C(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 9000)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	for on := plain; on <= machine; on++ {
		for n := 0; n <= len(b)-8; n += 1 + n/37 {
			from := n % 8
			start := rng.Uint32()
			got, want := crcOn(on, start, b[from:from+n]), crc32.Update(start, castagnoli, b[from:from+n])
			if got != want {
				t.Fatalf("level %d, %d bytes: %#x, want %#x", on, n, got, want)
			}
		}
	}
	if got := CRC32C(0, []byte("123456789")); got != 0xe3069283 { // the check value of the catalogue of CRCs
		t.Errorf("check value %#x, want 0xe3069283", got)
	}
}

func BenchmarkCRC32C(b *testing.B) {
	x := make([]byte, 640000)
	for on := plain; on <= machine; on++ {
		b.Run([]string{"plain", "avx2", "avx512"}[on], func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				crcOn(on, 0, x)
			}
		})
	}
}
