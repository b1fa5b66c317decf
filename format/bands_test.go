package format_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/matrix"
)

// TestBands checks that the bands of a place are small enough and tile it in row-major order.
func TestBands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r0, c0 := rapid.Int64Range(-5, 5).Draw(t, "row"), rapid.Int64Range(-5, 5).Draw(t, "column")
		at := matrix.At(r0, r0+rapid.Int64Range(0, 9).Draw(t, "rows"), c0, c0+rapid.Int64Range(0, 9).Draw(t, "columns"))
		limit := rapid.Int64Range(1, 30).Draw(t, "cells")
		var all []matrix.Rect
		for b := range format.Bands(at, limit) {
			if n, _ := b.Cells(); n < 1 || n > limit || !at.Contains(b) {
				t.Fatalf("band %v of %v, want 1 to %d cells within", b, at, limit)
			}
			if k := len(all); k > 0 && (b.Rows.Lo < all[k-1].Rows.Lo || b.Rows == all[k-1].Rows && b.Cols.Lo <= all[k-1].Cols.Lo) {
				t.Fatalf("band %v after %v", b, all[k-1])
			}
			all = append(all, b)
		}
		if err := format.CheckTiles(at.Cols, []matrix.Range{at.Rows}, all); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBandsAtTheEnds walks places that reach to the last row or column that there can be, and longer ones than int64
// counts.
func TestBandsAtTheEnds(t *testing.T) {
	const top = math.MaxInt64
	for _, at := range []matrix.Rect{
		matrix.At(top-3, top, 0, 2), matrix.At(0, 1, top-7, top), matrix.At(top-1, top, top-1, top),
		matrix.At(0, 1, math.MinInt64, top), matrix.At(math.MinInt64, top, 0, 1),
	} {
		var all []matrix.Rect
		for b := range format.Bands(at, top/4) {
			all = append(all, b)
			if len(all) > 20 {
				t.Fatalf("%v: more than 20 bands", at)
			}
		}
		if err := format.CheckTiles(at.Cols, []matrix.Range{at.Rows}, all); err != nil {
			t.Errorf("%v: %v", at, err)
		}
		all = nil
		for b := range format.Bands(at, 4) {
			if all = append(all, b); len(all) == 3 {
				break
			}
		}
		for i, b := range all {
			if n, ok := b.Cells(); !ok || n < 1 || n > 4 || !at.Contains(b) {
				t.Errorf("%v: band %d is %v", at, i, b)
			}
		}
	}
	for b := range format.Bands(matrix.At(0, 2, 0, 1), 0) {
		if n, _ := b.Cells(); n != 1 {
			t.Errorf("band %v for a limit of 0, want one cell", b)
		}
	}
}

// TestCheckTiles compares the sweep with counting how often every cell is held.
func TestCheckTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var at []matrix.Rect
		var held [6][6]int
		for range rapid.IntRange(0, 6).Draw(t, "places") {
			r, c := rapid.Int64Range(0, 5).Draw(t, "row"), rapid.Int64Range(0, 5).Draw(t, "column")
			b := matrix.At(r, rapid.Int64Range(r, 6).Draw(t, "end"), c, rapid.Int64Range(c, 6).Draw(t, "end"))
			at = append(at, b)
			for i := b.Rows.Lo; i < b.Rows.Hi; i++ {
				for k := b.Cols.Lo; k < b.Cols.Hi; k++ {
					held[i][k]++
				}
			}
		}
		var must []matrix.Range
		if lo := rapid.Int64Range(0, 5).Draw(t, "must"); rapid.Bool().Draw(t, "any") {
			must = []matrix.Range{{Lo: lo, Hi: rapid.Int64Range(lo+1, 6).Draw(t, "must end")}}
		}
		fine := true
		for i := range held {
			for k := range held[i] {
				need := len(must) > 0 && must[0].Has(int64(i))
				fine = fine && held[i][k] <= 1 && (held[i][k] == 1 || !need)
			}
		}
		if err := format.CheckTiles(matrix.Range{Lo: 0, Hi: 6}, must, at); (err == nil) != fine {
			t.Fatalf("%v with %v: %v, want right: %t", at, must, err, fine)
		}
	})
}
