package data

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// tableText is rows of 13 numbers and 26 texts, as click logs have them.
func tableText(rows int) []byte {
	var b bytes.Buffer
	b.WriteString("label")
	for i := range 39 {
		fmt.Fprintf(&b, ",c%d", i)
	}
	b.WriteByte('\n')
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []float64{5, 20, 100, 1000, 10_000, 200_000}
	for i := range rows {
		fmt.Fprint(&b, i&1)
		for range 13 {
			if b.WriteByte(','); r.IntN(10) > 0 {
				fmt.Fprint(&b, int(r.ExpFloat64()*100))
			}
		}
		for f := range 26 {
			level := uint32(sizes[f%len(sizes)] * r.Float64() * r.Float64() * r.Float64())
			fmt.Fprintf(&b, ",%08x", (level*2654435761)^uint32(f))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchmarkTable reads such rows as training does, which finds out about the columns, and as prediction.
func BenchmarkTable(b *testing.B) {
	text := tableText(50_000)
	in := func() []Input { return []Input{{Name: "t.csv", R: bytes.NewReader(text), Size: int64(len(text))}} }
	all, err := LoadAll(context.Background(), in(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fit", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := LoadAll(context.Background(), in(), Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for _, err := range ReadAll(context.Background(), in(), Options{Table: &Table{Transform: all.Transform}}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
