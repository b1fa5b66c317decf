package shard_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
)

// TestRefused are matrices that no shard can be made of.
func TestRefused(t *testing.T) {
	sgd := optim.Rules()[0]
	for _, c := range []struct {
		name string
		m    matrix.Meta
		rule *psf.Rule
		want string
	}{
		{"element type", matrix.Meta{Rows: 1, Cols: 1, DType: matrix.U8}, nil, "u8 on a server, want"},
		{"rule on integers", matrix.Meta{Rows: 1, Cols: 1, DType: matrix.I32}, &sgd, "on i32, want f32 or f64"},
		{"setting", matrix.Meta{Rows: 1, Cols: 1, DType: matrix.F32, Hyper: map[string]float64{"x": 1}}, &sgd, `no setting "x"`},
		{"initial values", matrix.Meta{Rows: 1, Cols: 1, DType: matrix.F32, Init: matrix.Init{Kind: "gauss", Scale: 1}}, nil,
			`"gauss", want one of normal uniform positive constant`},
		{"cells", matrix.Meta{Rows: 1 << 20, Cols: 1 << 20, DType: matrix.F32}, nil, "at most 2^36 cells"},
		{"cells beyond int64", matrix.Meta{Rows: 1 << 40, Cols: 1 << 40, DType: matrix.F32}, nil, "at most 2^36 cells"},
		{"sparse rows", matrix.Meta{Rows: 1 << 25, Cols: 1 << 20, DType: matrix.F32, Layout: matrix.RowSparse}, nil,
			"at most 2^24 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.Name = "m"
			_, err := shard.New(&c.m, c.m.Rect(), 0, c.rule)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestWrongDelta wants deltas refused that are of another type or place, with the values unchanged.
func TestWrongDelta(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 4, DType: matrix.F64, Layout: layout}
		s, err := shard.New(&m, matrix.At(0, 2, 0, 4), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		ok := matrix.Block{At: matrix.At(0, 1, 1, 2), Data: &matrix.Dense[float64]{Val: []float64{7}}}
		for _, bad := range []matrix.Block{
			matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 1)),
			matrix.NewDense(matrix.F64, matrix.At(0, 3, 0, 1)),
			matrix.NewDense(matrix.F64, matrix.At(0, 1, -1, 1)),
		} {
			if s.AddBlock(bad) == nil || s.SetBlock(bad) == nil || s.FitsBlock(bad) == nil || s.ApplyBlocks([]matrix.Block{ok, bad}, 1, 1) == nil {
				t.Errorf("%v: %v of %v is taken", layout, bad.Data.DType(), bad.At)
			}
		}
		got, err := s.ReadBlock(m.Rect(), []int64{0, 1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got.Data.Values().([]float64) {
			if v != 0 {
				t.Errorf("%v: value %d is %v after refused deltas, want 0", layout, i, v)
			}
		}
	}
}

// TestNoRows wants blocks without rows to do nothing, wherever their place is said to be.
func TestNoRows(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 4, DType: matrix.F64, Layout: layout}
		s, err := shard.New(&m, m.Rect(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		far := matrix.Block{At: matrix.At(1<<40, 1<<40, 0, 1<<50), Data: &matrix.Cols[float64]{Idx: []int64{1, 1 << 49}}}
		if err := errors.Join(s.AddBlock(far), s.SetBlock(far), s.ApplyBlocks([]matrix.Block{far}, 1, 1)); err != nil {
			t.Error(err)
		}
		if b, err := s.ReadBlock(matrix.At(1<<40, 1<<40, 0, 4), []int64{1}); err != nil || b.Data.NNZ() != 0 {
			t.Errorf("%v: read %v, %v", layout, b.Data, err)
		}
	}
}

// TestReadOutside wants reads outside of the partition refused.
func TestReadOutside(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 2, Cols: 4, DType: matrix.F64}
	s, err := shard.New(&m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadBlock(matrix.At(0, 3, 0, 4), nil); err == nil {
		t.Error("three rows of two are read")
	}
	if _, err := s.ReadBlock(m.Rect(), []int64{4}); err == nil {
		t.Error("column 4 of 4 is read")
	}
}

// TestEachNarrows wants functions to see integers as float64, and integers that they leave alone to stay what they are.
func TestEachNarrows(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 1, Cols: 6, DType: matrix.I32, Layout: layout}
		s, err := shard.New(&m, m.Rect(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetBlock(matrix.Block{At: m.Rect(), Data: &matrix.Dense[int32]{Val: []int32{0, 1, 2, 3, 4, 5}}}); err != nil {
			t.Fatal(err)
		}
		to := []float64{1e300, math.Inf(-1), math.NaN(), -2.9, 2.9, math.MaxInt32}
		eachRow(t, s, func(c *psf.Chunk[float64], row []float64) {
			for i := range row {
				row[i] = to[c.Column(i)]
			}
		})
		got, err := s.ReadBlock(m.Rect(), []int64{0, 1, 2, 3, 4, 5})
		if err != nil {
			t.Fatal(err)
		}
		want := []int32{math.MaxInt32, math.MinInt32, 0, -3, 3, math.MaxInt32}
		for i, v := range got.Data.Values().([]int32) {
			if v != want[i] {
				t.Errorf("%v: %v became %d, want %d", layout, to[i], v, want[i])
			}
		}
	}
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 1, DType: matrix.I64}
	s, err := shard.New(&m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	big := int64(1<<53 + 1)
	if err := s.SetBlock(matrix.Block{At: m.Rect(), Data: &matrix.Dense[int64]{Val: []int64{big}}}); err != nil {
		t.Fatal(err)
	}
	eachRow(t, s, func(*psf.Chunk[float64], []float64) {})
	if b, err := s.ReadBlock(m.Rect(), nil); err != nil || b.Data.Values().([]int64)[0] != big {
		t.Errorf("a cell that nobody changed is %v, %v, want %d", b.Data, err, big)
	}
}

// eachRow calls f for the rows of the partition, which it may change.
func eachRow(t *testing.T, s *shard.Shard, f func(c *psf.Chunk[float64], row []float64)) {
	t.Helper()
	err := psf.Each(s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			f(c, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEachNarrowsLong wants the float64 next to the greatest int64, which is greater, to become it.
func TestEachNarrowsLong(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 4, DType: matrix.I64}
	s, err := shard.New(&m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := []float64{0x1p63, -0x1p63, math.Nextafter(0x1p63, 0), math.Nextafter(-0x1p63, 0)}
	want := []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1023, math.MinInt64 + 1024}
	eachRow(t, s, func(c *psf.Chunk[float64], row []float64) { copy(row, to[c.Col:]) })
	b, err := s.ReadBlock(m.Rect(), nil)
	if err != nil || !slices.Equal(b.Data.Values().([]int64), want) {
		t.Errorf("%v, %v, want %d", b.Data, err, want)
	}
}

// TestGrowth wants every key found again after the table has grown many times, also keys that look alike.
func TestGrowth(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 2, Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse}
	s, err := shard.New(&m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20000
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = int64(i) << 32 // equal in their low bits
	}
	before := s.Bytes()
	for lo := 0; lo < n; lo += 777 {
		some := keys[lo:min(lo+777, n)]
		val := make([]float32, 2*len(some))
		for i := range val {
			val[i] = float32(2*lo + i)
		}
		if err := s.AddBlock(matrix.Block{At: m.Rect(), Data: &matrix.Cols[float32]{Idx: some, Val: val}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.ReadBlock(m.Rect(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got.Data.Values().([]float32) {
		if v != float32(i) {
			t.Fatalf("value %d is %v", i, v)
		}
	}
	if all := s.Bytes() - before; all < n*(8+8) || all > 8*n*(8+8) {
		t.Errorf("%d keys of two float32 use %d bytes", n, all)
	}
	i := 0
	for b := range s.Blocks() {
		for _, k := range b.Data.(matrix.Keyed).Keys() {
			if k != keys[i] {
				t.Fatalf("key %d of those to save is %d, want %d", i, k, keys[i])
			}
			i++
		}
	}
	if i != n {
		t.Errorf("%d keys to save, want %d", i, n)
	}
}

// Reads and steps of columns that are there allocate nothing, whatever the rule: requests go to many partitions.
func TestAllocatesNothing(t *testing.T) {
	keys := make([]int64, 100)
	for i := range keys {
		keys[i] = int64(i * i)
	}
	for _, rule := range optim.Rules() {
		m := matrix.Meta{Name: "m", Rows: 4, Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse}
		s, err := shard.New(&m, m.Rect(), 0, &rule)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]byte, 16*len(keys))
		deltas := []shard.Delta{{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: values}}
		n := testing.AllocsPerRun(100, func() {
			if err := s.Apply(deltas, 1, 0.1); err != nil {
				t.Fatal(err)
			}
			if err := s.Read(values, m.Rect().Rows, keys); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0.5 { // what columns catch up by grows now and then
			t.Errorf("rule %s: %v allocations a step and read", rule.Name, n)
		}
	}
}
