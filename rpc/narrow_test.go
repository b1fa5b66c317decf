package rpc_test

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// TestNarrowInt8: int8 values are within half of their scale, and what is narrowed once is not changed by narrowing any part of it.
func TestNarrowInt8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(-600, 600).Draw(t, "lo")
		p := rpc.Part{Kind: rpc.KindDense, DType: matrix.I8, Rows: matrix.Range{Hi: 1}, Cols: matrix.Range{Lo: lo, Hi: lo + rapid.Int64Range(1, 700).Draw(t, "n")}}
		val := make([]float32, p.Cols.Len())
		for i := range val {
			val[i] = math.Float32frombits(rapid.Uint32().Draw(t, "bits") &^ (1 << 30)) // of magnitude up to 2
		}
		first := roundTrip(t, &p, val)
		for i, v := range val {
			at := p.Cols.Lo + int64(i)
			from, to := max(0, int(at&^(rpc.RunColumns-1)-lo)), min(len(val), int(at|(rpc.RunColumns-1)-lo)+1)
			if scale := kernel.RunScale(val[from:to]); !(math.Abs(float64(first[i]-v)) <= float64(scale)/2) {
				t.Fatalf("%v became %v, with the scale %v", v, first[i], scale)
			}
		}
		cut := rapid.Int64Range(0, p.Cols.Len()-1).Draw(t, "cut")
		rest := p
		rest.Cols.Lo += cut
		if again := roundTrip(t, &rest, first[cut:]); !slices.Equal(again, first[cut:]) {
			t.Fatalf("from column %d on it is %v, want %v", rest.Cols.Lo, again, first[cut:])
		}
	})
}

func roundTrip(t *rapid.T, p *rpc.Part, val []float32) []float32 {
	n, _ := p.NarrowBytes(p.DType)
	p.Values = wire.View(make([]uint64, n/8+1))[:n]
	rpc.Narrow(p, p.Values, p.DType, val)
	got := make([]float32, len(val))
	if err := rpc.Widen(p, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWidenRefuses: wrong sizes, and scales that are none.
func TestWidenRefuses(t *testing.T) {
	p := rpc.Part{Kind: rpc.KindKeys, DType: matrix.I8, Rows: matrix.Range{Hi: 2}, Keys: []int64{5}}
	for _, tt := range []struct {
		name   string
		values []byte
		want   string
	}{
		{"short", []byte{0, 0, 0, 0, 1}, "5 bytes of values for 2 cells of i8, want 6"},
		{"long", make([]byte, 7), "want 6"},
		{"NaN", []byte{0, 0, 0xc0, 0x7f, 1, 2}, "scale NaN of run 0"},
		{"infinite", []byte{0, 0, 0x80, 0x7f, 1, 2}, "scale +Inf"},
		{"negative", []byte{0, 0, 0x80, 0xbf, 1, 2}, "scale -1"},
		{"too large", []byte{0, 0, 0x80, 0x7e, 1, 2}, "want a number"},
	} {
		p.Values = tt.values
		if err := rpc.Widen(&p, make([]float32, 2)); !errors.Is(err, rpc.ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	p.DType, p.Values = matrix.U16, make([]byte, 4)
	if err := rpc.Widen(&p, make([]float32, 2)); !errors.Is(err, rpc.ErrMalformed) {
		t.Errorf("values of u16: error %v", err)
	}
}

// TestPageInt8: the page's example of int8 values is what its text says.
func TestPageInt8(t *testing.T) {
	page, err := os.ReadFile("../docs/format/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "```dump values\n")
	text, _, _ = strings.Cut(text, "```")
	var raw []byte
	for _, m := range regexp.MustCompile(`(?m)^[0-9a-f]{8}  ((?:[0-9a-f]{2} ?)+)`).FindAllStringSubmatch(text, -1) {
		b, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b...)
	}
	p := rpc.Part{Kind: rpc.KindDense, DType: matrix.I8, Rows: matrix.Range{Hi: 1}, Cols: matrix.Range{Lo: 254, Hi: 259}, Values: raw}
	want := []float32{0.5, -1, 100, 0, -50}
	got := make([]float32, 5)
	if err := rpc.Widen(&p, got); err != nil || !ok || !slices.Equal(got, want) {
		t.Fatalf("the page's example is %v, error %v", got, err)
	}
	out := make([]byte, len(raw))
	if rpc.Narrow(&p, out, matrix.I8, want); !slices.Equal(out, raw) {
		t.Errorf("the page's example is written as % x", out)
	}
}

// FuzzWiden: whatever the values of a part are, they are refused or become as many numbers as it has cells.
func FuzzWiden(f *testing.F) {
	f.Add(uint8(matrix.I8), true, int64(0), int64(2), int64(3), []byte{0, 0, 0x80, 0x3f, 1, 2, 0, 0, 0x80, 0x3f, 3, 4})
	f.Add(uint8(matrix.F16), false, int64(250), int64(260), int64(1), make([]byte, 20))
	f.Add(uint8(matrix.I8), false, int64(math.MaxInt64-3), int64(math.MaxInt64), int64(1), make([]byte, 7))
	f.Fuzz(func(t *testing.T, dtype uint8, keyed bool, lo, hi, rows int64, values []byte) {
		p := rpc.Part{Kind: rpc.KindDense, DType: matrix.DType(dtype), Rows: matrix.Range{Hi: rows}, Cols: matrix.Range{Lo: lo, Hi: hi}}
		if p.Values = wire.View(make([]uint64, len(values)/8+1))[:copy(wire.View(make([]uint64, len(values)/8+1)), values)]; keyed {
			p.Kind, p.Keys = rpc.KindKeys, make([]int64, len(values)/5)
		}
		copy(p.Values, values)
		n, ok := p.Cells()
		if !ok || n > 8*int64(len(values)) {
			n = int64(len(values))
		}
		_ = rpc.Widen(&p, make([]float32, n))
		_ = rpc.Widen(&p, make([]float64, n))
	})
}
