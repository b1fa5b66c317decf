package csv

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestDecimal holds the quick spelling to the one of strconv, for numbers of few decimals and for any.
func TestDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-2e6, 2e6).Draw(t, "value")
		if n := rapid.IntRange(0, 12).Draw(t, "decimals"); rapid.Bool().Draw(t, "short") {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', n, 64), 64)
		}
		switch rapid.IntRange(0, 5).Draw(t, "beside") {
		case 0:
			v = math.Nextafter(v, 9e9)
		case 1:
			v = math.Nextafter(v, -9e9)
		}
		want := strconv.FormatFloat(v, 'g', -1, 64)
		got, ok := appendDecimal([]byte("x"), v)
		if ok && string(got) != "x"+want {
			t.Fatalf("%s, want x%s", got, want)
		}
		if !ok && len(got) != 1 {
			t.Fatalf("%s left behind", got)
		}
	})
	for v, want := range map[float64]string{0.25: "0.25", -3: "-3", 999999.99999999: "999999.99999999", 0.0001: "0.0001", 100: "100"} {
		if got, ok := appendDecimal(nil, v); !ok || string(got) != want {
			t.Errorf("%v is %s, %v", v, got, ok)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1e-5, 1e6, math.NaN(), math.Inf(1), 1.0 / 3} {
		if got, ok := appendDecimal(nil, v); ok {
			t.Errorf("%v is %s, want it left to the slow way", v, got)
		}
	}
}
