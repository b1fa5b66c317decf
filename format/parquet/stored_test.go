package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
)

// stored is a file of testdata; README.md there says how it was made.
func stored(t fataler, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// notes are what a reader says of the bytes.
func notes(t fataler, data []byte, set map[string]string) []string {
	t.Helper()
	r, err := Codec.Open(context.Background(), bucketOf(t, data), "a.parquet", format.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Notes()
}

// TestOther leaves columns out that are not of numbers, whatever lies below them.
func TestOther(t *testing.T) {
	data := stored(t, "text_brotli.parquet")
	_, _, err := load(data, nil, nil)
	if !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), `column 0 ("name"): values of BYTE_ARRAY (STRING), want numbers`) ||
		!strings.Contains(err.Error(), "other=skip") {
		t.Errorf("no option: %v", err)
	}
	m, got, err := load(data, map[string]string{"other": "skip"}, nil)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprint(float64(i)/2), fmt.Sprint(i), fmt.Sprint(i))
	}
	if err != nil || strings.Join(m.Labels, " ") != "x d k" || !slices.Equal(got, want) ||
		!slices.Equal(m.ColTypes, []matrix.DType{matrix.F64, matrix.F64, matrix.I16}) {
		t.Errorf("%v %v %v, %v", m.Labels, m.ColTypes, got, err)
	}
	left := "warning: columns left out: name (BYTE_ARRAY, STRING), s (nested), l (nested), e (nested)"
	decimal := `column "d": decimal(20, 0) as f64, rounded to 15 to 17 digits`
	if n := notes(t, data, map[string]string{"other": "skip"}); len(n) != 3 || n[1] != decimal || n[2] != left {
		t.Errorf("%q", n)
	}
}

// TestNullsStored reads columns of pyarrow, all of which could have nulls, and widens those that have.
func TestNullsStored(t *testing.T) {
	var nan []string
	for i := range 9 {
		row := []string{fmt.Sprint(i), fmt.Sprint(float64(i) / 4), fmt.Sprint((i + 1) % 2), fmt.Sprint(i), fmt.Sprint(i)}
		for c, null := range []bool{i%4 == 1, i%3 == 0, i == 5} {
			if null {
				row[c] = "NaN"
			}
		}
		nan = append(nan, row...)
	}
	data := stored(t, "nulls_lz4.parquet")
	for set, types := range map[string][]matrix.DType{
		"nan": {matrix.F64, matrix.F32, matrix.F64, matrix.U8, matrix.I64}, "0": {matrix.I64, matrix.F32, matrix.Bool, matrix.U8, matrix.I64},
	} {
		m, got, err := load(data, map[string]string{"nulls": set}, nil)
		want := strings.ReplaceAll(strings.Join(nan, " "), "NaN", map[string]string{"nan": "NaN", "0": "0"}[set])
		if err != nil || !slices.Equal(m.ColTypes, types) || strings.Join(got, " ") != want {
			t.Errorf("%s: %v %v, %v", set, m.ColTypes, got, err)
		}
	}
}

// TestTimes reads columns that stand for times, and writes them again as what they were.
func TestTimes(t *testing.T) {
	origins := []string{"date32[day]", "time32[ms]", "time64[us]", "time64[ns]", "timestamp[us]", "timestamp[ns, tz=UTC]",
		"timestamp[ms, tz=Europe/Berlin]", "duration[ms]", ""}
	data := stored(t, "times.parquet")
	m, cells, err := load(data, nil, nil)
	if err != nil || !slices.Equal(m.ColOrigins, origins) {
		t.Fatalf("read %q, %v", m.ColOrigins, err)
	}
	blk := matrix.NewDense(matrix.I64, m.Rect())
	for i := range blk.Data.(*matrix.Dense[int64]).Val {
		if cells[i] != fmt.Sprint(i/len(origins)*1000) {
			t.Errorf("cell %d: %s", i, cells[i])
		}
		fmt.Sscan(cells[i], &blk.Data.(*matrix.Dense[int64]).Val[i])
	}
	again, err := save(m, blk, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, got, err := load(again, nil, nil)
	if err != nil || !slices.Equal(n.ColOrigins, origins) || !slices.Equal(got, cells) || !slices.Equal(n.ColTypes, m.ColTypes) {
		t.Errorf("again %v %q, %v", n.ColTypes, n.ColOrigins, err)
	}
	if n := notes(t, again, nil); len(n) != 2 || !strings.HasPrefix(n[1], "dates and times as whole numbers: day is date32[day], t32 is time32[ms], ") {
		t.Errorf("%q", n)
	}
	for _, origin := range []string{"timestamp[s]", "time32[s]"} {
		when, _ := format.ParseTimeType(origin)
		m := matrix.Meta{Name: "a", Rows: 1, Cols: 1, DType: when.DType(), Labels: []string{"x"}, ColOrigins: []string{origin}}
		if _, err := save(m, matrix.NewDense(m.DType, m.Rect()), nil); !errors.Is(err, format.ErrLossy) || !strings.Contains(err.Error(), "x is "+origin) {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// TestArrowSchema takes nothing from the schema of another table, and says so.
func TestArrowSchema(t *testing.T) {
	whole := stored(t, "times.parquet")
	f, err := readFooter(objectOf(t, whole), false)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(value string) string{
		"base64":           func(string) string { return "?" },
		"message of":       func(string) string { return "AAAA" },
		"in 67: damaged":   func(v string) string { return v[:100] },
		`columns ["other"`: func(string) string { return "" },
	} {
		f.doubt = ""
		for _, kv := range f.KeyValueMetadata {
			if kv.Key != arrowKey {
				continue
			}
			value := change(kv.Value)
			if value == "" {
				f.names[0] = "another"
				value, what = kv.Value, "columns"
			}
			if err := f.arrow(value); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
			f.names[0] = "day"
		}
	}
}

// TestLargePages reads columns one by one from the row on where a page is too large to be read beside others.
func TestLargePages(t *testing.T) {
	var pages []byte
	next := uint64(0)
	for _, n := range []int{10, 1000, 7} {
		var body []byte
		for range n {
			body, next = binary.LittleEndian.AppendUint64(body, next), next+1
		}
		pages = append(pages, pageOf(t, dataPage(n, len(body), len(body), pf.Plain), body)...)
	}
	data := withFooter(t, pages, oneColumn(pf.Int64, int64(next), len(pages), pf.Uncompressed))
	r, err := Codec.Open(context.Background(), bucketOf(t, data), "a.parquet", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	of := r.(*reader)
	for _, most := range []int64{1, 1000, 1 << 20} {
		for _, at := range []matrix.Rect{of.m.Rect(), matrix.At(7, 900, 0, 1)} {
			s := of.strip(&of.footer.groups[0], at)
			s.most, s.step = most, 5
			row, step := at.Rows.Lo, int64(0)
			err := s.read(context.Background(), []*cursor{{r: of.obj}}, func(b matrix.Block) error {
				step = max(step, b.At.Rows.Len())
				if b.At.Rows.Lo != row {
					return fmt.Errorf("rows %v, want them from %d on", b.At.Rows, row)
				}
				for _, v := range b.Data.(*matrix.Dense[int64]).Val {
					if v != row {
						return fmt.Errorf("row %d is %d", row, v)
					}
					row++
				}
				return nil
			})
			if err != nil || row != at.Rows.Hi || (step > 5) != (most <= 1000) { // alone it is read in larger steps
				t.Errorf("at most %d, %v: up to row %d, %d at a time, %v", most, at, row, step, err)
			}
		}
	}
}
