package shard_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// wideShard is a partition of several chunks: 3 rows of 40_000 columns from 100 on, or of a sparse matrix every third of them.
// Its cells are 100_000*row + column.
func wideShard(t testing.TB, layout matrix.Layout) (*shard.Shard, []int64) {
	t.Helper()
	m := &matrix.Meta{Name: "m", Rows: 3, Cols: 40_000, ColLo: 100, DType: matrix.I64, Layout: layout}
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cols, values []int64
	for c := m.ColLo; c < m.ColLo+m.Cols; c++ {
		if layout == matrix.RowSparse && c%3 != 0 {
			continue
		}
		cols = append(cols, c)
		for r := range m.Rows {
			values = append(values, 100_000*r+c)
		}
	}
	if err := s.Set(shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: cols, Values: wire.View(values)}); err != nil {
		t.Fatal(err)
	}
	return s, cols
}

// read is the cells of the columns, one column after the other.
func readColumns(t testing.TB, s *shard.Shard, cols []int64) []int64 {
	t.Helper()
	got := make([]int64, 3*len(cols))
	if err := s.Read(wire.View(got), s.At().Rows, cols); err != nil {
		t.Fatal(err)
	}
	return got
}

// readMark is the same of a mark.
func readMark(t testing.TB, m *shard.Mark, s *shard.Shard, cols []int64) []int64 {
	t.Helper()
	got := make([]int64, 3*len(cols))
	if s.Meta().Layout == matrix.RowSparse {
		if err := m.Read(wire.View(got), cols, true); err != nil {
			t.Fatal(err)
		}
		return got
	}
	flat := make([]int64, len(got))
	if err := m.ReadRect(wire.View(flat), s.At(), 0); err != nil {
		t.Fatal(err)
	}
	for i, v := range flat {
		got[i%len(cols)*3+i/len(cols)] = v
	}
	return got
}

// TestChunks: together and apart every stored cell comes once, in rows as asked for, with its column; what is changed stays, of
// no other rows, and marks show what was there.
func TestChunks(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, c := range []struct {
			rows     []int64
			together int // rows that are changed, the last ones; -1: apart, all
		}{{[]int64{0, 1, 2}, -1}, {[]int64{2}, -1}, {[]int64{0, 2}, -1}, {[]int64{2, 0, 0}, 1}, {[]int64{1, 2}, 0}, {[]int64{0, 1, 2}, 2}, {nil, -1}} {
			s, cols := wideShard(t, layout)
			before, mark := readColumns(t, s, cols), s.Mark()
			cells, ok := s.View(0).Cells().(psf.Cells[int64])
			if !ok {
				t.Fatalf("cells are %T", s.View(0).Cells())
			}
			seen := map[int64]int{}
			visit := func(k *psf.Chunk[int64]) error {
				first := len(k.IDs)
				if c.together >= 0 {
					if first -= c.together; !slices.Equal(k.IDs, c.rows) || k.All != nil {
						return fmt.Errorf("rows %v together, %d in one slice", k.IDs, len(k.All))
					}
				}
				for r, id := range k.IDs {
					for i, v := range k.Rows[r] {
						if want := 100_000*id + k.Column(i); v != want {
							return fmt.Errorf("row %d column %d is %d", id, k.Column(i), v)
						}
						seen[v]++
					}
				}
				for r := range k.IDs {
					for i := range k.Rows[r] {
						if c.together < 0 && len(k.All) != len(k.IDs)*len(k.Rows[r]) {
							return errors.New("not all cells in one slice")
						}
						if c.together < 0 || r >= first {
							k.Rows[r][i]++
						}
					}
				}
				return nil
			}
			err := error(nil)
			if c.together < 0 {
				err = cells.Apart(c.rows, true, visit)
			} else {
				err = cells.Together(c.rows, c.together, visit)
			}
			if err != nil {
				t.Fatal(layout, c, err)
			}
			changed := c.rows
			if c.together >= 0 {
				changed = c.rows[len(c.rows)-c.together:]
			}
			want := slices.Clone(before)
			for i := range want {
				row := int64(i % 3)
				times := 0
				for _, r := range c.rows {
					if r == row {
						times++
					}
				}
				if seen[before[i]] != times {
					t.Fatalf("%v %v: row %d column %d comes %d times, want %d", layout, c, row, cols[i/3], seen[before[i]], times)
				}
				if slices.Contains(changed, row) {
					want[i]++
				}
			}
			if got := readColumns(t, s, cols); !slices.Equal(got, want) {
				t.Errorf("%v %v: other cells are changed", layout, c)
			}
			if got := readMark(t, mark, s, cols); !slices.Equal(got, before) {
				t.Errorf("%v %v: a mark shows what came later", layout, c)
			}
			mark.Close()
			s.Close()
		}
	}
}

// TestPick: single columns are given in their order, made if they are not there with the absent values, and kept.
func TestPick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout")
		m := &matrix.Meta{Name: "m", Rows: 2, Cols: 50_000, DType: matrix.I32, Layout: layout}
		s, err := shard.New(m, m.Rect(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cells := s.View(0).Cells().(psf.Cells[int32])
		cells.SetValue(0, 7) // of dense partitions nothing
		absent := cells.Value(0)
		first, n := rapid.Int64Range(0, 100).Draw(t, "first"), rapid.SampledFrom([]int{0, 1, 25, 9000, 20_000}).Draw(t, "columns")
		var cols []int64
		for i := range int64(n) {
			cols = append(cols, first+(i*7)%20_011)
		}
		mark := s.Mark()
		defer mark.Close()
		at := 0
		err = cells.Pick([]int64{1, 0}, cols, func(c *psf.Chunk[int32]) error {
			for i := range c.Rows[0] {
				if c.Column(i) != cols[at+i] || c.Rows[0][i] != 0 || c.Rows[1][i] != absent {
					return fmt.Errorf("column %d has %d and %d, want column %d with 0 and %d", c.Column(i), c.Rows[0][i], c.Rows[1][i], cols[at+i], absent)
				}
				c.Rows[0][i] = int32(cols[at+i])
			}
			at += len(c.Rows[0])
			return nil
		})
		if err != nil || at != n {
			t.Fatalf("%d columns, %v, want %d", at, err, n)
		}
		got := make([]int32, 2*n)
		if err := s.Read(wire.View(got), m.Rect().Rows, cols); err != nil {
			t.Fatal(err)
		}
		for i, col := range cols {
			if got[2*i] != absent || got[2*i+1] != int32(col) {
				t.Fatalf("column %d is %v", col, got[2*i:2*i+2])
			}
		}
		if keys := mark.Keys(10); len(keys) > 0 {
			t.Fatalf("a mark has columns %v that came later", keys)
		}
		if s.View(0).Absent() != 0 && s.View(0).Absent() != m.Cols-int64(n) {
			t.Fatalf("%d absent columns", s.View(0).Absent())
		}
		cells.Drop(cols)
		if layout == matrix.RowSparse && s.Columns() != 0 {
			t.Fatalf("%d columns are left", s.Columns())
		}
	})
}
