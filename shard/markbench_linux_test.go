package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/wire"
)

// BenchmarkMark is what a mark of a GB of columns, in one partition, costs whoever owns it, in milliseconds: the mark itself, a
// step of 2,048 random columns before and with it, and what the owner lists of it between steps; and what whoever reads it pays to sort
// 16,384 columns and to copy 2,048.
func BenchmarkMark(b *testing.B) {
	const n, batch, bandKeys = 8_000_000, 2048, 2048
	s := newTable(b, "adagrad", tableDim, nil)
	defer s.Close()
	fillTable(b, s, n)
	s.MarkAll("", "0").Close()
	rng := rand.New(rand.NewPCG(1, 2))
	keys, val := make([]int64, batch), make([]float32, batch*tableDim)
	step := func() {
		for i := range keys {
			keys[i] = tableKey(rng.IntN(n))
		}
		d := Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)}
		if err := s.Apply([]Delta{d}, 1, 0.1); err != nil {
			b.Fatal(err)
		}
	}
	for range 200 {
		step()
	}
	for i, mode := range []string{"whole", "increment"} {
		b.Run(mode, func(b *testing.B) {
			took := map[string][]time.Duration{}
			do := func(what string, f func()) {
				start := time.Now()
				f()
				took[what] = append(took[what], time.Since(start))
			}
			for range 300 {
				do("before", step)
			}
			var m *Mark
			do("mark", func() {
				if mode == "whole" {
					m = s.MarkAll(fmt.Sprint(i), fmt.Sprint(i+1))
				} else {
					var err error
					if m, err = s.MarkSince(fmt.Sprint(i), fmt.Sprint(i+1)); err != nil {
						b.Fatal(err)
					}
				}
			})
			rows := matrix.NewDense(matrix.F32, matrix.At(0, bandKeys, 0, 2*tableDim))
			dst := wire.View(rows.Data.Values().([]float32))
			var c Columns
			for more := true; more; {
				do("list", func() { more = m.List(&c, 8*bandKeys) })
				do("sort", func() { m.Sort(&c) })
				for lo := 0; lo < c.Len(); lo += bandKeys {
					do("copy", func() {
						some := c.Part(lo, min(lo+bandKeys, c.Len()))
						if err := m.Copy(dst[:some.Len()*2*tableDim*4], nil, some, false); err != nil {
							b.Fatal(err)
						}
					})
				}
				do("step", step)
			}
			do("close", m.Close)
			for what, all := range took {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-"+what)
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99-"+what)
				b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "ms-longest-"+what)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
