package shard_test

import (
	"maps"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/wire"
)

// TestMarkOfRepeatedKeys: a change that names each of its columns many times costs a mark one copy of each.
func TestMarkOfRepeatedKeys(t *testing.T) {
	m := besideMetas[0]
	m.Rows, m.Cols, m.Layout = 5, 1<<40, matrix.RowSparse
	x := newBeside(t, &m)
	push := func(times int) {
		t.Helper()
		d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols}
		for key := range int64(1000) {
			d.Keys = append(d.Keys, slices.Repeat([]int64{key}, times)...)
		}
		val := make([]float32, 5*len(d.Keys))
		for i := range val {
			val[i] = 1
		}
		d.Values = wire.View(val)
		if err := x.s.Apply([]shard.Delta{d}, 1, 0.1); err != nil {
			t.Fatal(err)
		}
	}
	push(1)
	took := func(times int) int64 {
		mark := x.mark(false)
		defer mark.Close()
		before := x.s.Bytes()
		push(times)
		took := x.s.Bytes() - before
		got := map[int64]string{}
		for keys := mark.Keys(100); len(keys) > 0; keys = mark.Keys(100) {
			x.row(mark.Mark, keys, 10, got)
		}
		if !maps.Equal(got, mark.want) {
			t.Errorf("with each column %d times, it is not as it was", times)
		}
		return took
	}
	once := took(1)
	for _, times := range []int{2, 3, 40, 200} {
		if many := took(times); many > once+once/4 {
			t.Errorf("with each column %d times the mark took %d bytes, %d with each once", times, many, once)
		}
	}
}
