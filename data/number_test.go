package data

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func padded(text string) []byte { return append([]byte(text+"\n"), make([]byte, pad)...) }

// checkNumber compares number with strconv.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 32)
	got, end := decimal(padded(text), 0)
	if err != nil {
		if end == len(text) {
			t.Fatalf("%s: %v, want an error as %v", text, got, err)
		}
		return
	}
	if end != len(text) || math.Float32bits(got) != math.Float32bits(float32(want)) {
		t.Fatalf("%s: %v up to %d, want %v up to %d", text, got, end, float32(want), len(text))
	}
}

// A token of the limit is shown whole, a longer one is cut there.
func TestQuote(t *testing.T) {
	whole := strings.Repeat("x", quoteLimit)
	for token, want := range map[string]string{"a\x00": `"a\x00"`, whole: `"` + whole + `"`, whole + "y": `"` + whole + `"...`} {
		if got := quote([]byte(token)); got != want {
			t.Errorf("%d bytes: %s, want %s", len(token), got, want)
		}
	}
}

func TestNumberAgainstStrconv(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		f := math.Float32frombits(r.Uint32())
		if f == f && !math.IsInf(float64(f), 0) {
			checkNumber(t, strconv.FormatFloat(float64(f), 'g', -1, 32))
			checkNumber(t, strconv.FormatFloat(float64(f), 'e', 8+r.IntN(12), 64))
		}
		checkNumber(t, strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.IntN(12)-6)), 'f', r.IntN(14), 64))
		checkNumber(t, strconv.FormatInt(r.Int64()>>r.IntN(64), 10))
	}
}

// The middle between two floats, and its neighbours: where rounding twice goes wrong.
func TestNumberAtTies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		f := math.Float32frombits(uint32(0x3f800000 + r.IntN(1<<26)))
		g := math.Nextafter32(f, math.MaxFloat32)
		middle := (float64(f) + float64(g)) / 2
		for _, v := range []float64{middle, math.Nextafter(middle, 0), math.Nextafter(middle, 9e9)} {
			for _, digits := range []int{-1, 15, 16, 17} {
				checkNumber(t, strconv.FormatFloat(v, 'e', digits, 64))
			}
		}
	}
}

func TestNumberForms(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "+0", "1.", ".5", "-.5", "1e5", "1E+5", "1e-5", "00012.50", "1e22", "1e23", "1e-22", "1e-46", "1e-400",
		"3.4028235e38", "3.4028236e38", "123456789012345678", "1234567890123456789", "12345678901234567890",
		"0.0000000000000000000000000000000000000000000001", "9007199254740993", "16777217", "16777216.5", "12345678",
		"12345678.12345678", "1e38", "1e39", "-1e39", "1e999999999999",
		"0.00000000000000000000000000000000000000000000000000000000000000000000000000000001e80",
		"", "-", ".", "-.", "e5", ".e5", "1e", "1e+", "+-1", "--1", "1e5.5",
	} {
		checkNumber(t, text)
	}
	for _, text := range []string{"nan", "NaN", "inf", "Infinity", "-inf", "0x10", "1_000"} { // strconv knows these
		if v, end := decimal(padded(text), 0); end == len(text) {
			t.Errorf("%s: %v, want none", text, v)
		}
	}
}

func TestWhole(t *testing.T) {
	for _, text := range []string{
		"0", "7", "12345678", "123456789", "1234567890123456", "12345678901234567", "123456789012345678",
		"1234567890123456789", "9223372036854775807", "9223372036854775808", "00000000000000000000000001", "",
		"99999999999999999999999",
	} {
		want, err := strconv.ParseInt(text, 10, 64)
		got, end := whole(padded(text), 0)
		if err == nil && (got != want || end != len(text)) || err != nil && end >= 0 {
			t.Errorf("%q: %d up to %d, want %d, %v", text, got, end, want, err)
		}
	}
}

var numberForm = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1", "-0.5", "1e-7", "123456789.123456789e-5", "1e", "\xff\xfe", "99999999\xfa9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if numberForm.MatchString(text) {
			checkNumber(t, text)
		} else if _, end := decimal(padded(text), 0); end > len(text) {
			t.Fatalf("%q read up to %d", text, end)
		} else if end == len(text) {
			t.Fatalf("%q taken for a number", text)
		}
	})
}
