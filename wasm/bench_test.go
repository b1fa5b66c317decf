package wasm

import (
	"slices"
	"testing"
)

// BenchmarkMap compares the example in C with a loop that is compiled in, in turns over the same cells.
func BenchmarkMap(b *testing.B) {
	const cells = 10_000_000
	m := compile(b, newRuntime(b), "affine", affine(b))
	in := instance(b, m, `{"a":2,"b":1}`)
	x, d := make([]float64, cells), make([]float64, cells)
	for i := range x {
		x[i] = float64(i%1000) / 7
	}
	b.Run("compiled", func(b *testing.B) {
		b.SetBytes(16 * cells)
		for range b.N {
			for i := range d {
				d[i] = 2*x[i] + 1
			}
		}
	})
	want := slices.Clone(d)
	b.Run("wasm", func(b *testing.B) {
		b.SetBytes(16 * cells)
		for range b.N {
			if err := Map(b.Context(), in, d, [][]float64{x}, 0, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	if !slices.Equal(d, want) {
		b.Error("the module gives something else than the loop")
	}
}
