package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/wire"
)

// BenchmarkKeep makes Adagrad steps on random columns of two tables in turns, 10,000 columns a step: one keeps all columns, the
// other does not. It reports the second's processor time as a multiple of the first's. "expire" removes what is not named for ten
// times as long as it takes to name as many columns as there are. The last two name 1,000 columns a step that were never named:
// the first table makes them all, the other counts them, or evicts others for them.
func BenchmarkKeep(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		often := int64(10 * n / tableBatch)
		for _, c := range []struct {
			name string
			keep matrix.Keep
		}{
			{"none", matrix.Keep{}}, {"admit", matrix.Keep{AdmitAfter: 3}}, {"expire", matrix.Keep{ExpireAfter: often}},
			{"both", matrix.Keep{AdmitAfter: 3, ForgetAfter: often, ExpireAfter: often}},
			{"budget", matrix.Keep{MaxBytes: int64(n) * 200}},
			{"new/admit", matrix.Keep{AdmitAfter: 3, ForgetAfter: often}}, {"new/budget", matrix.Keep{MaxBytes: int64(n) * 200}},
		} {
			fresh := 0
			if strings.HasPrefix(c.name, "new") {
				fresh = tableBatch / 10
			}
			b.Run(fmt.Sprintf("%s/%dM", c.name, n/1_000_000), func(b *testing.B) { benchKeep(b, n, fresh, c.keep) })
		}
	}
}

func benchKeep(b *testing.B, n, fresh int, keep matrix.Keep) {
	tables := [2]*Shard{newTable(b, "adagrad", tableDim, nil), newTable(b, "adagrad", tableDim, func(m *matrix.Meta) { m.Keep = keep })}
	for _, s := range tables {
		defer s.Close()
		fillTable(b, s, n)
	}
	val, keys := make([]float32, tableBatch*tableDim), make([]int64, tableBatch)
	for i := range val {
		val[i] = 0.01
	}
	next := n
	rng := rand.New(rand.NewPCG(1, 2))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const turn = 20
	var took [2]time.Duration
	batches := make([][]int64, turn)
	for i := range batches {
		batches[i] = make([]int64, tableBatch)
	}
	for b.Loop() {
		for i := range batches {
			for j := range batches[i] {
				batches[i][j] = tableKey(rng.IntN(n))
			}
			for j := range fresh {
				batches[i][j] = tableKey(next + j)
			}
			next += fresh
		}
		for which, s := range tables {
			start := cpuTime()
			for _, keys = range batches {
				d := Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)}
				if err := s.Apply([]Delta{d}, 1, 0.01); err != nil {
					b.Fatal(err)
				}
			}
			took[which] += cpuTime() - start
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "times")
	b.ReportMetric(float64(b.N*turn*tableBatch)/1e6/took[1].Seconds(), "Mrows/CPU-s")
}
