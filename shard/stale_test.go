package shard_test

import (
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// behindOf is a sparse matrix whose columns are behind, and its rule.
func behindOf(t *testing.T) (*matrix.Meta, *psf.Rule) {
	t.Helper()
	rule, err := optim.Find(nil, "momentum")
	if err != nil {
		t.Fatal(err)
	}
	return &matrix.Meta{Name: "m", Rows: 3, Cols: 9, DType: matrix.F64, Layout: matrix.RowSparse, Rule: rule.Name}, rule
}

// stale is a column of a partition, with its slot, and the step that it is as of.
func stale(t *testing.T, s *shard.Shard, key int64) (*shard.Past, []byte, []int64) {
	t.Helper()
	m := s.Mark()
	defer m.Close()
	val, stamps := make([]float64, 2*s.At().Rows.Len()), make([]int64, 1)
	_, err := m.ReadStale(wire.View(val), stamps, []int64{key})
	must(t, err)
	return m.Past(), wire.View(val), stamps
}

// TestRestoreStaleParts: two partitions have some rows of a column each, as of different steps, and one gets it with all rows, or
// one that is ahead of both.
func TestRestoreStaleParts(t *testing.T) {
	m, rule := behindOf(t)
	for _, ahead := range []int64{0, 5} {
		whole, want := newShard(t, m, 0, rule), []float64(nil)
		whole.SetSteps(4 + ahead)
		for i, rows := range []matrix.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3}} {
			s, err := shard.New(m, matrix.Rect{Rows: rows, Cols: m.Rect().Cols}, 0, rule)
			if err != nil {
				t.Fatal(err)
			}
			for step := range 4 {
				var deltas []shard.Delta
				if step == i {
					deltas = append(deltas, gradient(s, []int64{7}, []float64{1, 2}[:rows.Len()]))
				}
				must(t, s.Apply(deltas, 1, 0.1))
			}
			past, val, stamps := stale(t, s, 7)
			if stamps[0] != int64(i+1) {
				t.Fatalf("the column of rows %v is as of step %d, want %d", rows, stamps[0], i+1)
			}
			before := slices.Clone(val)
			must(t, whole.RestoreStale(past, rows, []int64{7}, val, stamps))
			if !slices.Equal(val, before) {
				t.Error("the values that were given have changed")
			}
			want = append(want, weights(t, s, []int64{7})...)
		}
		if got := weights(t, whole, []int64{7}); !slices.Equal(got, want) {
			t.Errorf("%d steps ahead: restored %v, want %v", ahead, got, want)
		}
	}
}

// TestRestoreStaleRefuses: what does not fit is refused, with what was found and what was wanted.
func TestRestoreStaleRefuses(t *testing.T) {
	m, rule := behindOf(t)
	s := newShard(t, m, 0, rule)
	for step := range 3 {
		must(t, s.Apply([]shard.Delta{gradient(s, []int64{int64(step)}, []float64{1, 2, 3})}, 1, 0.1))
	}
	past, val, _ := stale(t, s, 0)
	rows, none := m.Rect().Rows, m.Rect()
	_, many := shard.NewPast(m, rule, 2, past.Rates())
	_, long := shard.NewPast(m, rule, 1<<40, make([]float64, 1<<20))
	short, err := shard.NewPast(m, rule, 3, past.Rates()[1:])
	must(t, err)
	mark := s.Mark()
	defer mark.Close()
	_, stampless := mark.ReadStale(val, nil, []int64{0})
	for i, c := range []struct {
		err  error
		want string
	}{
		{s.RestoreStale(nil, rows, []int64{0}, val, []int64{1}), "want as many, and the past of their partition"},
		{s.RestoreStale(past, rows, []int64{0}, val, nil), "0 steps for 1 columns"},
		{s.RestoreStale(past, rows, []int64{0}, val, []int64{4}), "a column as of step 4, want one from 0 to 3"},
		{s.RestoreStale(short, rows, []int64{0}, val, []int64{0}), "a column as of step 0, want one from 1 to 3"},
		{s.RestoreStale(past, rows, []int64{0, 1}, val, []int64{1, 1}), "48 bytes for 2 x 6"},
		{s.RestoreStale(past, none.Cols, []int64{0}, val, []int64{1}), "48 bytes for 1 x 18"},
		{many, "rates of 3 steps of 2"},
		{long, "rates of 1048576 steps"},
		{stampless, "0 steps of 1 columns"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", i, c.err, c.want)
		}
	}
	if p, err := shard.NewPast(m, standing(*rule), 2, nil); p != nil || err != nil {
		t.Errorf("a rule whose columns stand still has a past: %v, %v", p, err)
	}
	packed := *m
	packed.DType, packed.Storage = matrix.F32, matrix.BF16
	if p, err := shard.NewPast(&packed, rule, 2, nil); p != nil || err != nil {
		t.Errorf("columns that are kept in fewer bytes have a past: %v, %v", p, err)
	}
}
