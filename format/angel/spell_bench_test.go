package angel

import "testing"

func BenchmarkSpell(b *testing.B) {
	buf := make([]byte, 0, 64)
	vals := [8]float32{-0.0012345678, 0.02233445, 0.0055667788, -0.0456789, 0.00123, 0.04565434, -0.00033445, 0.0087878}
	b.Run("f32", func(b *testing.B) {
		for i := range b.N {
			buf = appendFloat32(buf[:0], vals[i&7])
		}
	})
	b.Run("int", func(b *testing.B) {
		for i := range b.N {
			buf = appendInt(buf[:0], int64(i&131071))
		}
	})
}
