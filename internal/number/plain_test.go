package number

import (
	"math"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "1.": "1", "+1": "1", "-1.0": "-1", "-0": "0", "-0.0": "0", "0": "0", "0.0": "0", "0e5": "0",
		"1e7": "10000000", "1e+07": "10000000", "10000000.0": "10000000", "1E7": "10000000", "1e15": "1000000000000000",
		"1e+16": "10000000000000000", "1.8446744073709550e19": "18446744073709549568", "1e20": "1e+20", "1e+020": "1e+20", "100e18": "1e+20",
		"0.10": "0.1", ".5": "0.5", "12.50": "12.5", "1e-05": "0.00001", "1e-15": "0.000000000000001", "1e-16": "1e-16",
		"0.1000000000000000055511151231257827": "0.1", "999999999999999.5": "999999999999999.5",
		"9007199254740993": "9007199254740993", "-9007199254740993": "-9007199254740993", "123456789012345678901234567890": "123456789012345678901234567890",
		"inf": "inf", "Infinity": "inf", "-Inf": "-inf",
	} {
		got, ok := Plain(nil, []byte(text))
		if !ok || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
		if again, ok := Plain(nil, got); !ok || string(again) != want {
			t.Errorf("%q: %q, %v, want it to stay", want, again, ok)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "01", "-01", "00", "00.5", "1_000", "0x1F", "1,5", "1 ", " 1", "1e", "1.2.3", "nan", "NaN", "1e400",
		"a", "Köln", "12kg", "²"} {
		if got, ok := Plain(nil, []byte(text)); ok || string(got) != text {
			t.Errorf("%q: %q, %v, want it as it is", text, got, ok)
		}
	}
}

func TestAppendPlain(t *testing.T) {
	for want, v := range map[string]float64{"NaN": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1), "0": math.Copysign(0, -1),
		"-9223372036854775808": -1 << 63, "9223372036854775808": 1 << 63, "1.8446744073709552e+19": 1 << 64, "123456.75": 123456.75,
		"1234567.25": 1234567.25, "5e-324": math.SmallestNonzeroFloat64, "-0.0005": -0.0005} {
		if got := AppendPlain([]byte("x"), v); string(got) != "x"+want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for want, v := range map[string]float32{"0.1": 0.1, "NaN": float32(math.NaN()), "inf": float32(math.Inf(1)), "16777216": 1 << 24,
		"1234568000": 1234567936, "10000000000": 1e10, "3.4028235e+38": math.MaxFloat32, "0.00001": 1e-5, "-2.5": -2.5,
		"1234568000000000": 1.2345679e15} {
		if got := AppendPlain32([]byte("x"), v); string(got) != "x"+want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
