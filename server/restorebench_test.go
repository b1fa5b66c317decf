package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
)

// BenchmarkRestore writes a checkpoint of a table of a million columns of 16 f32 with the slots of Adagrad, or of a dense matrix of that
// size, to a disk, and restores it, on one server and on two. A first one is not measured: a virtual machine may have to find the memory
// for what the system keeps of its file. Speeds are of the bytes of the files.
func BenchmarkRestore(b *testing.B) {
	const columns, width = 1 << 20, 16
	for name, m := range map[string]matrix.Meta{
		"sparse": {Name: "w", Rows: width, Cols: columns, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"},
		"dense":  {Name: "w", Rows: width, Cols: columns, DType: matrix.F32, Rule: "adagrad"},
	} {
		for _, servers := range []int{1, 2} {
			disk := blob.NewDir(b.TempDir()).Synced()
			newFleet(b, "mem", servers, disk, []matrix.Meta{m}).run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
				at := m.Rect()
				for lo := int64(0); lo < columns; lo += 1 << 16 {
					at.Cols = matrix.Range{Lo: lo, Hi: lo + 1<<16}
					grad := matrix.NewDense(m.DType, at)
					if m.Layout == matrix.RowSparse {
						var keys []int64
						for k := at.Cols.Lo; k < at.Cols.Hi; k++ {
							keys = append(keys, k)
						}
						grad = matrix.Block{At: at, Data: matrix.KindOf(m.DType).Cols(keys, width)}
					}
					v := grad.Data.Values().([]float32)
					for i := range v {
						v[i] = float32(i%7) - 3
					}
					if err := p.Push("w", grad); err != nil {
						return err
					}
				}
				if err := errors.Join(p.Clock(ctx, 1, 0.1), p.SyncClock(ctx)); err != nil {
					return err
				}
				n := 0
				path := func() string { return fmt.Sprint("c", n) }
				if err := p.Checkpoint(ctx, path()); err != nil {
					return err
				}
				files, err := disk.List(ctx, path())
				if err != nil {
					return err
				}
				bytes := int64(0)
				for _, f := range files {
					bytes += f.Size
				}
				b.Run(fmt.Sprintf("%s/%d/checkpoint", name, servers), func(b *testing.B) {
					b.SetBytes(bytes)
					for b.Loop() {
						b.StopTimer()
						if err := disk.Remove(ctx, path()); err != nil {
							b.Fatal(err)
						}
						n++
						b.StartTimer()
						if err := p.Checkpoint(ctx, path()); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run(fmt.Sprintf("%s/%d/restore", name, servers), func(b *testing.B) {
					b.SetBytes(bytes)
					for b.Loop() {
						if _, err := p.Restore(ctx, path()); err != nil {
							b.Fatal(err)
						}
					}
				})
				return nil
			})
		}
	}
}
