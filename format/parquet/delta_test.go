package parquet

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"thole.example/matrix"
)

// TestReadDifferences reads whole numbers that the library writes as differences, wrapping ones among them.
func TestReadDifferences(t *testing.T) {
	type row struct {
		A int32 `parquet:"a,delta"`
		B int64 `parquet:"b,delta"`
	}
	for _, n := range []int{0, 1, 2, 32, 33, 128, 129, 1000} {
		var rows []row
		var want []string
		for i := range n {
			r := row{A: int32(i * i * 77777), B: int64(i) * math.MaxInt64 / 3 * int64(1-i%2*2)}
			rows, want = append(rows, r), append(want, fmt.Sprint(r.A), fmt.Sprint(r.B))
		}
		for _, version := range []int{1, 2} {
			data := library(t, rows, parquet.DataPageVersion(version), parquet.PageBufferSize(999))
			m, got, err := load(data, nil, nil)
			if err != nil || !slices.Equal(got, want) || m.ColType(0) != matrix.I32 {
				t.Errorf("%d rows, version %d: %v, %v", n, version, m.ColTypes, err)
			}
		}
	}
}

// TestDifferences reads any numbers, and refuses what is cut or longer.
func TestDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Int64Range(-5, 5)
		all := rapid.SliceOfN(rapid.OneOf(near, near, rapid.Int64()), 0, 300).Draw(t, "numbers")
		raw, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := differences(raw, len(all), 64)
		if err != nil || !slices.Equal(got, all) {
			t.Fatalf("%v, %v, want %v", got, err, all)
		}
		cut := rapid.IntRange(0, len(raw)).Draw(t, "cut")
		if got, err := differences(raw[:cut], len(all), 64); cut < len(raw) && err == nil {
			t.Fatalf("%v of %d of %d bytes", got, cut, len(raw))
		}
		if _, err := differences(append(raw, 0), len(all), 64); err == nil {
			t.Fatal("a byte more")
		}
		raw[rapid.IntRange(0, len(raw)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err := differences(raw, len(all), 64); err == nil && len(got) != len(all) {
			t.Fatalf("%d numbers, want %d", len(got), len(all))
		}
	})
}

// TestNoRows reads a row group without rows whose chunk is a dictionary alone, as Arrow writes it.
func TestNoRows(t *testing.T) {
	p := pageOf(t, pf.PageHeader{Type: pf.DictionaryPage, DictionaryPageHeader: thrift.New(pf.DictionaryPageHeader{Encoding: pf.Plain})}, nil)
	foot := oneColumn(pf.Int64, 0, len(p), 0)
	chunk := &foot.RowGroups[0].Columns[0].MetaData
	chunk.DictionaryPageOffset, chunk.DataPageOffset = 4, 0
	m, cells, err := load(withFooter(t, p, foot), nil, nil)
	if err != nil || m.Rows != 0 || m.Cols != 1 || len(cells) > 0 {
		t.Errorf("%+v %v, %v", m, cells, err)
	}
	foot = oneColumn(pf.Boolean, 0, 0, 0) // truth values have no dictionary, and then no page and no place
	foot.RowGroups[0].Columns[0].MetaData.DataPageOffset = 0
	if m, cells, err := load(withFooter(t, nil, foot), nil, nil); err != nil || m.Rows != 0 || m.Cols != 1 || len(cells) > 0 {
		t.Errorf("a chunk without a page: %+v %v, %v", m, cells, err)
	}
}
