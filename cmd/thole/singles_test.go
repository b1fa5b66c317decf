package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSingles scores columns of float32 and half floats by a model of LightGBM 4.7.0: singles.want is what its predict returns for the
// DataFrame, and in 4 of the 12 rows something else for the CSV file of it.
func TestSingles(t *testing.T) {
	from, err := filepath.Abs("testdata/containers")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(from, "singles.want"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(text))
	t.Chdir(t.TempDir())
	for _, name := range []string{"singles.parquet", "singles.arrow"} {
		rc, text := said(t, "predict", "--model", filepath.Join(from, "singles.lgb"), "--data", filepath.Join(from, name), "--no-label",
			"--out", "out.csv", "--force")
		if rc != 0 || !strings.Contains(text, `column "a" has numbers of less than 64 bits`) ||
			!strings.Contains(text, `column "h" has`) || strings.Contains(text, `column "d" has`) {
			t.Fatalf("%s: exit code %d: %s", name, rc, text)
		}
		f, err := os.Open("out.csv")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || len(rows) != len(want)+1 {
			t.Fatalf("%s: %d rows, %v, want %d", name, len(rows), err, len(want)+1)
		}
		at := len(rows[0]) - 1
		if rows[0][at] != "prediction" {
			t.Fatalf("columns %q", rows[0])
		}
		for i, text := range want {
			x, _ := strconv.ParseFloat(text, 64)
			if got, err := strconv.ParseFloat(rows[i+1][at], 64); err != nil || got != x {
				t.Errorf("%s: row %d: %v, want %v", name, i, rows[i+1][at], x)
			}
		}
	}
}
