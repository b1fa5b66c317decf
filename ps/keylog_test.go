package ps

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/part"
)

// TestPlanGrouped: keys that earlier plans have put together by partition have the plan that they have without knowing that.
func TestPlanGrouped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		meta := matrix.Meta{Name: "m", Rows: 2, Cols: rapid.SampledFrom([]int64{50, 5000, 1 << 40}).Draw(t, "cols"), DType: matrix.F32,
			Layout: matrix.RowSparse}
		p, err := part.Lookup(rapid.SampledFrom([]string{"hash", "column"}).Draw(t, "cut"), &meta)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := part.NewMap(&meta, p, rapid.IntRange(1, 4).Draw(t, "servers"), 1)
		if err != nil {
			t.Fatal(err)
		}
		m := &Matrix{meta: meta, parts: parts}
		l, one := &keyLog[float32]{rows: meta.Rect().Rows}, &Keys{}
		for range rapid.IntRange(1, 5).Draw(t, "pushes") {
			keys := rapid.SliceOfN(rapid.Int64Range(0, meta.Cols-1), 0, 300).Draw(t, "keys")
			if err := one.plan(parts, meta.Rect().Cols, keys); err != nil {
				t.Fatal(err)
			}
			l.add(one.unique, one.groups, make([]float32, 2*len(one.unique)), 2)
		}
		if l.grouped != len(l.keys) {
			t.Fatalf("%d of %d keys are in groups", l.grouped, len(l.keys))
		}
		got, want := &Keys{}, &Keys{}
		if err := l.plan(got, m); err != nil {
			t.Fatal(err)
		}
		if err := want.plan(parts, meta.Rect().Cols, l.keys); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.unique, want.unique) || !slices.Equal(got.groups, want.groups) ||
			!slices.Equal(got.Positions(nil), want.Positions(nil)) {
			t.Fatalf("keys %v in groups %v, want %v in %v", got.unique, got.groups, want.unique, want.groups)
		}
		l.add([]int64{1, 0}, nil, make([]float32, 4), 2)
		l.add([]int64{2}, one.groups[:0:0], make([]float32, 2), 2)
		if err := l.plan(got, m); err != nil {
			t.Fatal(err)
		}
		if l.grouped == len(l.keys) || got.inputs != len(l.keys) {
			t.Fatalf("keys of no plan are in its groups")
		}
	})
}
