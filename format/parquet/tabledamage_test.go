package parquet

import (
	"context"
	"os"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// tableCells reads all columns that can be read.
func tableCells(data []byte) (cells [][]string, err error) {
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, "a.parquet", data); err != nil {
		return nil, err
	}
	table, err := format.OpenTable(context.Background(), Codec, b, "a.parquet", format.Options{})
	if err != nil {
		return nil, err
	}
	defer table.Close()
	return formattest.TableCells(table, readableColumns(table), matrix.Range{Hi: 1 << 40})
}

// readableColumns are the places of the columns that can be read.
func readableColumns(t format.Table) (some []int) {
	for i, c := range t.Columns() {
		if c.Kind != format.Unreadable {
			some = append(some, i)
		}
	}
	return some
}

// TestDamagedTables cuts files short and changes their bytes: nothing panics, and in a file whose pages have checksums no change
// before the footer is taken for other cells.
func TestDamagedTables(t *testing.T) {
	for _, file := range tableFiles {
		data, err := os.ReadFile("testdata/" + file + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		whole, err := tableCells(data)
		if err != nil {
			t.Fatal(err)
		}
		obj, err := bucketOf(t, data).Open(context.Background(), "a.parquet")
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFooter(obj, true)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + n/64 {
			if _, err := tableCells(data[:n]); err == nil {
				t.Errorf("%s: read when cut at byte %d", file, n)
			}
		}
		for i := 0; i < len(data); i += 1 + len(data)/1500 {
			broken := slices.Clone(data)
			broken[i] ^= 1 << (i % 8)
			cells, err := tableCells(broken)
			if file == "table_v1" && int64(i) < f.start && err == nil && !slices.EqualFunc(cells, whole, slices.Equal) {
				t.Errorf("%s: byte %d changed, and other cells read", file, i)
			}
		}
	}
}
