package blockio_test

import (
	"bufio"
	"bytes"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

func stream(data []byte) *bufio.Reader { return bufio.NewReaderSize(bytes.NewReader(data), 16) }

// TestReceive gives every block in bands, which put together are the block, and takes nothing behind it.
func TestReceive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, matrix.DTypes(), allKinds, drawSmall(t, -1<<40))
		raw, err := blockio.Append(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		r := stream(append(raw, 77))
		var cells, want [][2]int64
		var text, wantText []string
		collect := func(b matrix.Block, at *[][2]int64, text *[]string) {
			_ = b.EachText(func(r, c int64, v []byte) error { // the callback has no error
				*at, *text = append(*at, [2]int64{r, c}), append(*text, string(v))
				return nil
			})
		}
		collect(b, &want, &wantText)
		bands := 0
		for band, err := range (blockio.Decoder{}).Receive(r, rapid.Int64Range(1, 40).Draw(t, "limit")) {
			if err != nil {
				t.Fatal(err)
			}
			if err := band.Check(); err != nil && b.Check() == nil || !b.At.Contains(band.At) {
				t.Fatalf("band %v of %v: %v", band.At, b.At, err)
			}
			collect(band, &cells, &text)
			bands++
		}
		if next, err := r.ReadByte(); next != 77 || err != nil || bands == 0 {
			t.Fatalf("%d bands, then byte %d, %v", bands, next, err)
		}
		if len(cells) != len(want) {
			t.Fatalf("%d cells, want %d", len(cells), len(want))
		}
		for i := range want {
			if cells[i] != want[i] || text[i] != wantText[i] {
				t.Fatalf("cell %v is %s, want %v, %s", cells[i], text[i], want[i], wantText[i])
			}
		}
		for n := range raw {
			var last error
			for _, last = range (blockio.Decoder{}).Receive(stream(raw[:n]), 8) {
			}
			if last == nil {
				t.Fatalf("%d of %d bytes were taken for all", n, len(raw))
			}
		}
	})
}

// TestReceiveBounded takes a large block with little memory, and a block that only says that it is large with less.
func TestReceiveBounded(t *testing.T) {
	b := matrix.NewDense(matrix.F64, matrix.At(0, 1<<10, 0, 1<<12)) // 32 MiB
	raw, err := blockio.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{raw, append(bytes.Clone(raw[:16]), 255, 255, 255, 255, 255, 255, 255, 127, 1, 10, 0, 0)} {
		var before, after runtime.MemStats
		most := uint64(0)
		r := stream(data)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for band, err := range (blockio.Decoder{}).Receive(r, 1<<20) {
			if err == nil && band.Data.NNZ() > 1<<17 {
				t.Errorf("a band of %d cells", band.Data.NNZ())
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
		}
		if most > 8<<20 {
			t.Errorf("%d bytes held of a block of %d", most, len(data))
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, b := range []matrix.Block{
		matrix.NewDense(matrix.F32, matrix.At(0, 2, 0, 3)),
		{At: matrix.At(0, 2, 0, 3), Data: matrix.Empty{D: matrix.U8}},
		{At: matrix.At(0, 2, 5, 8), Data: &matrix.CSR[float64]{Ptr: []int{0, 1, 2}, Idx: []int64{5, 6}, Val: []float64{1, 2}}},
		{At: matrix.At(0, 2, 0, math.MaxInt64), Data: &matrix.COO[int8]{Row: []int64{1}, Col: []int64{5}, Val: []int8{3}}},
	} {
		raw, err := blockio.Append(nil, b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var last error
		for b, err := range (blockio.Decoder{}).Receive(stream(data), 16) {
			if last = err; err == nil && b.Check() != nil {
				t.Fatalf("band %v: %v", b.At, b.Check())
			}
		}
		_, err := blockio.Read(wire.NewCursor(data, 0, wire.Little))
		if (err == nil) != (last == nil) {
			t.Fatalf("as a stream %v, as bytes %v", last, err)
		}
	})
}
