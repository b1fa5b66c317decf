package ps_test

import (
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// count counts requests and parts by operation.
func (c *cluster) count() (requests, parts map[rpc.Op]int) {
	requests, parts = map[rpc.Op]int{}, map[rpc.Op]int{}
	c.fate = func(_ int, q *rpc.Request) fate {
		requests[q.Op]++
		parts[q.Op] += len(q.Parts)
		return delivered
	}
	return requests, parts
}

// TestOneMessageEach: a large row of 20 servers takes 20 messages, as does a batch of keys or a step of everything.
func TestOneMessageEach(t *testing.T) {
	c := newCluster(20)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d := create(t, p, "", matrix.Meta{Name: "d", Rows: 2, Cols: 100_000, DType: matrix.F32})
	s := create(t, p, "", matrix.Meta{Name: "s", Rows: 2, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse})
	keys := make([]int64, 5000)
	for i := range keys {
		keys[i] = int64(i) << 20
	}
	k, err := s.Plan(nil, keys)
	must(t, err)
	requests, _ := c.count()
	row, err := d.GetRow(t.Context(), 1)
	must(t, err)
	must(t, ps.PullKeys(t.Context(), s, k, make([]float32, 10000)))
	if requests[rpc.OpPull] != 40 || row.Data.NNZ() != 100_000 {
		t.Errorf("%v messages for a row of %d values and for keys, want 20 each", requests, row.Data.NNZ())
	}
	must(t, ps.PushKeys(s, k, make([]float32, 10000)))
	must(t, ps.PushKeys(s, k, make([]float32, 10000)))
	must(t, d.Increment(row))
	_, err = p.Next(t.Context(), 1, 1, []matrix.Lookup{{Matrix: "d"}, {Matrix: "s", Cols: keys[:9]}}, nil)
	must(t, err)
	if requests[rpc.OpPush] != 20 || requests[rpc.OpPull] != 40 {
		t.Errorf("%v messages for a step, want 20", requests)
	}
	c.right(t)
}

// TestRowsAreCopies (T27): what a task gets it may change, and what it gives it may change again.
func TestRowsAreCopies(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	keys := []int64{1, 5}
	for range 3 { // asked for, from the cache, and from the cache again
		row, err := d.GetRow(t.Context(), 0)
		must(t, err)
		cols, err := s.GetCols(t.Context(), keys)
		must(t, err)
		got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "s", Cols: keys}})
		must(t, err)
		for _, b := range []matrix.Block{row, cols, got[0]} {
			val := b.Data.Values().([]float64)
			if slices.Min(val) != 1 || slices.Max(val) != 1 {
				t.Fatalf("values %v, want ones", val)
			}
			clear(val)
		}
		keys[0], keys[1] = 2, 6 // the answers' keys are their own
		for _, b := range []matrix.Block{cols, got[0]} {
			if idx := b.Data.(matrix.Keyed).Keys(); !slices.Equal(idx, []int64{1, 5}) {
				t.Fatalf("keys %v, want 1 and 5", idx)
			}
		}
		keys[0], keys[1] = 1, 5
	}
}

// TestIndicesStay (T28): rows and keys that are given to a call are as they were when it returns, in any order and with duplicates.
func TestIndicesStay(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		c := newCluster(3)
		p := c.dial(t, ps.Options{Bound: ssp.ASP})
		defer p.Close()
		m := create(t, p, "", matrix.Meta{Name: "m", Rows: 4, Cols: 200, DType: matrix.F64, Layout: layout})
		rows, keys, ascending := []int64{3, 1, 2, 1}, []int64{150, 7, 199, 7, 0}, []int64{0, 7, 150, 199}
		stay := func(after string) {
			t.Helper()
			if !slices.Equal(rows, []int64{3, 1, 2, 1}) || !slices.Equal(keys, []int64{150, 7, 199, 7, 0}) ||
				!slices.Equal(ascending, []int64{0, 7, 150, 199}) {
				t.Fatalf("%v: after %s the rows are %v, the keys %v and %v", layout, after, rows, keys, ascending)
			}
		}
		must(t, m.IncrementRows(rows, dense(matrix.At(0, 4, 0, 2), 1, 2, 3, 4, 5, 6, 7, 8)))
		must(t, p.Flush(t.Context()))
		stay("IncrementRows")
		_, err := m.GetRows(t.Context(), rows)
		must(t, err)
		stay("GetRows")
		for _, err := range m.GetRowsFlow(t.Context(), rows, 2) {
			must(t, err)
		}
		stay("GetRowsFlow")
		k, err := m.Plan(nil, keys)
		must(t, err)
		must(t, ps.PushKeys(m, k, make([]float64, 4*len(keys))))
		must(t, p.Flush(t.Context()))
		must(t, ps.PullKeys(t.Context(), m, k, make([]float64, 4*len(keys))))
		stay("Plan, PushKeys and PullKeys")
		_, err = m.GetCols(t.Context(), ascending)
		must(t, err)
		_, err = p.Next(t.Context(), 0, 0, []matrix.Lookup{{Matrix: "m", Cols: ascending}}, nil)
		must(t, err)
		stay("GetCols and Next")
		c.right(t)
	}
}

// TestCache: rows under the bound come from the cache and say their clock.
func TestCache(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{Bound: 2, Bounds: map[string]ssp.Bound{"s": ssp.ASP}})
	defer p.Close()
	d, s := both(t, p)
	requests, _ := c.count()
	for clock, want := range []int{2, 2, 2, 4, 4} { // every third clock, two servers
		_, err := d.GetRows(t.Context(), []int64{0, 0})
		must(t, err)
		if requests[rpc.OpPull] != want {
			t.Errorf("at clock %d: %d requests, want %d", clock, requests[rpc.OpPull], want)
		}
		if asOf := clock / 3 * 3; d.AsOf() != asOf {
			t.Errorf("at clock %d: values as of %d, want %d", clock, d.AsOf(), asOf)
		}
		must(t, p.SyncClock(t.Context()))
	}
	for range 2 {
		_, err := s.GetRow(t.Context(), 0)
		must(t, err)
	}
	if requests[rpc.OpPull] != 8 {
		t.Errorf("%d requests, want 8: rows under ASP are asked for each time", requests[rpc.OpPull])
	}
}

// TestCacheForgets: a function beside the data, and a load, empty the cache.
func TestCacheForgets(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{Bound: 2})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	reads := func(want float64) {
		t.Helper()
		for range 2 {
			row, err := d.GetRow(t.Context(), 0)
			must(t, err)
			if v := row.Data.Values().([]float64)[0]; v != want {
				t.Errorf("the row has %v, want %v", v, want)
			}
		}
	}
	reads(1)
	must(t, p.Save(t.Context(), ps.SaveOptions{Codec: "x", Path: "m"}))
	must(t, d.Update(t.Context(), "double", nil))
	reads(2)
	must(t, p.Load(t.Context(), ps.LoadOptions{Path: "m"}))
	reads(1)
	c.right(t)
}

// TestScatteredRows (T3, T4): one call adds to rows in any order, and some several times, what the delta was then.
func TestScatteredRows(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Bound: ssp.ASP})
		defer p.Close()
		m := create(t, p, "column", matrix.Meta{Name: "m", Rows: 5, Cols: 2, DType: matrix.F64, Layout: layout})
		rows := []int64{4, 1, 2, 4, 0}
		delta := dense(matrix.At(0, 5, 0, 2), 1, 2, 3, 4, 5, 6, 10, 20, 7, 8)
		whole, one := dense(matrix.At(0, 5, 0, 2), 0, 0, 0, 0, 0, 0, 100, 100, 0, 0), dense(matrix.At(3, 4, 0, 2), 100, 100)
		must(t, m.IncrementRows(rows, delta))
		must(t, m.IncrementRows([]int64{0, 1, 2, 3, 4}, whole))
		must(t, m.Increment(one))
		for _, b := range []matrix.Block{delta, whole, one} {
			clear(b.Data.Values().([]float64))
		}
		must(t, p.Flush(t.Context()))
		got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "m"}})
		must(t, err)
		want := []float64{7, 8, 3, 4, 5, 6, 200, 200, 11, 22}
		if val := got[0].ToDense().Data.Values().([]float64); !slices.Equal(val, want) {
			t.Errorf("%v: %v, want %v", layout, val, want)
		}
		for text, err := range map[string]error{
			"row 5, want one in [0,5), at position 1":    m.IncrementRows([]int64{0, 5}, dense(matrix.At(0, 2, 0, 1), 1, 1)),
			"delta of rows [0,2), want [0,1)":            m.IncrementRows([]int64{0}, dense(matrix.At(0, 2, 0, 1), 1, 1)),
			"delta of columns [0,3), want some in [0,2)": m.IncrementRows([]int64{0}, dense(matrix.At(0, 1, 0, 3), 1, 1, 1)),
			"delta of rows [1,2), want [0,1)":            m.IncrementRows([]int64{0}, dense(matrix.At(1, 2, 0, 1), 1)),
		} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %s", err, text)
			}
		}
		c.right(t)
	}
}

// TestFlowAhead wants a flow to begin at once, and to ask for two batches beyond what was taken at most, however slow the
// consumer is; also when it stops early and when a row is not there.
func TestFlowAhead(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	const rows, batch = 1000, 10
	m := create(t, p, "column", matrix.Meta{Name: "m", Rows: rows, Cols: 3, DType: matrix.F32})
	ids := make([]int64, rows)
	for i := range ids {
		ids[i] = int64(rows - 1 - i)
	}
	_, parts := c.count()
	flow := m.GetRowsFlow(t.Context(), ids, batch)
	if n := parts[rpc.OpPull]; n != 0 {
		t.Errorf("%d rows asked for before the first is taken", n)
	}
	taken := 0
	for b, err := range flow {
		if err != nil || b.At.Rows.Lo != ids[taken] {
			t.Fatalf("row %v, %v, want row %d", b.At, err, ids[taken])
		}
		taken++
		if ahead := parts[rpc.OpPull] - taken; ahead > 2*batch {
			t.Fatalf("%d rows asked for beyond the %d taken, want %d at most", ahead, taken, 2*batch)
		}
		if taken == rows/2 {
			break
		}
	}
	if taken != rows/2 {
		t.Errorf("%d rows come, want %d", taken, rows/2)
	}
	taken = 0
	for _, err := range m.GetRowsFlow(t.Context(), []int64{1, 2, rows}, 2) {
		if taken++; taken <= 2 != (err == nil) {
			t.Errorf("position %d of rows 1, 2 and one too many: %v", taken, err)
		}
	}
	for range m.GetRowsFlow(t.Context(), nil, -1) {
		t.Error("a row of no rows")
	}
	taken = 0
	for range m.GetRowsFlow(t.Context(), ids, -1) {
		taken++
	}
	if taken != rows {
		t.Errorf("%d rows, want %d", taken, rows)
	}
}

// TestOneMatrixTicks: the clock of one matrix moves alone.
func TestOneMatrixTicks(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, d.Clock(t.Context(), 0, 0))
	got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "d"}, {Matrix: "s", Cols: []int64{1}}})
	must(t, err)
	if a, b := got[0].Data.Values().([]float64)[0], got[1].Data.Values().([]float64)[0]; a != 1 || b != 0 {
		t.Errorf("d is %v and s is %v, want 1 and, not ticked, 0", a, b)
	}
	if d.Now() != 1 || s.Now() != 0 || p.Now() != 0 {
		t.Errorf("clocks %d, %d and %d, want 1, 0 and 0", d.Now(), s.Now(), p.Now())
	}
	must(t, p.Clock(t.Context(), 0, 0))
	got, err = p.Pull(t.Context(), []matrix.Lookup{{Matrix: "s", Cols: []int64{1}}})
	must(t, err)
	if v := got[0].Data.Values().([]float64)[0]; v != 1 || d.Now() != 2 || s.Now() != 1 {
		t.Errorf("s is %v, clocks %d and %d, want 1, 2 and 1", v, d.Now(), s.Now())
	}
	c.right(t)
}

// TestAverage: increments are divided by the number of tasks, however they are made.
func TestAverage(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{Bound: ssp.ASP, Tasks: 4})
	defer p.Close()
	dense, sparse := ps.NewModel("d", 1, 9), ps.NewModel("s", 1, 1000)
	sparse.SetRowType(rowType(t, "T_DOUBLE_SPARSE"))
	dense.SetAverage(true)
	sparse.SetAverage(true)
	ms, err := p.CreateModels(t.Context(), dense, sparse)
	must(t, err)
	d, s := ms[0], ms[1]
	pushOnes(t, d, s)
	must(t, p.Flush(t.Context()))
	wantOnes(t, c, 0.25)
}

func rowType(t failer, name string) matrix.RowType {
	t.Helper()
	r, err := matrix.ParseRowType(name)
	must(t, err)
	return r
}

// TestPushRefused: a delta that is none of the matrix is refused where it is pushed.
func TestPushRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	both(t, p)
	for want, b := range map[string]matrix.Block{
		"delta at rows [0,1) x cols [0,10), want one within rows [0,1) x cols [0,9)": matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 10)),
		"delta of f32, want f64": matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 9)),
		"delta without data":     {At: matrix.At(0, 1, 0, 9)},
		"dense: 1 values":        dense(matrix.At(0, 1, 0, 9), 1),
	} {
		if err := p.Push("d", b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := p.Push("x", matrix.Block{}); err == nil || !strings.Contains(err.Error(), `no matrix "x", there are ["d" "s"]`) {
		t.Errorf("no matrix: %v", err)
	}
}

// TestPullRow: a row of a dense matrix comes into memory that fits it.
func TestPullRow(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	row := make([]float64, 9)
	must(t, ps.PullRow(t.Context(), d, 0, row))
	if slices.Min(row) != 1 {
		t.Errorf("%v, want ones", row)
	}
	for want, err := range map[string]error{
		"room for 8 values of f64, want 9 of f64": ps.PullRow(t.Context(), d, 0, row[:8]),
		"room for 9 values of i64, want 9 of f64": ps.PullRow(t.Context(), d, 0, make([]int64, 9)),
		"row 1, want one in [0,1)":                ps.PullRow(t.Context(), d, 1, row),
		"matrix s is sparse":                      ps.PullRow(t.Context(), s, 0, row),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCreateAgain: a matrix that is there stays what it is.
func TestCreateAgain(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	if again := create(t, p, "", *d.Meta()); again != d {
		t.Error("another handle of the same matrix")
	}
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	err := p.Create(t.Context(), "", *d.Meta()) // the stores say clock 0
	if err == nil || !strings.Contains(err.Error(), "matrix d is there, at clock 1, and not at 0") {
		t.Errorf("created again: %v", err)
	}
}

// TestGetRects pulls rectangles across partitions: each server gets one message for all of them, and others are refused.
func TestGetRects(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	m := create(t, p, "column", matrix.Meta{Name: "m", Rows: 4, Cols: 30, BlockCols: 5, DType: matrix.F64})
	s := create(t, p, "", matrix.Meta{Name: "s", Rows: 1, Cols: 9, DType: matrix.F64, Layout: matrix.RowSparse})
	all := matrix.Dense[float64]{Val: make([]float64, 120)}
	for i := range all.Val {
		all.Val[i] = float64(i)
	}
	must(t, m.Increment(matrix.Block{At: m.Meta().Rect(), Data: &all}))
	must(t, p.SyncClock(t.Context()))
	requests, _ := c.count()
	got, err := m.GetRects(t.Context(), []matrix.Rect{matrix.At(1, 3, 3, 7), matrix.At(0, 1, 25, 26), matrix.At(2, 4, 12, 13)})
	must(t, err)
	for i, want := range [][]float64{{33, 34, 35, 36, 63, 64, 65, 66}, {25}, {72, 102}} {
		if v := got[i].Data.(*matrix.Dense[float64]).Val; !slices.Equal(v, want) {
			t.Errorf("rectangle %v is %v, want %v", got[i].At, v, want)
		}
	}
	if requests[rpc.OpPull] != 3 {
		t.Errorf("%d messages, want one to each of 3 servers", requests[rpc.OpPull])
	}
	if _, err := m.GetRects(t.Context(), []matrix.Rect{matrix.At(0, 1, 0, 1), matrix.At(0, 5, 0, 1)}); err == nil ||
		!strings.Contains(err.Error(), "at position 1, want one within") {
		t.Errorf("a rectangle outside: %v", err)
	}
	if _, err := s.GetRects(t.Context(), []matrix.Rect{matrix.At(0, 1, 0, 1)}); err == nil || !strings.Contains(err.Error(), "is sparse") {
		t.Errorf("of a sparse matrix: %v", err)
	}
	c.right(t)
}

// TestNextRects: a clock and rectangles after it are one message to each server, and they have what was pushed before.
func TestNextRects(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	m := create(t, p, "column", matrix.Meta{Name: "m", Rows: 2, Cols: 6, BlockCols: 2, DType: matrix.F64})
	other := create(t, p, "column", matrix.Meta{Name: "other", Rows: 1, Cols: 3, BlockCols: 1, DType: matrix.F64})
	for step := range 3 {
		requests, _ := c.count()
		must(t, m.Increment(dense(matrix.At(0, 2, 1, 3), 1, 2, 3, 4)))
		got, err := m.NextRects(t.Context(), 0, 0, []matrix.Rect{matrix.At(0, 2, 0, 3), matrix.At(1, 2, 5, 6)})
		must(t, err)
		k := float64(step + 1)
		for i, want := range [][]float64{{0, k, 2 * k, 0, 3 * k, 4 * k}, {0}} {
			if v := got[i].Data.(*matrix.Dense[float64]).Val; !slices.Equal(v, want) {
				t.Errorf("step %d: rectangle %v is %v, want %v", step, got[i].At, v, want)
			}
		}
		if requests[rpc.OpPush] != 3 || requests[rpc.OpPull] != 0 {
			t.Errorf("step %d: %d pushes and %d pulls, want a push to each of 3 servers", step, requests[rpc.OpPush], requests[rpc.OpPull])
		}
	}
	if m.Now() != 3 || other.Now() != 0 || p.Now() != 0 {
		t.Errorf("clocks %d, of the other matrix %d, of the task %d, want 3, 0 and 0", m.Now(), other.Now(), p.Now())
	}
	if _, err := m.NextRects(t.Context(), 0, 0, []matrix.Rect{matrix.At(0, 3, 0, 1)}); err == nil || m.Now() != 3 {
		t.Errorf("a rectangle outside: %v, clock %d", err, m.Now())
	}
	c.right(t)
}
