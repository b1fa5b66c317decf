package shard_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/wire"
)

// tracked is a partition, what it had at moments that have names, and which columns were touched since.
type tracked struct {
	s       *shard.Shard
	m       *matrix.Meta
	had     map[string]map[int64]string
	touched map[string]map[int64]bool
	names   []string // of the moments that may be bases
}

func newTracked(t *rapid.T) *tracked {
	x := &tracked{had: map[string]map[int64]string{}, touched: map[string]map[int64]bool{}}
	x.m = &matrix.Meta{Name: "m", Rows: rapid.Int64Range(1, 3).Draw(t, "rows"), Cols: rapid.Int64Range(1, 5000).Draw(t, "cols"), DType: matrix.F64,
		Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowSparse, matrix.RowDense}).Draw(t, "layout")}
	var err error
	if x.s, err = shard.New(x.m, x.m.Rect(), 0, &step); err != nil {
		t.Fatal(err)
	}
	return x
}

// read is all that a mark has: columns, or rows and slots of cells, by their place.
func (x *tracked) read(t *rapid.T, m *shard.Mark, into map[int64]string) {
	band := rapid.IntRange(1, 3000).Draw(t, "band")
	width := int(x.m.Rows) * 2
	for keys := m.Keys(band); keys != nil; keys = m.Keys(band) {
		val := make([]float64, len(keys)*width)
		x.must(t, m.Read(wire.View(val), keys, true))
		for i, key := range keys {
			into[key] = fmt.Sprint(val[i*width:][:width])
		}
	}
	cells := x.m.Rows * x.m.Cols
	places := slices.Values([]matrix.Rect{x.m.Rect()})
	if m.Partial() {
		places = m.Places(int64(band))
	}
	for at := range places {
		n, _ := at.Cells()
		if x.m.Layout == matrix.RowSparse || m.Partial() && (n == 0 || n > int64(band)) {
			continue
		}
		for slot := range 2 {
			val := make([]float64, n)
			x.must(t, m.ReadRect(wire.View(val), at, slot))
			for i, v := range val {
				row, col := at.Rows.Lo+int64(i)/at.Cols.Len(), at.Cols.Lo+int64(i)%at.Cols.Len()
				into[int64(slot)*cells+row*x.m.Cols+col] = fmt.Sprint(v)
			}
		}
	}
}

func (x *tracked) must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (x *tracked) touch(keys []int64) {
	for _, some := range x.touched {
		for _, key := range keys {
			some[key] = true
		}
	}
}

// Change changes, makes or removes some columns.
func (x *tracked) Change(t *rapid.T) {
	gap := rapid.Int64Range(1, 2*x.m.Cols).Draw(t, "gap")
	var keys []int64
	for key := rapid.Int64Range(0, x.m.Cols-1).Draw(t, "first"); key < x.m.Cols; key += gap {
		keys = append(keys, key)
	}
	d := shard.Delta{Rows: x.m.Rect().Rows, Cols: x.m.Rect().Cols, Keys: keys}
	val := make([]float64, len(keys)*int(x.m.Rows))
	for i := range val {
		val[i] = float64(len(x.names)*7+i)/8 + float64(len(keys))
	}
	d.Values = wire.View(val)
	x.touch(keys)
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		x.must(t, x.s.Set(d))
	case 1:
		x.must(t, x.s.Add(d))
	case 2:
		x.must(t, x.s.Apply([]shard.Delta{d, d}, 1, 0.5))
	case 3:
		x.must(t, x.s.Make(keys))
	default:
		x.s.Remove(keys)
	}
}

// Mark takes what has changed since one of two bases while the partition goes on, and wants all of it with what the base had.
func (x *tracked) Mark(t *rapid.T) {
	name, now := fmt.Sprint("c", len(x.had)), map[int64]string{}
	whole := x.s.Mark()
	x.read(t, whole, now)
	whole.Close()
	x.had[name] = now
	if len(x.names) == 0 || rapid.IntRange(0, 9).Draw(t, "whole") == 0 {
		base := ""
		if len(x.names) > 0 {
			base = rapid.SampledFrom(x.names).Draw(t, "beside")
		}
		x.s.MarkAll(base, name).Close()
		x.turn(base, name)
		return
	}
	base := rapid.SampledFrom(x.names).Draw(t, "base")
	m, err := x.s.MarkSince(base, name)
	x.must(t, err)
	defer m.Close()
	touched := maps.Clone(x.touched[base])
	x.turn(base, name)
	if rapid.Bool().Draw(t, "beside") {
		x.Change(t)
	}
	got, changed := maps.Clone(x.had[base]), map[int64]string{}
	for _, key := range m.Removed() {
		if !touched[key] {
			t.Fatalf("column %d is said to have been removed", key)
		}
		delete(got, key)
	}
	x.read(t, m, changed)
	for key, val := range changed {
		if got[key] = val; x.m.Layout == matrix.RowSparse && !touched[key] {
			t.Fatalf("column %d is said to have changed", key)
		}
	}
	if !maps.Equal(got, now) {
		t.Fatalf("since %s: %v, want %v", base, got, now)
	}
	if x.m.Layout == matrix.RowSparse && m.Columns() != int64(len(now)) {
		t.Fatalf("%d columns, want %d", m.Columns(), len(now))
	}
}

// turn begins a moment; before it only the base stays.
func (x *tracked) turn(base, name string) {
	x.names = []string{name}
	if x.touched[base] != nil {
		x.names = []string{base, name}
	}
	maps.DeleteFunc(x.touched, func(name string, _ map[int64]bool) bool { return name != base })
	x.touched[name] = map[int64]bool{}
}

// TestMarkSince: what a base had, without what was removed since and with what has changed, is what there is, for either of two
// bases, and nothing is said to have changed that nobody touched.
func TestMarkSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newTracked(t)
		defer x.s.Close()
		t.Repeat(map[string]func(*rapid.T){"change": x.Change, "mark": x.Mark})
	})
}

// TestTrackMemory: what is remembered counts; a mark of what has changed copies nothing else; a column that came and went between
// two marks leaves nothing.
func TestTrackMemory(t *testing.T) {
	const n, rows = 20_000, 32
	m := &matrix.Meta{Name: "e", Rows: rows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}
	s := mustShard(t, m)
	some := func(from, to int64) shard.Delta {
		d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols}
		for i := from; i < to; i++ {
			d.Keys = append(d.Keys, i)
		}
		d.Values = wire.View(make([]float32, len(d.Keys)*rows))
		return d
	}
	add := func(d shard.Delta) {
		t.Helper()
		if err := s.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.MarkSince("", "a"); !errors.Is(err, shard.ErrNotTracked) {
		t.Errorf("without a base: %v", err)
	}
	add(some(0, n))
	bare := s.Bytes()
	s.Track("a")
	if got := s.Bytes() - bare; got < n/8 || got > n {
		t.Errorf("%d columns are tracked by %d bytes", n, got)
	}
	if _, err := s.MarkSince("b", "c"); !errors.Is(err, shard.ErrNotTracked) {
		t.Errorf("since another base: %v", err)
	}
	add(some(0, 10))
	add(some(n, n+1000))
	s.Remove(some(n-5, n+1000).Keys)
	mark, err := s.MarkSince("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer mark.Close()
	if got := len(mark.Removed()); got != 5 {
		t.Errorf("%d columns are said to have been removed, want 5", got)
	}
	before := s.Bytes()
	add(some(0, n-5))
	if got := s.Bytes() - before; got < 10*rows*4 || got > 10*rows*4*8 {
		t.Errorf("a mark of 10 columns copies %d bytes when all change", got)
	}
}

// TestTrackAgain: what has changed before a moment is looked at again after it.
func TestTrackAgain(t *testing.T) {
	m := &matrix.Meta{Name: "m", Rows: 1, Cols: 100, DType: matrix.F64, Layout: matrix.RowSparse}
	s, err := shard.New(m, m.Rect(), 0, &step)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(keys ...int64) {
		t.Helper()
		d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(make([]float64, len(keys)))}
		if err := s.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	add(3, 5, 7)
	for _, name := range []string{"a", "b"} {
		s.Track(name)
		add(5, 5)
	}
	mark, err := s.MarkSince("b", "c")
	if err != nil {
		t.Fatal(err)
	}
	defer mark.Close()
	if keys := mark.Keys(100); !slices.Equal(keys, []int64{5}) {
		t.Errorf("columns %v have changed, want 5 alone", keys)
	}
}
