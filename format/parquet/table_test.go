package parquet

import (
	"context"
	"os"
	"slices"
	"testing"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

func openTable(t fataler, data []byte) format.Table {
	t.Helper()
	table, err := format.OpenTable(context.Background(), Codec, bucketOf(t, data), "a.parquet", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func truth(t fataler) map[string][]string {
	t.Helper()
	tables, err := formattest.TableTruth("../testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	return tables["table.parquet"]
}

var tableFiles = []string{"table_v1", "table_pages", "table_v2", "table_old"}

// TestTables reads tables of pyarrow: pages of both versions, all encodings, dictionaries that end within a row group, small pages,
// in which lists go on from one to the next; whole, and every stretch of rows.
func TestTables(t *testing.T) {
	want := truth(t)
	for _, file := range tableFiles {
		data, err := os.ReadFile("testdata/" + file + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		table := openTable(t, data)
		defer table.Close()
		for i, c := range table.Columns() {
			if want[c.Name] == nil {
				if c.Kind != format.Unreadable || c.Check() == nil {
					t.Errorf("%s: column %q of %s is read", file, c.Name, c.Type)
				}
				continue
			}
			for lo := range table.Rows() {
				for _, hi := range []int64{lo + 1, lo + 7, 1 << 40} {
					cells, err := formattest.TableCells(table, []int{i}, matrix.Range{Lo: lo, Hi: hi})
					if err != nil {
						t.Fatalf("%s: column %q, rows from %d to %d: %v", file, c.Name, lo, hi, err)
					}
					if part := want[c.Name][lo:min(hi, table.Rows())]; !slices.Equal(cells[0], part) {
						t.Fatalf("%s: column %q (%s), rows from %d to %d\n%q, want\n%q", file, c.Name, c.Type, lo, hi, cells[0], part)
					}
				}
			}
		}
	}
}
