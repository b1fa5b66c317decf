package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// containers writes the table of testdata/containers in every form: as it is, and from the CSV with tabs, with all cells in quotes, and packed.
func containers(t *testing.T, from string) (names []string) {
	t.Helper()
	for _, name := range []string{"table.csv", "table.parquet", "table.arrow"} {
		whole, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, writeContainer(t, name, whole))
	}
	text, err := os.ReadFile("table.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var tabs, quoted, packed bytes.Buffer
	w := csv.NewWriter(&tabs)
	w.Comma = '\t'
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		quoted.WriteString(strings.Join(row, ",") + "\n")
	}
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return append(names, writeContainer(t, "table.tsv", tabs.Bytes()), writeContainer(t, "quoted.csv", quoted.Bytes()),
		writeContainer(t, "table.csv.gz", packed.Bytes()))
}

func writeContainer(t *testing.T, name string, whole []byte) string {
	t.Helper()
	if err := os.WriteFile(name, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestKeptColumns copies columns from every container: all give the same cells.
func TestKeptColumns(t *testing.T) {
	from, err := filepath.Abs("testdata/containers")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	files := containers(t, from)
	if rc, text := said(t, "train", "--algo", "gbdt", "--trees", "1", "--data", files[0], "--label-column", "label", "--model", "trees",
		"--ignore", "code", "--holdout", "0", "--runs", "none"); rc != 0 {
		t.Fatal(text)
	}
	want := ""
	for _, file := range files {
		if rc, text := said(t, "predict", "--model", "trees", "--data", file, "--keep", "code,town,maybe,count", "--out", "kept.csv", "--force"); rc != 0 {
			t.Fatalf("%s: exit code %d: %s", file, rc, text)
		}
		kept, err := os.ReadFile("kept.csv")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(kept)
		}
		if lines := strings.Split(string(kept), "\n"); lines[0] != "row,margin,prediction,label,code,town,maybe,count" ||
			!strings.HasSuffix(lines[1], ",1,01,日本,u,87") {
			t.Errorf("%s: %q", file, lines[:2])
		}
		if string(kept) != want {
			t.Errorf("%s: other rows than those of %s", file, files[0])
		}
	}
}

// TestContainersAgree trains on the same table in every container and scores it in every container: all predictions have the same bits.
func TestContainersAgree(t *testing.T) {
	from, err := filepath.Abs("testdata/containers")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	files := containers(t, from)
	features := "count,price,gaps,single,paid,padded,town,code,kind,cost,maybe"
	for _, settings := range []string{
		"--algo gbdt --trees 5",
		"--algo gbdt --trees 5 --categorical " + features + ",plain,zoned",
		"--algo gbdt --trees 5 --hashed " + features,
		"--algo gbdt --trees 5 --buckets count,price,gaps,single,cost",
		"--algo lr --epochs 2",
		"--algo deepfm --epochs 1",
		"--algo deepfm --epochs 1 --categorical " + features,
	} {
		want := ""
		for number, train := range files {
			model := fmt.Sprintf("model%d", number)
			args := append(strings.Fields("train "+settings), "--data", train, "--label-column", "label", "--model", model, "--seed", "1",
				"--holdout", "0", "--runs", "none", "--force")
			if rc, text := said(t, args...); rc != 0 {
				t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), rc, text)
			}
			for _, score := range files {
				rc, text := said(t, "predict", "--model", model, "--data", score, "--out", "scores.csv", "--force")
				if rc != 0 {
					t.Fatalf("%s: trained on %s, scored on %s: exit code %d: %s", settings, train, score, rc, text)
				}
				scores, err := os.ReadFile("scores.csv")
				if err != nil {
					t.Fatal(err)
				}
				got := string(scores)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s: trained on %s, scored on %s: other predictions than trained and scored on %s: %s", settings, train,
						score, files[0], text)
				}
			}
		}
	}
}

// TestExactContainers tells categories apart by digits that float64 does not have, by time and by UUID, and copies them, from every container.
func TestExactContainers(t *testing.T) {
	from, err := filepath.Abs("testdata/containers")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	parts, columns := "", []string{"deal", "long", "whole", "at", "key"}
	for _, name := range []string{"exact.csv", "exact.parquet", "exact.arrow"} {
		for _, column := range columns {
			ignored := strings.Join(slices.DeleteFunc(slices.Clone(columns), func(s string) bool { return s == column }), ",")
			if rc, text := said(t, "train", "--algo", "gbdt", "--trees", "5", "--data", filepath.Join(from, "exact.csv"), "--label-column", "label",
				"--categorical", column, "--ignore", ignored, "--model", "m", "--holdout", "0", "--runs", "none", "--force"); rc != 0 {
				t.Fatal(text)
			}
			rc, text := said(t, "predict", "--model", "m", "--data", filepath.Join(from, name), "--out", "s.csv", "--force")
			if rc != 0 || !strings.Contains(text, "auc 1") {
				t.Errorf("%s, column %s: exit code %d, want all categories: %s", name, column, rc, text)
			}
		}
		if rc, text := said(t, "data", "split", filepath.Join(from, name), "--out", "parts", "--in-order", "--parts", "first=0.5,rest=0.5", "--force"); rc != 0 {
			t.Fatal(text)
		}
		part, err := os.ReadFile("parts/first.csv")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(part), ".000000+", "+"), "T", " ")
		if parts == "" {
			parts = text
		}
		if text != parts {
			t.Errorf("%s: split writes other rows than of exact.csv: %.200q", name, text)
		}
	}
}

// TestSplitBy puts rows of the same values into the same parts, from every container.
func TestSplitBy(t *testing.T) {
	from, err := filepath.Abs("testdata/containers")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	files := containers(t, from)
	for _, column := range []string{"gaps", "price", "single", "paid", "plain", "zoned", "padded", "town", "code", "cost"} {
		want := ""
		for _, file := range files {
			rc, text := said(t, "data", "split", file, "--out", "parts", "--by", column, "--seed", "8", "--parts", "a=0.5,b=0.5", "--force")
			if rc != 0 {
				t.Fatal(text)
			}
			ending := map[bool]string{true: ".tsv", false: ".csv"}[strings.HasSuffix(file, ".tsv")]
			part, err := os.ReadFile("parts/a" + ending)
			if err != nil {
				t.Fatal(err)
			}
			counts := ""
			for _, line := range strings.Split(string(part), "\n") {
				counts += strings.Trim(line[:strings.IndexAny(line+",", ",\t")], `"`) + " "
			}
			if want == "" {
				want = counts
			}
			if counts != want {
				t.Errorf("%s: --by %s takes other rows than of %s", file, column, files[0])
			}
		}
	}
}
