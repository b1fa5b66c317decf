package daphne

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
)

// TestTile compares with counting every cell.
func TestTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.Int64Range(0, 6)
		whole := matrix.At(0, side.Draw(t, "rows"), 0, side.Draw(t, "cols"))
		places := cutUp(t, whole)
		if len(places) > 0 && rapid.Bool().Draw(t, "lose") {
			at := rapid.IntRange(0, len(places)-1).Draw(t, "which")
			places = slices.Delete(places, at, at+1)
		}
		if rapid.Bool().Draw(t, "more") {
			r, c := side.Draw(t, "r"), side.Draw(t, "c")
			places = append(places, matrix.At(r, r+side.Draw(t, "h"), c, c+side.Draw(t, "w")))
		}
		slices.SortFunc(places, byPlace)
		var holes []matrix.Rect
		bad, complete := tile(whole, places, func(at matrix.Rect) bool {
			holes = append(holes, at)
			return true
		})
		held, wrong := count(whole, places)
		if (bad >= 0) != wrong {
			t.Fatalf("%v in %v: bad %d, want one: %v", places, whole, bad, wrong)
		}
		if wrong {
			return
		}
		for _, h := range holes {
			for r := h.Rows.Lo; r < h.Rows.Hi; r++ {
				for c := h.Cols.Lo; c < h.Cols.Hi; c++ {
					held[[2]int64{r, c}]++
				}
			}
		}
		cells, _ := whole.Cells()
		for cell, n := range held {
			if n != 1 {
				t.Fatalf("%v with holes %v: cell %v is held %d times", places, holes, cell, n)
			}
		}
		if !complete || int64(len(held)) != cells || !slices.IsSortedFunc(holes, byPlace) {
			t.Fatalf("%v with holes %v: %d cells, want %d", places, holes, len(held), cells)
		}
	})
}

// cutUp cuts a place in two again and again.
func cutUp(t *rapid.T, at matrix.Rect) []matrix.Rect {
	if at.Empty() {
		return nil
	}
	one, two := at, at
	switch rapid.IntRange(0, 2).Draw(t, "cut") {
	case 0:
		one.Rows.Hi = rapid.Int64Range(at.Rows.Lo, at.Rows.Hi).Draw(t, "row")
		two.Rows.Lo = one.Rows.Hi
	case 1:
		one.Cols.Hi = rapid.Int64Range(at.Cols.Lo, at.Cols.Hi).Draw(t, "col")
		two.Cols.Lo = one.Cols.Hi
	}
	if one == at || two == at {
		return []matrix.Rect{at}
	}
	return append(cutUp(t, one), cutUp(t, two)...)
}

// count tells how often each cell is held, and whether a place overlaps another, lies outside or has no cell.
func count(whole matrix.Rect, places []matrix.Rect) (held map[[2]int64]int, wrong bool) {
	held = map[[2]int64]int{}
	for _, p := range places {
		wrong = wrong || p.Empty() || !whole.Contains(p)
		for r := p.Rows.Lo; r < p.Rows.Hi; r++ {
			for c := p.Cols.Lo; c < p.Cols.Hi; c++ {
				held[[2]int64{r, c}]++
				wrong = wrong || held[[2]int64{r, c}] > 1
			}
		}
	}
	return held, wrong
}

// TestTileMany has as many places as would stall a check that compares each with each.
func TestTileMany(t *testing.T) {
	const n = 1 << 16
	var places []matrix.Rect
	for i := range int64(n) {
		places = append(places, matrix.At(0, 1+i%2, i, i+1))
	}
	for i := range int64(n) {
		if i%2 == 0 {
			places = append(places, matrix.At(1, 2, i, i+1))
		}
	}
	gaps := 0
	bad, _ := tile(matrix.At(0, 3, 0, n), places, func(matrix.Rect) bool { gaps++; return true })
	if bad >= 0 || gaps != n {
		t.Errorf("bad %d, %d gaps, want none and %d", bad, gaps, n)
	}
}
