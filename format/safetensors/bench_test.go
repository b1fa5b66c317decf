package safetensors

import (
	"context"
	"fmt"
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

// big is the tensor of the benchmarks: 256 MiB.
var big = matrix.Meta{Name: "a", Rows: 1 << 13, Cols: 1 << 13, DType: matrix.F32}

// BenchmarkWrite writes one tensor, beside one write of the same bytes.
func BenchmarkWrite(b *testing.B) {
	ctx, dir := context.Background(), blob.NewDir(b.TempDir())
	blk := matrix.NewDense(big.DType, big.Rect())
	for i, v := 0, blk.Data.Values().([]float32); i < len(v); i++ {
		v[i] = float32(i)
	}
	b.Run("plain", func(b *testing.B) { writePlain(b, blk) })
	b.Run("safetensors", func(b *testing.B) {
		b.SetBytes(big.Rows * big.Cols * 4)
		for b.Loop() {
			w, err := Codec.Create(ctx, dir, path, []matrix.Meta{big}, format.Options{})
			if err != nil {
				b.Fatal(err)
			}
			p, err := w.Put(ctx, "a", blk)
			if err != nil {
				b.Fatal(err)
			}
			if err := w.Commit(ctx, []format.Part{p}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func writePlain(b *testing.B, blk matrix.Block) {
	raw, _ := wire.ViewAny(blk.Data.Values())
	name := filepath.Join(b.TempDir(), "plain")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		f, err := os.Create(name + ".new") // as buckets do it
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(raw); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := os.Rename(name+".new", name); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads one tensor of 256 MiB, beside one read of the same bytes into new memory (as NumPy does it) or
// always the same, and sums it in place.
func BenchmarkRead(b *testing.B) {
	ctx, root := b.Context(), b.TempDir()
	dir := blob.NewDir(root)
	save(b, dir, content{ms: []matrix.Meta{big}}, format.Options{})
	total := big.Rows * big.Cols * 4
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("plain, fresh memory %v", fresh), func(b *testing.B) { readPlain(b, filepath.Join(root, path), total, fresh) })
	}
	open := func() format.Reader {
		r, err := Codec.Open(ctx, dir, path, format.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	b.Run("safetensors", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			r := open()
			for _, err := range r.Blocks(ctx, "a", big.Rect()) {
				if err != nil {
					b.Fatal(err)
				}
			}
			r.Close()
		}
	})
	b.Run("sum in place", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			r := open()
			var sum [4]float32 // one alone would wait for itself
			ok, err := r.(format.Viewer).View(context.Background(), "a", func(blk matrix.Block) error {
				for v := blk.Data.Values().([]float32); len(v) >= 4; v = v[4:] {
					sum[0] += v[0]
					sum[1] += v[1]
					sum[2] += v[2]
					sum[3] += v[3]
				}
				return nil
			})
			if err != nil || !ok {
				b.Fatal(ok, err)
			}
			r.Close()
		}
	})
}

func readPlain(b *testing.B, file string, total int64, fresh bool) {
	raw := make([]byte, total)
	b.SetBytes(total)
	for b.Loop() {
		if fresh {
			raw = make([]byte, total)
		}
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(f, raw); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkReadRatio takes turns between a plain read into new memory and a read of the tensor, so that what else the
// machine does meets both, and reports the median of their ratios.
func BenchmarkReadRatio(b *testing.B) {
	ctx, root := b.Context(), b.TempDir()
	dir := blob.NewDir(root)
	save(b, dir, content{ms: []matrix.Meta{big}}, format.Options{})
	var ratios []float64
	for b.Loop() {
		begin := time.Now()
		f, err := os.Open(filepath.Join(root, path))
		if err == nil {
			_, err = io.ReadFull(f, make([]byte, big.Rows*big.Cols*4))
		}
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
		middle := time.Now()
		r, err := Codec.Open(ctx, dir, path, format.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range r.Blocks(ctx, "a", big.Rect()) {
			if err != nil {
				b.Fatal(err)
			}
		}
		r.Close()
		ratios = append(ratios, float64(time.Since(middle))/float64(middle.Sub(begin)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-plain")
}
