package ps_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// drawMatrix is a matrix of any kind of partitions, with the name of its partitioner.
func drawMatrix(t *rapid.T, name string) (matrix.Meta, string) {
	cut := rapid.SampledFrom([]string{"hash", "hash", "column", "range"}).Draw(t, "cut")
	m := matrix.Meta{Name: name, Rows: rapid.Int64Range(1, 5).Draw(t, "rows"), DType: matrix.F64,
		Cols:  rapid.SampledFrom([]int64{1, 7, 300, 5000, 1 << 40}).Draw(t, "cols"),
		ColLo: rapid.SampledFrom([]int64{0, -3, 1 << 50}).Draw(t, "first"), Layout: matrix.RowSparse}
	if cut != "hash" {
		m.BlockCols = rapid.SampledFrom([]int64{0, 0, m.Cols/7 + 1}).Draw(t, "block")
	}
	if cut == "range" {
		m.BlockRows = rapid.SampledFrom([]int64{0, 1, 2}).Draw(t, "high")
	}
	if cut != "hash" && m.Cols < 1000 && rapid.Bool().Draw(t, "dense") {
		m.Layout = matrix.RowDense
	}
	return m, cut
}

// drawKeys is columns of the matrix, in any order, some of them several times; or ascending ones.
func drawKeys(t *rapid.T, m *matrix.Meta) []int64 {
	n := rapid.SampledFrom([]int{0, 1, 2, 10, 100, 1000}).Draw(t, "keys")
	span := min(m.Cols, rapid.SampledFrom([]int64{3, 50, 1 << 40}).Draw(t, "span"))
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = m.ColLo + rng.Int64N(span)
	}
	if rapid.Bool().Draw(t, "ascending") {
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	return keys
}

// TestPlan: unique keys in groups of their partitions, each where its input says, in the order in which they came.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(rapid.IntRange(1, 5).Draw(t, "servers"))
		p := c.dial(t, ps.Options{})
		defer p.Close()
		meta, cut := drawMatrix(t, "m")
		m := create(t, p, cut, meta)
		var k *ps.Keys
		for range 4 { // into the same memory
			keys := drawKeys(t, &meta)
			before := slices.Clone(keys)
			var err error
			if k, err = m.Plan(k, keys); err != nil || !slices.Equal(keys, before) {
				t.Fatalf("keys %v were %v: %v", keys, before, err)
			}
			checkPlan(t, m, k, keys)
		}
	})
}

func checkPlan(t *rapid.T, m *ps.Matrix, k *ps.Keys, keys []int64) {
	unique := k.Unique()
	first := map[int64]int{}
	for i, key := range keys {
		if _, seen := first[key]; !seen {
			first[key] = i
		}
	}
	if len(unique) != len(first) || k.Len() != len(keys) {
		t.Fatalf("%d unique of %d keys, want %d of %d", len(unique), k.Len(), len(first), len(keys))
	}
	for i := 1; i < len(unique); i++ {
		before, now := m.Parts().Of(unique[i-1]), m.Parts().Of(unique[i])
		if now < before || now == before && first[unique[i]] < first[unique[i-1]] {
			t.Fatalf("key %d of partition %d, input %d, after key %d of partition %d, input %d",
				unique[i], now, first[unique[i]], unique[i-1], before, first[unique[i-1]])
		}
	}
	places := k.Positions(nil)
	for i, key := range keys {
		if unique[places[i]] != key {
			t.Fatalf("input %d has key %d, and place %d key %d", i, key, places[i], unique[places[i]])
		}
	}
}

// TestPlanOutside: a key that the matrix does not have is named, wherever it stands.
func TestPlanOutside(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	for _, cut := range []string{"hash", "column"} {
		m := create(t, p, cut, matrix.Meta{Name: cut, Rows: 1, Cols: 10, ColLo: 5, DType: matrix.F64, Layout: matrix.RowSparse})
		for _, keys := range [][]int64{{7, 15}, {7, 7, 15, 6}, {15}, {4, 7}, {5, 6, -1 << 63}, {1<<63 - 1, 5}} {
			_, err := m.Plan(nil, keys)
			at := slices.IndexFunc(keys, func(key int64) bool { return key < 5 || key >= 15 })
			want := fmt.Sprintf("ps: matrix %s: column %d at position %d, want one in [5,15)", cut, keys[at], at)
			if err == nil || err.Error() != want {
				t.Errorf("%v: %v, want %s", keys, err, want)
			}
		}
	}
}

// TestPlanAllocates nothing when its memory is there.
func TestPlanAllocates(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	for _, cut := range []string{"hash", "column"} {
		m := create(t, p, cut, matrix.Meta{Name: cut, Rows: 1, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse})
		keys := make([]int64, 1000)
		for i := range keys {
			keys[i] = int64(i*i) % 700 << 20
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
		k, err := m.Plan(nil, keys)
		must(t, err)
		if n := testing.AllocsPerRun(20, func() {
			for _, keys := range [][]int64{keys, sorted} {
				if _, err := m.Plan(k, keys); err != nil {
					t.Fatal(err)
				}
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", cut, n)
		}
	}
}

// TestKeysOnServers pushes and pulls by plan, and compares with sums made here in the order of the inputs, then of the pushes, then
// of the clocks.
func TestKeysOnServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(rapid.IntRange(1, 5).Draw(t, "servers"))
		p := c.dial(t, ps.Options{Bound: rapid.SampledFrom([]ssp.Bound{ssp.BSP, ssp.ASP, 2}).Draw(t, "bound")})
		defer p.Close()
		meta, cut := drawMatrix(t, "m")
		m := create(t, p, cut, meta)
		rows := int(meta.Rows)
		want := map[cell]float64{}
		var k *ps.Keys
		for step := range rapid.IntRange(1, 4).Draw(t, "steps") {
			pushed := map[cell]float64{}
			for range rapid.IntRange(1, 3).Draw(t, "pushes") {
				keys := drawKeys(t, &meta)
				var err error
				k, err = m.Plan(k, keys)
				must(t, err)
				grads := make([]float64, len(keys)*rows)
				sums := map[cell]float64{}
				for i := range grads {
					grads[i] = 1 / float64(1+i+step)
					at := cell{int64(i % rows), keys[i/rows]}
					sums[at] += grads[i]
				}
				must(t, ps.PushKeys(m, k, grads))
				clear(grads)
				for at, v := range sums {
					pushed[at] += v
				}
			}
			for at, v := range pushed {
				want[at] += v
			}
			must(t, p.SyncClock(context.Background()))
			keys := drawKeys(t, &meta)
			var err error
			k, err = m.Plan(k, keys)
			must(t, err)
			got := make([]float64, len(keys)*rows)
			pull, err := ps.StartPullKeys(context.Background(), m, k, got)
			must(t, err)
			twice := make([]float64, len(got))
			must(t, ps.PullKeys(context.Background(), m, k, twice))
			must(t, pull.Wait(context.Background()))
			for i, v := range got {
				if at := (cell{int64(i % rows), keys[i/rows]}); v != want[at] || twice[i] != v {
					t.Fatalf("cell %v is %v and %v, want %v", at, v, twice[i], want[at])
				}
			}
		}
		c.right(t)
	})
}

// TestKeysRefused: what does not belong together is said.
func TestKeysRefused(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	sparse := matrix.Meta{Name: "m", Rows: 2, Cols: 100, DType: matrix.F64, Layout: matrix.RowSparse}
	other := sparse
	other.Name, other.Cols = "other", 90
	m := create(t, p, "", sparse)
	o := create(t, p, "", other)
	k, err := m.Plan(nil, []int64{1, 2, 3})
	must(t, err)
	for want, err := range map[string]error{
		"values of f32, want f64":                   ps.PushKeys(m, k, make([]float32, 6)),
		"5 values, want 6 for 2 rows of 3 keys":     ps.PushKeys(m, k, make([]float64, 5)),
		"matrix m: keys were planned for other":     ps.PushKeys(m, &ps.Keys{}, nil2()),
		"matrix other: keys were planned for other": ps.PullKeys(t.Context(), o, k, make([]float64, 6)),
		"4 values, want 6 for 2 rows of 3 keys":     ps.PullKeys(t.Context(), m, k, make([]float64, 4)),
		"matrix m: values of i64, want f64":         ps.PullKeys(t.Context(), m, k, make([]int64, 6)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func nil2() []float64 { return nil }

// TestKeysShared: one plan serves matrices of other heights with the same columns.
func TestKeysShared(t *testing.T) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{Bound: ssp.ASP})
	defer p.Close()
	wide := matrix.Meta{Name: "wide", Rows: 1, Cols: 1000, DType: matrix.F64, Layout: matrix.RowSparse}
	deep := matrix.Meta{Name: "deep", Rows: 3, Cols: 1000, DType: matrix.F32, Layout: matrix.RowSparse}
	m := create(t, p, "", wide, deep)
	d, err := p.Matrix("deep")
	must(t, err)
	k, err := m.Plan(nil, []int64{500, 3, 500})
	must(t, err)
	must(t, ps.PushKeys(m, k, []float64{1, 2, 4}))
	must(t, ps.PushKeys(d, k, []float32{1, 2, 3, 10, 20, 30, 100, 200, 300}))
	must(t, p.Flush(t.Context()))
	one, three := make([]float64, 3), make([]float32, 9)
	must(t, ps.PullKeys(t.Context(), m, k, one))
	must(t, ps.PullKeys(t.Context(), d, k, three))
	if want := []float64{5, 2, 5}; !slices.Equal(one, want) {
		t.Errorf("%v, want %v", one, want)
	}
	if want := []float32{101, 202, 303, 10, 20, 30, 101, 202, 303}; !slices.Equal(three, want) {
		t.Errorf("%v, want %v", three, want)
	}
}
