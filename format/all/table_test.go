package all_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// TestOpenTable finds the codec of a table by its bytes, its name if one is given, and refuses formats that have none.
func TestOpenTable(t *testing.T) {
	ctx, b := context.Background(), blob.NewDir("..")
	for path, name := range map[string]string{"parquet/testdata/table_v1.parquet": "parquet", "arrow/testdata/replaced.arrows": "arrow"} {
		for _, given := range []string{"", name} {
			table, c, err := all.Codecs().OpenTable(ctx, b, path, given, format.Options{})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if c.Info().Name != name || len(table.Columns()) == 0 || table.Rows() < 8 {
				t.Errorf("%s: %d rows of %v", path, table.Rows(), table.Columns())
			}
			if err := table.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for given, is := range map[string]error{"csv": format.ErrVersion, "arrow": format.ErrCorrupt, "nosuch": format.ErrUnknown} {
		if _, _, err := all.Codecs().OpenTable(ctx, b, "parquet/testdata/table_v1.parquet", given, format.Options{}); !errors.Is(err, is) {
			t.Errorf("as %s: %v, want %v", given, err, is)
		}
	}
	set := format.Options{Set: map[string]string{"nosuch": "1"}}
	if _, _, err := all.Codecs().OpenTable(ctx, b, "parquet/testdata/table_v1.parquet", "", set); !errors.Is(err, format.ErrOption) {
		t.Errorf("%v, want %v", err, format.ErrOption)
	}
}

// TestTableShares reads shares of the rows at once, as the workers of a training do.
func TestTableShares(t *testing.T) {
	ctx, b := context.Background(), blob.NewDir("..")
	for _, path := range []string{"parquet/testdata/table_pages.parquet", "arrow/testdata/table_zstd.arrow", "arrow/testdata/deltas.arrow"} {
		table, _, err := all.Codecs().OpenTable(ctx, b, path, "", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		var columns []int
		for i, c := range table.Columns() {
			if c.Kind != format.Unreadable {
				columns = append(columns, i)
			}
		}
		whole, err := formattest.TableCells(table, columns, matrix.Range{Hi: table.Rows()})
		if err != nil {
			t.Fatal(err)
		}
		const workers = 5
		var done sync.WaitGroup
		for k := range int64(workers) {
			done.Go(func() {
				at := matrix.Range{Lo: table.Rows() * k / workers, Hi: table.Rows() * (k + 1) / workers}
				cells, err := formattest.TableCells(table, columns, at)
				for i := range columns {
					if err != nil || !slices.Equal(cells[i], whole[i][at.Lo:at.Hi]) {
						t.Errorf("%s: column %d, rows %v: %v", path, columns[i], at, err)
						return
					}
				}
			})
		}
		done.Wait()
		stopped, stop := context.WithCancel(ctx)
		stop()
		for _, err := range table.Batches(stopped, columns, matrix.Range{Hi: table.Rows()}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want %v", path, err, context.Canceled)
			}
		}
	}
}
