package ps_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// TestFilter (D13): what is at or below the threshold is not sent and not lost: what was sent and what stays are together the sum of the
// increments, and when the filter is taken away, or the task leaves, the servers have all of it.
func TestFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, w, stop := onWitness(t, ps.Options{Bound: ssp.ASP}, rapid.IntRange(1, 3).Draw(t, "servers"))
		defer stop()
		model := ps.NewModel("m", rapid.Int64Range(1, 4).Draw(t, "rows"), rapid.Int64Range(1, 100).Draw(t, "cols"))
		if rapid.Bool().Draw(t, "sparse") {
			model.SetRowType(rowType(t, "T_DOUBLE_SPARSE"))
		}
		model.SetOplogType(rapid.SampledFrom([]string{"auto", "DENSE_DOUBLE", "SPARSE_DOUBLE"}).Draw(t, "oplog"))
		limit := rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "limit")
		if rapid.Bool().Draw(t, "attributes") {
			model.SetAttribute("matrix.oplog.enablefilter", "true")
			model.SetAttribute("matrix.oplog.filter.threshold", map[float64]string{0: "0", 0.5: "0.5", 3: "3.0"}[limit])
		} else {
			model.SetFilter(limit)
		}
		ms, err := p.CreateModels(context.Background(), model)
		must(t, err)
		m, total := ms[0], increments[float64]{}
		before := map[cell]float64{}
		value := func() float64 { return float64(rand.IntN(17)-8) / 4 } // whose sums are exact
		for range rapid.IntRange(1, 4).Draw(t, "flushes") {
			for range rapid.IntRange(0, 6).Draw(t, "increments") {
				drawIncrement(t, m, total, value)
			}
			must(t, p.Flush(context.Background()))
			sent := w.taken()
			got := cellsOf(t, m)
			for at := range sent {
				if was := before[at]; m.Meta().Layout == matrix.RowSparse && m.Meta().Rows == 1 && math.Abs(got[at]-was) <= limit {
					t.Fatalf("cell %v was sent for %v, want more than %v", at, got[at]-was, limit)
				}
			}
			before = got
			for at, v := range total {
				if stays := v - got[at]; math.Abs(stays) > limit {
					t.Fatalf("cell %v is %v of %v, more than %v stays", at, got[at], v, limit)
				}
			}
			for at, v := range got {
				if _, ok := total[at]; !ok && v != 0 {
					t.Fatalf("cell %v is %v, and was not touched", at, v)
				}
			}
		}
		must(t, p.Flush(context.Background()))
		if again := w.taken(); len(again) > 0 {
			t.Fatalf("a flush of nothing but what stays sends %v", again)
		}
		m.SetFilter(-1)
		must(t, p.SyncClock(context.Background()))
		got := cellsOf(t, m)
		for at, v := range total {
			if got[at] != v {
				t.Fatalf("without the filter cell %v is %v, want %v", at, got[at], v)
			}
		}
	})
}

// cellsOf reads all cells.
func cellsOf(t failer, m *ps.Matrix) map[cell]float64 {
	t.Helper()
	got := map[cell]float64{}
	for r := range m.Meta().Rows {
		row, err := m.GetRow(context.Background(), r)
		must(t, err)
		for c, v := range row.ToDense().Data.Values().([]float64) {
			got[cell{r, m.Meta().ColLo + int64(c)}] = v
		}
	}
	return got
}

// TestFilterHolds: small increments are sent when their sum is beyond the threshold, and with Leave whatever they are.
func TestFilterHolds(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	model := ps.NewModel("m", 1, 4)
	model.SetFilter(1)
	ms, err := p.CreateModels(t.Context(), model)
	must(t, err)
	for i, want := range []float64{0, 0, 1.5, 1.5, 1.5} {
		must(t, ms[0].Increment(dense(matrix.At(0, 1, 1, 2), 0.5)))
		must(t, p.SyncClock(t.Context()))
		if got := c.sum("m", cell{0, 1}); got != want {
			t.Errorf("after %d increments of 0.5 the cell is %v, want %v", i+1, got, want)
		}
	}
	must(t, ms[0].Increment(dense(matrix.At(0, 1, 3, 4), math.NaN())))
	must(t, p.SyncClock(t.Context()))
	if got := c.sum("m", cell{0, 3}); !math.IsNaN(got) {
		t.Errorf("what is no number came as %v, want it as it is", got)
	}
	must(t, p.Leave(t.Context()))
	if got := c.sum("m", cell{0, 1}); got != 2.5 {
		t.Errorf("after Leave the cell is %v, want 2.5", got)
	}
}

// TestFilterRefused: what a refused change brought and what the filter has kept are one increment of each cell when they are sent.
func TestFilterRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{Bound: ssp.ASP})
	defer p.Close()
	model := ps.NewModel("m", 1, 3)
	model.SetFilter(1)
	ms, err := p.CreateModels(t.Context(), model)
	must(t, err)
	must(t, ms[0].Increment(dense(matrix.At(0, 1, 0, 3), 0.5, 3, 4)))
	c.stores[0].change = func(*rpc.Request) error { return errRefused }
	if err := p.Flush(t.Context()); err == nil {
		t.Fatal("the change was not refused")
	}
	c.stores[0].change = nil
	ms[0].SetFilter(-1)
	_, parts := c.count()
	must(t, p.Flush(t.Context()))
	if parts[rpc.OpPush] != 1 || c.sum("m", cell{0, 0}) != 0.5 || c.sum("m", cell{0, 2}) != 4 {
		t.Errorf("%d parts, cells %v and %v, want one part, 0.5 and 4", parts[rpc.OpPush], c.sum("m", cell{0, 0}), c.sum("m", cell{0, 2}))
	}
}
