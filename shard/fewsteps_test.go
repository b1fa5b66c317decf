package shard_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// TestFewSteps: whatever is applied at once has the bits of what is applied by one partition after the other: columns that are there, and
// new ones, none, one twice, of some rows, of tables that track changes or lose columns.
func TestFewSteps(t *testing.T) {
	metas := append([]matrix.Meta{{Name: "sum", DType: matrix.F32}, {Name: "wide", DType: matrix.F64, Rule: "adagrad"}}, besideMetas...)
	metas = append(metas, matrix.Meta{Name: "round", DType: matrix.F32, Storage: matrix.BF16},
		matrix.Meta{Name: "idle", DType: matrix.F32, Rule: "momentum"})
	taken := map[string]int{}
	for _, m := range metas {
		m.Rows, m.Cols, m.Layout = 3, 1<<40, matrix.RowSparse
		t.Run(m.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			var few shard.FewSteps
			few3, one := threeOf(t, &m), threeOf(t, &m)
			for clock := range int64(60) {
				if clock == 20 {
					for i := range few3 {
						few3[i].Track("x")
						one[i].Track("x")
					}
				}
				weight := float64(rng.IntN(3)) // 0: no step
				var deltas []shard.Delta
				var added []int
				left := func(i int) {
					applyStep(t, few3[added[i]], deltas[added[i]], weight, clock)
					taken[m.Name]--
				}
				for i, s := range few3 {
					d := someColumns(rng, &m)
					deltas = append(deltas, d)
					applyStep(t, one[i], d, weight, clock)
					if few.Add(s, d, clock) {
						added = append(added, i)
						taken[m.Name]++
					} else {
						applyStep(t, s, d, weight, clock)
					}
				}
				few.Apply(weight, 0.1, left)
				for i := range few3 {
					same(t, few3[i], one[i])
				}
			}
		})
	}
	for _, name := range []string{"plain", "sum", "wide", "adds", "behind", "narrow", "round"} {
		if taken[name] < 20 {
			t.Errorf("%s: %d deltas were applied at once, want more", name, taken[name])
		}
	}
	for _, name := range []string{"idle", "expiring", "budget"} {
		if taken[name] > 0 {
			t.Errorf("%s: deltas were applied at once, and its steps change columns that they do not name", name)
		}
	}
}

// threeOf are three partitions of a matrix, all of the same place.
func threeOf(t *testing.T, m *matrix.Meta) (all []*shard.Shard) {
	var rule *psf.Rule
	if m.Rule != "" {
		var err error
		if rule, err = optim.Find(nil, m.Rule); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		s, err := shard.New(m, m.Rect(), 0, rule)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		all = append(all, s)
	}
	return all
}

// someColumns is a delta of up to 40 columns out of 60, mostly of all rows.
func someColumns(rng *rand.Rand, m *matrix.Meta) shard.Delta {
	d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: []int64{}}
	if rng.IntN(5) == 0 {
		d.Rows.Lo = 1
	}
	for range rng.IntN(40) {
		d.Keys = append(d.Keys, rng.Int64N(60)*1_000_003)
	}
	n := len(d.Keys) * int(d.Rows.Len())
	switch m.DType {
	case matrix.F32:
		d.Values = wire.View(drawn[float32](rng, n))
	case matrix.F64:
		d.Values = wire.View(drawn[float64](rng, n))
	default:
		d.Values = wire.View(drawn[int64](rng, n))
	}
	return d
}

func drawn[T float32 | float64 | int64](rng *rand.Rand, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = T(100 * rng.NormFloat64())
	}
	return all
}

func applyStep(t *testing.T, s *shard.Shard, d shard.Delta, weight float64, clock int64) {
	t.Helper()
	s.SetClock(clock)
	if err := s.Apply([]shard.Delta{d}, weight, 0.1); err != nil {
		t.Fatal(err)
	}
}

// same wants two partitions to have the same columns, values and steps.
func same(t *testing.T, a, b *shard.Shard) {
	t.Helper()
	stored := func(s *shard.Shard) (keys []int64, values []byte) {
		keys, values, err := s.Stored(s.At().Rows, s.At().Cols, func(_, n int) []byte { return wire.View(make([]uint64, (n+7)/8))[:n] })
		if err != nil {
			t.Fatal(err)
		}
		return keys, values
	}
	ka, va := stored(a)
	kb, vb := stored(b)
	if !bytes.Equal(wire.View(ka), wire.View(kb)) || !bytes.Equal(va, vb) || a.Steps() != b.Steps() {
		t.Fatalf("%d columns after %d steps, want %d after %d, or values differ", len(ka), a.Steps(), len(kb), b.Steps())
	}
}
