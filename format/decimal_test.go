package format

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestDecimals reads decimal numbers of any length as texts with all digits, and as the nearest doubles.
func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		bytes  []byte
		digits int
		want   string
	}{
		{[]byte{0}, 0, "0"}, {[]byte{0}, 3, "0.000"}, {[]byte{0}, -3, "0"}, {[]byte{5}, 0, "5"}, {[]byte{5}, 2, "0.05"}, {[]byte{0xfb}, 2, "-0.05"},
		{[]byte{0xfb}, -2, "-500"}, {[]byte{0, 200}, 2, "2.00"}, {[]byte{0x80}, 2, "-1.28"}, {[]byte{0x80}, 3, "-0.128"},
		{[]byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 4, "922337203685477.5807"},
		{[]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0}, 0, "-2361183241434822606848"}, {[]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0}, 30, "-0.000000002361183241434822606848"},
	} {
		if got, err := AppendDecimal([]byte("x"), c.bytes, c.digits); err != nil || string(got) != "x"+c.want {
			t.Errorf("% x with %d digits behind the point: %q, %v, want %s", c.bytes, c.digits, got, err, c.want)
		}
	}
	if _, err := AppendDecimal(nil, make([]byte, 257), 0); err == nil {
		t.Error("257 bytes are read")
	}
	rapid.Check(t, func(t *rapid.T) {
		b, digits := rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "bytes"), rapid.IntRange(-40, 40).Draw(t, "digits")
		text, err := AppendDecimal(nil, b, digits)
		if err != nil {
			t.Fatal(err)
		}
		v, err := DecimalBytes(b, digits)
		if want, _ := strconv.ParseFloat(string(text), 64); err != nil || math.Abs(v) != math.Abs(want) {
			t.Fatalf("%s is %v, %v, want %v", text, v, err, want)
		}
		if got, ok := new(big.Rat).SetString(string(text)); !ok || got.Sign() != signed(b).Sign() {
			t.Fatalf("%s has another sign than %v", text, signed(b))
		}
	})
}
