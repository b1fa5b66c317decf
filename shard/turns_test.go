package shard

import (
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
)

// TestTurns: in as many steps as there are turns every point of the index has one turn, in a partition of any hash.
func TestTurns(t *testing.T) {
	still := kernel.Idle{Form: kernel.Scales, Step: func(float64) kernel.Drift { return kernel.NoDrift() }}
	m := &matrix.Meta{Name: "m", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}
	for _, bits := range []int{0, 1, turnBits - 1, turnBits, turnBits + 2} {
		k, err := newKeyed[float32](m, m.Rect(), bits, psf.Step{Idle: &still}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if from, to := k.turnOf(1); from != to {
			t.Errorf("%d bits: points from %d to %d have a turn in an empty partition", bits, from, to)
		}
		for _, key := range []int64{1, 77, 4444} {
			k.index.keys, k.prefix = 1, kernel.Hash(uint64(key))>>(64-bits)
			point, had, points := k.index.spread.Point(kernel.Hash(uint64(key))), 0, uint64(0)
			for step := range uint64(turns) {
				from, to := k.turnOf(step)
				points += to - from
				if point >= from && point < to {
					had++
				}
			}
			if had != 1 || points != allPoints {
				t.Errorf("%d bits: column %d has %d turns, and there are %d points in all, want 1 and %d", bits, key, had, points, uint64(allPoints))
			}
		}
		k.index.keys = 0
		k.close()
	}
}
