package angel

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestJavaSpelling(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		v    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {1, 64, "1.0"}, {-1.25, 32, "-1.25"}, {100, 32, "100.0"},
		{0.001, 64, "0.001"}, {0.0009999, 64, "9.999E-4"}, {1e-4, 32, "1.0E-4"}, {9999999, 64, "9999999.0"}, {1e7, 64, "1.0E7"},
		{12345678.9, 64, "1.23456789E7"}, {12345678.9, 32, "1.2345679E7"}, {-3.4329535e-8, 32, "-3.4329535E-8"},
		{1.0 / 3, 64, "0.3333333333333333"}, {1.0 / 3, 32, "0.33333334"}, {1e21, 64, "1.0E21"}, {1e100, 64, "1.0E100"},
		{math.MaxFloat64, 64, "1.7976931348623157E308"}, {5e-324, 64, "5.0E-324"}, {math.MaxFloat32, 32, "3.4028235E38"},
		{123456.7890125, 64, "123456.7890125"}, {inf, 64, "Infinity"}, {-inf, 32, "-Infinity"}, {math.NaN(), 64, "NaN"},
	} {
		v := c.v
		if c.bits == 32 {
			v = float64(float32(v))
		}
		if got := string(spellIn(v, c.bits)); got != c.want {
			t.Errorf("%v in %d bits is written %q, want %q", c.v, c.bits, got, c.want)
		}
	}
}

// spellIn writes a number as a float or a double.
func spellIn(v float64, bits int) []byte {
	if bits == 32 {
		return appendFloat32(nil, float32(v))
	}
	return appendFloat64(nil, v)
}

// TestSpellLikeStrconv compares the spelling with one that is put together from strconv.
func TestSpellLikeStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for i := range 400_000 {
		f, v := math.Float32frombits(rng.Uint32()), math.Float64frombits(rng.Uint64())
		switch i % 4 {
		case 0:
			f, v = float32(rng.NormFloat64()*0.01), rng.NormFloat64()*0.01
		case 1:
			v = math.Trunc(rng.NormFloat64() * math.Pow10(rng.IntN(18)))
			f = float32(v)
		case 2:
			v = rng.NormFloat64() * math.Pow10(rng.IntN(12)-4)
			f = float32(v)
		}
		for _, bits := range []int{32, 64} {
			w := v
			if bits == 32 {
				w = float64(f)
			}
			got := string(spellIn(w, bits))
			back, err := strconv.ParseFloat(got, bits)
			if err != nil || math.Float64bits(back) != math.Float64bits(w) && w == w {
				t.Fatalf("%v is spelled %q, which reads %v, %v", w, got, back, err)
			}
			if want := byHand(w, bits); len(got) != len(want) || got != want && (bits == 64 || got[:len(got)-5] != want[:len(want)-5]) {
				t.Fatalf("%v in %d bits is spelled %q, want %q", w, bits, got, want)
			}
		}
		n := int64(rng.Uint64() >> rng.IntN(64))
		if got := string(appendInt(nil, n)) + string(appendInt(nil, -n)); got != strconv.FormatInt(n, 10)+strconv.FormatInt(-n, 10) {
			t.Fatalf("%d is spelled %q", n, got)
		}
	}
	for _, n := range []int64{math.MinInt64, math.MaxInt64, 0, -1, 9, 10, 99, 100, 12345678, 123456789} {
		if got := string(appendInt(nil, n)); got != strconv.FormatInt(n, 10) {
			t.Errorf("%d is spelled %q", n, got)
		}
	}
}

// byHand is Java's spelling from strconv's digits.
func byHand(v float64, bits int) string {
	if v != v || math.Abs(v) > math.MaxFloat64 {
		return string(AppendNumber(nil, v))
	}
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		text := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp)
	return mantissa + "E" + strconv.Itoa(n)
}

func TestParseNumber(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]float64{
		"1": 1, "-1.5": -1.5, "+2": 2, "1.0E-4": 1e-4, "1.0e-4": 1e-4, "2.E3": 2000, ".5": 0.5, "1E+2": 100, "0.0": 0,
		"Infinity": inf, "-Infinity": -inf, "inf": inf, "\x1e": inf, "-\x1e": -inf, "4.9E-324": 5e-324, "1E-400": 0,
		"123456789012345678901234567890": 123456789012345678901234567890, "0.10000000000000000000000000000001": 0.1,
		"0000000000000000000000000000000000001.5": 1.5,
	} {
		if got, n := parseFloat64([]byte(text)); got != want || n != len(text) {
			t.Errorf("%q is %v in %d bytes, want %v", text, got, n, want)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "E5", "x", "1E999", "--1", "nanny"[:2], "0x10"[1:], "∞"} {
		if got, n := parseFloat64([]byte(text)); n != 0 {
			t.Errorf("%q is %v in %d bytes, want nothing", text, got, n)
		}
	}
	for text, want := range map[string]int{"12": 2, "-7,": 2, "9223372036854775807": 19, "-9223372036854775808": 20,
		"9223372036854775808": 0, "99999999999999999999999": 0, "00000000000000000000012": 23, "1.5": 1, "": 0, "-": 0} {
		if got, n := parseInt([]byte(text)); n != want {
			t.Errorf("%q is %d in %d bytes, want %d bytes", text, got, n, want)
		}
	}
	if _, n := parseInt32([]byte("2147483648")); n != 0 {
		t.Error("2147483648 fits 32 bits")
	}
}

// TestParseLikeStrconv compares the fast ways with the library on numbers of all sizes.
func TestParseLikeStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 200_000 {
		v := math.Float64frombits(rng.Uint64())
		f := math.Float32frombits(rng.Uint32())
		if i%2 == 0 {
			v, f = rng.NormFloat64()*0.01, float32(rng.NormFloat64()*0.01)
		}
		text := appendFloat64(nil, v)
		if got, n := parseFloat64(text); n != len(text) || math.Float64bits(got) != math.Float64bits(v) && v == v {
			t.Fatalf("%q is %v, want %v", text, got, v)
		}
		text = appendFloat32(nil, f)
		if got, n := parseFloat32(text); n != len(text) || math.Float32bits(got) != math.Float32bits(f) && f == f {
			t.Fatalf("%q is %v, want %v", text, got, f)
		}
		text = strconv.AppendFloat(nil, v, 'f', rng.IntN(12), 64)
		want, err := strconv.ParseFloat(string(text), 32)
		if got, n := parseFloat32(text); err == nil && (n != len(text) || got != float32(want) && want == want) {
			t.Fatalf("%q is %v as float, want %v", text, got, want)
		}
	}
	// The middle of two floats and its neighbours.
	for _, text := range []string{"1.000000059604644775390625", "1.00000005960464477", "16777217", "16777217.0000001", "8388609.5"} {
		want, _ := strconv.ParseFloat(text, 32)
		if got, _ := parseFloat32([]byte(text)); got != float32(want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestWalkAllocatesNothingPerLine(t *testing.T) {
	text := []byte("0,-1.3820986\n1,-0.40434486\n2,0.170689\n3,1.7976931348623157E308\n")
	r := &records[float64]{col: make([]int64, 0, 4), val: make([]float64, 0, 4), width: 1}
	in := input{style: style{sep: ","}, b: text, last: true}
	if n := testing.AllocsPerRun(100, func() {
		r.col, r.val = r.col[:0], r.val[:0]
		if _, err := takeColIDValueText(in, r, 4); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
