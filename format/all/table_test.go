package all_test

import (
	"context"
	"errors"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/all"
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
