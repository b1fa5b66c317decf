package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
)

// BenchmarkRestore writes a checkpoint of a GB, of columns of 16 f32 with the slots of Adagrad, which begin as 0 or are drawn, or of a dense
// matrix, to a disk, and restores it, from the disk, on as many servers and on others. In turn with it the same bytes are written to a file by
// writes of a MiB and a sync, and read. It tells the median of each in MB/s.
func BenchmarkRestore(b *testing.B) {
	const columns, width = 7 << 20, 16
	for name, m := range map[string]matrix.Meta{
		"sparse": {Name: "w", Rows: width, Cols: columns, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"},
		"drawn": {Name: "w", Rows: width, Cols: columns, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad",
			Init: matrix.Init{Kind: "normal", Scale: 0.01, Seed: 7}},
		"dense": {Name: "w", Rows: width, Cols: columns, DType: matrix.F32, Rule: "adagrad"},
	} {
		for _, servers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", name, servers), func(b *testing.B) {
				dir := b.TempDir()
				disk := blob.NewDir(dir).Synced()
				of := func(servers int, do func(ctx context.Context, p *ps.Client) error) {
					newFleet(b, "mem", servers, disk, []matrix.Meta{m}).run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
						return do(ctx, p)
					})
				}
				of(servers, func(ctx context.Context, p *ps.Client) error {
					if err := errors.Join(stepAll(p, &m), p.Clock(ctx, 1, 0.1), p.SyncClock(ctx), p.Checkpoint(ctx, "first")); err != nil {
						return err
					}
					of(3-servers, func(_ context.Context, other *ps.Client) error {
						return timed(ctx, b, dir, p, other)
					})
					return nil
				})
			})
		}
	}
}

// stepAll pushes a change of all columns.
func stepAll(p *ps.Client, m *matrix.Meta) error {
	at := m.Rect()
	for lo := int64(0); lo < m.Cols; lo += 1 << 16 {
		at.Cols = matrix.Range{Lo: lo, Hi: lo + 1<<16}
		grad := matrix.NewDense(m.DType, at)
		if m.Layout == matrix.RowSparse {
			var keys []int64
			for k := at.Cols.Lo; k < at.Cols.Hi; k++ {
				keys = append(keys, k)
			}
			grad = matrix.Block{At: at, Data: matrix.KindOf(m.DType).Cols(keys, int(m.Rows))}
		}
		v := grad.Data.Values().([]float32)
		for i := range v {
			v[i] = float32(i%7) - 3
		}
		if err := p.Push(m.Name, grad); err != nil {
			return err
		}
	}
	return nil
}

// timed takes the times of checkpoints of a job, which are restored there and in another, and of a plain file.
func timed(ctx context.Context, b *testing.B, dir string, p, other *ps.Client) error {
	files, err := filepath.Glob(filepath.Join(dir, "first", "*"))
	if err != nil {
		return err
	}
	size := 0
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		size += int(info.Size())
	}
	plain, chunk := filepath.Join(dir, "plain"), make([]byte, 1<<20)
	speeds := map[string][]float64{}
	for n := 0; b.Loop(); n++ {
		at := fmt.Sprint("c", n)
		for _, x := range []struct {
			what string
			cold string // what the system keeps nothing of
			do   func() error
		}{
			{"checkpoint", "", func() error { return p.Checkpoint(ctx, at) }},
			{"write", "", func() error { return writePlain(plain, size/len(chunk), chunk) }},
			{"restore", at + "/*", func() error { _, err := p.Restore(ctx, at); return err }},
			{"read", "plain", func() error { return readPlain(plain, chunk) }},
			{"restore-others", at + "/*", func() error { _, err := other.Restore(ctx, at); return err }},
		} {
			if err := errors.Join(forget(filepath.Join(dir, x.cold)), findMemory(6*size)); err != nil {
				return err
			}
			begin := time.Now()
			if err := x.do(); err != nil {
				return err
			}
			speeds[x.what] = append(speeds[x.what], float64(size)/1e6/time.Since(begin).Seconds())
		}
		if err := errors.Join(os.Remove(plain), os.RemoveAll(filepath.Join(dir, at))); err != nil {
			return err
		}
	}
	for what, all := range speeds {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], what+"-MB/s")
	}
	b.ReportMetric(0, "ns/op")
	return nil
}

// forget has the system keep nothing of files.
func forget(pattern string) error {
	files, err := filepath.Glob(pattern)
	for _, file := range files {
		f, oerr := os.Open(file)
		if oerr != nil {
			return oerr
		}
		err = errors.Join(err, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
	}
	return err
}

func writePlain(file string, chunks int, chunk []byte) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for range chunks {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	return f.Sync()
}

func readPlain(file string, chunk []byte) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Read(chunk); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
