package angel

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestSmallBlocks reads everything again in blocks of a few bytes: the same values, and no block larger than allowed.
func TestSmallBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		s.m.BlockRows, s.m.BlockCols = 0, 0
		var b blob.Mem
		set := map[string]string{optFormat: rapid.SampledFrom(layoutNames()).Draw(t, "format")}
		if err := save(&b, &s, 1, []matrix.Block{s.b}, set); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, &b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := r.Matrices()[0]
		want, err := values(r, m, m.Rect())
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.Int64Range(1, 400).Draw(t, "limit")
		r.(*reader).stored[0].limit = limit
		got, err := values(r, m, m.Rect())
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for blk, err := range r.Blocks(ctx, "w", m.Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(blk.Data.NNZ() * m.DType.Size()); n > limit && int64(blk.Data.NNZ()) > m.Rows {
				t.Fatalf("block of %d bytes, want at most %d", n, limit)
			}
		}
	})
}

// TestHashInBands reads hash partitions in more than one pass.
func TestHashInBands(t *testing.T) {
	r, err := Codec.Open(ctx, own(t, "hash"), "model", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	want, err := values(r, m, m.Rect())
	if err != nil {
		t.Fatal(err)
	}
	if m.ColLo != -7 || m.Cols != 1<<40+8 || len(want) != 4 {
		t.Errorf("columns from %d, %d of them, %d values, want -7, 2^40+8, 4", m.ColLo, m.Cols, len(want))
	}
	for limit := int64(1); limit < 100; limit += 7 {
		r.(*reader).stored[0].limit = limit
		got, err := values(r, m, m.Rect())
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
}

// TestManyWindows writes rows that are longer than what is encoded at a time, and reads partitions that are longer than a window,
// so that records lie across the ends of windows.
func TestManyWindows(t *testing.T) {
	const rows, each = 3, 100_000
	rng := rand.New(rand.NewPCG(1, 2))
	thin := &matrix.CSR[float64]{Ptr: []int{0}}
	for range rows {
		for i := range int64(each) {
			thin.Idx, thin.Val = append(thin.Idx, 3*i+rng.Int64N(3)), append(thin.Val, rng.NormFloat64())
		}
		thin.Ptr = append(thin.Ptr, len(thin.Idx))
	}
	dense := matrix.Meta{Name: "w", Rows: rows, Cols: each, DType: matrix.F64}
	sparse := matrix.Meta{Name: "w", Rows: rows, Cols: 3 * each, DType: matrix.F64, Layout: matrix.RowSparse}
	for _, l := range writable {
		for _, s := range []sample{
			{dense, matrix.Block{At: dense.Rect(), Data: &matrix.Dense[float64]{Val: thin.Val}}},
			{sparse, matrix.Block{At: sparse.Rect(), Data: thin}},
		} {
			if s.m.Layout == matrix.RowSparse && (!l.colID || l.column) {
				continue // zeros for absent cells
			}
			var b blob.Mem
			if err := save(&b, &s, 1, []matrix.Block{s.b}, map[string]string{optFormat: l.name}); err != nil {
				t.Fatal(err)
			}
			r, err := Codec.Open(ctx, &b, "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for blk, err := range r.Blocks(ctx, "w", s.m.Rect()) {
				if err != nil {
					t.Fatalf("%s: %v", l.name, err)
				}
				got, want := blk.ToCSR().Data.(*matrix.CSR[float64]), s.b.Cut(blk.At).ToCSR().Data.(*matrix.CSR[float64])
				if !slices.Equal(got.Idx, want.Idx) || !slices.Equal(got.Val, want.Val) {
					t.Errorf("%s: %v: the cells of a %v block are others", l.name, blk.At, s.m.Layout)
				}
				n += len(got.Val)
			}
			if n != rows*each {
				t.Errorf("%s: %d cells of a %v matrix, want %d", l.name, n, s.m.Layout, rows*each)
			}
		}
	}
}

// raw is a folder of one matrix from a metadata text and one data file "0".
func raw(t testing.TB, meta, data string) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	for name, text := range map[string]string{"model/w/_meta": meta, "model/w/0": data} {
		if err := blob.WriteAll(ctx, b, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// plainMeta is plain JSON of a 2 x 4 matrix in one partition with two elements in each row.
func plainMeta(class, kind, length string) string {
	s := `{"matrixName":"w","formatClassName":"CLASS","rowType":KIND,"row":"2","col":4,"blockRow":2,"blockCol":4,"more":[1,{"a":null}],
 "partMetas":{"0":{"partId":0,"startRow":0,"endRow":2,"startCol":0,"endCol":4,"saveColNum":2,"fileName":"0","offset":0,"length":LENGTH,
 "rowMetas":{"0":{"rowId":0,"elementNum":2},"1":{"rowId":1,"elementNum":2}}}}}`
	return strings.NewReplacer("CLASS", class, "KIND", kind, "LENGTH", length).Replace(s)
}

// TestOrder reads records that are not in the order of a normal save.
func TestOrder(t *testing.T) {
	want := map[cell]string{{0, 1}: "1", {0, 3}: "3", {1, 0}: "10", {1, 2}: "12"}
	for name, c := range map[string]struct{ class, data string }{
		"columns of a row":      {"ColIdValueTextRowFormat", "3,3\n1,1\n0,10\n2,12\n"},
		"rows that say so":      {"RowIdColIdValueTextRowFormat", "1,0,10\n1,2,12\n0,1,1\n0,3,3\n"},
		"rows between others":   {"RowIdColIdValueTextRowFormat", "1,0,10\n0,3,3\n1,2,12\n0,1,1\n"},
		"another separator":     {"RowIdColIdValueTextRowFormat", "0.1.1\n0.3.3\n1.0.10\n1.2.12\n"},
		"no end of the last":    {"ColIdValueTextRowFormat", "1,1\n3,3\n0,10\n2,12"},
		"carriage returns":      {"ColIdValueTextRowFormat", "1,1\r3,3\r0,10\r2,12\r"},
		"both, counted as they": {"ColIdValueTextRowFormat", "1,1\r\n3,3\r\n0,10\r\n2,12\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			meta := plainMeta(c.class, "24", itoa(len(c.data)))
			r, err := Codec.Open(ctx, raw(t, meta, c.data), "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int64{maxBlock, 40, 10} {
				r.(*reader).stored[0].limit = limit
				got, err := values(r, r.Matrices()[0], matrix.At(0, 2, 0, 4))
				if limit < maxBlock && (name == "rows between others" || name == "columns of a row") {
					if err == nil && !maps.Equal(got, want) || err != nil && !isTyped(err, format.ErrLimit, format.ErrCorrupt) {
						t.Errorf("limit %d: got %v, %v", limit, got, err)
					}
					continue
				}
				if err != nil || !maps.Equal(got, want) {
					t.Errorf("limit %d: got %v, %v, want %v", limit, got, err, want)
				}
			}
		})
	}
	t.Run("columns", func(t *testing.T) {
		data := "3,3,13\n1,1,11\n"
		r, err := Codec.Open(ctx, raw(t, plainMeta("TextColumnFormat", "24", itoa(len(data))), data), "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := values(r, r.Matrices()[0], matrix.At(0, 2, 0, 4))
		if want := (map[cell]string{{0, 1}: "1", {0, 3}: "3", {1, 1}: "11", {1, 3}: "13"}); err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}
