package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// cellRow is a row of a table that the library writes.
type cellRow struct {
	Dict    string   `parquet:"dict,dict"`
	Plain   *string  `parquet:"plain,optional"`
	Lengths string   `parquet:"lengths,delta"`
	Bare    []string `parquet:"bare"` // lists of two levels
	Dicts   []string `parquet:"dicts,dict"`
	List    []int64  `parquet:"list,list"`
	Number  *float64 `parquet:"number,optional"`
	Whole   *int32   `parquet:"whole,optional,dict"`
	Yes     bool     `parquet:"yes"`
	When    int64    `parquet:"when,timestamp(microsecond)"`
	Money   int64    `parquet:"money,decimal(2:12)"`
}

func quoted(s string) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(text.String())
}

func listed[T any](all []T, text func(T) string) string {
	var some []string
	for _, v := range all {
		some = append(some, text(v))
	}
	return "[" + strings.Join(some, ", ") + "]"
}

func nullable[T any](v *T, text func(T) string) string {
	if v == nil {
		return "null"
	}
	return text(*v)
}

func double(v float64) string { return fmt.Sprintf("%016x", math.Float64bits(v)) }

func wholeText[T int32 | int64](v T) string { return strconv.FormatInt(int64(v), 10) }

// texts are the cells of the row by column, as formattest has them.
func (r *cellRow) texts() map[string]string {
	yes := "0"
	if r.Yes {
		yes = "1"
	}
	return map[string]string{"dict": quoted(r.Dict), "plain": nullable(r.Plain, quoted), "lengths": quoted(r.Lengths),
		"bare": listed(r.Bare, quoted), "dicts": listed(r.Dicts, quoted), "list": listed(r.List, wholeText[int64]),
		"number": nullable(r.Number, double), "whole": nullable(r.Whole, wholeText[int32]), "yes": yes,
		"when": wholeText(r.When * 1000), "money": double(float64(r.Money) / 100)}
}

func drawRow(t *rapid.T) (r cellRow) {
	word := rapid.SampledFrom([]string{"", "a", "word", "über", "a longer text than others"})
	r.Dict, r.Lengths = word.Draw(t, "dict"), rapid.String().Draw(t, "lengths")
	r.Plain = rapid.Ptr(word, true).Draw(t, "plain")
	r.Bare, r.Dicts = rapid.SliceOfN(word, 0, 3).Draw(t, "bare"), rapid.SliceOfN(word, 0, 3).Draw(t, "dicts")
	r.List = rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "list")
	r.Number, r.Whole = rapid.Ptr(rapid.Float64(), true).Draw(t, "number"), rapid.Ptr(rapid.Int32(), true).Draw(t, "whole")
	r.Yes, r.When = rapid.Bool().Draw(t, "yes"), rapid.Int64Range(-1<<51, 1<<51).Draw(t, "when")
	r.Money = rapid.Int64Range(-1e11, 1e11).Draw(t, "money")
	return r
}

// TestLibraryTables reads tables that parquet-go wrote.
func TestLibraryTables(t *testing.T) {
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd, &parquet.Gzip}
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 1, 40).Draw(t, "rows")
		var file bytes.Buffer
		w := parquet.NewGenericWriter[cellRow](&file, parquet.DataPageVersion(rapid.IntRange(1, 2).Draw(t, "version")),
			parquet.PageBufferSize(rapid.IntRange(20, 500).Draw(t, "page")), parquet.MaxRowsPerRowGroup(rapid.Int64Range(3, 50).Draw(t, "group")),
			parquet.Compression(rapid.SampledFrom(codecs).Draw(t, "codec")))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		table := openTable(t, file.Bytes())
		defer table.Close()
		lo := rapid.Int64Range(0, int64(len(rows)-1)).Draw(t, "lo")
		at := matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo+1, int64(len(rows))).Draw(t, "hi")}
		cells, err := formattest.TableCells(table, readableColumns(table), at)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range table.Columns() {
			var want []string
			for _, r := range rows[at.Lo:at.Hi] {
				want = append(want, r.texts()[c.Name])
			}
			if c.Kind == format.Unreadable || !slices.Equal(cells[i], want) {
				t.Fatalf("column %q of %s: %q, want %q", c.Name, c.Type, cells[i], want)
			}
		}
	})
}
