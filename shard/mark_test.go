package shard_test

import (
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/wire"
)

func mustShard(t *testing.T, m *matrix.Meta) *shard.Shard {
	t.Helper()
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestMarkMemory: what has been read is not copied any more, and its copies are freed; closing frees all.
func TestMarkMemory(t *testing.T) {
	const n = 1 << 17
	m := &matrix.Meta{Name: "d", Rows: 1, Cols: n, DType: matrix.F64}
	s := mustShard(t, m)
	all := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Values: wire.View(make([]float64, n))}
	add := func() {
		t.Helper()
		if err := s.Add(all); err != nil {
			t.Fatal(err)
		}
	}
	bare := s.Bytes()
	mark := s.Mark()
	read := func(lo, hi int64) {
		t.Helper()
		if err := mark.ReadRect(make([]byte, 8*(hi-lo)), matrix.At(0, 1, lo, hi), 0); err != nil {
			t.Fatal(err)
		}
	}
	read(0, n/2)
	add()
	if got := s.Bytes() - bare; got < 4*n || got > 5*n {
		t.Errorf("a mark of %d bytes, of which half is read, takes %d", 8*n, got)
	}
	read(n/2, n)
	if got := s.Bytes() - bare; got > n/2 {
		t.Errorf("a mark that is read takes %d bytes", got)
	}
	mark.Close()
	mark = s.Mark()
	add()
	mark.Close()
	add()
	if got := s.Bytes(); got != bare {
		t.Errorf("%d bytes when marks are closed, want %d", got, bare)
	}
}

// TestMarkOfColumns: a column is given once, others are errors, and a write copies only what it changes.
func TestMarkOfColumns(t *testing.T) {
	const n, keys = 32, 20_000
	m := &matrix.Meta{Name: "e", Rows: n, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}
	s := mustShard(t, m)
	d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Values: wire.View(make([]float32, n*keys))}
	for i := range int64(keys) {
		d.Keys = append(d.Keys, i*i)
	}
	if err := s.Add(d); err != nil {
		t.Fatal(err)
	}
	bare := s.Bytes()
	mark := s.Mark()
	defer mark.Close()
	some := d
	some.Keys, some.Values = d.Keys[:100], d.Values[:100*n*4]
	if err := s.Add(some); err != nil {
		t.Fatal(err)
	}
	if got := s.Bytes() - bare; got < 100*n*4 || got > keys*n {
		t.Errorf("a mark after 100 of %d columns of %d bytes have changed takes %d bytes", keys, n*4, got)
	}
	room := make([]byte, n*4)
	for _, c := range []struct {
		key  int64
		room []byte
		want string
	}{
		{4, room, ""}, {4, room, "column 4 was read before"}, {150 * 150, room, ""}, {150 * 150, room, "was read before"},
		{5, room, "column 5 was not there"}, {9, room[:8], "room for 2 values"},
	} {
		err := mark.Read(c.room, []int64{c.key}, false)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("reading column %d: %v, want %q", c.key, err, c.want)
		}
	}
	if err := mark.ReadRect(room, matrix.At(0, 1, 0, n), 0); err == nil {
		t.Error("cells of a sparse partition are read by place")
	}
}

// TestWrongBytes: bytes that are not as many as the cells, or not aligned, change and read nothing.
func TestWrongBytes(t *testing.T) {
	room := make([]byte, 4*8+8)
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := &matrix.Meta{Name: "m", Rows: 2, Cols: 9, DType: matrix.F64, Layout: layout}
		s := mustShard(t, m)
		rows, cols := m.Rect().Rows, m.Rect().Cols
		for _, d := range []shard.Delta{
			{Rows: rows, Cols: cols, Keys: []int64{1, 2}, Values: room[:3*8]},
			{Rows: rows, Cols: cols, Keys: []int64{1, 2}, Values: room[1:][:4*8]},
			{Rows: rows, Cols: cols, Keys: []int64{1, 9}, Values: room[:4*8]},
			{Rows: rows, Cols: matrix.Range{Lo: 0, Hi: 2}, Keys: []int64{1, 2}, Values: room[:4*8]},
			{Rows: rows, Cols: matrix.Range{Lo: 0, Hi: 2}, Values: room[:5*8]},
			{Rows: matrix.Range{Lo: 1, Hi: 3}, Cols: matrix.Range{Lo: 0, Hi: 2}, Values: room[:4*8]},
		} {
			if s.Fits(d) == nil || s.Add(d) == nil || s.Set(d) == nil || s.Apply([]shard.Delta{d}, 1, 1) == nil {
				t.Errorf("%v: a delta at %v with keys %d and %d bytes is taken", layout, d.At(), d.Keys, len(d.Values))
			}
		}
		if s.Read(room[:3*8], rows, []int64{1, 2}) == nil || s.Read(room[1:][:4*8], rows, []int64{1, 2}) == nil ||
			s.ReadRect(room[:3*8], matrix.At(0, 2, 0, 2)) == nil || s.ReadRect(room[:4*8], matrix.At(1, 3, 0, 2)) == nil {
			t.Errorf("%v: room of the wrong size is filled", layout)
		}
		if layout == matrix.RowSparse && s.Missing([]int64{1, 2}) != 2 {
			t.Error("wrong deltas made columns")
		}
	}
}
