package arrow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// The files of testdata were written by pyarrow 26, nine rows in batches of at most four, and by Polars, nine rows or none.
func stored(t fataler, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// storedNames are the files of columns that are read without options.
var storedNames = []string{"v5.arrow", "v5.arrows", "lz4.arrow", "zstd.arrows", "legacy.arrow", "legacy.arrows"}

// allFiles are the files and the options that read them.
var allFiles = map[string]map[string]string{
	"v5.arrow": nil, "v5.arrows": nil, "lz4.arrow": nil, "zstd.arrows": nil, "legacy.arrow": nil, "legacy.arrows": nil,
	"nulls.arrow": {"nulls": "nan"}, "nulls_lz4.arrows": {"nulls": "nan"}, "text.arrow": {"other": "skip"},
	"polars.arrow": {"nulls": "nan"}, "polars_lz4.arrows": {"nulls": "nan"}, "polars_empty.arrow": nil,
}

// TestReadStored reads columns of most kinds: versions, frames of messages, compressions.
func TestReadStored(t *testing.T) {
	types := []matrix.DType{matrix.I8, matrix.U16, matrix.F16, matrix.F64, matrix.Bool, matrix.I64, matrix.F32, matrix.F32}
	var want []string
	for i := range 9 {
		truth := 0
		if i%3 == 0 {
			truth = 1
		}
		want = append(want, fmt.Sprint(i-4), fmt.Sprint(i*7000), fmt.Sprint(float64(i)/4), fmt.Sprint(float64(i)*0.1), fmt.Sprint(truth),
			fmt.Sprint(i*1000000), fmt.Sprint(float64(2*i)/8), fmt.Sprint(float64(2*i+1)/8))
	}
	for _, name := range storedNames {
		data := stored(t, name)
		m, got, err := load(data, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Rows != 9 || !slices.Equal(m.ColTypes, types) || strings.Join(m.Labels, " ") != "a b c d e ts l[0] l[1]" {
			t.Errorf("%s: read %+v", name, m)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: read %v, want %v", name, got, want)
		}
		for lo := range int64(8) {
			part := matrix.At(lo, min(9, lo+3), lo, lo+1)
			_, got, err := load(data, nil, &part)
			var some []string
			for r := part.Rows.Lo; r < part.Rows.Hi; r++ {
				some = append(some, want[r*8+lo])
			}
			if err != nil || !slices.Equal(got, some) {
				t.Errorf("%s, %v: read %v, %v, want %v", name, part, got, err, some)
			}
		}
	}
}

// TestReadPolars reads files whose schema has no frame, and checksums of LZ4 blocks.
func TestReadPolars(t *testing.T) {
	var want []string
	for i := range 9 {
		x, z := fmt.Sprint(float64(i)/2), "0"
		if i%4 == 1 {
			x = "NaN"
		}
		if i%3 == 0 {
			z = "1"
		}
		want = append(want, x, fmt.Sprint(i), z, fmt.Sprint(float64(2*i)/8), fmt.Sprint(float64(2*i+1)/8))
	}
	for name, want := range map[string][]string{"polars.arrow": want, "polars_lz4.arrows": want, "polars_empty.arrow": nil} {
		m, got, err := load(stored(t, name), allFiles[name], nil)
		if err != nil || !slices.Equal(got, want) || strings.Join(m.Labels, " ") != "x y z w[0] w[1]" {
			t.Errorf("%s: read %v %v, %v", name, m.Labels, got, err)
		}
	}
	if n := notes(t, stored(t, "polars.arrow"), nil); n[0] != "file, metadata V5, 4 columns, 1 record batches, schema without a frame" {
		t.Errorf("%q", n)
	}
}

// notes are what a reader says of the bytes.
func notes(t fataler, data []byte, set map[string]string) []string {
	t.Helper()
	r, err := Codec.Open(context.Background(), bucketOf(t, data), "a.arrow", format.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Notes()
}

// TestNotes says what a user should know.
func TestNotes(t *testing.T) {
	for name, want := range map[string]string{
		"v5.arrow": "file, metadata V5, 7 columns, 3 record batches|dates and times as whole numbers: ts is timestamp[us]|metadata that is not kept: who",
		"legacy.arrows": "stream, metadata V4, 7 columns, 3 record batches, framed as before version 0.15|" +
			"dates and times as whole numbers: ts is timestamp[us]|metadata that is not kept: who",
		"zstd.arrows": "stream, metadata V5, 7 columns, 3 record batches, zstd|dates and times as whole numbers: ts is timestamp[us]|metadata that is not kept: who",
		"text.arrow": "file, metadata V5, 7 columns, 3 record batches|warning: columns left out: name (utf8), d (dictionary), s (struct), " +
			"v (utf8 view), u (union)",
	} {
		if got := strings.Join(notes(t, stored(t, name), allFiles[name]), "|"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestNulls are errors unless the option says what they are: rows, lists and numbers of lists.
func TestNulls(t *testing.T) {
	nan := "0 0 NaN 0|NaN 1 1.5 1|1 2 2.5 2|1.5 NaN NaN 3|2 4 4.5 4|NaN 5 5.5 5|3 6 NaN 6|3.5 NaN NaN 7|4 8 8.5 8"
	for _, name := range []string{"nulls.arrow", "nulls_lz4.arrows"} {
		data := stored(t, name)
		_, _, err := load(data, nil, nil)
		if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), `column "x", row 1: a null, want a number`) {
			t.Errorf("%s: no option: %v", name, err)
		}
		for set, want := range map[string]string{"nan": nan, "0": strings.ReplaceAll(nan, "NaN", "0")} {
			m, got, err := load(data, map[string]string{"nulls": set}, nil)
			if err != nil || m.Cols != 4 {
				t.Fatalf("%s: %d columns, %v", name, m.Cols, err)
			}
			var rows []string
			for r := range slices.Chunk(got, 4) {
				rows = append(rows, strings.Join(r, " "))
			}
			if strings.Join(rows, "|") != want {
				t.Errorf("%s: %v, want %s", name, rows, want)
			}
			one := matrix.At(2, 9, 2, 3)
			_, got, err = load(data, map[string]string{"nulls": set}, &one)
			if some := strings.Join(got, " "); err != nil || !strings.Contains(want, some[:3]) || len(got) != 7 || got[1] != rows2(want, 3) {
				t.Errorf("%s: one column of a list: %v, %v", name, got, err)
			}
		}
	}
	m := matrix.Meta{Name: "a", Rows: 2, Cols: 1, DType: matrix.I16, Labels: []string{"k"}}
	data, err := save(m, matrix.Block{At: m.Rect(), Data: &matrix.Dense[int16]{Val: []int16{1, 2}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nullNaN.value(matrix.I16); err == nil || !strings.Contains(err.Error(), "cannot hold as nan") {
		t.Errorf("nan of an integer: %v", err)
	}
	if _, got, err := load(data, map[string]string{"nulls": "nan"}, nil); err != nil || strings.Join(got, " ") != "1 2" {
		t.Errorf("nan of integers that are all there: %v, %v", got, err)
	}
}

// rows2 is the third number of a row.
func rows2(text string, row int) string { return strings.Fields(strings.Split(text, "|")[row])[2] }

// TestOther are columns without numbers.
func TestOther(t *testing.T) {
	data := stored(t, "text.arrow")
	_, _, err := load(data, nil, nil)
	if !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), `column 0 ("name"): values of utf8, want numbers`) {
		t.Errorf("no option: %v", err)
	}
	var out strings.Builder
	if err := Codec.Explain(t.Context(), bucketOf(t, data), "a.arrow", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`column 0 ("name"): buffer 1 of utf8`, `column 1 ("x"): values of f64`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("explained without %q", want)
		}
	}
	m, got, err := load(data, map[string]string{"other": "skip"}, nil)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprint(float64(i)*0.1), fmt.Sprint(i))
	}
	if err != nil || strings.Join(m.Labels, " ") != "x z" || !slices.Equal(got, want) {
		t.Errorf("%v %v, %v", m.Labels, got, err)
	}
}

// TestDetect wants each file to be found and its cut beginnings not to be read as less.
func TestDetect(t *testing.T) {
	for name, set := range allFiles {
		data := stored(t, name)
		dialect, err := Codec.Sniff(context.Background(), bucketOf(t, data), "a.arrow")
		if err != nil || !strings.Contains(dialect, "record batches") {
			t.Errorf("%s: found as %q, %v", name, dialect, err)
		}
		for n := range len(data) {
			m, cells, err := load(data[:n], set, nil)
			if err == nil {
				t.Errorf("%s cut at byte %d of %d: read %d x %d, %d cells", name, n, len(data), m.Rows, m.Cols, len(cells))
			}
			if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s cut at byte %d: %v", name, n, err)
			}
		}
	}
	for _, other := range []string{"", "ARROW", "\xff\xff\xff\xff", "\xff\xff\xff\xff\x00\x00\x00\x00", "1,2\n3,4\n", strings.Repeat("\x10\x00\x00\x00", 20)} {
		if dialect, err := Codec.Sniff(context.Background(), bucketOf(t, []byte(other)), "a.arrow"); dialect != "" || err != nil {
			t.Errorf("%q: found as %q, %v", other, dialect, err)
		}
	}
}

// TestOpenStream is a stream without the mark at its end.
func TestOpenStream(t *testing.T) {
	data := stored(t, "v5.arrows")
	cut := data[:len(data)-8]
	if _, _, err := load(cut, nil, nil); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "ends without its mark") {
		t.Errorf("no option: %v", err)
	}
	m, cells, err := load(cut, map[string]string{"open": "true"}, nil)
	if err != nil || m.Rows != 9 || len(cells) != 72 {
		t.Errorf("%d rows, %d cells, %v", m.Rows, len(cells), err)
	}
	if n := notes(t, cut, map[string]string{"open": "true"}); !strings.Contains(n[len(n)-1], "rows may be missing") {
		t.Errorf("%q", n)
	}
}
