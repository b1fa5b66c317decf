package blockio_test

import (
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const place = "0000000000000000 0000000000000000 "

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		off         int64
		want        string
	}{
		{"block type", place + "02000000 02000000 09", 24, "block type 9, want 0..3"},
		{"value type", place + "02000000 02000000 01 0b", 25, "value type 11, want a code of 1..10"},
		{"column outside", place + "01000000 02000000 02 01 0100000000000000 01000000 02000000 07", 38, "outside"},
		{"column twice", place + "01000000 03000000 02 01 0200000000000000 02000000 0100000007 0100000008", 34, "column 1 twice"},
		{"row too full", place + "02000000 03000000 02 01 0100000000000000 02000000 0100000007 00000000", 34, "row 0 has 2 non-zeros, 1 remain"},
		{"rows too empty", place + "01000000 03000000 02 01 0100000000000000 00000000 0100000007", 38, "the rows have 0 non-zeros, the block says 1"},
		{"row outside", place + "02000000 01000000 03 01 01000000 02000000 07", 30, "row 2, want less than 2"},
		{"cell outside", place + "02000000 02000000 03 01 01000000 00000000 02000000 07", 30, "cell (0,2)"},
		{"cell twice", place + "02000000 02000000 03 01 03000000 0100000000000000 07 0000000000000000 07 0100000000000000 08", 30, "cell (1,0) twice"},
		{"more than cells", place + "02000000 02000000 02 01 0500000000000000", 34, "5 stored cells in a block of 2 x 2"},
		{"huge CSR", place + "ffffffff ffffffff 02 0a 0000000000010000", 34, "remain"},
		{"huge dense", place + "ffffffff ffffffff 01 0a", 0, "more than 2^63 bytes"},
		{"large dense", place + "ffff0000 ffff0000 01 0a 00", 26, "1 remain"},
		{"no type", place + "02000000 02000000 00", 25, "does not say its value type"},
		{"beyond int64", "ffffffffffffff7f 0000000000000000 02000000 02000000 00", 0, "beyond int64"},
		{"wide padding", place + "00000000 00000001 81 0a" + strings.Repeat("00", 30), 25, "want 0 in the unused bytes"},
		{"wide reversed", place + "00000000 00000000 80 0a 000000000000 ffffffffffffffff 0000000000000000 0000000000000000", 25, "reversed"},
		{"wide columns", place + "00000000 00000000 84 01 000000000000 0100000000000000 0100000000000000 0200000000000000", 48, "2 selected columns, want at most 1"},
		{"wide column twice", place + "00000000 00000000 84 01 000000000000 0000000000000000 0900000000000000 0200000000000000" +
			"0100000000000000 0100000000000000", 64, "column 1, want ascending"},
		{"boolean", place + "00000000 00000000 81 12 000000000000 0100000000000000 0100000000000000 0000000000000000 02", 56, "boolean 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := blockio.Read(wire.NewCursor(unhex(t, c.bytes), 0, wire.Little))
			var at *wire.At
			if !errors.As(err, &at) || at.Off != c.off || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want byte %d and %q", err, c.off, c.want)
			}
			for _, limit := range []int64{1 << 20, 1} { // whole, and in bands
				for _, err = range (blockio.Decoder{}).Receive(stream(unhex(t, c.bytes)), limit) {
				}
				short := err != nil && strings.Contains(err.Error(), "ends too early") // a stream does not know what remains
				if !short && (!errors.As(err, &at) || at.Off != c.off || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("from a stream, %d bytes at a time: %v, want byte %d and %q", limit, err, c.off, c.want)
				}
			}
		})
	}
}

// TestEveryBit flips each bit of blocks of all kinds, in the narrow and the wide form: there is none that nobody looks at.
func TestEveryBit(t *testing.T) {
	for _, at := range []matrix.Rect{matrix.At(3, 5, 1, 5), matrix.At(-2, 0, -7, 1<<40)} { // narrow; wide
		for _, data := range []matrix.Data{
			matrix.Empty{D: matrix.I16},
			&matrix.Dense[int16]{Val: []int16{1, 2, 3, 4, 5, 6, 7, 8}},
			&matrix.CSR[int16]{Ptr: []int{0, 2, 3}, Idx: []int64{at.Cols.Lo, at.Cols.Lo + 3, at.Cols.Lo + 1}, Val: []int16{1, 2, 3}},
			&matrix.COO[int16]{Row: []int64{0, 1}, Col: []int64{at.Cols.Lo + 3, at.Cols.Lo + 2}, Val: []int16{1, 2}},
			&matrix.Cols[int16]{Idx: []int64{at.Cols.Lo + 1, at.Cols.Lo + 2}, Val: []int16{1, 2, 3, 4}},
		} {
			b := matrix.Block{At: at, Data: data}
			if _, dense := data.(*matrix.Dense[int16]); dense && at.Cols.Hi > 5 {
				continue // more than there is memory
			}
			whole, err := blockio.Append(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := blockio.Read(wire.NewCursor(whole, 0, wire.Little)); err != nil || !reflect.DeepEqual(got, b) {
				t.Fatalf("%v, %v, want %v", got, err, b)
			}
			for i := range 8 * len(whole) {
				changed := slices.Clone(whole)
				changed[i/8] ^= 1 << (i % 8)
				c := wire.NewCursor(changed, 0, wire.Little)
				if got, err := blockio.Read(c); err == nil && c.Len() == 0 && reflect.DeepEqual(got, b) {
					t.Errorf("%T at %v: byte %d of %d, bit %d: read as if it did not count", data, at, i/8, len(whole), i%8)
				}
			}
		}
	}
}

func TestNotInDocument(t *testing.T) {
	e := blockio.Encoder{Codes: blockio.Document}
	for _, b := range []matrix.Block{
		{At: matrix.At(0, 1, -1, 1), Data: &matrix.Dense[float64]{Val: make([]float64, 2)}},
		{At: matrix.At(0, 1<<32, 0, 1), Data: matrix.Empty{D: matrix.F64}},
		{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[matrix.Float16]{Val: make([]matrix.Float16, 1)}},
		{At: matrix.At(0, 1, 0, 9), Data: &matrix.Cols[float64]{Idx: []int64{3}, Val: make([]float64, 1)}},
	} {
		if enc, err := e.Append(nil, b); err == nil {
			t.Errorf("%v of %v was written as %x, want an error", b.At, b.Data.DType(), enc)
		}
		enc, err := blockio.Append(nil, b)
		if err != nil {
			t.Errorf("for the wire: %v", err)
		}
		d := blockio.Decoder{Codes: blockio.Document, Type: b.Data.DType()}
		if _, err := d.Read(wire.NewCursor(enc, 0, wire.Little)); err == nil {
			t.Errorf("%x was read as a document's block, want an error", enc)
		}
	}
}

func TestRefusesBlock(t *testing.T) {
	for name, b := range map[string]matrix.Block{
		"no data":        {At: matrix.At(0, 1, 0, 1)},
		"reversed":       {At: matrix.At(1, 0, 0, 1), Data: matrix.Empty{D: matrix.F64}},
		"dense length":   {At: matrix.At(0, 2, 0, 1), Data: &matrix.Dense[int8]{Val: make([]int8, 1)}},
		"csr pointers":   {At: matrix.At(0, 2, 0, 1), Data: &matrix.CSR[int8]{Ptr: []int{0, 1}, Idx: []int64{0}, Val: []int8{1}}},
		"csr order":      {At: matrix.At(0, 2, 0, 1), Data: &matrix.CSR[int8]{Ptr: []int{0, 2, 1}, Idx: []int64{0}, Val: []int8{1}}},
		"csr column":     {At: matrix.At(0, 1, 0, 1), Data: &matrix.CSR[int8]{Ptr: []int{0, 1}, Idx: []int64{-1}, Val: []int8{1}}},
		"wide csr order": {At: matrix.At(0, 2, 0, 1<<40), Data: &matrix.CSR[int8]{Ptr: []int{0, 2, 1}, Idx: []int64{0}, Val: []int8{1}}},
		"coo row":        {At: matrix.At(5, 6, 0, 2), Data: &matrix.COO[int8]{Row: []int64{5}, Col: []int64{0}, Val: []int8{1}}},
		"coo column":     {At: matrix.At(5, 6, 0, 1), Data: &matrix.COO[int8]{Row: []int64{0}, Col: []int64{1}, Val: []int8{1}}},
		"coo length":     {At: matrix.At(5, 6, 0, 1), Data: &matrix.COO[int8]{Row: []int64{0}, Col: []int64{0, 0}, Val: []int8{1}}},
		"wide coo row":   {At: matrix.At(5, 6, 0, 1<<40), Data: &matrix.COO[int8]{Row: []int64{1}, Col: []int64{0}, Val: []int8{1}}},
		"tall coo row":   {At: matrix.At(math.MinInt64, math.MaxInt64, 0, 2), Data: &matrix.COO[int8]{Row: []int64{-9}, Col: []int64{0}, Val: []int8{1}}},
		"cols column":    {At: matrix.At(0, 1, 0, 1), Data: &matrix.Cols[int8]{Idx: []int64{1}, Val: []int8{1}}},
		"cols length":    {At: matrix.At(0, 2, 0, 1), Data: &matrix.Cols[int8]{Idx: []int64{0}, Val: []int8{1}}},
	} {
		if enc, err := blockio.Append([]byte("x"), b); err == nil || string(enc) != "x" {
			t.Errorf("%s: %x, %v, want an error and nothing appended", name, enc, err)
		}
		if _, err := blockio.Gather(nil, b); err == nil {
			t.Errorf("%s: gathered", name)
		}
		if err := (blockio.Encoder{}).Stream(b, func([]byte) error { return nil }); err == nil {
			t.Errorf("%s: streamed", name)
		}
	}
}

func TestConverts(t *testing.T) {
	narrow := unhex(t, place+"01000000 02000000 01 01 07 ff")
	d := blockio.Decoder{Codes: blockio.Document, Type: matrix.F64}
	b, err := d.Read(wire.NewCursor(narrow, 0, wire.Little))
	if v, ok := b.Data.(*matrix.Dense[float64]); err != nil || !ok || v.Val[0] != 7 || v.Val[1] != 255 {
		t.Errorf("got %v, %v, want 7 and 255 as f64", b.Data, err)
	}
	d.Type = matrix.I8
	if _, err := d.Read(wire.NewCursor(narrow, 0, wire.Little)); err == nil || !strings.Contains(err.Error(), "a value that i8 does not") {
		t.Errorf("255 as i8: %v", err)
	}
}

func TestInPlace(t *testing.T) {
	b := matrix.Block{At: matrix.At(0, 2, math.MinInt64, math.MaxInt64),
		Data: &matrix.Cols[float32]{Idx: []int64{math.MinInt64, 5}, Val: []float32{1, 2, 3, 4}}}
	enc, err := blockio.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := blockio.Decoder{InPlace: true}.Read(wire.NewCursor(enc, 0, wire.Little))
	if err != nil {
		t.Fatal(err)
	}
	if wire.NativeOrder != wire.Little {
		t.Skip("views need a little-endian machine")
	}
	enc[len(enc)-1] ^= 0x80
	if v := got.Data.(*matrix.Cols[float32]).Val[3]; v != -4 {
		t.Errorf("got %v, want the change of the input to be seen: -4", v)
	}
}

// FuzzRead holds the reader to its word: what it accepts is a valid block that survives another round.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		place + "01000000 02000000 01 01 07 ff",
		place + "02000000 02000000 02 09 0100000000000000 01000000 00000000 0000803f 00000000",
		place + "06000000 01000000 03 0a 01000000 01000000 0000000000001c40",
		place + "06000000 02000000 03 05 01000000 01000000 01000000 ff",
		place + "00000000 00000000 84 01 000000000000 0100000000000000 0900000000000000 0100000000000000 0300000000000000 07",
		place + "00000000 00000000 82 10 000000000000 0100000000000000 0900000000000000 0100000000000000 0100000000000000 0300000000000000 003c",
		place + "00000000 00000000 80 0a 000000000000 0100000000000000 0900000000000000 0000000000000000",
	} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := blockio.Read(wire.NewCursor(data, 0, wire.Little))
		if err != nil {
			return
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		enc, err := blockio.Append(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := blockio.Decoder{InPlace: true}.Read(wire.NewCursor(enc, 0, wire.Little))
		if err != nil {
			t.Fatal(err)
		}
		sameBlock(t, again, b)
	})
}
