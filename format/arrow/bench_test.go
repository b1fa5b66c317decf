package arrow

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// big is the table of the benchmarks: 16 columns of f64, 1 GiB.
var big = matrix.Meta{Name: "a", Rows: 1 << 23, Cols: 16, DType: matrix.F64}

const bigBytes = 1 << 30

// band is the rows of a block of 16 MiB.
const band = 1 << 17

// writeBig writes the same block again and again, at the next rows each time.
func writeBig(b *testing.B, dir blob.Bucket, file string, set map[string]string) {
	blk := matrix.NewDense(big.DType, matrix.At(0, band, 0, big.Cols))
	for i, v := 0, blk.Data.Values().([]float64); i < len(v); i++ {
		v[i] = float64(i)
	}
	w, err := Codec.Create(b.Context(), dir, file, []matrix.Meta{big}, format.Options{Set: set})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort(b.Context())
	var parts []format.Part
	for row := int64(0); row < big.Rows; row += band {
		blk.At.Rows = matrix.Range{Lo: row, Hi: row + band}
		p, err := w.Put(b.Context(), "a", blk)
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(b.Context(), parts); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite writes one table in rows, beside plain writes of the same bytes.
func BenchmarkWrite(b *testing.B) {
	root := b.TempDir()
	dir := blob.NewDir(root)
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(bigBytes)
		raw, _ := wire.ViewAny(matrix.NewDense(big.DType, matrix.At(0, band, 0, big.Cols)).Data.Values())
		for b.Loop() {
			f, err := os.Create(filepath.Join(root, "plain"))
			if err != nil {
				b.Fatal(err)
			}
			for range bigBytes / len(raw) {
				if _, err := f.Write(raw); err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
		}
	})
	for _, rows := range []string{"columns", "list"} {
		b.Run(rows, func(b *testing.B) {
			b.SetBytes(bigBytes)
			for b.Loop() {
				writeBig(b, dir, "a.arrow", map[string]string{"rows": rows})
			}
		})
	}
}

// BenchmarkRead reads one table as rows, beside plain reads of the same bytes into new memory.
func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	dir := blob.NewDir(root)
	plain := func(b *testing.B) {
		b.SetBytes(bigBytes)
		for b.Loop() {
			f, err := os.Open(filepath.Join(root, "a.arrow"))
			if err != nil {
				b.Fatal(err)
			}
			for range bigBytes / blockBytes {
				if _, err := io.ReadFull(f, make([]byte, blockBytes)); err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
		}
	}
	for _, c := range []struct{ what, rows, compression string }{
		{"columns", "columns", "none"}, {"list", "list", "none"}, {"lz4", "columns", "lz4"}, {"zstd", "columns", "zstd"},
	} {
		writeBig(b, dir, "a.arrow", map[string]string{"rows": c.rows, "compression": c.compression})
		if c.what == "columns" {
			b.Run("plain", plain)
		}
		b.Run(c.what, func(b *testing.B) {
			b.SetBytes(bigBytes)
			for b.Loop() {
				r, err := Codec.Open(b.Context(), dir, "a.arrow", format.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range r.Blocks(b.Context(), "a", big.Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
}
