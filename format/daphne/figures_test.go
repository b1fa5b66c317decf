package daphne_test

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
	"thole.example/wire"
)

// against runs both turn by turn, so that whatever else the machine does hits both, and reports the shortest time of each
// and their ratio.
func against(b *testing.B, size int64, plain, ours func() error) {
	least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for i := 0; b.Loop(); i++ {
		for k := range 2 {
			which := (i + k) % 2
			runtime.GC()
			begin := time.Now()
			err := [2]func() error{plain, ours}[which]()
			if least[which] = min(least[which], time.Since(begin)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(least[0].Seconds(), "plain-s")
	b.ReportMetric(least[1].Seconds(), "ours-s")
	b.ReportMetric(least[1].Seconds()/least[0].Seconds(), "ratio")
	b.ReportMetric(float64(size)/1e9/least[1].Seconds(), "ours-GB/s")
	b.ReportMetric(0, "ns/op")
}

// writePlain makes a new file and gives it its name, as a writer of ours does.
func writePlain(name string, raw []byte) error {
	if err := os.WriteFile(name+".new", raw, 0o666); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// writeBlocks saves the blocks as x.dbdf.
func writeBlocks(dir string, m matrix.Meta, blocks []matrix.Block, set map[string]string) error {
	ctx := context.Background()
	w, err := daphne.Codec.Create(ctx, blob.NewDir(dir), "x.dbdf", []matrix.Meta{m}, format.Options{Set: set})
	if err != nil {
		return err
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, blk := range blocks {
		p, err := w.Put(ctx, "x", blk)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	return w.Commit(ctx, parts)
}

// fileSize is that of x.dbdf.
func fileSize(b *testing.B, dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "x.dbdf"))
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// dropBoth removes what the last turn has written, so that both make new files.
func dropBoth(dir string) {
	os.Remove(filepath.Join(dir, "x.dbdf"))
	os.Remove(filepath.Join(dir, "plain"))
}

func BenchmarkFigureWrite(b *testing.B) {
	m, blocks, raw := benchMatrix()
	for name, set := range map[string]map[string]string{"planned": {}, "as-is": {"blocks": "as-is"}, "daphne": {"dialect": "daphne", "meta": "false"}} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			against(b, int64(len(raw)), func() error {
				dropBoth(dir)
				return writePlain(filepath.Join(dir, "plain"), raw)
			}, func() error {
				dropBoth(dir)
				return writeBlocks(dir, m, blocks, set)
			})
		})
	}
}

func BenchmarkFigureRead(b *testing.B) {
	m, blocks, raw := benchMatrix()
	dir := b.TempDir()
	if err := writeBlocks(dir, m, blocks, nil); err != nil {
		b.Fatal(err)
	}
	blocks = nil
	plain := func(into func() []byte) func() error {
		return func() error {
			f, err := os.Open(filepath.Join(dir, "x.dbdf"))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.ReadFull(f, into())
			return err
		}
	}
	ours := func() error {
		r, err := daphne.Codec.Open(context.Background(), blob.NewDir(dir), "x.dbdf", format.Options{})
		if err != nil {
			return err
		}
		defer r.Close()
		for _, err := range r.Blocks(context.Background(), "x", m.Rect()) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	b.Run("new memory", func(b *testing.B) {
		against(b, int64(len(raw)), plain(func() []byte { return make([]byte, len(raw)) }), ours)
	})
	b.Run("used memory", func(b *testing.B) {
		against(b, int64(len(raw)), plain(func() []byte { return raw }), ours)
	})
}

// total adds in four lanes, so that memory and not the adder sets the pace.
func total(val []float64) float64 {
	var a, b, c, d float64
	for len(val) >= 4 {
		a, b, c, d = a+val[0], b+val[1], c+val[2], d+val[3]
		val = val[4:]
	}
	for _, v := range val {
		a += v
	}
	return a + b + c + d
}

func BenchmarkFigureMapped(b *testing.B) {
	m, blocks, raw := benchMatrix()
	dir := b.TempDir()
	if err := writeBlocks(dir, m, blocks, map[string]string{"dialect": "daphne", "meta": "false"}); err != nil {
		b.Fatal(err)
	}
	want := total(blocks[0].Data.Values().([]float64))
	size := int64(len(raw))
	blocks, raw = nil, nil
	bucket := blob.NewDir(dir)
	got := [2]float64{}
	against(b, size, func() error {
		o, err := bucket.Open(context.Background(), "x.dbdf")
		if err != nil {
			return err
		}
		defer o.Close()
		return o.(blob.Mapped).Map(func(data []byte) error {
			val, _ := wire.NumbersAnywhere[float64](data[45:])
			got[0] = total(val)
			return nil
		})
	}, func() error {
		r, err := daphne.Codec.Open(context.Background(), bucket, "x.dbdf", format.Options{})
		if err != nil {
			return err
		}
		defer r.Close()
		got[1] = 0
		return format.Look(context.Background(), r, "x", func(blk matrix.Block) error {
			got[1] += total(blk.Data.Values().([]float64))
			return nil
		})
	})
	if got[1] < want || math.Abs(got[0]-got[1]) > 1e-9*got[0] || m.Rows == 0 {
		b.Errorf("sums %v", got)
	}
}

// BenchmarkFigureRows is CSR with one cell in each of very many rows.
func BenchmarkFigureRows(b *testing.B) {
	n := 1 << 25 * *benchMiB / 1024
	ptr, idx, val := make([]int, n+1), make([]int64, n), make([]float64, n)
	for i := range val {
		ptr[i+1], idx[i], val[i] = i+1, int64(i%1000), float64(i+1)
	}
	m := matrix.Meta{Name: "x", Rows: n, Cols: 1000, DType: matrix.F64, Layout: matrix.RowSparse}
	blocks := []matrix.Block{{At: m.Rect(), Data: &matrix.CSR[float64]{Ptr: ptr, Idx: idx, Val: val}}}
	for name, set := range map[string]map[string]string{
		"planned": {}, "as-is": {"blocks": "as-is"}, "daphne": {"dialect": "daphne", "meta": "false"},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if err := writeBlocks(dir, m, blocks, set); err != nil {
				b.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "x.dbdf"))
			if err != nil {
				b.Fatal(err)
			}
			b.Run("write", func(b *testing.B) {
				against(b, int64(len(raw)), func() error {
					dropBoth(dir)
					return writePlain(filepath.Join(dir, "plain"), raw)
				}, func() error {
					dropBoth(dir)
					return writeBlocks(dir, m, blocks, set)
				})
			})
		})
	}
}

// BenchmarkFigureFrame is 8 columns, as blocks of 1 Mi rows.
func BenchmarkFigureFrame(b *testing.B) {
	rows := *benchMiB << 20 / 64
	m := matrix.Meta{Name: "x", Rows: rows, Cols: 8, DType: matrix.F64, Labels: []string{"a", "b", "c", "d", "e", "f", "g", "h"}}
	var columns, bands []matrix.Block
	for lo := int64(0); lo < rows; lo += 1 << 20 {
		for c := range int64(8) {
			blk := matrix.NewDense(matrix.F64, matrix.At(lo, min(rows, lo+1<<20), c, c+1))
			for i := range blk.Data.Values().([]float64) {
				blk.Data.Values().([]float64)[i] = float64(i + 1)
			}
			columns = append(columns, blk)
		}
		blk := matrix.NewDense(matrix.F64, matrix.At(lo, min(rows, lo+1<<20), 0, 8))
		for i := range blk.Data.Values().([]float64) {
			blk.Data.Values().([]float64)[i] = float64(i + 1)
		}
		bands = append(bands, blk)
	}
	raw := make([]byte, rows*64)
	for i := range raw {
		raw[i] = byte(i)
	}
	for name, c := range map[string]struct {
		blocks []matrix.Block
		set    map[string]string
	}{
		"columns": {columns, nil}, "bands": {bands, nil}, "bands daphne": {bands, map[string]string{"dialect": "daphne", "meta": "true"}},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			against(b, int64(len(raw)), func() error {
				dropBoth(dir)
				return writePlain(filepath.Join(dir, "plain"), raw)
			}, func() error {
				dropBoth(dir)
				return writeBlocks(dir, m, c.blocks, c.set)
			})
		})
	}
}
