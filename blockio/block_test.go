package blockio_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// drawBlock draws a valid block of any kind and type, its values as random bits.
func drawBlock(t *rapid.T, types []matrix.DType, kinds []blockio.Kind, at matrix.Rect) matrix.Block {
	d := rapid.SampledFrom(types).Draw(t, "type")
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	rows, cols := int(at.Rows.Len()), at.Cols
	column := rapid.Int64Range(cols.Lo, max(cols.Lo, cols.Hi-1))
	var data matrix.Data
	switch {
	case kind == blockio.Dense:
		data = matrix.KindOf(d).Dense(rows * int(cols.Len()))
	case kind == blockio.CSR:
		ptr, idx := []int{0}, []int64{}
		for range rows {
			idx = append(idx, drawIDs(t, cols, column)...)
			ptr = append(ptr, len(idx))
		}
		data = matrix.KindOf(d).CSR(ptr, idx)
	case kind == blockio.COO:
		row, col := []int64{}, []int64{}
		for r := range rows {
			for _, c := range drawIDs(t, cols, column) {
				row, col = append(row, int64(r)), append(col, c)
			}
		}
		if rapid.Bool().Draw(t, "reversed") {
			slices.Reverse(row)
			slices.Reverse(col)
		}
		data = matrix.KindOf(d).COO(row, col)
	case kind == blockio.Cols:
		data = matrix.KindOf(d).Cols(drawIDs(t, cols, column), rows)
	default:
		return matrix.Block{At: at, Data: matrix.Empty{D: d}}
	}
	raw, _ := wire.ViewAny(data.Values())
	copy(raw, rapid.SliceOfN(rapid.Byte(), len(raw), len(raw)).Draw(t, "values"))
	if d == matrix.Bool {
		for i := range raw {
			raw[i] &= 1
		}
	}
	return matrix.Block{At: at, Data: data}
}

func drawIDs(t *rapid.T, cols matrix.Range, column *rapid.Generator[int64]) []int64 {
	if cols.Hi <= cols.Lo {
		return []int64{}
	}
	ids := rapid.SliceOfNDistinct(column, 0, min(4, int(cols.Len())), rapid.ID).Draw(t, "ids")
	slices.Sort(ids)
	return ids
}

func drawSmall(t *rapid.T, low int64) matrix.Rect {
	r := rapid.Int64Range(low, 1<<40).Draw(t, "row")
	c := rapid.Int64Range(low, 1<<40).Draw(t, "col")
	return matrix.At(r, r+rapid.Int64Range(0, 5).Draw(t, "rows"), c, c+rapid.Int64Range(0, 5).Draw(t, "cols"))
}

var (
	allKinds   = []blockio.Kind{blockio.Empty, blockio.Dense, blockio.CSR, blockio.COO, blockio.Cols}
	plainKinds = allKinds[:4]
	keyed      = []blockio.Kind{blockio.Empty, blockio.CSR, blockio.COO, blockio.Cols}
)

// sameBlock compares bit for bit.
func sameBlock(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want matrix.Block) {
	t.Helper()
	a, _ := wire.ViewAny(got.Data.Values())
	b, _ := wire.ViewAny(want.Data.Values())
	gk, _ := blockio.Encoder{}.Head(got)
	wk, _ := blockio.Encoder{}.Head(want)
	if gk != wk || !bytes.Equal(a, b) {
		t.Fatalf("got %v %v %x, want %v %v %x", got.At, got.Data, a, want.At, want.Data, b)
	}
	x, err := blockio.Append(nil, got)
	y, err2 := blockio.Append(nil, want)
	if err != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Fatalf("got bytes %x (%v), want %x (%v)", x, err, y, err2)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b matrix.Block
		if rapid.Bool().Draw(t, "keys") {
			at := matrix.At(-3, 2, math.MinInt64, math.MaxInt64)
			b = drawBlock(t, matrix.DTypes(), keyed, at)
		} else {
			b = drawBlock(t, matrix.DTypes(), allKinds, drawSmall(t, -1<<40))
		}
		checkRoundTrip(t, b, blockio.Encoder{}, blockio.Decoder{})
		checkRoundTrip(t, b, blockio.Encoder{}, blockio.Decoder{InPlace: true})
	})
}

func TestRoundTripDocument(t *testing.T) {
	for _, codes := range []blockio.Codes{blockio.Document, blockio.Daphne} {
		var types []matrix.DType
		for _, d := range matrix.DTypes() {
			if _, ok := codes.Code(d); ok {
				types = append(types, d)
			}
		}
		t.Run(codes.String(), rapid.MakeCheck(func(t *rapid.T) {
			b := drawBlock(t, types, plainKinds, drawSmall(t, 0))
			checkRoundTrip(t, b, blockio.Encoder{Codes: codes}, blockio.Decoder{Codes: codes, Type: b.Data.DType()})
		}))
	}
}

func checkRoundTrip(t *rapid.T, b matrix.Block, e blockio.Encoder, d blockio.Decoder) {
	before := b.Clone()
	enc, err := e.Append([]byte("before"), b)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := e.Size(b); err != nil || size != len(enc)-6 {
		t.Fatalf("size %d, %v, want %d", size, err, len(enc)-6)
	}
	pieces, err := e.Gather(nil, b)
	if err != nil || !bytes.Equal(bytes.Join(pieces, nil), enc[6:]) {
		t.Fatalf("gathered %x, %v, want %x", pieces, err, enc[6:])
	}
	var streamed []byte
	err = e.Stream(b, func(piece []byte) error {
		streamed = append(streamed, piece...)
		return nil
	})
	if err != nil || !bytes.Equal(streamed, enc[6:]) {
		t.Fatalf("streamed %x, %v, want %x", streamed, err, enc[6:])
	}
	c := wire.NewCursor(append(enc, "behind"...), 0, wire.Big)
	c.Skip(6, "before")
	got, err := d.Read(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() != 6 {
		t.Fatalf("%d bytes remain, want 6", c.Len())
	}
	if err := got.Check(); err != nil {
		t.Fatal(err)
	}
	sameBlock(t, got, before)
}

func TestTruncated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, matrix.DTypes(), allKinds, drawSmall(t, -1<<40))
		enc, err := blockio.Append(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		for n := range enc {
			if _, err := blockio.Read(wire.NewCursor(enc[:n], 0, wire.Little)); err == nil {
				t.Fatalf("%d of %d bytes read without an error", n, len(enc))
			}
		}
	})
}

func TestSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := matrix.Layout(rapid.IntRange(0, 1).Draw(t, "layout"))
		types := matrix.DTypes()[:10]
		b := drawBlock(t, types, allKinds, drawSmall(t, 0))
		if raw, size := wire.ViewAny(b.Data.Values()); len(raw) > 0 {
			for i := range len(raw) / size {
				if rapid.Bool().Draw(t, "zero") {
					clear(raw[i*size : (i+1)*size])
				}
			}
		}
		got := blockio.Smallest(b, layout)
		if err := got.Check(); err != nil {
			t.Fatal(err)
		}
		if a, b := cellsOf(got, layout), cellsOf(b, layout); !reflect.DeepEqual(a, b) {
			t.Fatalf("cells %v, want %v", a, b)
		}
		least, err := blockio.Encoder{Codes: blockio.Document}.Size(got)
		if err != nil {
			t.Fatal(err)
		}
		others := []matrix.Block{b.ToCSR()}
		if layout == matrix.RowDense {
			others = append(others, b.ToDense())
		}
		for _, o := range others {
			if n, err := (blockio.Encoder{Codes: blockio.Document}).Size(o); err != nil || n < least {
				t.Fatalf("%T takes %d (%v), %T %d", o.Data, n, err, got.Data, least)
			}
		}
	})
}

// cellsOf are the stored cells, without the zeros of a dense matrix.
func cellsOf(b matrix.Block, layout matrix.Layout) map[string]string {
	cells := map[string]string{}
	_ = b.EachText(func(r, c int64, v []byte) error {
		if layout == matrix.RowSparse || string(v) != "0" {
			cells[fmt.Sprint(r, c)] = string(v)
		}
		return nil
	})
	return cells
}

func TestSorted(t *testing.T) {
	coo := &matrix.COO[int16]{Row: []int64{1, 0, 1}, Col: []int64{7, 9, 5}, Val: []int16{1, 2, 3}}
	got := blockio.Sorted(matrix.Block{At: matrix.At(4, 6, 5, 10), Data: coo})
	want := &matrix.COO[int16]{Row: []int64{0, 1, 1}, Col: []int64{9, 5, 7}, Val: []int16{2, 3, 1}}
	if !reflect.DeepEqual(got.Data, matrix.Data(want)) {
		t.Errorf("got %v, want %v", got.Data, want)
	}
}

// TestStreamLarge has more cells than are made at a time.
func TestStreamLarge(t *testing.T) {
	csr := benchBlock(matrix.U8)
	d := csr.Data.(*matrix.CSR[uint8])
	coo := &matrix.COO[uint8]{Col: d.Idx, Val: d.Val}
	for r := range csr.At.Rows.Len() {
		for range d.Ptr[r+1] - d.Ptr[r] {
			coo.Row = append(coo.Row, r)
		}
	}
	for _, b := range []matrix.Block{csr, {At: csr.At, Data: coo}} {
		want, err := blockio.Append(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		pieces := 0
		err = blockio.Encoder{}.Stream(b, func(piece []byte) error {
			got = append(got, piece...)
			pieces++
			return nil
		})
		if err != nil || !bytes.Equal(got, want) || pieces < 4 {
			t.Errorf("%T: %d bytes in %d pieces, %v, want the %d of Append in several", b.Data, len(got), pieces, err, len(want))
		}
	}
}

// Zeros that a sparse block stores are left away if the matrix is dense, and only then.
func TestSmallestZeros(t *testing.T) {
	csr := &matrix.CSR[float64]{Ptr: []int{0, 2, 2, 4}, Idx: []int64{1, 900, 5, 7}, Val: []float64{0, 5, 6, 0}}
	b := matrix.Block{At: matrix.At(0, 3, 0, 1000), Data: csr}
	for layout, want := range map[matrix.Layout]int{matrix.RowDense: 2, matrix.RowSparse: 4} {
		got := blockio.Smallest(b, layout)
		if err := got.Check(); err != nil || got.Data.NNZ() != want || !reflect.DeepEqual(cellsOf(got, matrix.RowDense), map[string]string{"0 900": "5", "2 5": "6"}) && layout == matrix.RowDense {
			t.Errorf("%v: %d cells, %v, want %d", layout, got.Data.NNZ(), err, want)
		}
	}
}

// A document's head of a block without cells has no type.
func TestHead(t *testing.T) {
	at := matrix.At(0, 2, 0, 2)
	for _, b := range []matrix.Block{{At: at, Data: matrix.Empty{D: matrix.F64}}, matrix.NewDense(matrix.F64, at)} {
		for _, codes := range []blockio.Codes{blockio.Extended, blockio.Document} {
			want := matrix.F64
			if _, empty := b.Data.(matrix.Empty); empty && codes == blockio.Document {
				want = matrix.Invalid
			}
			if h, err := (blockio.Encoder{Codes: codes}).Head(b); err != nil || h.Type != want || h.At != at {
				t.Errorf("%T: %+v, %v, want type %v", b.Data, h, err, want)
			}
		}
	}
}
