package shard_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/shard"
	"thole.example/wire"
)

// countedMeta describes a matrix whose columns are counted.
func countedMeta(rows int64, keep matrix.Keep, rule string) *matrix.Meta {
	return &matrix.Meta{Name: "m", Rows: rows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: rule, Keep: keep}
}

// countsOf is the counts of all columns of a shard, as a mark reads them.
func countsOf(t *testing.T, s *shard.Shard) map[int64][2]float32 {
	t.Helper()
	m, rows := s.Mark(), int(s.Meta().Rows)
	defer m.Close()
	all, width := map[int64][2]float32{}, rows*(1+s.Slots())
	at := rows * (1 + s.Slots() - s.Meta().Keep.CountSlots(int64(rows)))
	for keys := m.Keys(1000); len(keys) > 0; keys = m.Keys(1000) {
		val := make([]float32, width*len(keys))
		if _, err := m.ReadState(wire.View(val), keys); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			all[key] = [2]float32{val[i*width+at], val[i*width+at+1]}
		}
	}
	return all
}

// TestCounts: counts are the sums of those that came, each decayed in its turns, and columns go when their score is below the threshold in
// their turn, whatever the rows, the rule and how the matrix is cut; a mark and a shard that goes on from it have the same counts.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		rows int64
		rule string
		keep matrix.Keep
	}{
		{1, "sgd", matrix.Keep{ShowWeight: 0.1, ClickWeight: 1, HalfLife: 20, EvictBelow: 0.5}},
		{3, "adagrad", matrix.Keep{ShowWeight: 0.5, HalfLife: 3, EvictBelow: 0.6}},
		{2, "momentum", matrix.Keep{ClickWeight: 1, ShowWeight: 0.25, EvictBelow: 6}},
		{4, "adam", matrix.Keep{ClickWeight: 1, ShowWeight: 0.25, HalfLife: 40, EvictBelow: 1, AdmitAfter: 2}},
	} {
		rule, err := optim.Find(nil, c.rule)
		if err != nil {
			t.Fatal(err)
		}
		m := countedMeta(c.rows, c.keep, c.rule)
		whole, err := shard.New(m, m.Rect(), 0, rule)
		if err != nil {
			t.Fatal(err)
		}
		var halves [2]*shard.Shard
		for i := range halves {
			if halves[i], err = shard.New(m, m.Rect(), 1, rule); err != nil {
				t.Fatal(err)
			}
		}
		turns, decay := c.keep.CountTurns()
		model, named, evicted := map[int64][2]float32{}, map[int64]int{}, 0
		rng := rand.New(rand.NewPCG(1, 2))
		for step := 1; step <= 150; step++ {
			var keys []int64
			for key := range int64(40) {
				if rng.IntN(int(key)/4+2) == 0 {
					keys = append(keys, key<<30)
				}
			}
			counts, grads := make([]float32, 2*len(keys)), make([]float32, int(c.rows)*len(keys))
			for i, key := range keys {
				counts[2*i], counts[2*i+1] = float32(1+rng.IntN(3)), float32(rng.IntN(2))
				_, there := model[key]
				if named[key]++; there || named[key] >= max(1, int(c.keep.AdmitAfter)) {
					model[key] = [2]float32{model[key][0] + counts[2*i], model[key][1] + counts[2*i+1]}
					delete(named, key)
				}
			}
			for i := range grads {
				grads[i] = float32(rng.NormFloat64())
			}
			for key, n := range maps.Clone(model) {
				if int(kernel.Hash(uint64(key))>>(64-turns)) != step&(1<<turns-1) {
					continue
				}
				n[0], n[1] = float32(float64(n[0])*decay), float32(float64(n[1])*decay)
				if model[key] = n; c.keep.ShowWeight*float64(n[0])+c.keep.ClickWeight*float64(n[1]) < c.keep.EvictBelow {
					delete(model, key)
					evicted++
				}
			}
			apply(t, whole, keys, grads, counts, -1)
			all := map[int64][2]float32{}
			for i, half := range halves {
				apply(t, half, keys, grads, counts, i)
				maps.Copy(all, countsOf(t, half))
			}
			if got := countsOf(t, whole); !maps.Equal(got, model) || !maps.Equal(all, model) {
				t.Fatalf("%+v, step %d: counts %v, in two parts %v, want %v", c.keep, step, got, all, model)
			}
			if step == 75 { // the rest is of a shard that goes on from a mark
				whole = goOn(t, whole)
			}
		}
		if evicted == 0 || whole.Fate().Evicted == 0 {
			t.Errorf("%+v: nothing was evicted", c.keep)
		}
	}
}

// apply makes a step with gradients and counts: of all keys, or of those whose hash begins with a bit.
func apply(t *testing.T, s *shard.Shard, keys []int64, grads, counts []float32, bit int) {
	t.Helper()
	m := s.Meta()
	var some []int64
	var g, n []float32
	for i, key := range keys {
		if bit < 0 || int(kernel.Hash(uint64(key))>>63) == bit {
			some, n = append(some, key), append(n, counts[2*i:2*i+2]...)
			g = append(g, grads[i*int(m.Rows):(i+1)*int(m.Rows)]...)
		}
	}
	var deltas []shard.Delta
	if len(some) > 0 {
		deltas = []shard.Delta{
			{Rows: m.CountRows(), Cols: m.Rect().Cols, Keys: some, Values: wire.View(n)},
			{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: some, Values: wire.View(g)},
		}
	}
	if err := s.Apply(deltas, 2, 0.1); err != nil {
		t.Fatal(err)
	}
}

// goOn is a shard with the state of another.
func goOn(t *testing.T, s *shard.Shard) *shard.Shard {
	t.Helper()
	rule, err := optim.Find(nil, s.Meta().Rule)
	if err != nil {
		t.Fatal(err)
	}
	to, err := shard.New(s.Meta(), s.At(), 0, rule)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Mark()
	defer m.Close()
	to.SetSteps(m.Steps())
	width := int(s.Meta().Rows) * (1 + s.Slots())
	for keys := m.Keys(7); len(keys) > 0; keys = m.Keys(7) {
		val := make([]float32, width*len(keys))
		if _, err := m.ReadState(wire.View(val), keys); err != nil {
			t.Fatal(err)
		}
		if err := to.RestoreColumns(s.At().Rows, keys, wire.View(val)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := m.Candidates(1000)
	if err == nil {
		err = to.RestoreCandidates(all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCountsBudget: with a budget the columns of the lowest scores go for new ones, not those that were named longest ago.
func TestCountsBudget(t *testing.T) {
	rule, err := optim.Find(nil, "sgd")
	if err != nil {
		t.Fatal(err)
	}
	m := countedMeta(2, matrix.Keep{ShowWeight: 1, MaxBytes: 1 << 20}, "sgd")
	s, err := shard.New(m, m.Rect(), 8, rule)
	if err != nil {
		t.Fatal(err)
	}
	var keys []int64 // of one bucket
	for key := int64(0); len(keys) < 400; key++ {
		if kernel.Hash(uint64(key))>>(64-8) == 0 {
			keys = append(keys, key)
		}
	}
	popular, most := keys[:10], 0
	step := func(some []int64, shows float32) {
		counts := make([]float32, 2*len(some))
		for i := range some {
			counts[2*i] = shows
		}
		apply(t, s, some, make([]float32, 2*len(some)), counts, -1)
	}
	step(popular, 100)
	for _, key := range keys[10:] { // nothing names the popular ones again
		step([]int64{key}, 1)
		most = max(most, s.Columns())
	}
	have := countsOf(t, s)
	for _, key := range popular {
		if have[key] != [2]float32{100, 0} {
			t.Errorf("column %d has counts %v, want 100 shows: it has the highest score", key, have[key])
		}
	}
	if n := int(s.Fate().Evicted); n == 0 || most >= len(keys) {
		t.Errorf("%d columns of %d at most, %d evicted: want some to go", most, len(keys), n)
	}
	if _, last := have[keys[399]]; !last {
		t.Errorf("the newest column is not there")
	}
}
