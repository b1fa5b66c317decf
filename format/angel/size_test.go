package angel

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestRowList holds a packed list against a plain one, with numbers from anywhere.
func TestRowList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*chunkRows+5).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		wild := rapid.IntRange(0, 63).Draw(t, "bits")
		var rows []rowMeta
		for i := range n {
			rows = append(rows, rowMeta{id: int32(i) + int32(rng.Uint32()>>max(1, 31-wild/2)), off: int64(100*i) + int64(rng.Uint64()>>(63-wild)),
				n: int32(rng.Uint32() >> 1 >> (31 - wild/2)), kind: int32(rng.IntN(2)) - 1})
		}
		l := listRows(rows...)
		check := func(l *rowList) {
			t.Helper()
			if got := l.span().rows(0, l.n); l.n != n || !slices.Equal(got, rows) {
				t.Fatalf("%d rows, want %d\n%v\n%v", l.n, n, got, rows)
			}
			lo := rapid.IntRange(0, n).Draw(t, "from")
			hi := rapid.IntRange(lo, n).Draw(t, "to")
			values := int64(0)
			for _, r := range rows[lo:hi] {
				values += int64(r.n)
			}
			if got := l.span().cut(lo, hi).values(); got != values {
				t.Fatalf("%d values in [%d,%d), want %d", got, lo, hi, values)
			}
		}
		check(&l)
		b := l.append(nil)
		again, err := readRowList(b, 0)
		if err != nil {
			t.Fatal(err)
		}
		check(&again)
		if n > 0 {
			if _, err := readRowList(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")], 0); err == nil {
				t.Fatal("a list that was cut is read")
			}
		}
	})
}

// TestRowListIsSmall packs what large matrices have: rows of one length, and lines of text.
func TestRowListIsSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var same, text rowList
	off := int64(0)
	for i := range int32(100_000) {
		same.add(rowMeta{id: i, off: 8 * int64(i), n: 2})
		text.add(rowMeta{id: i, off: off, n: 2})
		off += 20 + int64(rng.IntN(20))
	}
	for _, c := range []struct {
		l    *rowList
		most int
	}{{&same, 100_000}, {&text, 300_000}} {
		if n := len(c.l.append(nil)); n > c.most {
			t.Errorf("%d bytes for %d rows, want at most %d", n, c.l.n, c.most)
		}
	}
}

// TestMetaSize holds the estimate of the metadata against what is written.
func TestMetaSize(t *testing.T) {
	for _, l := range writable {
		for _, kind := range []rowType{0, 7, 14, 21, 10} {
			if kind == 10 && !l.colID {
				continue
			}
			for _, set := range []map[string]string{
				{optBlockCols: "3"}, {optBlockRows: "7", optBlockCols: "1"}, {optBlockRows: "1000"}, {optCompat: "angel-3.2", optBlockRows: "500"},
				{optPerFile: "3", optBlockCols: "2"}, {optSlots: "2"}, {optChecksum: "off"},
			} {
				s := plainSample(7, 1234, 6) // every row has every column, of sparse matrices too
				s.m.Layout, s.m.DType, s.m.Attrs = kind.Layout(), elementOf(kind), map[string]string{attrRowType: kind.String()}
				s.b, _ = s.b.Cast(elementOf(kind))
				if set[optSlots] == "" {
					s.m.Dims = []int64{1234, 2, 3}
				}
				o := format.Options{Set: map[string]string{optFormat: l.name}}
				for k, v := range set {
					o.Set[k] = v
				}
				o.Lossy = true
				p, err := Codec.(codec).newPlan(s.m, 0, &o)
				if err != nil {
					t.Fatal(err)
				}
				b := &blob.Mem{}
				if err := save(b, &s, 1, []matrix.Block{s.b}, o.Set); err != nil {
					t.Fatal(err)
				}
				z, wrote := p.metaSize(), int64(len(everything(t, b)["model/w/_meta"]))-4
				if z.bytes < wrote || z.bytes > wrote+wrote/5 {
					t.Errorf("%s %v %v: %d bytes of metadata, estimated %d", l.name, kind, set, wrote, z.bytes)
				}
			}
		}
	}
}

// TestTooMuchMetadata refuses what could not be opened again, and names settings that it then accepts.
func TestTooMuchMetadata(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 10_000_000, Cols: 4, DType: matrix.F32}
	create := func(set map[string]string) error {
		_, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{m}, format.Options{Set: set})
		return err
	}
	err := create(map[string]string{optFormat: "ValueBinaryRowFormat", optBlockCols: "1"})
	if !errors.Is(err, format.ErrLimit) {
		t.Fatalf("%v, want that it is beyond the limit", err)
	}
	t.Log(err)
	if err := create(map[string]string{optFormat: "ValueBinaryRowFormat", optBlockCols: "2"}); err != nil {
		t.Errorf("the settings that the error names: %v", err)
	}
	if err := create(map[string]string{optFormat: "ValueBinaryRowFormat"}); err != nil {
		t.Error(err)
	}
	if err := create(map[string]string{optFormat: "BinaryColumnFormat", optPartition: "column"}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("records of 40 MB: %v, want that they are beyond the limit", err)
	}
	m.Rows = 1 << 31
	if err := create(nil); !errors.Is(err, format.ErrLimit) {
		t.Errorf("2^31 rows: %v", err)
	}
}

// TestFewCellsOfManyRows writes sparse matrices of many rows: rows without cells are saved and not listed.
func TestFewCellsOfManyRows(t *testing.T) {
	for _, l := range writable {
		if !l.colID || l.column {
			continue
		}
		for _, savedRows := range [][]matrix.Range{nil, {{Lo: 5, Hi: 9}, {Lo: 70_000, Hi: 80_001}}} {
			m := matrix.Meta{Name: "w", Rows: 90_000, Cols: 10, DType: matrix.F32, Layout: matrix.RowSparse, Saved: savedRows}
			d := &matrix.COO[float32]{Row: []int64{7, 80_000}, Col: []int64{3, 0}, Val: []float32{1.5, 2}}
			s := sample{m, matrix.Block{At: m.Rect(), Data: d}.ToCSR()}
			for _, set := range []map[string]string{{}, {optBlockRows: "30000"}, {optCompat: "angel-3.2"}} {
				set[optFormat] = l.name
				b := saved(t, &s, set)
				listed := 0
				for _, p := range metaOf(t, b).parts {
					listed += p.rowMetas.n
				}
				if most := 2; set[optCompat] == "" && listed != most {
					t.Errorf("%s %v: %d rows listed, want %d", l.name, set, listed, most)
				}
				r, err := Codec.Open(ctx, b, "model", format.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Matrices()[0].Saved; !slices.Equal(got, savedRows) {
					t.Errorf("%s %v: saved rows %v, want %v", l.name, set, got, savedRows)
				}
			}
		}
	}
}
