package server_test

import (
	"fmt"
	"path/filepath"
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

func benchBase(b *testing.B, keys int64) {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		b.Fatal(err)
	}
	const limit = 64 << 20
	dir := b.TempDir()
	start := func(dir string) *server.LogDir {
		logs, err := server.OpenLogDir(dir, "bench")
		if err != nil {
			b.Fatal(err)
		}
		return logs
	}
	logs, net := start(dir), &mem.Network{}
	l, err := net.Listen(b.Context(), "s", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Logs: logs, LogUnsynced: true, LogBase: limit})
	if err != nil {
		b.Fatal(err)
	}
	p, err := ps.Dial(b.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP})
	if err != nil {
		b.Fatal(err)
	}
	m := matrix.Meta{Name: "w", Rows: 16, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	if err := p.Create(b.Context(), "", m); err != nil {
		b.Fatal(err)
	}
	const batch = 1 << 14
	push := func(from int64) {
		at := matrix.At(0, m.Rows, 0, m.Cols)
		some := make([]int64, 0, batch)
		for k := from; k < min(keys, from+batch); k++ {
			some = append(some, int64(kernel.Hash(uint64(k))>>24))
		}
		grad := matrix.Block{At: at, Data: matrix.KindOf(m.DType).Cols(some, int(m.Rows))}
		for i, v := 0, grad.Data.Values().([]float32); i < len(v); i++ {
			v[i] = float32(i%7) - 3
		}
		if err := p.Push("w", grad); err != nil {
			b.Fatal(err)
		}
		if err := p.Clock(b.Context(), 1, 0.1); err != nil {
			b.Fatal(err)
		}
	}
	for from := int64(0); from < keys; from += batch {
		push(from)
	}
	for baseAt(b, dir) < keys*72 { // until one has all keys
		push(0)
		time.Sleep(time.Millisecond)
	}
	copied := copied(b, dir)
	if err := p.Leave(b.Context()); err != nil {
		b.Fatal(err)
	}
	untilNone(b, logs)
	_ = l.Close()
	var cpu, wall float64
	for b.Loop() {
		logs := start(copied)
		s := &server.Server{Funcs: funcs, Bucket: &blob.Mem{}, Logs: logs, LogUnsynced: true}
		before, began := cpuSeconds(b), time.Now()
		if err := s.Recover(b.Context()); err != nil {
			b.Fatal(err)
		}
		cpu, wall = cpu+cpuSeconds(b)-before, wall+time.Since(began).Seconds()
		if b.N > 1 {
			b.Fatal("want -benchtime 1x: the log is gone when its job has ended")
		}
	}
	b.ReportMetric(cpu, "cpu-s")
	b.ReportMetric(wall, "wall-s")
	b.ReportMetric(0, "ns/op")
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
