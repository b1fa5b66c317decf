package number

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spelled is a number of so many bits as strconv writes it: its digits without zeros at the end, and their exponent.
func spelled(t interface{ Fatal(...any) }, v float64, size int) (digits uint64, exp int) {
	text := strconv.FormatFloat(math.Abs(v), 'e', -1, size)
	mantissa, power, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, err := strconv.ParseUint(whole+fraction, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if exp, err = strconv.Atoi(power); err != nil {
		t.Fatal(err)
	}
	if digits == 0 {
		return 0, 0
	}
	return trim(digits, exp-len(fraction))
}

// between reports whether v lies in the middle of two decimals, of which the first is even: the choice is free there, and
// strconv takes the other.
func between(v float64, a uint64, aExp int, b uint64, bExp int) bool {
	if a%2 != 0 || aExp != bExp {
		return false
	}
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(aExp, -aExp))), nil))
	if aExp < 0 {
		power.Inv(power)
	}
	sum := new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)))
	twice := new(big.Rat).SetFloat64(math.Abs(v))
	return sum.Mul(sum, power).Cmp(twice.Add(twice, twice)) == 0
}

func check64(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, raw uint64) {
	v := math.Float64frombits(raw)
	if v-v != 0 {
		return
	}
	wantDigits, wantExp := spelled(t, v, 64)
	if digits, exp := Shortest64(raw); (digits != wantDigits || exp != wantExp) && !between(v, digits, exp, wantDigits, wantExp) {
		t.Fatalf("%016x, %v: %de%d, want %de%d", raw, v, digits, exp, wantDigits, wantExp)
	}
}

func check32(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, raw uint32) {
	v := math.Float32frombits(raw)
	if v-v != 0 {
		return
	}
	wantDigits, wantExp := spelled(t, float64(v), 32)
	digits, exp := Shortest32(raw)
	if (uint64(digits) != wantDigits || exp != wantExp) && !between(float64(v), uint64(digits), exp, wantDigits, wantExp) {
		t.Fatalf("%08x, %v: %de%d, want %de%d", raw, v, digits, exp, wantDigits, wantExp)
	}
}

// TestShortestEdges are powers of two and ten with their neighbours, where intervals have unequal halves and ends count.
func TestShortestEdges(t *testing.T) {
	for e := range uint64(2047) {
		for _, f := range []uint64{0, 1, 2, 1 << 51, 1<<52 - 2, 1<<52 - 1} {
			check64(t, e<<52|f)
		}
	}
	for e := range uint32(255) {
		for _, f := range []uint32{0, 1, 2, 1 << 22, 1<<23 - 2, 1<<23 - 1} {
			check32(t, e<<23|f)
		}
	}
	for e := -330; e < 310; e++ {
		for _, d := range []string{"1", "2", "5", "9", "9.5", "1.25"} {
			v, _ := strconv.ParseFloat(d+"e"+strconv.Itoa(e), 64)
			w, _ := strconv.ParseFloat(d+"e"+strconv.Itoa(e), 32)
			for k := range uint64(5) {
				check64(t, math.Float64bits(v)+k-2)
				check32(t, math.Float32bits(float32(w))+uint32(k)-2)
			}
		}
	}
}

func TestShortestLikeStrconv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check64(t, rapid.Uint64().Draw(t, "bits"))
		check64(t, math.Float64bits(float64(rapid.Int64Range(-1<<55, 1<<55).Draw(t, "whole"))))
		check32(t, rapid.Uint32().Draw(t, "bits32"))
		check32(t, math.Float32bits(float32(rapid.Int32().Draw(t, "whole32"))))
	})
	n := 300_000
	if many, err := strconv.Atoi(os.Getenv("THOLE_NUMBERS")); err == nil {
		n = many
	}
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	for i := range n {
		check32(t, rng.Uint32())
		check32(t, math.Float32bits(float32(rng.NormFloat64()*0.01)))
		if i%4 == 0 {
			check64(t, rng.Uint64())
			check64(t, math.Float64bits(rng.NormFloat64()*0.01))
		}
	}
}

// TestPowers calculates the table of powers of ten.
func TestPowers(t *testing.T) {
	for i, got := range powers10 {
		e := i + power10Lo
		top, by := big.NewInt(1), big.NewInt(1)
		if e >= 0 {
			top.Exp(big.NewInt(10), big.NewInt(int64(e)), nil)
		} else {
			by.Exp(big.NewInt(10), big.NewInt(int64(-e)), nil)
		}
		want := new(big.Int)
		for shift := 128 - top.BitLen() + by.BitLen(); want.BitLen() != 128; shift-- {
			n, d := new(big.Int).Set(top), new(big.Int).Set(by)
			if shift >= 0 {
				n.Lsh(n, uint(shift))
			} else {
				d.Lsh(d, uint(-shift))
			}
			rest := new(big.Int)
			if want.QuoRem(n, d, rest); want.BitLen() == 128 && rest.Sign() != 0 {
				want.Add(want, big.NewInt(1))
			}
		}
		have := new(big.Int).SetUint64(got[0])
		have.Add(have.Lsh(have, 64), new(big.Int).SetUint64(got[1]))
		if have.Cmp(want) != 0 {
			t.Fatalf("10^%d is %x, want %x", e, have, want)
		}
	}
}

func BenchmarkShortest(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var f32 [1024]uint32
	var f64 [1024]uint64
	for i := range f32 {
		f32[i] = math.Float32bits(float32(rng.NormFloat64() * 0.01))
		f64[i] = math.Float64bits(rng.NormFloat64() * 0.01)
	}
	b.Run("f32", func(b *testing.B) {
		sum := uint32(0)
		for i := range b.N {
			d, _ := Shortest32(f32[i&1023])
			sum += d
		}
	})
	b.Run("f64", func(b *testing.B) {
		sum := uint64(0)
		for i := range b.N {
			d, _ := Shortest64(f64[i&1023])
			sum += d
		}
	})
}
