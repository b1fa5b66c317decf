package arrow

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

func openTable(data []byte, set map[string]string) (format.Table, error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "a.arrow", data); err != nil {
		return nil, err
	}
	return format.OpenTable(ctx, Codec, b, "a.arrow", format.Options{Set: set})
}

// tableFiles are tables of pyarrow, and whose cells they have.
var tableFiles = []struct{ file, truth string }{
	{"table.arrow", "table.arrow"}, {"table_lz4.arrow", "table.arrow"}, {"table_zstd.arrow", "table.arrow"},
	{"deltas.arrow", "deltas.arrow"}, {"replaced.arrows", "replaced.arrows"},
}

// TestTables reads tables of pyarrow, whole and every stretch of rows.
func TestTables(t *testing.T) {
	tables, err := formattest.TableTruth("../testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tableFiles {
		data, err := os.ReadFile("testdata/" + f.file)
		if err != nil {
			t.Fatal(err)
		}
		table, err := openTable(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		want := tables[f.truth]
		for i, c := range table.Columns() {
			if want[c.Name] == nil {
				if c.Kind != format.Unreadable || c.Check() == nil {
					t.Errorf("%s: column %q of %s is read", f.file, c.Name, c.Type)
				}
				continue
			}
			for lo := range table.Rows() {
				for _, hi := range []int64{lo + 1, lo + 7, 1 << 40} {
					cells, err := formattest.TableCells(table, []int{i}, matrix.Range{Lo: lo, Hi: hi})
					if err != nil {
						t.Fatalf("%s: column %q, rows from %d to %d: %v", f.file, c.Name, lo, hi, err)
					}
					if part := want[c.Name][lo:min(hi, table.Rows())]; !slices.Equal(cells[0], part) {
						t.Fatalf("%s: column %q (%s), rows from %d to %d\n%q, want\n%q", f.file, c.Name, c.Type, lo, hi, cells[0], part)
					}
				}
			}
		}
	}
}

// TestTableNames finds columns by their names.
func TestTableNames(t *testing.T) {
	table := openSample(t, "table")
	picked, err := format.Pick(table, []string{"level", "word"})
	if err != nil || len(picked) != 2 || table.Columns()[picked[0]].Name != "level" || picked[1] != 0 {
		t.Errorf("%v, %v", picked, err)
	}
	for name, want := range map[string]string{"wrd": "did you mean word", "pair": `column "pair" of struct cannot be read`} {
		if _, err := format.Pick(table, []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// openSample opens a table of testdata until the test ends.
func openSample(t *testing.T, name string) format.Table {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".arrow")
	if err != nil {
		t.Fatal(err)
	}
	table, err := openTable(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}
