package shard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// cut are rectangles that a matrix is cut into.
func cut(t *rapid.T, m *matrix.Meta) (all []matrix.Rect) {
	row, col := rapid.Int64Range(0, m.Rows).Draw(t, "row"), rapid.Int64Range(0, m.Cols).Draw(t, "column")
	for _, r := range []matrix.Range{{Lo: 0, Hi: row}, {Lo: row, Hi: m.Rows}} {
		for _, c := range []matrix.Range{{Lo: m.ColLo, Hi: m.ColLo + col}, {Lo: m.ColLo + col, Hi: m.ColLo + m.Cols}} {
			if at := (matrix.Rect{Rows: r, Cols: c}); !at.Empty() {
				all = append(all, at)
			}
		}
	}
	return all
}

// cutShards are the partitions of a matrix at the places.
func cutShards(t *rapid.T, m *matrix.Meta, rule *psf.Rule, at []matrix.Rect) (all []*shard.Shard) {
	for _, at := range at {
		s, err := shard.New(m, at, 0, rule)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// train makes the steps from one up to another, with some columns each, the same for every cut.
func train(t *rapid.T, m *matrix.Meta, shards []*shard.Shard, steps [][]int64, from, to int) {
	for n := from; n < to; n++ {
		keys := steps[n]
		val := make([]float32, int(m.Rows)*len(keys))
		for i := range val {
			val[i] = float32(i%7)/3 - float32(n)/5
		}
		whole := matrix.Block{At: m.Rect(), Data: &matrix.Cols[float32]{Idx: keys, Val: val}}
		for _, s := range shards {
			if err := s.ApplyBlocks([]matrix.Block{whole.Cut(s.At())}, 2, 0.1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// restore puts what the marks read into other partitions, in bands.
func restore(t *rapid.T, m *matrix.Meta, from, to []*shard.Shard, band int) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range to {
		s.SetSteps(from[0].Steps())
	}
	for _, f := range from {
		mark := f.Mark()
		defer mark.Close()
		rows, width := f.At().Rows, int(f.At().Rows.Len())*(1+f.Slots())
		last := uint64(0)
		for keys := mark.Keys(band); len(keys) > 0; keys = mark.Keys(band) {
			values := make([]float32, len(keys)*width)
			stamps := make([]int64, len(keys))
			if mark.Past() == nil {
				must(mark.Read(wire.View(values), keys, true))
			} else {
				_, err := mark.ReadStale(wire.View(values), stamps, keys)
				must(err)
			}
			for i, key := range keys {
				if h := kernel.Hash(uint64(key)); h < last {
					t.Fatalf("key %d comes late", key)
				} else {
					last = h
				}
				for _, s := range to {
					if s.At().Cols.Has(key) && s.At().Rows.Intersect(rows).Len() > 0 {
						val := wire.View(values[i*width:][:width])
						if p := mark.Past(); p == nil {
							must(s.RestoreColumns(rows, []int64{key}, val))
						} else {
							must(s.RestoreStale(p, rows, []int64{key}, slices.Clone(val), stamps[i:][:1]))
						}
					}
				}
			}
		}
		for slot := 0; slot <= f.Slots() && m.Layout == matrix.RowDense; slot++ {
			n, _ := f.At().Cells()
			values := make([]float32, n)
			must(mark.ReadRect(wire.View(values), f.At(), slot))
			for _, s := range to {
				must(s.RestoreRect(f.At(), slot, wire.View(values)))
			}
		}
	}
}

// cells is the values of all cells, by row and column.
func stateCells(t *rapid.T, m *matrix.Meta, shards []*shard.Shard) []float32 {
	all := make([]float32, m.Rows*m.Cols)
	for _, s := range shards {
		for c := s.At().Cols.Lo; c < s.At().Cols.Hi; c++ {
			out := make([]float32, s.At().Rows.Len())
			if err := s.Read(wire.View(out), s.At().Rows, []int64{c}); err != nil {
				t.Fatal(err)
			}
			for i, v := range out {
				all[(s.At().Rows.Lo+int64(i))*m.Cols+c-m.ColLo] = v
			}
		}
	}
	return all
}

// TestRestore: partitions that were filled from the marks of others, cut in another way, go on with the same bits, while those
// go on too.
func TestRestore(t *testing.T) {
	rules := optim.Rules()
	rapid.Check(t, func(t *rapid.T) {
		m := matrix.Meta{
			Name: "m", Rows: rapid.Int64Range(1, 4).Draw(t, "rows"), Cols: rapid.Int64Range(1, 80).Draw(t, "cols"), ColLo: -11,
			DType: matrix.F32, Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout"),
			Init: matrix.Init{Kind: "uniform", Scale: 1, Seed: 5},
		}
		var rule *psf.Rule
		if i := rapid.IntRange(-1, len(rules)-1).Draw(t, "rule"); i >= 0 {
			rule, m.Rule = &rules[i], rules[i].Name
		}
		var steps [][]int64
		for range rapid.IntRange(2, 6).Draw(t, "steps") {
			var keys []int64
			one := rapid.Int64Range(1, 4).Draw(t, "every")
			for c := m.ColLo; c < m.ColLo+m.Cols; c++ {
				if c%one == 0 {
					keys = append(keys, c)
				}
			}
			steps = append(steps, keys)
		}
		half := len(steps) / 2
		from := cutShards(t, &m, rule, cut(t, &m))
		train(t, &m, from, steps, 0, half)
		to := cutShards(t, &m, rule, cut(t, &m))
		train(t, &m, to, steps, half, len(steps)) // what is there is replaced
		whole := cutShards(t, &m, rule, []matrix.Rect{m.Rect()})
		if m.Layout == matrix.RowSparse {
			to = cutShards(t, &m, rule, cut(t, &m)) // but for columns that were not there
		}
		for _, s := range slices.Concat(from, to) { // does nothing where something is
			if err := s.Reserve(rapid.Int64Range(-1, 300).Draw(t, "reserve")); err != nil {
				t.Fatal(err)
			}
		}
		restore(t, &m, from, to, rapid.IntRange(1, 50).Draw(t, "band"))
		if got, want := stateCells(t, &m, to), stateCells(t, &m, from); !slices.Equal(got, want) {
			t.Fatalf("restored\n%v\nwant\n%v", got, want)
		}
		train(t, &m, from, steps, half, len(steps))
		train(t, &m, to, steps, half, len(steps))
		train(t, &m, whole, steps, 0, len(steps))
		if got, want := stateCells(t, &m, to), stateCells(t, &m, from); !slices.Equal(got, want) {
			t.Fatalf("goes on to\n%v\nwant\n%v", got, want)
		}
		if got, want := stateCells(t, &m, to), stateCells(t, &m, whole); !slices.Equal(got, want) {
			t.Fatalf("in one partition\n%v\nwant\n%v", got, want)
		}
		for i, s := range to {
			if rule != nil && s.Steps() != int64(len(steps)) {
				t.Fatalf("partition %d has made %d steps, want %d", i, s.Steps(), len(steps))
			}
		}
	})
}

// TestRestoreRefuses: what does not fit is refused, with what was found and what was wanted.
func TestRestoreRefuses(t *testing.T) {
	dense, sparse := matrix.Meta{Name: "d", Rows: 2, Cols: 3, DType: matrix.F32}, matrix.Meta{Name: "s", Rows: 2, Cols: 3, DType: matrix.F32}
	sparse.Layout = matrix.RowSparse
	adam, err := optim.Find(nil, "adam")
	if err != nil {
		t.Fatal(err)
	}
	d, err := shard.New(&dense, dense.Rect(), 0, adam)
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.New(&sparse, sparse.Rect(), 0, adam)
	if err != nil {
		t.Fatal(err)
	}
	rows, six := matrix.Range{Hi: 2}, make([]byte, 24)
	for i, c := range []struct {
		err  error
		want string
	}{
		{d.RestoreColumns(rows, []int64{1}, six), "columns of a dense partition"},
		{s.RestoreRect(sparse.Rect(), 0, six), "cells of a sparse partition"},
		{d.RestoreRect(dense.Rect(), 3, six), "slot 3, want one from 0 to 2"},
		{d.RestoreRect(dense.Rect(), 1, six[:20]), "20 bytes for 2 x 3"},
		{s.RestoreColumns(rows, []int64{1, 2}, six), "24 bytes for 2 x 6"},
		{s.RestoreColumns(rows, []int64{3}, six), "column 3, want one in [0,3)"},
		{s.RestoreColumns(matrix.Range{Hi: 1 << 62}, []int64{3}, six), "columns of 4611686018427387904 rows with 2 slots"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", i, c.err, c.want)
		}
	}
	if err := s.RestoreColumns(rows, []int64{1}, six); err != nil {
		t.Error(err)
	}
}

// TestRestoreBesideMark: a mark keeps what a restore replaces.
func TestRestoreBesideMark(t *testing.T) {
	adagrad, err := optim.Find(nil, "adagrad")
	if err != nil {
		t.Fatal(err)
	}
	rows, before, after := matrix.Range{Hi: 2}, []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 1, DType: matrix.F32, Layout: layout}
		s, err := shard.New(&m, m.Rect(), 0, adagrad)
		if err != nil {
			t.Fatal(err)
		}
		put := func(v []float32) error {
			if layout == matrix.RowSparse {
				return s.RestoreColumns(rows, []int64{0}, wire.View(v))
			}
			return errors.Join(s.RestoreRect(m.Rect(), 0, wire.View(v[:2])), s.RestoreRect(m.Rect(), 1, wire.View(v[2:])))
		}
		read := func(mark *shard.Mark) []float32 {
			got := make([]float32, 4)
			if layout == matrix.RowSparse {
				err = mark.Read(wire.View(got), []int64{0}, true)
			} else {
				err = errors.Join(mark.ReadRect(wire.View(got[:2]), m.Rect(), 0), mark.ReadRect(wire.View(got[2:]), m.Rect(), 1))
			}
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if err := put(before); err != nil {
			t.Fatal(err)
		}
		mark := s.Mark()
		defer mark.Close()
		if err := put(after); err != nil {
			t.Fatal(err)
		}
		later := s.Mark()
		defer later.Close()
		if got, now := read(mark), read(later); !slices.Equal(got, before) || !slices.Equal(now, after) {
			t.Errorf("%v: at the mark %v, then %v, want %v and %v", layout, got, now, before, after)
		}
	}
}
