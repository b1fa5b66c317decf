package server_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"thole.example/blob"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// BenchmarkBase starts a server from a log whose base has 1M or 5M keys of 16 f32 with the slots of Adagrad, and nearly nothing after it. It
// tells the processor time, of user and system, and the wall time, in seconds.
func BenchmarkBase(b *testing.B) {
	for _, keys := range []int64{1 << 20, 5_000_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) { benchBase(b, keys) })
	}
}

// BenchmarkReplay starts a server from a log of 2 GB without a base: pushes of 10,000 or 1,000 random keys out of 1M, of 16 f32 with the slots of
// Adagrad. It tells the bytes of the log, in GB, that are replayed in a second of processor time and in a second.
func BenchmarkReplay(b *testing.B) {
	for _, batch := range []int64{10_000, 1000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			const keys, size = 1 << 20, 2_000_000_000
			pushes := int64(size) / (batch * (8 + 4*benchRows))
			g := newGrower(b, batch, 1<<40)
			for i := range pushes {
				g.push(func(k int64) int64 { return int64(kernel.Hash(uint64(i*batch+k)) % keys) })
			}
			cpu, wall := g.recover()
			b.ReportMetric(size/1e9/cpu, "GB/cpu-s")
			b.ReportMetric(size/1e9/wall, "GB/s")
		})
	}
}

func benchBase(b *testing.B, keys int64) {
	const batch = 1 << 14
	g := newGrower(b, batch, 64<<20)
	for from := int64(0); from < keys; from += batch {
		g.push(func(k int64) int64 { return int64(kernel.Hash(uint64(min(from+k, keys-1))) >> 24) })
	}
	for baseAt(b, g.dir) < keys*(8+4*benchRows) { // until one has all keys
		g.push(func(k int64) int64 { return int64(kernel.Hash(uint64(k)) >> 24) })
		time.Sleep(time.Millisecond)
	}
	cpu, wall := g.recover()
	b.ReportMetric(cpu, "cpu-s")
	b.ReportMetric(wall, "wall-s")
}

// benchRows is how many values a key has.
const benchRows = 16

// grower is a job that makes a log.
type grower struct {
	b     *testing.B
	dir   string
	logs  *server.LogDir
	funcs *psf.Table
	p     *ps.Client
	batch int64
}

// newGrower starts a server and a job whose pushes are of so many keys, with a base after so many bytes.
func newGrower(b *testing.B, batch, base int64) *grower {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		b.Fatal(err)
	}
	g := &grower{b: b, dir: b.TempDir(), funcs: funcs, batch: batch}
	g.logs = g.open(g.dir)
	net, s := &mem.Network{}, &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Logs: g.logs, LogUnsynced: true, LogBase: base}
	l, err := net.Listen(b.Context(), "s", s)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	g.p, err = ps.Dial(b.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP})
	if err != nil {
		b.Fatal(err)
	}
	m := matrix.Meta{Name: "w", Rows: benchRows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	if err := g.p.Create(b.Context(), "", m); err != nil {
		b.Fatal(err)
	}
	return g
}

func (g *grower) open(dir string) *server.LogDir {
	logs, err := server.OpenLogDir(dir, "bench")
	if err != nil {
		g.b.Fatal(err)
	}
	return logs
}

// push pushes gradients of keys.
func (g *grower) push(key func(i int64) int64) {
	keys := make([]int64, g.batch)
	for i := range keys {
		keys[i] = key(int64(i))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	grad := matrix.Block{At: matrix.At(0, benchRows, 0, 1<<40), Data: matrix.KindOf(matrix.F32).Cols(keys, benchRows)}
	for i, v := 0, grad.Data.Values().([]float32); i < len(v); i++ {
		v[i] = float32(i%7) - 3
	}
	if err := errors.Join(g.p.Push("w", grad), g.p.Clock(g.b.Context(), 1, 0.1)); err != nil {
		g.b.Fatal(err)
	}
}

// recover starts a server from a copy of the log, and tells how long it takes.
func (g *grower) recover() (cpu, wall float64) {
	for before := []string(nil); ; time.Sleep(300 * time.Millisecond) { // until no base is being written
		names, err := filepath.Glob(filepath.Join(g.dir, "*", "*"))
		if err != nil {
			g.b.Fatal(err)
		}
		if slices.Equal(names, before) && !strings.Contains(strings.Join(names, " "), "new-base") {
			break
		}
		before = names
	}
	logs := g.open(copied(g.b, g.dir))
	if err := g.p.Leave(g.b.Context()); err != nil {
		g.b.Fatal(err)
	}
	untilNone(g.b, g.logs)
	runtime.GC()
	for g.b.Loop() {
		// A base that is begun after the replay is not measured, and would be written while the folder is removed.
		s := &server.Server{Funcs: g.funcs, Bucket: &blob.Mem{}, Logs: logs, LogUnsynced: true, LogBase: 1 << 40}
		before, began := cpuSeconds(g.b), time.Now()
		if err := s.Recover(g.b.Context()); err != nil {
			g.b.Fatal(err)
		}
		if cpu, wall = cpuSeconds(g.b)-before, time.Since(began).Seconds(); g.b.N > 1 {
			g.b.Fatal("want -benchtime 1x: the log is gone when its job has ended")
		}
	}
	g.b.ReportMetric(0, "ns/op")
	return cpu, wall
}

// baseAt is the position of the last base in a folder of logs; 0 if there is none.
func baseAt(b *testing.B, dir string) (position int64) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "base.*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		n, err := strconv.ParseInt(strings.TrimLeft(strings.TrimPrefix(filepath.Ext(name), "."), "0"), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		position = max(position, n)
	}
	return position
}

// cpuSeconds is the time that the processors worked for this process.
func cpuSeconds(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
