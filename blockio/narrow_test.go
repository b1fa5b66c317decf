package blockio_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

func bits(b matrix.Block) []byte {
	raw, _ := wire.ViewAny(b.Data.Values())
	return raw
}

// brief is the size of the smallest type of the codes that gives all values of b back.
func brief(codes blockio.Codes, b matrix.Block) int {
	best := b.Data.DType().Size()
	for _, d := range matrix.DTypes()[:10] {
		if _, ok := codes.Code(d); !ok || d.Size() >= best {
			continue
		}
		down, exact := b.Cast(d)
		if back, _ := down.Cast(b.Data.DType()); exact && bytes.Equal(bits(back), bits(b)) {
			best = d.Size()
		}
	}
	return best
}

func TestNarrow(t *testing.T) {
	edges := []float64{
		0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, -32769, 65535, 65536, 1<<31 - 1, 1 << 31, -1 << 31, 1<<32 - 1, 1 << 32,
		1 << 53, 0.5, 0.1, math.Copysign(0, -1), math.Inf(1), math.NaN(), math.Float64frombits(0x7ff8000000000000), 1e300, 1 << 63,
	}
	rapid.Check(t, func(t *rapid.T) {
		wide := rapid.SliceOfN(rapid.SampledFrom(edges), 0, 3).Draw(t, "values")
		b := matrix.Block{At: matrix.At(0, 1, 0, int64(len(wide))), Data: &matrix.Dense[float64]{Val: wide}}
		b, _ = b.Cast(rapid.SampledFrom(matrix.DTypes()[:10]).Draw(t, "type"))
		codes := rapid.SampledFrom([]blockio.Codes{blockio.Document, blockio.Daphne}).Draw(t, "codes")
		got := codes.Narrow(b)
		back, _ := got.Cast(b.Data.DType())
		if !bytes.Equal(bits(back), bits(b)) {
			t.Fatalf("%v became %v", b.Data, got.Data)
		}
		if _, ok := codes.Code(got.Data.DType()); !ok && got.Data.DType() != b.Data.DType() {
			t.Fatalf("%v has no code", got.Data.DType())
		}
		if want := brief(codes, b); len(wide) > 0 && got.Data.DType().Size() != want {
			t.Fatalf("%v became %v of %v, want %d bytes", b.Data, got.Data, got.Data.DType(), want)
		}
	})
}

// TestSmallestStops has more values than are counted at once, in which the zeros decide only at the end.
func TestSmallestStops(t *testing.T) {
	const n = 1 << 19 // 4 MiB
	at := matrix.At(0, 1, 0, n)
	for _, c := range []struct {
		stored int
		want   blockio.Kind
	}{{0, blockio.Empty}, {1, blockio.CSR}, {n / 2, blockio.CSR}, {2*n/3 - 1, blockio.CSR}, {2 * n / 3, blockio.Dense}, {n, blockio.Dense}} {
		val := make([]float64, n)
		for i := range c.stored {
			val[n-1-i] = 1
		}
		got := blockio.Smallest(matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: val}}, matrix.RowDense)
		if h, err := (blockio.Encoder{}).Head(got); err != nil || h.Kind != c.want {
			t.Errorf("%d of %d stored: %v, %v, want %v", c.stored, n, h.Kind, err, c.want)
		}
	}
}

// TestStreamUneven has several pieces, of rows of very different lengths.
func TestStreamUneven(t *testing.T) {
	ptr, idx := []int{0}, []int64{}
	for r := range 3000 {
		for c := range int64(r % 7 * 100) {
			idx = append(idx, 3*c)
		}
		if r == 1500 {
			for c := range int64(1 << 18) {
				idx = append(idx, 2100+c)
			}
		}
		ptr = append(ptr, len(idx))
	}
	data := matrix.KindOf(matrix.F32).CSR(ptr, idx)
	raw, _ := wire.ViewAny(data.Values())
	for i := range raw {
		raw[i] = byte(i * i >> 3)
	}
	b := matrix.Block{At: matrix.At(0, 3000, 0, 1<<20), Data: data}
	want, err := blockio.Encoder{Codes: blockio.Document}.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	largest := 0
	if err := (blockio.Encoder{Codes: blockio.Document}).Stream(b, func(p []byte) error {
		got, largest = append(got, p...), max(largest, len(p))
		return nil
	}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, want the %d of Append", len(got), err, len(want))
	}
	if largest > 4<<20 || len(want) < 8<<20 {
		t.Errorf("a piece of %d of %d bytes", largest, len(want))
	}
	stop := 0
	err = blockio.Encoder{Codes: blockio.Document}.Stream(b, func([]byte) error {
		if stop++; stop == 3 {
			return bytes.ErrTooLarge
		}
		return nil
	})
	if err != bytes.ErrTooLarge || stop != 3 {
		t.Errorf("%v after %d pieces, want the third's error", err, stop)
	}
}
