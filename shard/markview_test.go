package shard_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// busyShard is a partition that is changed in all ways whenever somebody has looked at some of it.
type busyShard struct {
	t *rapid.T
	s *shard.Shard
	m *matrix.Meta
	n int // changes
}

func (b *busyShard) change() {
	b.n++
	cols := rapid.SliceOfNDistinct(rapid.Int64Range(0, b.m.Cols-1), 1, 100, rapid.ID).Draw(b.t, "columns")
	val := make([]int64, len(cols)*int(b.m.Rows))
	for i := range val {
		val[i] = int64(1000*b.n + i)
	}
	d := shard.Delta{Rows: b.m.Rect().Rows, Cols: b.m.Rect().Cols, Keys: cols, Values: wire.View(val)}
	switch rapid.IntRange(0, 2).Draw(b.t, "how") {
	case 0:
		must(b.t, b.s.Add(d))
	case 1:
		must(b.t, b.s.Set(d))
	case 2:
		b.s.Remove(cols)
	}
}

// cells is what a View has, and how many columns were absent.
func (b *busyShard) cells(v psf.View, rows []int64, apart bool) map[[2]int64]int64 {
	got := map[[2]int64]int64{}
	take := func(c *psf.Chunk[int64]) error {
		for r, row := range c.Rows {
			for i, x := range row {
				at := [2]int64{c.IDs[r], c.Column(i)}
				if _, twice := got[at]; twice {
					b.t.Fatalf("cell %v comes twice", at)
				}
				got[at] = x
			}
		}
		return nil
	}
	cells := v.Cells().(psf.Cells[int64])
	if apart {
		must(b.t, cells.Apart(rows, false, take))
	} else {
		must(b.t, cells.Together(rows, 0, take))
	}
	got[[2]int64{-1, 0}] = v.Absent()
	got[[2]int64{-1, 1}] = cells.Value(rows[0])
	return got
}

// TestMarkView: what a function sees of a mark is what a View saw at that moment, whatever happens to the partition between its
// chunks, and nothing of it can be changed.
func TestMarkView(t *testing.T) {
	several := 0 // draws in which changes came between chunks
	rapid.Check(t, func(t *rapid.T) {
		m := &matrix.Meta{Name: "m", Rows: rapid.SampledFrom([]int64{1, 3, 300}).Draw(t, "rows"), Cols: 400, DType: matrix.I64}
		if rapid.Bool().Draw(t, "sparse") {
			m.Layout, m.Cols = matrix.RowSparse, 1<<40
		} else if m.Rows < 300 {
			m.Cols = 20_000 // more than a chunk
		}
		s, err := shard.New(m, m.Rect(), 0, nil)
		must(t, err)
		defer s.Close()
		b := &busyShard{t: t, s: s, m: m}
		for range rapid.IntRange(0, 4).Draw(t, "changes before") {
			b.change()
		}
		if m.Layout == matrix.RowSparse && rapid.Bool().Draw(t, "absent cells have values") {
			must(t, s.SetAbsent(m.Rect().Rows, wire.View(slices.Repeat([]int64{7}, int(m.Rows)))))
		}
		rows := rapid.SliceOfNDistinct(rapid.Int64Range(0, m.Rows-1), 1, 40, rapid.ID).Draw(t, "rows to read")
		slices.Sort(rows)
		apart := rapid.Bool().Draw(t, "apart")
		want := b.cells(s.View(0), rows, apart)
		mark := s.Mark()
		defer mark.Close()
		b.change()
		chunks := 0
		v := mark.View(0, func(read func() error) error {
			chunks++
			err := read()
			b.change()
			return err
		})
		got := b.cells(v, rows, apart)
		if chunks > 1 {
			several++
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%d cells at the mark, %d before, or others", len(got), len(want))
		}
		cells := v.Cells().(psf.Cells[int64])
		none := func(*psf.Chunk[int64]) error { t.Fatal("cells of the past can be changed"); return nil }
		for what, err := range map[string]error{
			"Apart": cells.Apart(rows, true, none), "Together": cells.Together(rows, 1, none), "Pick": cells.Pick(rows, []int64{1}, none),
		} {
			if err == nil {
				t.Errorf("%s changes the cells of a mark", what)
			}
		}
	})
	if several == 0 {
		t.Error("nothing was read in several chunks")
	}
}
