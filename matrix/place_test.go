package matrix

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func drawKey(t *rapid.T, what string) int64 {
	return rapid.OneOf(
		rapid.Int64(), rapid.Int64Range(-4, 4),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}),
	).Draw(t, what)
}

func drawAnyRange(t *rapid.T, what string) Range {
	return Range{drawKey(t, what+" from"), drawKey(t, what+" to")}
}

func TestRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, s, i := drawAnyRange(t, "r"), drawAnyRange(t, "s"), drawKey(t, "i")
		length := new(big.Int).Sub(big.NewInt(r.Hi), big.NewInt(r.Lo))
		switch n := r.Len(); {
		case length.Sign() <= 0 && n != 0, length.Sign() > 0 && length.IsInt64() && n != length.Int64(),
			length.Sign() > 0 && !length.IsInt64() && n != math.MaxInt64:
			t.Fatalf("%v has %d, want %v", r, n, length)
		}
		both := r.Intersect(s)
		if both != (Range{both.Lo, both.Hi}) || both.Hi < both.Lo {
			t.Fatalf("%v and %v share %v", r, s, both)
		}
		if both.Has(i) != (r.Has(i) && s.Has(i)) || both.Len() != s.Intersect(r).Len() {
			t.Fatalf("%v and %v share %v, not as said of %d", r, s, both, i)
		}
		if r.Contains(s) && s.Has(i) && !r.Has(i) {
			t.Fatalf("%v contains %v, but not %d", r, s, i)
		}
		if r.Contains(s) != (s.Len() == 0 || both == s) {
			t.Fatalf("%v contains %v: %v", r, s, r.Contains(s))
		}
	})
}

func TestRect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Rect{drawAnyRange(t, "a rows"), drawAnyRange(t, "a cols")}
		b := Rect{drawAnyRange(t, "b rows"), drawAnyRange(t, "b cols")}
		row, col := drawKey(t, "row"), drawKey(t, "col")
		has := func(r Rect) bool { return r.Rows.Has(row) && r.Cols.Has(col) }
		if has(a.Intersect(b)) != (has(a) && has(b)) {
			t.Fatalf("%v and %v share %v, not as said of (%d,%d)", a, b, a.Intersect(b), row, col)
		}
		if a.Contains(b) && has(b) && !has(a) {
			t.Fatalf("%v contains %v, but not (%d,%d)", a, b, row, col)
		}
		if !b.Empty() && a.Contains(b) != (a.Intersect(b) == b) || b.Empty() && !a.Contains(b) {
			t.Fatalf("%v contains %v: %v", a, b, a.Contains(b))
		}
		if has(a) && a.Empty() {
			t.Fatalf("%v is empty, but has (%d,%d)", a, row, col)
		}
		product := new(big.Int).Mul(big.NewInt(a.Rows.Len()), big.NewInt(a.Cols.Len()))
		if n, ok := a.Cells(); ok != product.IsInt64() || ok && n != product.Int64() {
			t.Fatalf("%v has %d cells (%v), want %v", a, n, ok, product)
		}
	})
}

func TestPlaceText(t *testing.T) {
	if got := At(0, 2, -5, math.MaxInt64).String(); got != "rows [0,2) x cols [-5,9223372036854775807)" {
		t.Error(got)
	}
}
