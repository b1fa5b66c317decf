package daphne_test

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
	"thole.example/wire"
)

var benchMiB = flag.Int64("mib", 256, "size of the dense matrix that the benchmarks write and read")

// benchMatrix is a dense matrix of f64 with 1024 columns, its bands of 64 MiB and its bytes.
func benchMatrix() (matrix.Meta, []matrix.Block, []byte) {
	m := matrix.Meta{Name: "x", Rows: *benchMiB << 20 / 8192, Cols: 1024, DType: matrix.F64}
	val := make([]float64, m.Rows*m.Cols)
	for i := range val {
		val[i] = float64(i)
	}
	var blocks []matrix.Block
	for at := range format.Bands(m.Rect(), 8<<20) {
		part := val[at.Rows.Lo*m.Cols : at.Rows.Hi*m.Cols]
		blocks = append(blocks, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: part}})
	}
	return m, blocks, wire.View(val)
}

func writeDense(b *testing.B, dir string, m matrix.Meta, blocks []matrix.Block, set map[string]string) {
	ctx := context.Background()
	w, err := daphne.Codec.Create(ctx, blob.NewDir(dir), "x.dbdf", []matrix.Meta{m}, format.Options{Set: set})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, blk := range blocks {
		p, err := w.Put(ctx, "x", blk)
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWriteDense(b *testing.B) {
	m, blocks, raw := benchMatrix()
	b.Run("plain", func(b *testing.B) {
		name := filepath.Join(b.TempDir(), "x")
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if err := os.WriteFile(name+".new", raw, 0o666); err != nil {
				b.Fatal(err)
			}
			if err := os.Rename(name+".new", name); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, dialect := range []string{"document", "daphne"} {
		b.Run(dialect, func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				writeDense(b, dir, m, blocks, map[string]string{"dialect": dialect})
			}
		})
	}
}

func BenchmarkReadDense(b *testing.B) {
	m, blocks, raw := benchMatrix()
	dir := b.TempDir()
	writeDense(b, dir, m, blocks, nil)
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			f, err := os.Open(filepath.Join(dir, "x.dbdf"))
			if err != nil {
				b.Fatal(err)
			}
			for range *benchMiB / 64 { // new memory for each band, as a reader must give
				if _, err := io.ReadFull(f, make([]byte, 64<<20)); err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
		}
	})
	b.Run("document", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			readFile(b, dir)
		}
	})
}

func readFile(b *testing.B, dir string) {
	ctx := context.Background()
	r, err := daphne.Codec.Open(ctx, blob.NewDir(dir), "x.dbdf", format.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for _, err := range r.Blocks(ctx, "x", r.Matrices()[0].Rect()) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSparse(b *testing.B) {
	const rows, per = 1 << 18, 32
	ptr, idx, val := make([]int, 1, rows+1), make([]int64, 0, rows*per), make([]float64, rows*per)
	for r := range int64(rows) {
		for k := range int64(per) {
			idx = append(idx, k*1000+r%1000)
			val[len(idx)-1] = 1
		}
		ptr = append(ptr, len(idx))
	}
	m := matrix.Meta{Name: "x", Rows: rows, Cols: per * 1000, DType: matrix.F64, Layout: matrix.RowSparse}
	blocks := []matrix.Block{{At: m.Rect(), Data: &matrix.CSR[float64]{Ptr: ptr, Idx: idx, Val: val}}}
	for _, dialect := range []string{"document", "daphne"} {
		set := map[string]string{"dialect": dialect}
		dir := b.TempDir()
		writeDense(b, dir, m, blocks, set)
		info, err := os.Stat(filepath.Join(dir, "x.dbdf"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("write "+dialect, func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				writeDense(b, dir, m, blocks, set)
			}
		})
		b.Run("read "+dialect, func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				readFile(b, dir)
			}
		})
	}
}
