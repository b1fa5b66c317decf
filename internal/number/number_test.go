package number

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// texts are numbers and what only looks like one, each followed by nothing.
var texts = []string{
	"0", "-0", "+0", "1", "-1", "00000000000000000000000000001", "12345678", "123456789", "1234567890123456789",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "99999999999999999999999", "0.1", ".5", "5.", "-.25e-3", "1e22", "1e23",
	"1e27", "1e28", "1e-27", "1e-28", "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e400",
	"5e-324", "2e-324", "1e-400", "4.9406564584124654e-324", "2.2250738585072011e-308", "1.00000005960464477539",
	"1.000000059604644775390625", "1.0000000596046448", "16777217", "16777216.5", "16777219", "340282346638528859811704183484516925440",
	"340282356779733661637539395458142568447", "340282356779733661637539395458142568448", "3.4028235677973366e38",
	"1.1754942807573643e-38", "7.0064923216240854e-46", "7.0064923216240862e-46", "9007199254740993", "9007199254740992.5",
	"9007199254740993.00000001", "9007199254740995", "0.000000000000000000000000000000000000001", "1e999999999999999999999",
	"0e999999999999999999999", "1e-999999999999999999999", "0.00000000000000000000", "8.5e-27", "123456789012345678e-27",
	"inf", "-inf", "+Infinity", "NaN", "9.5367431640625e-07", "1e1", "1E+05", "100000000000000000000000e-20",
}

func checkFloats(t interface {
	Helper()
	Errorf(string, ...any)
}, text, behind string) {
	t.Helper()
	b := []byte(text + behind)
	want, err := strconv.ParseFloat(text, 64)
	got, n := ParseFloat64(b)
	if err != nil {
		if n != 0 {
			t.Errorf("f64 %q: %v and %d bytes, want none", b, got, n)
		}
	} else if n != len(text) || math.Float64bits(got) != math.Float64bits(want) && want == want {
		t.Errorf("f64 %q: %v and %d bytes, want %v and %d", b, got, n, want, len(text))
	}
	want, err = strconv.ParseFloat(text, 32)
	small, n := ParseFloat32(b)
	if err != nil {
		if n != 0 {
			t.Errorf("f32 %q: %v and %d bytes, want none", b, small, n)
		}
	} else if n != len(text) || math.Float32bits(small) != math.Float32bits(float32(want)) && want == want {
		t.Errorf("f32 %q: %v and %d bytes, want %v and %d", b, small, n, want, len(text))
	}
}

func TestFloats(t *testing.T) {
	for _, text := range texts {
		for _, behind := range []string{"", " ", "\n12345678", ",9", "x", "-1"} {
			checkFloats(t, text, behind)
		}
	}
}

// TestPrefix are numbers that end earlier than the text that could belong to them.
func TestPrefix(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "-": 0, "+": 0, ".": 0, "-.": 0, "e5": 0, ".e5": 0, "x": 0, "in": 0, "na": 0, "--1": 0, " 1": 0, "1e": 1,
		"1e+": 1, "1e-x": 1, "1.2.3": 3, "0x1p4": 1, "1_000": 1, "12e5e5": 4, "infinite": 3, "infinityx": 8, "nanx": 3, "-nan": 4,
		"١": 0,
	} {
		if _, n := ParseFloat64([]byte(text)); n != want {
			t.Errorf("f64 %q: %d bytes, want %d", text, n, want)
		}
		if _, n := ParseFloat32([]byte(text)); n != want {
			t.Errorf("f32 %q: %d bytes, want %d", text, n, want)
		}
	}
}

func TestInts(t *testing.T) {
	for _, text := range append([]string{"", "-", "+", "x", "-x"}, texts...) {
		want, err := strconv.ParseInt(text, 10, 64)
		length := len(text) - len(strings.TrimLeft(strings.TrimLeft(text, "+-"), "0123456789"))
		if length < 2 && strings.Trim(text[:length], "+-") == "" {
			length = 0
		}
		for _, behind := range []string{"", " ", "x234567890"} {
			v, n, ok := ParseInt64([]byte(text + behind))
			if n != length {
				t.Errorf("%q: %d bytes, want %d", text, n, length)
			}
			if length == len(text) && (ok != (err == nil) || ok && v != want) {
				t.Errorf("%q: %d %v, want %d, %v", text, v, ok, want, err)
			}
			if n == 0 && ok {
				t.Errorf("%q: ok without a number", text)
			}
			u, n, ok := ParseUint64([]byte(text + behind))
			if uwant, err := strconv.ParseUint(text[:n], 10, 64); ok != (err == nil) || ok && u != uwant {
				t.Errorf("%q: %d %v, want %d, %v", text, u, ok, uwant, err)
			}
			if rest := text[n:]; rest != "" && rest[0]-'0' <= 9 {
				t.Errorf("%q: %d bytes, want all digits", text, n)
			}
		}
	}
}

// TestAgainstStrconv compares random spellings of numbers.
func TestAgainstStrconv(t *testing.T) {
	digit := rapid.StringMatching(`[0-9]{0,24}`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + "0" + digit.Draw(t, "whole")
		if rapid.Bool().Draw(t, "point") {
			text += "." + digit.Draw(t, "fraction")
		}
		if rapid.Bool().Draw(t, "exponent") {
			text += "e" + strconv.Itoa(rapid.IntRange(-360, 330).Draw(t, "power"))
		}
		checkFloats(t, text, rapid.SampledFrom([]string{"", " ", "\n123456789"}).Draw(t, "behind"))
	})
}

// TestShortest writes any bits and reads them back, in one spelling or another.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if rapid.Bool().Draw(t, "whole") {
			v = float64(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "value"))
		}
		text := AppendFloat64([]byte("x"), v)[1:]
		if got, n := ParseFloat64(text); n != len(text) || math.Float64bits(got) != math.Float64bits(v) && v == v {
			t.Fatalf("%v as %q reads as %v", v, text, got)
		}
		if want := strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"); string(text) != want {
			t.Fatalf("%q, want %q", text, want)
		}
		checkFloats(t, strconv.FormatFloat(v, 'e', rapid.IntRange(0, 20).Draw(t, "digits"), 64), "")
		w := math.Float32frombits(rapid.Uint32().Draw(t, "bits32"))
		text = AppendFloat32(nil, w)
		if got, n := ParseFloat32(text); n != len(text) || math.Float32bits(got) != math.Float32bits(w) && w == w {
			t.Fatalf("%v as %q reads as %v", w, text, got)
		}
		checkFloats(t, strconv.FormatFloat(float64(w), 'e', rapid.IntRange(0, 12).Draw(t, "digits32"), 32), "")
	})
}

// TestMiddles are decimal numbers at and beside the middle of two floats that lie next to each other, with any power of ten and of
// two for which they have at most 19 digits.
func TestMiddles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, width := range []int{53, 24} {
			drawn := rapid.Uint64Range(1<<width, 1<<(width+1)-1).Draw(t, "mantissa") | 1
			bit := rapid.IntRange(0, 63).Draw(t, "bit")
			for exp := -maxExp; exp <= maxExp; exp++ {
				over, mant := bits.Mul64(drawn, power5[max(-exp, 0)])
				if exp > 0 {
					mant = drawn/power5[exp] | 1 // times the power of five it mostly has as many bits
				}
				if over != 0 || mant > 1e19-2 {
					continue
				}
				most := bits.Len64((1e19-2)/mant) - 1
				for _, shift := range []int{bit % (most + 1), most} {
					for by := range uint64(3) {
						checkFloats(t, fmt.Sprintf("%de%d", mant<<shift+by-1, exp), "")
					}
				}
			}
			shift := rapid.IntRange(0, 27).Draw(t, "shift")
			checkFloats(t, strconv.FormatFloat(math.Ldexp(float64(drawn), -shift), 'f', -1, 64), "")
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, n := ParseFloat64(b); n > 0 {
			if want, err := strconv.ParseFloat(strings.TrimLeft(string(b[:n]), "+-"), 64); err != nil || math.Abs(v) != want && v == v {
				t.Errorf("%q: %v, want %v, %v", b[:n], v, want, err)
			}
		}
		if v, n := ParseFloat32(b); n > 0 {
			if want, err := strconv.ParseFloat(strings.TrimLeft(string(b[:n]), "+-"), 32); err != nil || math.Abs(float64(v)) != want && v == v {
				t.Errorf("%q: %v, want %v, %v", b[:n], v, want, err)
			}
		}
		if v, n, ok := ParseInt64(b); ok {
			if want, err := strconv.ParseInt(string(b[:n]), 10, 64); err != nil || v != want {
				t.Errorf("%q: %v, want %v, %v", b[:n], v, want, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{"short": "0.25\n                           ", "six": "-1.23457\n                        ", "full": "0.12345678901234567\n                       "} {
		raw := []byte(text)
		n := strings.IndexByte(text, '\n')
		b.Run("f64/"+name, func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				ParseFloat64(raw)
			}
		})
		b.Run("f32/"+name, func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				ParseFloat32(raw)
			}
		})
		b.Run("strconv/"+name, func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				_, _ = strconv.ParseFloat(string(raw[:n]), 64)
			}
		})
	}
	b.Run("int", func(b *testing.B) {
		raw := []byte("1234567 123456789")
		b.SetBytes(7)
		for b.Loop() {
			ParseInt64(raw)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var full, six, whole [1024]float64
	for i := range full {
		full[i] = rng.NormFloat64()
		six[i] = math.Round(rng.NormFloat64()*1e6) / 1e6
		whole[i] = float64(rng.IntN(100000))
	}
	for name, v := range map[string]*[1024]float64{"full": &full, "six": &six, "whole": &whole} {
		dst := make([]byte, 0, 64)
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				dst = AppendFloat64(dst[:0], v[i&1023])
			}
		})
		b.Run("f32/"+name, func(b *testing.B) {
			for i := range b.N {
				dst = AppendFloat32(dst[:0], float32(v[i&1023]))
			}
		})
		b.Run("strconv/"+name, func(b *testing.B) {
			for i := range b.N {
				dst = strconv.AppendFloat(dst[:0], v[i&1023], 'g', -1, 64)
			}
		})
	}
}
