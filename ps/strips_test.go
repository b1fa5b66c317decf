package ps

import (
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
)

// TestStrips: together they are the rectangle, in the order of its cells, and none has more cells than allowed.
func TestStrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := func(name string) matrix.Range {
			lo := rapid.Int64Range(-5, 5).Draw(t, name)
			return matrix.Range{Lo: lo, Hi: lo + rapid.Int64Range(0, 30).Draw(t, name+"s")}
		}
		at := matrix.Rect{Rows: side("row"), Cols: side("col")}
		most := rapid.Int64Range(1, 1000).Draw(t, "cells")
		row, col := at.Rows.Lo, at.Cols.Lo
		for strip := range strips(at, most) {
			n, wide := strip.Rows.Len()*strip.Cols.Len(), strip.Cols.Hi == at.Cols.Hi
			if strip.Empty() || n > most || strip.Rows.Lo != row || strip.Cols.Lo != col || strip.Rows.Len() > 1 && strip.Cols != at.Cols {
				t.Fatalf("strip %v after row %d, column %d of %v, of at most %d cells", strip, row, col, at, most)
			}
			if col = strip.Cols.Hi; wide {
				row, col = strip.Rows.Hi, at.Cols.Lo
			}
		}
		if !at.Empty() && row != at.Rows.Hi {
			t.Fatalf("strips of %v end at row %d", at, row)
		}
	})
}
