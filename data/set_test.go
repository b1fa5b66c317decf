package data

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"

	"thole.example/matrix"
)

var three = []row{
	{1, []int64{0, 2}, []float32{1, 2}},
	{-1, nil, nil},
	{3, []int64{1, 5, 6}, []float32{3, 4, 5}},
}

// packed is the batch as a set.
func packed(b *Batch) *Set {
	s, err := Pack(b)
	if err != nil {
		panic(err)
	}
	return s
}

func TestSlice(t *testing.T) {
	s := packed(batchOf(three))
	for lo := range 4 {
		for hi := lo; hi <= 3; hi++ {
			got := s.Slice(lo, hi)
			if err := got.X.Check(); err != nil {
				t.Fatal(err)
			}
			if !same(got, batchOf(three[lo:hi])) || got.Dim() != 7 || got.Len() != hi-lo {
				t.Errorf("[%d,%d): %v", lo, hi, got)
			}
			if want := (matrix.Range{Lo: int64(lo), Hi: int64(hi)}); got.X.At.Rows != want {
				t.Errorf("rows %v, want %v", got.X.At.Rows, want)
			}
		}
	}
}

// A Gatherer gives the rows, batch after batch, from the same memory.
func TestGatherer(t *testing.T) {
	s := packed(batchOf(three))
	var g Gatherer
	for _, numbers := range [][]int{{2, 0, 2}, {1}, {1, 1, 2, 0}, {}} {
		got := g.Gather(s, numbers)
		if err := got.X.Check(); err != nil {
			t.Fatal(err)
		}
		var want []row
		for _, i := range numbers {
			want = append(want, three[i])
		}
		if !same(got, batchOf(want)) || got.Dim() != 7 {
			t.Errorf("rows %v: got %v, want %v", numbers, got, want)
		}
	}
}

// drawBatch draws a batch of some rows: columns of any size, values of 1 and others, with fields or without.
func drawBatch(t *rapid.T) *Batch {
	top := rapid.SampledFrom([]int64{3, kernel.WordColumn, kernel.WordColumn + 1, 1 << 31, 1 << 40, math.MaxInt64 - 2}).Draw(t, "highest column")
	fields := rapid.SampledFrom([]int{0, 1, 5, FieldLimit}).Draw(t, "fields")
	r := newRows(0, 0, false)
	some := []float64{1, 0, -1, 0.25, math.Copysign(0, -1), float64(float32(3e38)), float64(float32(1e-45))}
	if rapid.Bool().Draw(t, "float64") {
		lowerOne := math.Float64frombits(0x40000000_3f800000)
		some = append(some, 0.1, 1600000001, 1<<53-1, 1e300, -1e39, 1e-300, math.Inf(1), lowerOne, math.Float64frombits(0x40000000_7fa00000))
	}
	for range rapid.IntRange(0, 20).Draw(t, "rows") {
		n := rapid.IntRange(0, 9+60*rapid.IntRange(0, 1).Draw(t, "long")).Draw(t, "values")
		var of []int32
		for range n {
			r.idx = append(r.idx, rapid.Int64Range(0, top).Draw(t, "column"))
			v := rapid.SampledFrom(some).Draw(t, "value")
			r.val = append(r.val, float32(v))
			r.exact = appendExact(r.exact, r.val, v)
			if fields > 0 {
				of = append(of, int32(rapid.IntRange(0, fields-1).Draw(t, "field")))
			}
		}
		slices.Sort(of)
		r.field = append(r.field, of...)
		r.ptr = append(r.ptr, len(r.idx))
		r.label = append(r.label, rapid.Float32Range(-1, 1).Draw(t, "label"))
	}
	if n := len(r.label); rapid.Bool().Draw(t, "weights") {
		r.weight = rapid.SliceOfN(rapid.Float32Range(0, 9), n, n).Draw(t, "weight")
	}
	if n := len(r.label); rapid.Bool().Draw(t, "groups") {
		r.group = rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "group")
	}
	if n := len(r.label) * rapid.IntRange(0, 3).Draw(t, "start scores"); n > 0 {
		r.start = rapid.SliceOfN(rapid.Float64Range(-9, 9), n, n).Draw(t, "start")
	}
	return r.batch(0, top+1, fields)
}

// exactly reports whether two batches have the same rows, to the bit.
func exactly(a, b *Batch) bool {
	x, y := a.Rows(), b.Rows()
	bits := func(v, w []float32) bool {
		return slices.EqualFunc(v, w, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
	}
	exact := func(b *Batch, k int) uint64 {
		if b.Exact != nil {
			return math.Float64bits(b.Exact[k])
		}
		return math.Float64bits(float64(b.Rows().Val[k]))
	}
	for k := range min(len(x.Val), len(y.Val)) {
		if exact(a, k) != exact(b, k) {
			return false
		}
	}
	return slices.Equal(a.Label, b.Label) && slices.Equal(x.Ptr, y.Ptr) && slices.Equal(x.Idx, y.Idx) && bits(x.Val, y.Val) &&
		slices.Equal(a.Field, b.Field) && a.Fields == b.Fields && a.Dim() == b.Dim() &&
		bits(a.Weight, b.Weight) && slices.Equal(a.Group, b.Group) && slices.Equal(a.Start, b.Start)
}

// Whatever goes into a set comes out of it, to the bit, in any order, chosen, parted and from several batches.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		s := packed(b)
		if limit := rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "limit"); limit > 0 && kernel.CanBack {
			s = spilled(t, s, limit)
		}
		if got := s.Batch(); !exactly(got, b) || s.Len() != b.Len() || s.Values() != len(b.Rows().Idx) {
			t.Fatalf("got %v, want %v", got, b)
		}
		var all []int
		for i := range b.Len() {
			all = append(all, i)
		}
		order := rapid.Permutation(all).Draw(t, "order")
		chosen, err := s.Choose(order)
		if err != nil {
			t.Fatal(err)
		}
		var g Gatherer
		if got := chosen.Batch(); !exactly(got, g.Gather(s, order)) {
			t.Fatalf("chosen in order %v: %v of %v", order, got, b)
		}
		var keys []int64
		keys = append(keys, b.Rows().Idx...)
		slices.Sort(keys)
		if got := s.Keys(); !slices.Equal(got, slices.Compact(keys)) {
			t.Fatalf("keys %v, want %v", got, keys)
		}
		var farthest int64
		far := float32(0)
		for k, v := range b.Rows().Val {
			if math.Abs(float64(v)) > math.Abs(float64(far)) {
				farthest, far = b.Rows().Idx[k], v
			}
		}
		if column, value := s.Largest(); column != farthest || value != far {
			t.Fatalf("the largest value is %v, of column %d, want %v of %d", value, column, far, farthest)
		}
		few := rapid.Uint32Range(1, 4).Draw(t, "few")
		count := map[int64]uint32{}
		for _, col := range b.Rows().Idx {
			count[col]++
		}
		seldom := 0
		for _, n := range count {
			if n < few {
				seldom++
			}
		}
		if occur, rare := s.Rare(few); occur != len(count) || rare != seldom {
			t.Fatalf("%d columns, %d of them less than %d times, want %d and %d", occur, rare, few, len(count), seldom)
		}
		shared := 0
		for _, n := range count {
			if n > 1 {
				shared++
			}
		}
		if n := rapid.IntRange(0, len(count)+1).Draw(t, "columns"); s.SharedMoreThan(n) != (shared > n) {
			t.Fatalf("more than %d columns in two examples: %t, and there are %d", n, s.SharedMoreThan(n), shared)
		}
		sum := s.Checksum()
		taken := map[int]bool{}
		for _, i := range order[:len(order)/3] {
			taken[i] = true
		}
		out, err := s.Part(func(i int) bool { return taken[i] })
		if err != nil {
			t.Fatal(err)
		}
		var stay, gone []int
		for _, i := range all {
			if taken[i] {
				gone = append(gone, i)
			} else {
				stay = append(stay, i)
			}
		}
		whole := packed(b)
		if !exactly(s.Batch(), g.Gather(whole, stay)) || s.Values()+out.Values() != whole.Values() {
			t.Fatalf("without %v: %v of %v", gone, s.Batch(), b)
		}
		if !exactly(out.Batch(), g.Gather(whole, gone)) {
			t.Fatalf("the part %v: %v of %v", gone, out.Batch(), b)
		}
		if whole.Checksum() != sum || len(gone) > 0 && s.Checksum() == sum {
			t.Fatal("the checksum does not follow the examples")
		}
	})
}

// Many rows, of which the last one alone has a column that takes two words.
func TestSetWidens(t *testing.T) {
	r := newRows(0, 0, false)
	for i := range 200_000 {
		r.idx, r.val, r.field = append(r.idx, int64(i), 7), append(r.val, 1, float32(i)), append(r.field, 0, int32(i%4))
		r.ptr, r.label = append(r.ptr, len(r.idx)), append(r.label, float32(i%2))
	}
	s := newSet()
	if err := s.add(&r); err != nil || s.wide {
		t.Fatal(s.wide, err)
	}
	last := rows{label: []float32{1}, ptr: []int{0, 1}, idx: []int64{1 << 50}, val: []float32{-2}, field: []int32{3}}
	if err := s.add(&last); err != nil || !s.wide {
		t.Fatal(s.wide, err)
	}
	r.add(&last, 0, 1)
	if want := r.batch(0, 1<<50+1, 4); !exactly(s.Batch(), want) {
		t.Error("rows have changed")
	}
}

// The text of clicks takes a set that is no larger than half of it.
func TestSetIsSmall(t *testing.T) {
	m := deepOne[0]()
	s := packed(m.Batch(0, 2000))
	if each := 4 * float64(s.used) / float64(s.Values()); each > 5.5 {
		t.Errorf("%.1f bytes a value, want about 5", each)
	}
}

func BenchmarkGather(b *testing.B) {
	s := packed(deepOne[0]().Batch(0, 20_000))
	numbers := make([]int, 1024)
	for i := range numbers {
		numbers[i] = i * 7919 % s.Len()
	}
	var g Gatherer
	for b.Loop() {
		g.Gather(s, numbers)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(numbers)), "ns/row")
}
