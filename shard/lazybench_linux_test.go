package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/wire"
)

// BenchmarkLazy reads and steps random columns of a table, 10,000 a call, with rules whose columns catch up, and beside it, taking
// turns, with the same rules when columns stand still. Metrics are the time of a row, and the ratio.
func BenchmarkLazy(b *testing.B) {
	for _, dim := range []int{1, 16, 64} {
		for _, of := range []struct {
			rule  string
			hyper map[string]float64
		}{
			{"sgd", map[string]float64{"l2": 1e-4}}, {"sgd", map[string]float64{"l1": 1e-4}}, {"momentum", nil},
			{"momentum", map[string]float64{"l2": 1e-4}}, {"adagrad", map[string]float64{"l1": 1e-4}}, {"rmsprop", nil},
		} {
			name := fmt.Sprintf("%s%v/dim%d", of.rule, of.hyper, dim)
			b.Run(name, func(b *testing.B) { benchLazy(b, of.rule, of.hyper, dim) })
		}
	}
}

func benchLazy(b *testing.B, name string, hyper map[string]float64, dim int) {
	const n = 1_000_000
	rule, err := optim.Find(nil, name)
	if err != nil {
		b.Fatal(err)
	}
	still := *rule
	still.New = func(h map[string]float64) psf.Step {
		step := rule.New(h)
		step.Idle = nil
		return step
	}
	m := &matrix.Meta{
		Name: "e", Rows: int64(dim), Cols: 1<<63 - 1, DType: matrix.F32, Layout: matrix.RowSparse, Rule: name, Hyper: hyper,
	}
	var s [2]*Shard
	for i, r := range []*psf.Rule{rule, &still} {
		if s[i], err = New(m, m.Rect(), 0, r); err != nil {
			b.Fatal(err)
		}
		defer s[i].Close()
		fillTable(b, s[i], n)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	keys, other, val := make([]int64, tableBatch), make([]int64, tableBatch), make([]float32, tableBatch*dim)
	var read, apply [2]time.Duration
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	warm := 200 // steps after which ages are what they stay
	for i := 0; i < warm || b.Loop(); i++ {
		for j := range keys {
			keys[j], other[j] = tableKey(rng.IntN(n)), tableKey(rng.IntN(n))
		}
		for k := range s {
			on := (k + i) % 2
			start := cpuTime()
			if err := s[on].Read(wire.View(val), s[on].At().Rows, other); err != nil {
				b.Fatal(err)
			}
			mid := cpuTime()
			d := Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(val)}
			if err := s[on].Apply([]Delta{d}, 1, 0.01); err != nil {
				b.Fatal(err)
			}
			if i >= warm {
				read[on], apply[on] = read[on]+mid-start, apply[on]+cpuTime()-mid
			}
		}
	}
	rows := float64(b.N * tableBatch)
	b.ReportMetric(float64(read[1])/rows, "ns/read")
	b.ReportMetric(float64(read[0])/float64(read[1]), "x-read")
	b.ReportMetric(float64(apply[1])/rows, "ns/apply")
	b.ReportMetric(float64(apply[0])/float64(apply[1]), "x-apply")
	b.ReportMetric(0, "ns/op")
}
