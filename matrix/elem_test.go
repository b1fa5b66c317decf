package matrix

import (
	"math"
	"testing"
)

// float16 is the value of the bits by the definition of binary16.
func float16(bits uint16) float64 {
	sign, e, f := 1.0, int(bits>>10&0x1f), float64(bits&0x3ff)
	if bits>>15 == 1 {
		sign = -1
	}
	switch {
	case e == 0x1f && f != 0:
		return math.NaN()
	case e == 0x1f:
		return sign * math.Inf(1)
	case e == 0:
		return sign * math.Ldexp(f, -24)
	}
	return sign * math.Ldexp(1024+f, e-25)
}

func TestFloat16OfAllBits(t *testing.T) {
	for i := range 1 << 16 {
		h := Float16(i)
		wide, want := h.Float32(), float16(uint16(i))
		if !same(float64(wide), want) {
			t.Fatalf("%#04x is %v, want %v", i, wide, want)
		}
		back := ToFloat16(wide)
		if back != h && want == want || want != want && !math.IsNaN(float64(back.Float32())) {
			t.Fatalf("%#04x is %v, and that is %#04x", i, wide, back)
		}
		if want != want && (back>>15 != h>>15 || back&^0x200 != h&^0x200) {
			t.Fatalf("NaN %#04x became %#04x: sign or payload lost", i, back)
		}
	}
}

func TestBFloat16OfAllBits(t *testing.T) {
	for i := range 1 << 16 {
		h := BFloat16(i)
		wide := h.Float32()
		if math.Float32bits(wide) != uint32(i)<<16 && wide == wide {
			t.Fatalf("%#04x is %v", i, wide)
		}
		back := ToBFloat16(wide)
		if back != h && wide == wide || wide != wide && back != h|0x40 {
			t.Fatalf("%#04x is %v, and that is %#04x", i, wide, back)
		}
	}
}

// TestHalfRounding goes through all neighbours: the value in the middle goes to the even one, what lies beside the
// middle to the nearer one.
func TestHalfRounding(t *testing.T) {
	for _, c := range []struct {
		name     string
		infinity uint16
		wide     func(uint16) float64
		narrow   func(float32) uint16
	}{
		{"f16", 0x7c00, float16, func(v float32) uint16 { return uint16(ToFloat16(v)) }},
		{"bf16", 0x7f80, func(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) },
			func(v float32) uint16 { return uint16(ToBFloat16(v)) }},
	} {
		for bits := range c.infinity {
			lo, hi := c.wide(bits), c.wide(bits+1)
			if bits+1 == c.infinity {
				hi = 2*lo - c.wide(bits-1)
			}
			even := bits + bits&1
			middle := float32((lo + hi) / 2)
			if float64(middle) != (lo+hi)/2 {
				t.Fatalf("%s: the middle of %v and %v is no float32", c.name, lo, hi)
			}
			for _, s := range []struct {
				v    float32
				want uint16
			}{
				{middle, even},
				{math.Nextafter32(middle, 0), bits},
				{math.Nextafter32(middle, math.MaxFloat32), bits + 1},
			} {
				if got := c.narrow(s.v); got != s.want {
					t.Fatalf("%s: %v is %#04x, want %#04x", c.name, s.v, got, s.want)
				}
				if got := c.narrow(-s.v); got != s.want|0x8000 {
					t.Fatalf("%s: %v is %#04x, want %#04x", c.name, -s.v, got, s.want|0x8000)
				}
			}
		}
	}
}

func TestHalfOfSpecialFloats(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		v       float32
		f16, bf uint16
	}{
		{inf, 0x7c00, 0x7f80},
		{-inf, 0xfc00, 0xff80},
		{math.MaxFloat32, 0x7c00, 0x7f80},
		{65519, 0x7bff, 0x4780},
		{65520, 0x7c00, 0x4780},
		{math.SmallestNonzeroFloat32, 0, 0},
		{float32(math.Copysign(0, -1)), 0x8000, 0x8000},
		{math.Float32frombits(0x7f800001), 0x7e00, 0x7fc0}, // a NaN whose payload lies in the bits that are dropped
		{math.Float32frombits(0xff800001), 0xfe00, 0xffc0},
		{math.Float32frombits(0x7fffffff), 0x7fff, 0x7fff},
	} {
		if f, b := uint16(ToFloat16(c.v)), uint16(ToBFloat16(c.v)); f != c.f16 || b != c.bf {
			t.Errorf("%v is f16 %#04x, bf16 %#04x; want %#04x, %#04x", c.v, f, b, c.f16, c.bf)
		}
	}
}
