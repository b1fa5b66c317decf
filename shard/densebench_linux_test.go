package shard

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/wire"
)

// BenchmarkDenseMark is what steps over all cells of a dense partition of a quarter of a GB with its slots cost whoever owns it, in
// milliseconds: before a mark, the first after it, and those while it is there.
func BenchmarkDenseMark(b *testing.B) {
	for _, name := range []string{"", "adagrad", "adam"} {
		b.Run(cmp.Or(name, "add"), func(b *testing.B) {
			m := matrix.Meta{Name: "w", Rows: 1, Cols: 256 << 20 / 4, DType: matrix.F32, Rule: name}
			var rule *psf.Rule
			if name != "" {
				var err error
				if rule, err = optim.Find(nil, name); err != nil {
					b.Fatal(err)
				}
				m.Cols /= int64(1 + rule.Slots)
			}
			s, err := New(&m, m.Rect(), 0, rule)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			s.ReadyMark(1 << 30)
			val := make([]float32, m.Cols)
			for i := range val {
				val[i] = float32(i%7) - 3
			}
			took := map[string][]time.Duration{}
			do := func(what string) {
				start := time.Now()
				if err := s.Apply([]Delta{{Rows: s.At().Rows, Cols: s.At().Cols, Values: wire.View(val)}}, 1, 0.1); err != nil {
					b.Fatal(err)
				}
				took[what] = append(took[what], time.Since(start))
			}
			k := s.Mark() // a first one waits for its memory
			do("ready")
			k.Close()
			delete(took, "ready")
			for b.Loop() {
				for range 5 {
					do("before")
				}
				k := s.Mark()
				do("first")
				do("later")
				k.Close()
			}
			for what, all := range took {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-"+what)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
