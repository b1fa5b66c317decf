package matrix_test

import (
	"math"
	"slices"
	"testing"

	"thole.example/matrix"
)

// TestWidths: which rows columns store, of which widths there are how many, and which rows all have.
func TestWidths(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 16, Cols: math.MaxInt64, ColLo: -10, DType: matrix.F32, Layout: matrix.RowSparse}
	if got := m.WidthKinds(); len(got) != 1 || got[0] != (matrix.WidthKind{Rows: 16, Cols: math.MaxInt64}) || m.CommonRows().Hi != 16 {
		t.Errorf("without widths there are %v, and all store %v", got, m.CommonRows())
	}
	m.Widths = []matrix.Width{{Cols: matrix.Range{Lo: -10, Hi: 5}, Rows: 4}, {Cols: matrix.Range{Lo: 5, Hi: 6}, Rows: 8},
		{Cols: matrix.Range{Lo: 10, Hi: 12}, Rows: 4}}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	for col, want := range map[int64]int64{-10: 4, 4: 4, 5: 8, 6: 16, 9: 16, 10: 4, 11: 4, 12: 16, math.MaxInt64 - 11: 16} {
		if got := m.RowsOf(col); got != want {
			t.Errorf("column %d stores %d rows, want %d", col, got, want)
		}
	}
	want := []matrix.WidthKind{{Rows: 16, Cols: math.MaxInt64 - 18}, {Rows: 8, Cols: 1}, {Rows: 4, Cols: 17}}
	if got := m.WidthKinds(); !slices.Equal(got, want) || m.CommonRows() != (matrix.Range{Hi: 4}) {
		t.Errorf("widths are %v, and all store %v, want %v and 4 rows", got, m.CommonRows(), want)
	}
	other := m.Clone()
	other.Widths[0].Rows = 2
	if m.RowsOf(0) != 4 {
		t.Error("a clone shares its widths")
	}
}
