package number

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAppend holds the spelling to the one of strconv, for numbers of few decimals, whole ones, and any.
func TestAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Float64Range(-2e6, 2e6), rapid.Float64(), rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.Int64().Draw(t, "whole"))
		})).Draw(t, "value")
		if n := rapid.IntRange(0, 12).Draw(t, "decimals"); rapid.Bool().Draw(t, "short") {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', n, 64), 64)
		}
		switch rapid.IntRange(0, 5).Draw(t, "beside") {
		case 0:
			v = math.Nextafter(v, math.Inf(1))
		case 1:
			v = math.Nextafter(v, math.Inf(-1))
		}
		if v-v == 0 {
			if got, want := string(AppendFloat64([]byte("x"), v)), "x"+strconv.FormatFloat(v, 'g', -1, 64); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		w := float32(v)
		got := string(AppendFloat32(nil, w))
		if back, err := strconv.ParseFloat(got, 32); err != nil || math.Float32bits(float32(back)) != math.Float32bits(w) {
			t.Fatalf("%s reads back to %v, want %v", got, back, w)
		}
		if want := strconv.FormatFloat(float64(w), 'g', -1, 32); w-w == 0 && len(got) != len(want) {
			t.Fatalf("%s, want one as short as %s", got, want)
		}
		i := rapid.Int64().Draw(t, "integer")
		if got, want := string(AppendInt64([]byte("-"), i)), "-"+strconv.FormatInt(i, 10); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
	for v, want := range map[float64]string{0.25: "0.25", -3: "-3", 999999.99999999: "999999.99999999", 0.0001: "0.0001", 100: "100", 1e6: "1e+06",
		1e-5: "1e-05", 1.5e300: "1.5e+300", math.Inf(-1): "-Inf", math.Inf(1): "Inf", math.Copysign(0, -1): "-0", 5e-324: "5e-324"} {
		if got := string(AppendFloat64(nil, v)); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	for _, i := range []int64{0, math.MinInt64, math.MaxInt64, 9, 10, 99999999, 100000000} {
		if got := string(AppendInt64(nil, i)); got != strconv.FormatInt(i, 10) {
			t.Errorf("%d is %s", i, got)
		}
	}
}

// TestRoomBehind reads the same with much room behind a number and with none: the readers look at many bytes at once.
func TestRoomBehind(t *testing.T) {
	some := rapid.OneOf(rapid.StringMatching(`-?[0-9]{0,9}(\.[0-9]{0,26})?(e[-+]?[0-9]{1,3})?[x9 ]?`), rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.-+e")), 1, 14, -1))
	rapid.Check(t, func(t *rapid.T) {
		text := some.Draw(t, "text")
		padded := []byte(text + strings.Repeat(" ", 50))
		v, n := ParseFloat64([]byte(text))
		if w, m := ParseFloat64(padded); m != n || math.Float64bits(v) != math.Float64bits(w) {
			t.Fatalf("%q: %v of %d bytes, with room behind it %v of %d", text, v, n, w, m)
		}
		f, n := ParseFloat32([]byte(text))
		if g, m := ParseFloat32(padded); m != n || math.Float32bits(f) != math.Float32bits(g) {
			t.Fatalf("%q: %v of %d bytes, with room behind it %v of %d", text, f, n, g, m)
		}
		if want, err := strconv.ParseFloat(text[:n], 32); n > 0 && (err != nil || math.Float32bits(float32(want)) != math.Float32bits(f)) {
			t.Fatalf("%q: %v, want %v, %v", text, f, want, err)
		}
	})
}
