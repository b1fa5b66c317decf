package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/wire"
)

const (
	tableDim   = 16
	tableBatch = 10000
)

// cpuTime is what this thread has used.
func cpuTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// tableKey is the i-th key; keys come in random order.
func tableKey(i int) int64 { return int64(kernel.Hash(uint64(i)) >> 1) }

func newTable(tb testing.TB, rule string, dim int, change func(m *matrix.Meta)) *Shard {
	m := &matrix.Meta{Name: "e", Rows: int64(dim), Cols: 1<<63 - 1, DType: matrix.F32, Layout: matrix.RowSparse, Rule: rule}
	if change != nil {
		change(m)
	}
	r, err := optim.Find(nil, rule)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := New(m, m.Rect(), 0, r)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// fillTable inserts n keys in batches and gives the longest time that one took, by the wall and of this thread.
func fillTable(tb testing.TB, s *Shard, n int) (slowest, busiest time.Duration) {
	dim := int(s.Meta().Rows)
	val := make([]float32, tableBatch*dim)
	for i := range val {
		val[i] = float32(i%13) * 0.1
	}
	keys := make([]int64, tableBatch)
	for at := 0; at < n; at += tableBatch {
		for i := range keys {
			keys[i] = tableKey(at + i)
		}
		start, cpu := time.Now(), cpuTime()
		if err := s.Set(Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)}); err != nil {
			tb.Fatal(err)
		}
		slowest, busiest = max(slowest, time.Since(start)), max(busiest, cpuTime()-cpu)
	}
	return slowest, busiest
}

// peakMemory is the most that this process had of the machine's memory.
func peakMemory() float64 {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return float64(r.Maxrss) * 1024
}

// BenchmarkTableGrow fills an empty table with ten million columns of 16 values and a slot. Run it alone: the peak is that of
// the process.
func BenchmarkTableGrow(b *testing.B) {
	const n = 10_000_000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		s := newTable(b, "adagrad", tableDim, nil)
		before, start := peakMemory(), cpuTime()
		slowest, busiest := fillTable(b, s, n)
		b.ReportMetric(n/1e6/(cpuTime()-start).Seconds(), "Mrows/CPU-s")
		b.ReportMetric(float64(slowest.Microseconds())/1000, "ms-slowest-10k")
		b.ReportMetric(float64(busiest.Microseconds())/1000, "CPU-ms-slowest-10k")
		b.ReportMetric(float64(s.Bytes())/n, "B/key")
		b.ReportMetric((peakMemory()-before)/n, "B/key-peak")
		s.Close()
	}
}

// BenchmarkTable reads and steps random columns of a table, 10,000 a call.
func BenchmarkTable(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, rule := range []string{"adagrad", "sgd", "momentum", "nesterov", "rmsprop", "adadelta", "adam", "adamw", "amsgrad", "ftrl"} {
			if n > 1_000_000 && rule != "adagrad" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%dM", rule, n/1_000_000), func(b *testing.B) { benchTable(b, rule, n, tableDim, nil, false) })
		}
	}
	for name, storage := range map[string]matrix.DType{"f32": matrix.Invalid, "f16": matrix.F16, "bf16": matrix.BF16, "int8": matrix.I8} {
		for _, rule := range []string{"sgd", "adagrad"} {
			b.Run(fmt.Sprintf("storage/%s/%s", rule, name), func(b *testing.B) {
				benchTable(b, rule, 1_000_000, tableDim, func(m *matrix.Meta) { m.Storage = storage }, false)
			})
		}
	}
	b.Run("adagrad/1M/tracked", func(b *testing.B) { benchTable(b, "adagrad", 1_000_000, tableDim, nil, true) })
	for _, dim := range []int{1, 8, 32, 64} {
		b.Run(fmt.Sprintf("dim%d", dim), func(b *testing.B) { benchTable(b, "ftrl", 1_000_000, dim, nil, false) })
	}
}

func benchTable(b *testing.B, rule string, n, dim int, change func(m *matrix.Meta), tracked bool) {
	s := newTable(b, rule, dim, change)
	defer s.Close()
	fillTable(b, s, n)
	if tracked {
		s.Track("c")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	batches := make([][]int64, 400)
	for i := range batches {
		batches[i] = make([]int64, tableBatch)
		for j := range batches[i] {
			batches[i][j] = tableKey(rng.IntN(n))
		}
	}
	val := make([]float32, tableBatch*dim)
	run := func(name string, f func(keys []int64) error) {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			i, start := 0, cpuTime()
			for b.Loop() {
				if err := f(batches[i%len(batches)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(i*tableBatch)/1e6/(cpuTime()-start).Seconds(), "Mrows/CPU-s")
		})
	}
	b.Run("bytes", func(b *testing.B) { b.ReportMetric(float64(s.Bytes())/float64(n), "B/key") })
	run("read", func(keys []int64) error { return s.Read(wire.View(val), s.At().Rows, keys) })
	for i := range val {
		val[i] = 0.01
	}
	run("apply", func(keys []int64) error {
		return s.Apply([]Delta{{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)}}, 1, 0.01)
	})
}

// BenchmarkTableFold makes Adagrad steps with the gradients of four tasks, of whose columns a quarter are the same.
func BenchmarkTableFold(b *testing.B) {
	const n, tasks = 1_000_000, 4
	s := newTable(b, "adagrad", tableDim, nil)
	defer s.Close()
	fillTable(b, s, n)
	rng := rand.New(rand.NewPCG(1, 2))
	val := make([]float32, tableBatch*tableDim)
	folds := make([][]Delta, 50)
	for i := range folds {
		order := rng.Perm(n)
		for task := range tasks {
			keys := make([]int64, tableBatch)
			for j := range keys {
				keys[j] = tableKey(order[(task*tableBatch*3/4+j)%n])
			}
			folds[i] = append(folds[i], Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)})
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	i, start := 0, cpuTime()
	for b.Loop() {
		if err := s.Apply(folds[i%len(folds)], tasks, 0.1); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(i*tableBatch*tasks)/1e6/(cpuTime()-start).Seconds(), "Mgradients/CPU-s")
}
