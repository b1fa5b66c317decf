package shard

import (
	"math/rand/v2"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/wire"
)

// TestBudgetHolds: index and rows of all partitions, with those of columns that are only counted, never take more than the budget,
// though three times as many columns are named as fit, also while a mark keeps what was; and they take most of it.
func TestBudgetHolds(t *testing.T) {
	rule, err := optim.Find(nil, "adagrad")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dim, bytes int64
		bits       int
		keep       matrix.Keep
	}{
		{1, 2 << 20, 4, matrix.Keep{}}, {16, 4 << 20, 4, matrix.Keep{ExpireAfter: 9}}, {16, 20 << 20, 4, matrix.Keep{}}, {5, 4 << 20, 8, matrix.Keep{}},
		{8, 6 << 20, 4, matrix.Keep{AdmitAfter: 2, ForgetAfter: 20}}, {64, 12 << 20, 0, matrix.Keep{AdmitAfter: 2}},
	} {
		m := matrix.Meta{Name: "m", Rows: c.dim, Cols: 1 << 62, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad", Keep: c.keep}
		m.Keep.MaxBytes = c.bytes
		all := make([]*keyed[float32], 1<<c.bits)
		for i := range all {
			s, err := New(&m, m.Rect(), c.bits, rule)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			all[i] = s.store.(*keyed[float32])
		}
		quotas, err := newQuotas(&m, rule.Slots)
		if err != nil {
			t.Fatal(err)
		}
		q := quotas.of[0]
		capacity, rng := q.most<<q.bits, rand.New(rand.NewPCG(3, 4))
		named := min(capacity/4, 10000)
		val := make([]float32, named*int(c.dim))
		var taken int64
		for step := int64(1); step <= int64(max(12, 3*capacity/named)); step++ {
			parts := make([][]int64, len(all))
			for range named {
				key := tableKey(rng.IntN(3 * capacity))
				if step%2 == 0 {
					key = tableKey(rng.IntN(capacity)) // more often
				}
				parts[kernel.Hash(uint64(key))>>(64-c.bits)] = append(parts[kernel.Hash(uint64(key))>>(64-c.bits)], key)
			}
			taken = 0
			for i, k := range all {
				d := Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: parts[i], Values: wire.View(val[:len(parts[i])*int(c.dim)])}
				if step == 5 {
					k.mark(nil)
				}
				if err := k.apply([]Delta{d}, 1, 1, step); err != nil {
					t.Fatal(err)
				}
				taken += k.index.bytes() + k.slab.bytes() + 4*int64(len(k.buckets.count))
				if w := k.life.candidates; w != nil {
					taken += w.index.bytes() + w.slab.bytes() + 4*int64(len(w.buckets.count))
				}
			}
			if taken > c.bytes {
				t.Fatalf("%+v: %d bytes after step %d", c, taken, step)
			}
		}
		stored, evicted := 0, int64(0)
		for _, k := range all {
			stored, evicted = stored+k.stored(), evicted+k.life.fate.Evicted
		}
		if evicted == 0 && c.keep == (matrix.Keep{}) || taken < c.bytes*6/10 {
			t.Errorf("%+v: %d columns of %d in %d bytes, %d were evicted", c, stored, capacity, taken, evicted)
		}
	}
}
