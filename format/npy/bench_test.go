package npy

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// large are 256 MiB as an array and as records of 16 bytes.
var large = map[string]matrix.Meta{
	"array": {Name: "array", Rows: 1 << 13, Cols: 1 << 13, DType: matrix.F32},
	"records": {Name: "records", Rows: 1 << 24, Cols: 3, DType: matrix.F64, Labels: []string{"a", "b", "c"},
		ColTypes: []matrix.DType{matrix.F64, matrix.I32, matrix.F32}},
}

const largeBytes = 256 << 20

// put writes the matrix in blocks of 16 MiB of each type.
func put(b *testing.B, dir blob.Bucket, m matrix.Meta) {
	ctx := context.Background()
	w, err := Codec.Create(ctx, dir, m.Name+".npy", []matrix.Meta{m}, format.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var parts []format.Part
	for at := range format.Bands(m.Rect(), 1<<21) {
		p, err := w.Put(ctx, m.Name, matrix.NewDense(m.DType, at))
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite writes a file of 256 MiB, beside plain writes of the same bytes.
func BenchmarkWrite(b *testing.B) {
	root := b.TempDir()
	dir := blob.NewDir(root)
	b.Run("plain", func(b *testing.B) {
		raw := make([]byte, 16<<20)
		b.SetBytes(largeBytes)
		for b.Loop() {
			f, err := os.Create(filepath.Join(root, "plain"))
			for range largeBytes / len(raw) {
				if err == nil {
					_, err = f.Write(raw)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	for name, m := range large {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(largeBytes)
			for b.Loop() {
				put(b, dir, m)
			}
		})
	}
}

// BenchmarkRead reads a file of 256 MiB, beside one read of the same bytes into new memory, as NumPy does it.
func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	dir := blob.NewDir(root)
	for _, m := range large {
		put(b, dir, m)
	}
	turned := large["array"]
	turned.Name = "turned"
	put(b, dir, turned)
	file := filepath.Join(root, "turned.npy")
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(data, []byte("False"), []byte("True "), 1), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(largeBytes)
		for b.Loop() {
			f, err := os.Open(filepath.Join(root, "array.npy"))
			if err == nil {
				_, err = io.ReadFull(f, make([]byte, largeBytes))
			}
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	for _, m := range []matrix.Meta{large["array"], turned, large["records"]} {
		b.Run(m.Name, func(b *testing.B) {
			b.SetBytes(largeBytes)
			for b.Loop() {
				r, err := Codec.Open(context.Background(), dir, m.Name+".npy", format.Options{})
				for _, err = range blocksOf(r, err) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("in place", func(b *testing.B) {
		b.SetBytes(largeBytes)
		for b.Loop() {
			r, err := Codec.Open(context.Background(), dir, "array.npy", format.Options{})
			if err != nil {
				b.Fatal(err)
			}
			sum := byte(0)
			if _, err := r.(format.Viewer).View(context.Background(), "array", func(blk matrix.Block) error {
				raw, _ := wire.ViewAny(blk.Data.Values())
				for i := 0; i < len(raw); i += 4096 {
					sum += raw[i]
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
}

// BenchmarkReadRatio takes turns between a plain read and a read of the array, so that what else the machine does meets
// both, and reports the median of their ratios.
func BenchmarkReadRatio(b *testing.B) {
	root := b.TempDir()
	dir := blob.NewDir(root)
	put(b, dir, large["array"])
	var ratios []float64
	for b.Loop() {
		begin := time.Now()
		f, err := os.Open(filepath.Join(root, "array.npy"))
		if err == nil {
			_, err = io.ReadFull(f, make([]byte, largeBytes))
		}
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
		middle := time.Now()
		r, err := Codec.Open(context.Background(), dir, "array.npy", format.Options{})
		for _, err = range blocksOf(r, err) {
			if err != nil {
				b.Fatal(err)
			}
		}
		ratios = append(ratios, float64(time.Since(middle))/float64(middle.Sub(begin)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-plain")
}
